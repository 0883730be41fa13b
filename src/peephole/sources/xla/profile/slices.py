"""The events of a profile as slices: threads of the host, and kernels on the device that ran them.

A kernel's event names its instruction (hlo_op) and its module (program_id), so it is linked with what was compiled.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Joined, Strings
from peephole.model.tables import NONE
from peephole.sources.context_rows import Rows
from peephole.sources.xla.profile import event_scan as scan
from peephole.sources.xla.profile.planes import COMPILE_FROM, Line, Plane, fact, read_planes
from peephole.sources.xla.wire import Cut, fields, text

WANTED: Final = ("hlo_op", "program_id", "run_id", "device_ordinal", "hlo_module")
_OP, _PROGRAM, _RUN, _DEVICE, _MODULE = (scan.FIRST_STAT + place for place in range(len(WANTED)))
_WHOLE_SPANS: Final = ("XLA Modules", "Steps", "Framework Ops", "Framework Name Scope", "Source code")
"""Lines of a device that show the same time again, by larger things."""
_BATCH: Final = 1 << 16
_EPOCH: Final = 10**15
"""ns: times below it count from the start of the profile, not since 1970."""
_MOST_ARGS: Final = 200_000
"""Events whose further facts are kept."""
_DEEPEST: Final = 500
_DULL: Final = ("$", "ThreadpoolListener::", "end: ")
"""How events of the Python tracer begin, and marks without length that only tie threads together."""


@dataclass(frozen=True, slots=True)
class KernelRun:
    """When an instruction ran, in one run of its module."""

    module: int
    run: int
    name: str
    start: int
    past: int


@dataclass(slots=True)
class ProfileFacts:
    """What a profile says beside its events."""

    modules: dict[tuple[int, str], bytes] = field(default_factory=dict)
    """HloProtos by program_id and name."""
    begin: int = 0
    end: int = 0
    versions: dict[str, str] = field(default_factory=dict)


Link = Callable[[int, str, str], int]
"""The context of an instruction by program_id, name of the module (empty: not said) and its own; -1 for none."""


def profile_facts(planes: list[Plane]) -> ProfileFacts:
    """The modules that a profile carries, and its times."""
    found = ProfileFacts()
    for plane in planes:
        for named in plane.events.values():
            proto = named.facts.get("Hlo Proto")
            if isinstance(proto, bytes) and proto:
                name, _, number = named.name.rpartition("(")
                program = named.facts.get("program_id", number.rstrip(")"))
                if isinstance(program, str):
                    program = int(program) if program.isdecimal() else NONE
                if isinstance(program, int):
                    found.modules[program, name or named.name] = proto
        for key, value in plane.own.items():
            if key == "profile_start_time" and isinstance(value, int):
                found.begin = value
            elif key == "profile_stop_time" and isinstance(value, int):
                found.end = value
            elif key in ("jax_version", "jaxlib_version") and isinstance(value, bytes):
                found.versions[key.removesuffix("_version")] = text(value)
    return found


def load(data: bytes) -> list[Plane]:
    """The planes of a file; Cut when it is none, or ends early."""
    return list(read_planes(data))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the lines of a plane go."""

    plane: Plane
    track: int
    is_device: bool
    begin: int
    """What times that count from the start of the profile count from."""
    shift: int
    host: str | None
    process: int
    quick: bool


class ProfileRows:
    """Hands over the tracks and slices of profiles. The first run of each module is kept: its memory is shown by it.

    Profiles of one host go on in the same lanes. With `quiet` what JAX's Python tracer saw and the marks of XLA's
    thread pools are left out.
    """

    def __init__(self, rows: Rows, link: Link, quiet: bool = False) -> None:
        self._rows, self._sink, self._link, self._quiet = rows, rows.sink, link, quiet
        self._tracks: dict[tuple[str | None, str, object], int] = {}
        self._lanes: dict[str, int] = {}
        self.events = 0
        self.first = 1 << 62
        self.runs: dict[int, list[KernelRun]] = {}
        """By program_id, the kernels of the first run that was seen."""
        self.unlinked = 0

    def add(self, planes: list[Plane], host: str | None, size: int, shift: int = 0) -> None:
        """The lines of a file of so many bytes; `shift` is added to its times."""
        facts = profile_facts(planes)
        order = sorted(planes, key=lambda plane: (not plane.name.startswith("/device"), plane.name))
        for plane in order:
            if not plane.lines:
                continue
            said = plane.own.get("process_id")
            process = said if isinstance(said, int) and 0 <= said < 1 << 31 else NONE
            is_device = plane.name.startswith("/device:") and "CUSTOM" not in plane.name
            place = _Place(plane, NONE, is_device, facts.begin, shift, host, process, size >= COMPILE_FROM)
            place = replace(place, track=self._track(place, "", "host", plane.name or "plane"))
            try:
                for line in plane.read_lines(WANTED, place.quick):
                    self._line(place, line)
            except Cut:
                self._sink.problem("lines of a profile that are damaged, left out", 1, plane.name)

    def _track(self, place: _Place, key: object, kind: str, name: str) -> int:
        """The track of a part of a plane, whatever profile it was first seen in."""
        known = (place.host, place.plane.name, key)
        if known not in self._tracks:
            if kind == "device" and not place.is_device:
                self._lanes[name] = number = self._lanes.get(name, 0) + 1
                name = name if number == 1 else f"{name} #{number}"
            self._tracks[known] = self._rows.track(name, kind, place.track, place.process, place.host)
        return self._tracks[known]

    def _line(self, place: _Place, line: Line) -> None:
        if self._quiet:
            dull = [one for one, named in place.plane.events.items() if named.name.startswith(_DULL)]
            line.events = line.events[~np.isin(line.events[:, scan.META], dull)]
        events = line.events
        if not len(events):
            return
        begin = line.begin + (place.begin if line.begin < _EPOCH else 0) + place.shift
        start = begin + events[:, scan.OFFSET] // 1000
        past = begin + (events[:, scan.OFFSET] + np.maximum(events[:, scan.DURATION], 0)) // 1000
        self.first = min(self.first, int(start.min()))
        self.events += len(events)
        is_kernel = events[:, _OP] != scan.MISSING
        whole = line.name in _WHOLE_SPANS
        parts: list[tuple[NDArray[np.int64], str, str, int]] = []
        if place.is_device:
            parts.append((np.arange(len(events)), "batch" if whole else "device", line.name, NONE))
        else:
            # what runs on a CPU is a device's work too: it gets lanes of its own
            parts.append((np.flatnonzero(~is_kernel), "thread", line.name, NONE))
            for ordinal in np.unique(events[is_kernel, _DEVICE]).tolist():
                rows = np.flatnonzero(is_kernel & (events[:, _DEVICE] == ordinal))
                parts.append((rows, "device", f"CPU:{ordinal if ordinal != scan.MISSING else 0}", ordinal))
        for rows, kind, name, ordinal in parts:
            if len(rows):
                track = self._track(place, (line.id, line.name, kind, ordinal), kind, name or f"line {line.id}")
                order = rows[np.lexsort((start[rows] - past[rows], start[rows]))]
                self._slices(place.plane, line, track, order, start, past, place.quick)

    def _slices(
        self,
        plane: Plane,
        line: Line,
        track: int,
        rows: NDArray[np.int64],
        start: NDArray[np.int64],
        past: NDArray[np.int64],
        quick: bool,
    ) -> None:
        events = line.events[rows]
        begins, ends = start[rows], past[rows]
        depth = np.zeros(len(rows), np.int64)
        nest = (scan.compiled() if quick else scan.plain())[2]
        nest(begins, ends, np.zeros(_DEEPEST, np.int64), depth)
        ids, codes = np.unique(events[:, scan.META], return_inverse=True)
        names = [plane.events[one].name if one in plane.events else f"event {one}" for one in ids.tolist()]
        context = self._contexts(plane, events, begins, ends)
        for first in range(0, len(rows), _BATCH):
            part = slice(first, first + _BATCH)
            columns = {
                "track": np.full(len(rows[part]), track),
                "depth": depth[part],
                "start": begins[part],
                "dur": ends[part] - begins[part],
                "name": Strings(codes[part], names),
                "context": context[part],
            }
            args = self._args(plane, line, events[part])
            self._sink.append("slices", columns if args is None else {**columns, "args": args})

    def _contexts(
        self,
        plane: Plane,
        events: NDArray[np.int64],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The context of each event that names an instruction."""
        context = np.full(len(events), NONE, np.int64)
        rows = np.flatnonzero(events[:, _OP] != scan.MISSING)
        if not len(rows):
            return context
        keys, place = np.unique(events[rows][:, (_OP, _PROGRAM, _MODULE)], axis=0, return_inverse=True)
        found, modules, said = [], [], []
        for op, program, module in keys.tolist():
            name = plane.facts.get(op, "")
            known = self._link(program, plane.facts.get(module, ""), name)
            self.unlinked += known < 0
            found.append(known)
            modules.append(program)
            said.append(name)
        context[rows] = np.array(found, np.int64)[place.ravel()]
        for program in set(modules):
            own = np.flatnonzero(events[rows, _PROGRAM] == program)
            kept = self.runs.setdefault(program, [])
            run = kept[0].run if kept else int(events[rows[own[0]], _RUN])
            for at in own[events[rows[own], _RUN] == run].tolist():
                row = rows[at]
                kept.append(KernelRun(program, run, said[int(place.ravel()[at])], int(begins[row]), int(ends[row])))
        return context

    def _args(self, plane: Plane, line: Line, events: NDArray[np.int64]) -> Any:
        """Facts of the events as JSON: those with a column of their own without an object for each event."""
        is_kernel = events[:, _OP] != scan.MISSING
        if is_kernel.all():
            ids, codes = np.unique(events[:, _OP], return_inverse=True)
            ops = [json.dumps(plane.facts.get(one, "")) for one in ids.tolist()]
            parts: list[Any] = ['{"hlo_op":', Strings(codes, ops)]
            for name, column in (("program_id", _PROGRAM), ("run_id", _RUN)):
                if (events[:, column] != scan.MISSING).all():
                    parts += [f',"{name}":', events[:, column]]
            return Joined([*parts, "}"])
        has = np.flatnonzero((events[:, scan.FURTHER] > 0) | is_kernel | (events[:, _RUN] != scan.MISSING))
        if not len(has):
            return None
        texts: list[str | None] = [None] * len(events)
        for row in has[:_MOST_ARGS].tolist():
            texts[row] = _facts_text(plane, line.data[events[row, scan.STATS] : events[row, scan.STATS_END]])
        return texts


def _facts_text(plane: Plane, event: bytes) -> str | None:
    found = {}
    for number, value in fields(event):
        if number == 4 and isinstance(value, bytes):
            name, said = fact(value, plane.facts)
            if not name.startswith("_"):
                found[name] = text(said) if isinstance(said, bytes) else said
    # numbers that JSON lacks are left to whoever reads the text
    return json.dumps(found) if found else None
