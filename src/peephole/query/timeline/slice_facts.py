"""One slice and everything that is linked to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from peephole.model.json_text import parse
from peephole.model.plain_names import plain
from peephole.model.stacks import StackFrame, frames
from peephole.model.tables import NONE
from peephole.query.memory.buffers import of_several_processes, read_buffers
from peephole.query.timeline.correlations import Arrow, Links
from peephole.query.timeline.group_tracks import group_tracks
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class UsedBuffer:
    """A buffer that the slice read or wrote."""

    id: int
    device: str
    bytes: int
    dtype: str
    name: str
    mode: str
    position: int


@dataclass(frozen=True, slots=True)
class SliceDetail:
    """A slice with its links."""

    row: int
    track: int
    track_name: str
    depth: int
    start: int
    dur: int
    name: str
    context: int
    context_name: str
    args: dict[str, Any]
    correlation: int
    stack: tuple[StackFrame, ...]
    """Where its compilation was asked for, innermost first."""
    before: int
    """Row of the slice before it on its lane, -1 for none."""
    after: int


@dataclass(frozen=True, slots=True)
class SliceLinks:
    """What takes longer to find: its place among its like, its buffers and its arrows."""

    rank: int
    """By duration among the slices of its name on its track, 1 the longest; 0 when there are too many to count."""
    of: int
    runs: int
    """Slices of its name in the whole capture, of a kernel its runs; 0 when there are too many to count."""
    buffers: tuple[UsedBuffer, ...]
    several: bool
    """Whether buffers of the capture belong to several processes."""
    flows: tuple[Arrow, ...]


_COUNTED: Final = 4_000_000
"""Slices up to which those of one name are counted."""


def slice_detail(capture: Capture, row: int) -> SliceDetail:
    """The slice of that row; IndexError with how many there are when there is none."""
    _check_row(capture, row)
    frame = capture.read("slices", rows=slice(row, row + 1))
    track, depth = int(frame["track"][0]), int(frame["depth"][0])
    context = int(frame["context"][0])
    lanes = capture.lanes()
    lane = lanes.find(track, depth)
    first, count = int(lanes.first[lane]), int(lanes.count[lane])
    context_name, stack = _context(capture, context)
    return SliceDetail(
        row,
        track,
        _track_name(capture, track),
        depth,
        int(frame["start"][0]),
        int(frame["dur"][0]),
        frame.texts("name")[0] or "",
        context,
        context_name,
        _args(frame.texts("args")[0]),
        int(frame["correlation"][0]),
        stack,
        row - 1 if row > first else NONE,
        row + 1 if row + 1 < first + count else NONE,
    )


def slice_links(capture: Capture, row: int, links: Links) -> SliceLinks:
    """What the slice of that row is linked to; IndexError with how many there are when there is none."""
    _check_row(capture, row)
    frame = capture.read("slices", ["track", "dur", "name", "correlation", "context"], slice(row, row + 1))
    correlation, track, context = (int(frame[name][0]) for name in ("correlation", "track", "context"))
    rank, of, runs = _place(capture, track, int(frame["dur"][0]), frame.texts("name")[0], context)
    buffers, several = _buffers(capture, links, correlation)
    return SliceLinks(rank, of, runs, buffers, several, tuple(links.flows_of(correlation)))


def slice_at(capture: Capture, track: int, depth: int, time: int) -> int:
    """The row of the slice that covers a time on a lane, else of the nearest one; -1 for an empty lane."""
    lanes = capture.lanes()
    lane = lanes.find(track, depth)
    if lane < 0:
        return NONE
    frame, first = capture.slices(track, depth, time, time + 1)
    if len(frame):
        return first
    # the window is empty: `first` is where it would be, so one of the two neighbours is the nearest
    low, high = int(lanes.first[lane]), int(lanes.first[lane] + lanes.count[lane])
    near = [r for r in (first - 1, first) if low <= r < high]
    if not near:
        return NONE
    rows = capture.read("slices", ["start", "dur"], slice(near[0], near[-1] + 1))
    gaps = np.maximum(rows["start"] - time, time - rows["start"] - rows["dur"])
    return near[int(np.argmin(gaps))]


def _check_row(capture: Capture, row: int) -> None:
    slices = capture.count("slices")
    if not 0 <= row < slices:
        raise IndexError(slices)


def _args(text: str | None) -> dict[str, Any]:
    try:
        value = parse(text) if text else {}
    except ValueError:
        return {"args": text}
    return value if isinstance(value, dict) else {"args": value}


def _track_name(capture: Capture, number: int) -> str:
    frame = capture.read("tracks", ["id", "name"])
    found = np.flatnonzero(frame["id"] == number)
    return plain(frame.texts("name")[int(found[0])]) if len(found) else ""


def _context(capture: Capture, number: int) -> tuple[str, tuple[StackFrame, ...]]:
    if number < 0 or not capture.count("contexts"):
        return "", ()
    ids = capture.read("contexts", ["id"])["id"]
    found = np.flatnonzero(ids == number)
    if not len(found):
        return "", ()
    at = int(found[0])
    frame = capture.read("contexts", ["name", "stack"], slice(at, at + 1))
    return plain(frame.texts("name")[0]), frames(frame.texts("stack")[0])


def _place(capture: Capture, track: int, dur: int, name: str | None, context: int) -> tuple[int, int, int]:
    """How many of this name on the track are longer, plus one; how many there are; how many anywhere.

    Of a run of a kernel: of that kernel, on devices.
    """
    if name is None or capture.count("slices") > _COUNTED:
        return 0, 0, 0
    devices = [row.id for row in group_tracks(capture, "kernels")] if context >= 0 else []
    longer = of = runs = 0
    for frame in capture.scan("slices", ["track", "dur", "name", "context"]):
        texts = frame.texts("name")
        same = texts.codes == texts.code(name)
        if track in devices:
            same = (frame["context"] == context) & np.isin(frame["track"], devices)
        own = same & (frame["track"] == track)
        runs += int(same.sum())
        of += int(own.sum())
        longer += int((own & (frame["dur"] > dur)).sum())
    return longer + 1, of, runs


def _buffers(capture: Capture, links: Links, correlation: int) -> tuple[tuple[UsedBuffer, ...], bool]:
    uses = links.uses_of(correlation)
    if not uses:
        return (), False
    ids = capture.read("buffers", ["id"])["id"]
    places = np.flatnonzero(np.isin(ids, [use[0] for use in uses]))
    known = {buffer.id: buffer for buffer in read_buffers(capture, places)}
    found = [
        UsedBuffer(buffer.id, buffer.device, buffer.bytes, buffer.dtype, buffer.name, mode, position)
        for number, mode, position in uses
        if (buffer := known.get(number)) is not None
    ]
    return tuple(sorted(found, key=lambda use: use.position)), of_several_processes(ids)
