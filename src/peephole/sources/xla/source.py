"""What XLA and JAX write: dumps of HLO after each pass, kernels, profiles. A folder of them, or single files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress

if TYPE_CHECKING:
    from peephole.sources.xla.files import Files

MOST_FILES: Final = 200_000
"""Files of a folder that are read."""


class XlaSource:
    """Reads a folder of dumps with or without profiles in it, or such files by themselves."""

    name = "xla"
    formats = (FileFormat("dumps of XLA (--xla_dump_to=DIR)", "a folder, .txt, .hlo.pb", "HLO as text or proto"),)

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether a file is HLO as text or proto, or a profile."""
        from peephole.sources.xla.files import is_known
        from peephole.sources.xla.sniffing import is_module_text, is_proto

        # kernels and tables of a dump say nothing of XLA; given together with the rest they are known by their names
        return is_module_text(head) or is_proto(head) or is_known(path)

    def files_in(self, folder: Path) -> Sequence[Path]:
        """The files of a dump or a profile, at any depth, by the names that XLA and JAX give."""
        from peephole.sources.xla.files import is_known

        found: list[Path] = []
        for place, inner, names in os.walk(folder):
            inner.sort()
            found += [Path(place, name) for name in sorted(names) if is_known(Path(place, name))]
            if len(found) > MOST_FILES:
                break
        return found

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads what is there; CaptureError when nothing is."""
        from peephole.sources.xla.files import find_files

        def problem(reason: str, example: str) -> None:
            sink.problem(reason, 1, example)

        files = find_files(paths, problem)
        Reading(files, sink, progress).run(paths[0])


class Reading:
    """One import: modules, then the profiles that show them run."""

    def __init__(self, files: Files, sink: Sink, progress: Progress, small: bool = True) -> None:
        from peephole.sources.xla.graphs import NodeRows
        from peephole.sources.xla.rows import Rows

        self._files, self._sink, self._progress, self._small = files, sink, progress, small
        self.rows = Rows(sink)
        self._nodes = NodeRows(sink)

    def run(self, first: Path) -> None:
        """Hands over everything; CaptureError, naming the first path, when there is nothing."""
        from peephole.sources.xla.assembly import Disassembly
        from peephole.sources.xla.files import ModuleFiles
        from peephole.sources.xla.memory import INSTRUCTION
        from peephole.sources.xla.modules import ModuleReader, ReadModule

        modules = list(self._files.modules)
        for number, path in enumerate(self._files.plain):
            if _may_be_module(path):  # a module under a name of its own
                modules.append(ModuleFiles(number, path.name.partition(".")[0], states={"state": path}))
        sizes = [sum(path.stat().st_size for path in _paths(one)) for one in modules]
        objects = [what["o"] for one in modules for what in one.kernels.values() if "o" in what]
        disassembly = Disassembly(objects)
        read: list[ReadModule] = []
        done = 0
        try:
            reader = ModuleReader(self.rows, self._nodes, disassembly)
            for one, size in zip(modules, sizes, strict=True):
                found = reader.read(one, self._small)
                if found is not None:
                    read.append(found)
                done += size
                self._progress(done, sum(sizes))
        finally:
            disassembly.close()
        if disassembly.note and objects:
            self._sink.problem(disassembly.note, len(objects))
        for module in read:
            for value in module.memory.values if module.memory else ():
                self.rows.buffer(
                    module.full_name,
                    value.first * INSTRUCTION,
                    value.past * INSTRUCTION,
                    value.bytes,
                    value.dtype,
                    value.name,
                )
        self._nodes.flush()
        self.rows.finish()
        if not read:
            raise CaptureError(
                f"{first} has no module of XLA that can be read; dump one with "
                "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text'."
            )
        self._sink.describe(frameworks={"xla": ""})


def _paths(module: object) -> list[Path]:
    from peephole.sources.xla.files import ModuleFiles

    assert isinstance(module, ModuleFiles)
    return [dump.path for dump in module.dumps] + list(module.states.values())


def _may_be_module(path: Path) -> bool:
    from peephole.sources import head_of
    from peephole.sources.xla.sniffing import is_module_proto, is_module_text

    try:
        head = head_of(path)
    except CaptureError:
        return False
    return is_module_text(head) or is_module_proto(head)
