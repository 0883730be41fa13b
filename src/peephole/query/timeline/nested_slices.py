"""The slices of a track as begins and ends in the order of time: what a format of begins and ends is written from."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from peephole.store.capture import Capture

_PART: Final = 1 << 15
"""Slices of a lane that are read at once; a track may have many lanes."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The begin or the end of a slice."""

    begins: bool
    time: int
    name: str
    args: str | None
    """JSON; None for an end."""
    correlation: int


_Slice = tuple[int, int, int, str, str | None, int]
"""start, lane, dur, name, args, correlation."""


def turns(capture: Capture, lanes: Sequence[int]) -> Iterator[Turn]:
    """Begins and ends of the slices of some lanes, the upper ones first, each within those of the lane above.

    Times never go back, and each end is that of the slice that began last and has not ended.
    """
    open_: list[tuple[int, int]] = []  # lane and end
    for start, lane, dur, name, args, correlation in heapq.merge(*(_slices(capture, lane) for lane in lanes)):
        while open_ and open_[-1][0] >= lane:
            yield Turn(False, open_.pop()[1], "", None, 0)
        yield Turn(True, start, name, args, correlation)
        open_.append((lane, start + dur))
    while open_:
        yield Turn(False, open_.pop()[1], "", None, 0)


def _slices(capture: Capture, lane: int) -> Iterator[_Slice]:
    lanes = capture.lanes()
    first, count = int(lanes.first[lane]), int(lanes.count[lane])
    for frame in capture.scan(
        "slices", ["start", "dur", "name", "args", "correlation"], slice(first, first + count), _PART
    ):
        columns = frame["start"].tolist(), frame["dur"].tolist(), frame.texts("name"), frame.texts("args")
        for start, dur, name, args, correlation in zip(*columns, frame["correlation"].tolist(), strict=True):
            yield start, lane, dur, name or "", args, correlation


def flows_by_slice(capture: Capture) -> dict[int, list[int]]:
    """Numbers of the arrows that touch a slice, by its correlation; arrows are numbered from 1 on."""
    found: dict[int, list[int]] = {}
    number = 0
    for frame in capture.scan("flows", ["from", "to"]):
        for ends in zip(frame["from"].tolist(), frame["to"].tolist(), strict=True):
            number += 1
            for end in ends:
                found.setdefault(end, []).append(number)
    return found


def first_time(capture: Capture) -> int:
    """The earliest moment of anything, at most 0: what has to be taken off for a format without negative times."""
    earliest = int(capture.lanes().start.min()) if len(capture.lanes()) else 0
    for table in ("markers", "counters"):
        for frame in capture.scan(table, ["time"]):
            earliest = min(earliest, int(frame["time"].min()) if len(frame) else 0)
    return min(0, earliest)
