"""A rank's summary: its steps, its collectives, what it computed and communicated. A few thousand rows out of millions.

It is made where the rank's capture is (in a pool's process, on a Dask worker) and travels as plain columns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.gaps import Gap, Launches, idle_gaps
from peephole.query.ranks.intervals import Intervals, Ints, both, lengths_within, union
from peephole.query.ranks.names import (
    is_call,
    is_communication,
    is_operator,
    is_receive,
    is_send,
    plain_name,
    step_number,
)
from peephole.store.capture import Capture
from peephole.store.rank_slices import base_of

_ITEMS = {"float": 4, "c10::bfloat16": 2, "c10::half": 2, "double": 8, "int": 4, "long int": 8, "long": 8}
_ITEMS |= {"bfloat16": 2, "half": 2, "float32": 4, "float16": 2, "float64": 8, "int64": 8, "int32": 4, "uint8": 1}


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class Collectives:
    """The collectives as one rank saw them, by start; `group` and `name` are places in `texts`."""

    texts: list[str] = field(default_factory=list)
    group: Ints = field(default_factory=_none)
    name: Ints = field(default_factory=_none)
    start: Ints = field(default_factory=_none)
    end: Ints = field(default_factory=_none)
    bytes: Ints = field(default_factory=_none)
    """-1 where the trace does not say."""
    held: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """The rank computed nothing beside the end of it: it was held up, and did not just let it run."""

    peer: Ints = field(default_factory=_none)
    """Of a send or receive the rank on its other side, as the trace says it; -1 where nothing says it."""

    def __post_init__(self) -> None:
        if not len(self.peer):
            self.peer = np.full(len(self.start), -1, np.int64)

    def __len__(self) -> int:
        return len(self.start)

    def places(self) -> Ints:
        """The place of each in the order of its group."""
        order = np.argsort(self.group, kind="stable")
        begins = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
        return place


_MEMBERS = " of ranks "


def group_titles(groups: Iterable[str]) -> dict[str, str]:
    """What groups are called: their name, and their ranks too where several have one name."""
    names = {group: group.partition(_MEMBERS)[0] for group in groups}
    often = Counter(names.values())
    return {group: group if often[name] > 1 else name for group, name in names.items()}


@dataclass(slots=True)
class RankSummary:
    """What is kept of a rank. Times are ns on its own clock, since 1970 where the rank knows that."""

    rank: int
    host: str
    capture: str
    collectives: Collectives = field(default_factory=Collectives)
    steps: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """A row per step: number, begin, end."""
    step_figures: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """A row per step: busy, communication, both at once."""
    busy: int = 0
    communication: int = 0
    overlap: int = 0
    span: tuple[int, int] = (0, 0)
    slices: int = 0
    totals: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, count and ns of what computed and communicated, longest first."""
    gaps: list[Gap] = field(default_factory=list)
    """Idle time by step and cause."""
    computes_on: str = ""
    """What counts as computing: devices, operators, threads."""
    groups: int = 0
    """How many process groups the run had, where the rank says it."""


@dataclass(slots=True)
class _Parts:
    """The slices that count, as columns."""

    start: list[Ints] = field(default_factory=list)
    end: list[Ints] = field(default_factory=list)
    name: list[Ints] = field(default_factory=list)
    row: list[Ints] = field(default_factory=list)

    def add(self, start: Ints, end: Ints, name: Ints, row: Ints, keep: NDArray[np.bool_]) -> None:
        if keep.any():
            for column, values in ((self.start, start), (self.end, end), (self.name, name), (self.row, row)):
                column.append(values[keep])

    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Start, end, name and row, by start."""
        if not self.start:
            none = np.zeros(0, np.int64)
            return none, none, none, none
        start, end, name, row = (np.concatenate(part) for part in (self.start, self.end, self.name, self.row))
        order = np.lexsort((row, start))
        return start[order], end[order], name[order], row[order]


def summarize(capture: Capture, rank: int, host: str, tracks: Ints | None = None) -> RankSummary:
    """The summary of a rank's capture, or of these tracks of a capture that several ranks share."""
    base = base_of(capture)
    names = capture.names()
    kinds = _Kinds(names)
    lanes = capture.lanes()
    kept = capture.read("tracks", ["id", "kind"])
    kind_of = dict(zip(kept["id"].tolist(), kept.texts("kind"), strict=True))
    own = np.ones(len(lanes), np.bool_) if tracks is None else np.isin(lanes.track, tracks)
    device = np.array([kind_of.get(int(track)) in ("device", "copy", "batch") for track in lanes.track], np.bool_)
    on_devices = bool((device & own & (lanes.count > 0)).any())
    ranges = _Ranges(capture, len(names), device & own & np.isin(lanes.track, lanes.track[device & (lanes.depth > 0)]))
    numbers = {name: number for number, name in enumerate(names)}
    compute, talk, calls, steps, device_steps = (_Parts() for _ in range(5))
    arrows = on_devices and capture.count("flows") > 0
    flows = capture.read("flows", ["from", "to"]) if arrows else {"from": _none(), "to": _none()}
    launches = Launches(flows["from"], flows["to"])
    row = 0
    for frame in capture.scan("slices", ["start", "dur", "name", *(["correlation"] if arrows else [])]):
        texts = frame.texts("name")
        code = np.array([*(numbers.get(text, len(names)) for text in texts.values), len(names)], np.int64)
        name, start = code[texts.codes], frame["start"] + base
        end, rows = start + frame["dur"], np.arange(row, row + len(frame))
        lane = np.searchsorted(lanes.first, rows, "right") - 1
        here = own[lane]
        talks = kinds.talks[name] & here
        if on_devices:
            # what a device did counts; the range around it, on a thread or on the device, says the same again
            ran = device[lane] & ~ranges.among(name, lane, rows)
            talks &= ran | (not kinds.on_devices_too)
            computes = ran & ~kinds.talks[name]
        elif kinds.operators.any():
            computes = kinds.operators[name]
        else:
            computes = (lanes.depth[lane] == 0) & ~talks & ~kinds.steps_[name]
        compute.add(start, end, name, rows, computes & here)
        talk.add(start, end, name, rows, talks)
        calls.add(start, end, name, rows, kinds.calls[name] & here)
        steps.add(start, end, name, rows, kinds.steps_[name] & here & ~device[lane])
        device_steps.add(start, end, name, rows, kinds.steps_[name] & here & device[lane])
        if arrows:
            launches.add(start, frame["correlation"], device[lane], here)
        row += len(frame)
    groups = capture.manifest.extra.get("group_count")
    found = RankSummary(rank, host, str(capture.path.resolve()), slices=int(lanes.count[own].sum()))
    found.groups = groups if isinstance(groups, int) else 0
    found.computes_on = "devices" if on_devices else "operators" if kinds.operators.any() else "threads"
    if found.slices:
        found.span = (int(lanes.start[own].min()) + base, int(lanes.end[own].max()) + base)
    busy = _fill(
        found, capture, names, kinds, compute, talk if talk.start else calls, steps if steps.start else device_steps
    )
    found.gaps = idle_gaps(*busy, launches.known(), found.steps)
    return found


class _Kinds:
    """What each name of a capture is; the last entry is for slices without one."""

    def __init__(self, names: list[str]) -> None:
        def marked(test: Any) -> NDArray[np.bool_]:
            return np.array([*map(test, names), False], np.bool_)

        self.talks, self.calls, self.operators = marked(is_communication), marked(is_call), marked(is_operator)
        self.number = np.array([*map(step_number, names), -1], np.int64)
        self.steps_ = self.number >= 0
        kernels = marked(lambda name: is_communication(name) and "ernel" in name)
        self.on_devices_too = bool(kernels.any())


class _Ranges:
    """Which names on devices are ranges that a program drew around kernels, and did not run: torch shows them beside
    the kernels. Their args say so; those of the first slice of each name are read, where slices lie within others."""

    def __init__(self, capture: Capture, names: int, lanes: NDArray[np.bool_]) -> None:
        self._capture, self._lanes = capture, lanes
        self._known, self._range = np.zeros(names + 1, np.bool_), np.zeros(names + 1, np.bool_)

    def among(self, name: Ints, lane: Ints, row: Ints) -> NDArray[np.bool_]:
        """Which of these slices have such a name."""
        new = np.flatnonzero(self._lanes[lane] & ~self._known[name])
        found, first = np.unique(name[new], return_index=True)
        self._known[found] = True
        facts = _facts(self._capture, row[new[first]])
        self._range[found] = [fact.get("cat") == "gpu_user_annotation" for fact in facts]
        return self._range[name]


def _fill(
    found: RankSummary, capture: Capture, names: list[str], kinds: _Kinds, compute: _Parts, talk: _Parts, steps: _Parts
) -> tuple[Intervals, Intervals, Intervals]:
    """Fills in a summary; the time in which the rank did anything, computed, communicated."""
    start, end, name, row = talk.columns()
    computing = _computing(compute)
    talking = union(start, end)
    together = both(computing, talking)
    everything = _joined(computing, talking)
    found.busy, found.communication, found.overlap = everything.length(), talking.length(), together.length()
    begin, finish, number, _ = steps.columns()
    if len(begin):
        # the same step may be marked on several threads: the longest counts
        numbers = kinds.number[number]
        order = np.lexsort((begin - finish, numbers))
        numbers, begin, finish = numbers[order], begin[order], finish[order]
        first = np.append(True, numbers[1:] != numbers[:-1])
        numbers, begin, finish = numbers[first], begin[first], finish[first]
    else:
        numbers = begin = finish = np.zeros(0, np.int64)
    found.steps = np.column_stack((numbers, begin, finish)).astype(np.int64).reshape(-1, 3)
    parts = [lengths_within(part, begin, finish) for part in (everything, talking, together)]
    found.step_figures = np.column_stack(parts).astype(np.int64).reshape(-1, 3)
    facts = _facts(capture, row) if kinds.on_devices_too or len(row) <= 100_000 else [{}] * len(row)
    texts: dict[str, int] = {}
    groups, kinds_, sizes, peers = (np.zeros(len(row), np.int64) for _ in range(4))
    for at, fact in enumerate(facts):
        said = fact.get("Collective name")
        group = _group(fact)
        # a coalesced batch is what its kernel is: sends and receives at once, or a reduction
        text = f"nccl:{said}" if said and said != "coalesced" else plain_name(names[int(name[at])])
        groups[at], kinds_[at] = texts.setdefault(group, len(texts)), texts.setdefault(text, len(texts))
        sizes[at] = _bytes(fact)
        peers[at] = _peer(fact, text)
    held = _held(computing, start, end)
    found.collectives = Collectives(list(texts), groups, kinds_, start, end, sizes, held, peers)
    _count(found, names, compute, talk)
    return everything, computing, talking


def _group(fact: dict[str, Any]) -> str:
    """What a process group is known by: its name, and its ranks, since groups of other ranks may have the same name."""
    name = str(fact.get("Process Group Name") or fact.get("Process Group Description") or "")
    members = fact.get("Process Group Ranks")
    return f"{name}{_MEMBERS}{members}" if members else name


def _peer(fact: dict[str, Any], text: str) -> int:
    """The rank on the other side of a send or receive, -1 where the trace does not say."""
    said = fact.get("Dst Rank") if is_send(text) else fact.get("Src Rank") if is_receive(text) else None
    known = isinstance(said, int | str) and not isinstance(said, bool) and str(said).isdecimal()
    return int(str(said)[:9]) if known else -1


def members_of(group: str) -> list[int]:
    """The ranks of a group, in its order; none where the trace does not say all of them."""
    parts = group.partition(_MEMBERS)[2].strip("[]() ").split(",")
    return [int(part) for part in parts] if all(part.strip().isdecimal() for part in parts) else []


def _computing(compute: _Parts) -> Intervals:
    start, end, _, _ = compute.columns()
    return union(start, end)


def _held(computing: Intervals, start: Ints, end: Ints) -> NDArray[np.bool_]:
    """Whether nothing was computed for the last 10 µs of each, or the last half of a shorter one: the gap between two
    kernels beside it is less. Or for most of it: a thread that ends it is often late, while the rank goes on."""
    at = np.searchsorted(computing.start, end, "left") - 1
    reached = np.where(at >= 0, computing.end[np.maximum(at, 0)] if len(computing.end) else 0, np.iinfo(np.int64).min)
    free = end - np.clip(reached, start, end)
    least: NDArray[np.bool_] = (free > 0) & (free >= np.minimum(10_000, (end - start) // 2))
    mostly: NDArray[np.bool_] = 2 * lengths_within(computing, start, end) < end - start
    return least | mostly


def _joined(a: Intervals, b: Intervals) -> Intervals:
    return union(np.concatenate((a.start, b.start)), np.concatenate((a.end, b.end)))


def _count(found: RankSummary, names: list[str], *parts: _Parts) -> None:
    """What took most time, by name."""
    total = np.zeros(len(names) + 1, np.int64)
    count = np.zeros(len(names) + 1, np.int64)
    for part in parts:
        start, end, name, _ = part.columns()
        np.add.at(total, name, end - start)
        np.add.at(count, name, 1)
    order = np.argsort(-total, kind="stable")
    found.totals = [(names[i], int(count[i]), int(total[i])) for i in order.tolist() if i < len(names) and count[i]][
        :1000
    ]


def _facts(capture: Capture, rows: Ints) -> list[dict[str, Any]]:
    """The args of some slices, read in stretches."""
    found: list[dict[str, Any]] = [{}] * len(rows)
    if not len(rows):
        return found
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    for stretch in np.split(np.arange(len(ordered)), np.flatnonzero(np.diff(ordered) > 4096) + 1):
        first, past = int(ordered[stretch[0]]), int(ordered[stretch[-1]]) + 1
        texts = capture.read("slices", ["args"], slice(first, past)).texts("args")
        for at in stretch.tolist():
            text = texts[int(ordered[at]) - first]
            try:
                value = json.loads(text) if text else {}
            except ValueError:
                value = {}
            found[int(order[at])] = value if isinstance(value, dict) else {}
    return found


def _bytes(fact: dict[str, Any]) -> int:
    """The size of what a collective moved, -1 where the trace does not say."""
    count, kind = fact.get("In msg nelems"), str(fact.get("dtype", "")).lower()
    if isinstance(count, int) and count >= 0:
        return count * _ITEMS.get(kind, 4)
    shapes, kinds = fact.get("Input Dims"), fact.get("Input type")
    if not isinstance(shapes, list) or not isinstance(kinds, list):
        return -1
    total = 0
    for shape, one in zip(shapes, kinds, strict=False):
        if isinstance(shape, list) and all(isinstance(side, int) for side in shape) and str(one).lower() in _ITEMS:
            total += int(np.prod(shape, dtype=np.int64)) * _ITEMS[str(one).lower()] if shape else 0
    return total or -1
