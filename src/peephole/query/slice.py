"""One slice and everything that is linked to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from peephole.model.tables import NONE
from peephole.query.memory import read_buffers
from peephole.query.names import plain
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
class FlowEnd:
    """The other end of an arrow."""

    row: int
    track: int
    depth: int
    start: int
    dur: int
    name: str
    bytes: int
    kind: str
    outgoing: bool


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
    ordinal: int
    """Which of its name on its lane it is, from 1, and of how many; 0 of 0 when the lane is too long to count."""
    of: int
    buffers: tuple[UsedBuffer, ...]
    flows: tuple[FlowEnd, ...]
    before: int
    """Row of the slice before it on its lane, -1 for none."""
    after: int


_COUNTED = 2_000_000


def slice_detail(capture: Capture, row: int) -> SliceDetail:
    """The slice of that row; IndexError when there is none."""
    if not 0 <= row < capture.count("slices"):
        raise IndexError(row)
    frame = capture.read("slices", rows=slice(row, row + 1))
    track, depth = int(frame["track"][0]), int(frame["depth"][0])
    correlation, context = int(frame["correlation"][0]), int(frame["context"][0])
    name = frame.texts("name")[0] or ""
    lanes = capture.lanes()
    lane = lanes.find(track, depth)
    first, count = int(lanes.first[lane]), int(lanes.count[lane])
    ordinal, of = _ordinal(capture, first, count, row, name)
    return SliceDetail(
        row,
        track,
        _name_of(capture, "tracks", track),
        depth,
        int(frame["start"][0]),
        int(frame["dur"][0]),
        plain(name),
        context,
        _name_of(capture, "contexts", context),
        _args(frame.texts("args")[0]),
        ordinal,
        of,
        _buffers(capture, correlation),
        _flows(capture, correlation),
        row - 1 if row > first else NONE,
        row + 1 if row + 1 < first + count else NONE,
    )


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


def _args(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        return {"args": text}
    return value if isinstance(value, dict) else {"args": value}


def _name_of(capture: Capture, table: str, number: int) -> str:
    if number < 0 or not capture.count(table):
        return ""
    frame = capture.read(table, ["id", "name"])
    found = np.flatnonzero(frame["id"] == number)
    return plain(frame.texts("name")[int(found[0])]) if len(found) else ""


def _ordinal(capture: Capture, first: int, count: int, row: int, name: str) -> tuple[int, int]:
    if count > _COUNTED:
        return 0, 0
    before = whole = 0
    for frame in capture.scan("slices", ["name"], rows=slice(first, first + count)):
        texts = frame.texts("name")
        same = np.flatnonzero(texts.codes == texts.code(name)) + first
        before += int((same < row).sum())
        whole += len(same)
        first += len(frame)
    return before + 1, whole


def _buffers(capture: Capture, correlation: int) -> tuple[UsedBuffer, ...]:
    if not correlation or not capture.count("uses"):
        return ()
    uses = capture.read("uses", ["buffer", "slice", "mode", "position"])
    rows = np.flatnonzero(uses["slice"] == correlation)
    if not len(rows):
        return ()
    wanted = uses["buffer"][rows]
    ids = capture.read("buffers", ["id"])["id"]
    places = np.flatnonzero(np.isin(ids, wanted))
    known = {buffer.id: buffer for buffer in read_buffers(capture, places)}
    modes = uses.texts("mode")
    found = []
    for row in rows.tolist():
        buffer = known.get(int(uses["buffer"][row]))
        if buffer is not None:
            found.append(
                UsedBuffer(
                    buffer.id, buffer.device, buffer.bytes, buffer.dtype, buffer.name, modes[row] or "",
                    int(uses["position"][row]),
                )
            )  # fmt: skip
    return tuple(sorted(found, key=lambda use: use.position))


def _flows(capture: Capture, correlation: int, most: int = 200) -> tuple[FlowEnd, ...]:
    if not correlation or not capture.count("flows"):
        return ()
    flows = capture.read("flows", ["from", "to", "bytes", "kind"])
    rows = np.flatnonzero((flows["from"] == correlation) | (flows["to"] == correlation))[:most]
    if not len(rows):
        return ()
    others = np.where(flows["from"][rows] == correlation, flows["to"][rows], flows["from"][rows])
    ends = find_correlated(capture, others)
    kinds = flows.texts("kind")
    found = []
    for row, other in zip(rows.tolist(), others.tolist(), strict=True):
        if other in ends:
            outgoing = int(flows["from"][row]) == correlation
            found.append(FlowEnd(*ends[other], int(flows["bytes"][row]), kinds[row] or "", outgoing))
    return tuple(found)


def find_correlated(capture: Capture, numbers: Any) -> dict[int, tuple[int, int, int, int, int, str]]:
    """Row, track, depth, start, duration and name of the slices with these correlations."""
    found: dict[int, tuple[int, int, int, int, int, str]] = {}
    first = 0
    for frame in capture.scan("slices", ["correlation", "track", "depth", "start", "dur", "name"]):
        texts = frame.texts("name")
        for at in np.flatnonzero(np.isin(frame["correlation"], numbers)).tolist():
            found[int(frame["correlation"][at])] = (
                first + at, int(frame["track"][at]), int(frame["depth"][at]), int(frame["start"][at]),
                int(frame["dur"][at]), plain(texts[at]),
            )  # fmt: skip
        first += len(frame)
    return found
