"""Slices of one rank of a run, on the run's clock."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from peephole.errors import PeepholeError
from peephole.query.ranks.names import is_communication, step_number
from peephole.query.ranks.run import Rank, Run, tracks_of
from peephole.store.capture import Capture, open_capture
from peephole.store.rank_slices import base_of

_ALL: Final = 1 << 20
"""Slices of a step that are added up."""


def longest(run: Run, rank: int, start_ns: int, end_ns: int, most: int = 400) -> list[tuple[int, int, str]]:
    """The longest slices between two moments of the run's clock: start, length, name; none where a capture is gone."""
    path = run.capture_of(rank)
    row = run.rank(rank)
    if path is None or row is None:
        return []
    try:
        capture = open_capture(path)
    except PeepholeError:
        return []
    shift = _shift(capture, row, start_ns)
    lanes = capture.lanes()
    tracks = capture.read("tracks", ["id", "kind"])
    kinds = dict(zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True))
    own = np.isin(lanes.track, tracks_of(run, capture, rank))
    device = np.array([kinds.get(int(track)) == "device" for track in lanes.track], np.bool_) & own
    chosen = device if device.any() else own & (lanes.depth <= 1)
    found: list[tuple[int, int, str]] = []
    for lane in np.flatnonzero(chosen).tolist():
        track, depth = int(lanes.track[lane]), int(lanes.depth[lane])
        frame, _ = capture.slices(track, depth, start_ns + shift, end_ns + shift, ["start", "dur", "name"])
        names = frame.texts("name")
        keep = np.argsort(-frame["dur"], kind="stable")[:most].tolist()
        found += [(int(frame["start"][i]) - shift, int(frame["dur"][i]), names[i] or "") for i in keep]
    found = [one for one in found if not is_communication(one[2]) and step_number(one[2]) < 0]
    # what spans all of it, such as the profiler's own range, says nothing about the step
    found = [one for one in found if one[0] > start_ns or one[0] + one[1] < end_ns]
    found.sort(key=lambda one: -one[1])
    return sorted(found[:most])


def own_window(run: Run, rank: int, start_ns: int, end_ns: int) -> tuple[Path, int, int]:
    """The capture of a rank, and two moments of the run's clock on its own; PeepholeError where it is gone."""
    path, row = run.capture_of(rank), run.rank(rank)
    if path is None or row is None or not path.exists():
        raise PeepholeError(f"The capture of rank {rank} is gone; the run's own tables are all that is left of it.")
    shift = _shift(open_capture(path), row, start_ns)
    return path, start_ns + shift, end_ns + shift


def mostly(run: Run, rank: int, start_ns: int, end_ns: int) -> str:
    """The name that took most of the time between two moments, empty where the rank's capture says nothing."""
    times: dict[str, int] = {}
    for start, dur, name in longest(run, rank, start_ns, end_ns):
        inside = min(start + dur, end_ns) - max(start, start_ns)
        times[name] = times.get(name, 0) + max(inside, 0)
    return max(times, key=lambda name: times[name], default="")


def longer(run: Run, rank: tuple[int, int, int], other: tuple[int, int, int], most: int) -> list[tuple[str, int]]:
    """What one rank ran longer than another, by name: ns, most first. Both are a rank, and from when to when."""
    times: dict[str, int] = {}
    for sign, (number, start_ns, end_ns) in ((1, rank), (-1, other)):
        for _, dur, name in longest(run, number, start_ns, end_ns, _ALL):
            times[name] = times.get(name, 0) + sign * dur
    found = [(name, ns) for name, ns in times.items() if ns > 0]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]


def _shift(capture: Capture, row: Rank, moment: int) -> int:
    """What a moment of the run's clock lacks to be one of the capture's."""
    return row.offset_ns + round((moment + row.offset_ns - row.clock_ns) * row.drift) - base_of(capture)
