"""Flow events to arrows: each end is bound to the slice that it points at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink


class Flows:
    """Collects slices (20 bytes each) and flow events, and joins them when the file has ended."""

    def __init__(self) -> None:
        self._tracks: list[NDArray[np.int32]] = []
        self._starts: list[NDArray[np.int64]] = []
        self._durs: list[NDArray[np.int64]] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._events: dict[tuple[Any, ...], list[tuple[int, str, int, bool]]] = {}
        self._kinds: dict[tuple[Any, ...], str] = {}

    def slices(self, tracks: Any, starts: Any, durs: Any, numbers: Any) -> None:
        """Remembers where slices are, by their correlation numbers."""
        self._tracks.append(np.asarray(tracks, np.int32))
        self._starts.append(np.asarray(starts, np.int64))
        self._durs.append(np.asarray(durs, np.int64))
        self._numbers.append(np.asarray(numbers, np.int64))

    def event(self, key: tuple[Any, ...], kind: str, time: int, phase: str, track: int, encloses: bool) -> None:
        """Takes one s, t or f event."""
        self._events.setdefault(key, []).append((time, phase, track, encloses))
        self._kinds[key] = kind

    def finish(self, sink: Sink) -> None:
        """Appends the arrows; ends that point at nothing are counted."""
        if not self._events:
            return
        track = np.concatenate(self._tracks) if self._tracks else np.empty(0, np.int32)
        start = np.concatenate(self._starts) if self._starts else np.empty(0, np.int64)
        dur = np.concatenate(self._durs) if self._durs else np.empty(0, np.int64)
        number = np.concatenate(self._numbers) if self._numbers else np.empty(0, np.int64)
        wanted = {t for events in self._events.values() for _, _, t, _ in events}
        lanes: dict[int, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = {}
        order = np.lexsort((-dur, start, track))
        track, start, dur, number = track[order], start[order], dur[order], number[order]
        for lane in wanted:
            a, b = np.searchsorted(track, [lane, lane + 1])
            lanes[lane] = (start[a:b], start[a:b] + dur[a:b], number[a:b])
        rows: list[tuple[int, int, str]] = []
        lost = 0
        for key, events in self._events.items():
            rank = {"s": 0, "t": 1, "f": 2}
            events.sort(key=lambda event: (event[0], rank[event[1]]))
            previous = 0
            for time, phase, lane, encloses in events:
                bound = _bind(*lanes[lane], time, phase != "f" or encloses)
                if phase == "s":
                    previous = bound
                elif previous and bound:
                    rows.append((previous, bound, self._kinds[key]))
                    previous = bound
                else:
                    lost += 1
        if lost:
            sink.problem("flow whose end or begin has no slice", lost)
        if rows:
            sources, targets, kinds = zip(*rows, strict=True)
            sink.append("flows", {"from": list(sources), "to": list(targets), "kind": list(kinds)})


def _bind(
    starts: NDArray[np.int64], ends: NDArray[np.int64], numbers: NDArray[np.int64], time: int, encloses: bool
) -> int:
    """The innermost slice around a time, or the next one that begins; 0 when there is none."""
    at = int(np.searchsorted(starts, time, "right"))
    if encloses:
        # the innermost is the last that began before and has not ended; nesting is rarely deep
        for i in range(at - 1, max(at - 257, -1), -1):
            if ends[i] >= time:
                return int(numbers[i])
        return 0
    at = int(np.searchsorted(starts, time, "left"))
    return int(numbers[at]) if at < len(starts) else 0
