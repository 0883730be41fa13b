"""One import: modules, then the profiles that show them run, then their memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources import head_of, load
from peephole.sources.base import Progress
from peephole.sources.context_rows import Rows, content_of
from peephole.sources.node_rows import NodeRows
from peephole.sources.xla.assembly import Disassembly
from peephole.sources.xla.files import Files, ModuleFiles
from peephole.sources.xla.found_modules import FoundModules
from peephole.sources.xla.live_times import placed
from peephole.sources.xla.modules import ModuleReader
from peephole.sources.xla.noted import Noted
from peephole.sources.xla.processes import find_all
from peephole.sources.xla.sniffing import is_module_proto, is_module_text, is_profile
from peephole.sources.xla.traces import LinkedSink
from peephole.sources.xla.wire import Cut

if TYPE_CHECKING:
    from peephole.sources.xla.profile.planes import Plane


_Runs = dict[tuple[str, int], list[tuple[str, int, int]]]
"""By process and module, the kernels of one run: name, start, end."""


class _Profile(NamedTuple):
    path: Path
    planes: list[Plane]
    process: str


class Reading:
    """Hands over what is in some files. Without `small`, modules of one operation have no passes."""

    def __init__(
        self, sink: Sink, progress: Progress, small: bool = True, begin: int = 0, noted: Noted | None = None
    ) -> None:
        self._begin = begin
        self._noted = noted
        self._sink, self._progress, self._small = sink, progress, small
        self._rows = Rows(sink, "xla")
        self._nodes = NodeRows(sink)
        self._modules = FoundModules()

    def run(self, paths: Sequence[Path]) -> None:
        """Reads them all; CaptureError, naming the first path, when there is nothing to show."""
        files = find_all(paths, self._problem)
        self._sort_plain(files)
        found = [(path, self._planes(path)) for path in files.profiles]
        profiles = [
            _Profile(path, planes, files.process_of.get(path, "")) for path, planes in found if planes is not None
        ]
        self._read_modules(files, profiles)
        self._compilations()
        runs = self._read_profiles(profiles)
        self._read_traces(files.traces, profiles)
        for module in self._modules.all:
            device = f"{module.full_name} in {module.process}" if module.process else module.full_name
            run = runs.get((module.process, module.number), [])
            for value in placed(module.memory, run, self._begin) if module.memory else ():
                self._rows.buffer(device, *value)
        self._nodes.flush()
        self._rows.finish()
        if not self._modules.all and not profiles and not files.traces:
            if files.profiles and not files.modules:
                raise CaptureError(
                    f"{files.profiles[0]} was cut off or is damaged, and nothing of it can be read; copy it again."
                )
            raise CaptureError(
                f"{paths[0]} has no module of XLA that can be read; dump one with "
                "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text'."
            )

    def _problem(self, reason: str, example: str) -> None:
        self._sink.problem(reason, 1, example)

    def _sort_plain(self, files: Files) -> None:
        """Files under names of their own are known by their content."""
        chrome = load("chrome")
        for number, path in enumerate(files.plain):
            try:
                head = head_of(path)
            except CaptureError:
                continue
            if is_module_text(head) or is_module_proto(head):
                name = path.name.partition(".")[0]
                files.modules.append(ModuleFiles(number, name, states={"state": path}))
            elif is_profile(head):
                files.profiles.append(path)
            elif chrome.sniff(head, path):
                files.traces.append(path)
            else:
                self._problem("files that are not of a dump of XLA, left out", path.name)

    def _read_traces(self, traces: list[Path], profiles: list[_Profile]) -> None:
        """Slices of profiles as JSON, or of any trace that was given with the dump."""
        if profiles:
            places = {profile.path.parent for profile in profiles}  # what lies beside a profile is the same once more
            for path in traces:
                if path.parent not in places:
                    self._problem(
                        "traces given with a profile (.xplane.pb), left out: import them by themselves", path.name
                    )
            return
        if not traces:
            return
        linked = LinkedSink(self._sink, self._modules.only_context_of)
        load("chrome").read(traces, linked, self._progress)
        if linked.unlinked and self._modules.all:
            what = "kernels of a trace as JSON whose module is not known by its name: .xplane.pb has its number"
            self._sink.problem(what, linked.unlinked, traces[0].name)
        elif not linked.kernels and self._modules.all:
            self._problem("traces that name no kernel of the dump: they may be of another program", traces[0].name)

    def _planes(self, path: Path) -> list[Plane] | None:
        from peephole.sources.xla.profile.slices import load as load_planes

        try:
            return load_planes(content_of(path))
        except Cut:
            self._problem("profiles that were cut off or are damaged, left out", path.name)
        except OSError as error:
            self._problem("files that cannot be read", f"{path.name}: {error.strerror or error}")
        return None

    def _read_modules(self, files: Files, profiles: list[_Profile]) -> None:
        sizes = [sum(path.stat().st_size for path in one.paths) for one in files.modules]
        objects = [what["o"] for one in files.modules for what in one.kernels.values() if "o" in what]
        disassembly = Disassembly(objects)
        done = 0
        try:
            reader = ModuleReader(self._rows, self._nodes, disassembly, self._noted or Noted())
            order = list(zip(files.modules, sizes, strict=True))
            if not self._small:
                order.sort(key=lambda one: reader.is_small(one[0]))  # out of the way
            for one, size in order:
                self._modules.add(reader.read(one, self._small))
                done += size
                self._progress(done, sum(sizes))
            self._read_carried(reader, profiles)
        finally:
            disassembly.close()
        if disassembly.note and objects:
            self._sink.problem(disassembly.note, len(objects))
        self._sink.describe(frameworks={"xla": ""})

    def _read_carried(self, reader: ModuleReader, profiles: list[_Profile]) -> None:
        """The modules that profiles carry and no dump has."""
        from peephole.sources.xla.profile.slices import profile_facts

        for profile in profiles:
            facts = profile_facts(profile.planes)
            for (number, name), proto in sorted(facts.modules.items()):
                if not self._modules.has(profile.process, number, name):
                    self._modules.add(reader.read_proto(number, name, proto, profile.process))
            self._sink.describe(frameworks=facts.versions)

    def _read_profiles(self, profiles: list[_Profile]) -> _Runs:
        """Hands over their slices; the kernels of a run of each module."""
        if not profiles:
            return {}
        from peephole.sources.xla.profile.slices import ProfileRows

        recorded = self._noted is not None
        found: _Runs = {}
        unlinked, begins = 0, []
        for process in dict.fromkeys(one.process for one in profiles):
            rows = ProfileRows(self._rows, partial(self._modules.context_of, process), quiet=recorded)
            for path, planes, _ in (one for one in profiles if one.process == process):
                host = None if recorded else path.name.removesuffix(".xplane.pb")
                shift = self._noted.shifts.get(path.name, 0) if self._noted is not None else 0
                rows.add(planes, f"{host} {process}" if process else host, path.stat().st_size, shift)
            for number, runs in rows.runs.items():
                found[process, number] = [(one.name, one.start, one.past) for one in runs]
            unlinked += rows.unlinked
            begins += [rows.first] if rows.events else []
        if unlinked:
            self._sink.problem("kernels of a profile whose module is not there, shown without it", unlinked)
        self._begin = min(begins, default=self._begin)
        return found

    def _compilations(self) -> None:
        """The phases of compilations on a lane of their own."""
        if self._noted is None or not self._noted.compiled:
            return
        of = {id(one.compiled): one.context for one in self._modules.all if one.compiled is not None}
        track = self._rows.track("JAX compile", "compile")
        for one in self._noted.compiled:
            for phase, start, dur in one.phases:
                self._rows.slice(track, start, dur, f"{phase} {one.name}", of.get(id(one), NONE))
        if hits := sum(one.hit for one in self._noted.compiled):
            what = "modules out of JAX's cache of compilations, which have their final graph and no passes"
            self._sink.problem(what, hits)
