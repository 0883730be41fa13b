"""The memory of a module: the values that buffer assignment placed, and how long each is live in the schedule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

INSTRUCTION: Final = 1000
"""ns of an instruction where no run was recorded: a schedule has an order and no times."""

_RANGE: Final = re.compile(r"\s+(.+?)\{([\d,]*)\}:(\d+)-(\d+)")
_SEQUENCE: Final = re.compile(r"\s+(\d+):(.+)")
_VALUE: Final = re.compile(
    r"\s*value: <\d+ (.+?)(?:\{([\d,]*)\})?(?: \(phi\))? @\d+> \(size=(\d+),offset=(\d+)\): (.*)"
)
_ALLOCATION: Final = re.compile(r"allocation (\d+): size (\d+)(.*)")


@dataclass(frozen=True, slots=True)
class LiveValue:
    """A value of the schedule, held from the instruction `first`, by its place, until before `past`."""

    name: str
    """Its instruction, with the index in a tuple: `while.5{1}`."""
    first: int
    past: int
    bytes: int
    dtype: str


@dataclass(slots=True)
class ModuleMemory:
    """What two files say about a module's memory."""

    sequence: list[str]
    """The instructions in the order in which they run."""
    values: list[LiveValue]


def read_memory(live_range: str, assignment: str) -> ModuleMemory:
    """The values that are in both files, in the order of their allocation.

    A value whose place another one takes over, as an operand's that is updated in place, ends where that begins.
    """
    places: dict[tuple[str, str], _Place] = {}
    allocation = -1
    for line in assignment.splitlines():
        if found := _VALUE.match(line):
            dtype = found[5].partition("[")[0].strip("( ")
            place = _Place(allocation, int(found[4]), int(found[3]), dtype)
            places.setdefault((found[1], found[2] or ""), place)
        elif begin := _ALLOCATION.match(line):
            allocation = int(begin[1])
        elif not line.strip() and places:
            break
    sequence: list[str] = []
    live: list[tuple[int, int, str, _Place]] = []
    part = ""
    for line in live_range.splitlines():
        if line.startswith("  ") and not line.startswith("   "):
            part = line.strip()
        elif part == "InstructionSequence:" and (step := _SEQUENCE.match(line)):
            sequence.append(step[2])
        elif part == "BufferLiveRange:" and (one := _RANGE.match(line)):
            known = places.get((one[1], one[2]))
            if known is not None:
                name = f"{one[1]}{{{one[2]}}}" if one[2] else one[1]
                live.append((int(one[3]), int(one[4]) + 1, name, known))
    live.sort(key=lambda value: value[:3])
    return ModuleMemory(sequence, [value for value in _without_overlap(live) if value.first < value.past])


class _Place(NamedTuple):
    """Where buffer assignment put a value."""

    allocation: int
    offset: int
    bytes: int
    dtype: str


def _without_overlap(live: list[tuple[int, int, str, _Place]]) -> Iterator[LiveValue]:
    """The values, each until another one of the same allocation begins in its place."""
    by_allocation: dict[int, list[tuple[int, int, str, _Place]]] = {}
    for value in live:
        by_allocation.setdefault(value[3].allocation, []).append(value)
    ends: dict[str, int] = {}
    for values in by_allocation.values():
        for at, (_, past, name, place) in enumerate(values):
            for first, _, _, other in values[at + 1 :]:
                if first >= past:
                    break
                if other.offset < place.offset + place.bytes and place.offset < other.offset + other.bytes:
                    past = first
                    break
            ends[name] = past
    for first, _, name, place in live:
        yield LiveValue(name, first, ends[name], place.bytes, place.dtype)
