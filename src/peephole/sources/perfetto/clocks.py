"""The clocks of a trace: times of any of them as times of the trace's own."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.sources.scans.pair_table import PairTable
from peephole.sources.scans.wire import fields, signed

REALTIME, BOOTTIME = 1, 6
_NAMES: Final = {1: "realtime", 2: "realtime, coarse", 3: "monotonic", 4: "monotonic, coarse", 5: "monotonic, raw",
                 6: "boottime"}  # fmt: skip
_OWN: Final = range(64, 128)
_LARGEST: Final = 1 << 31
"""Nanoseconds of a clock's unit."""


class Clocks:
    """Takes snapshots, which say what several clocks showed at one moment."""

    def __init__(self) -> None:
        self.trace = BOOTTIME
        self._stated = False
        self._snapshots: list[dict[int, int]] = []
        self._ways: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]] | None] = {}
        self.table = PairTable()
        """Clocks of a sequence, by its place and the clock's number: rows of `states`."""
        self.states = np.zeros((16, 3), np.int64)
        """Last value in units, nanoseconds of a unit, whether times are differences."""
        self.strangers: dict[int, int] = {}
        """Events by clock that no snapshot relates to the trace's."""

    def snapshot(self, sequence: int, message: bytes) -> None:
        """Takes a ClockSnapshot that was written on a sequence."""
        times: dict[int, int] = {}
        for number, value in fields(message):
            if number == 1 and isinstance(value, bytes):
                self._clock(sequence, value, times)
            elif number == 2 and isinstance(value, int) and value and not self._stated:
                self._stated, self.trace = True, value
        self._snapshots.append(times)
        self._ways.clear()

    def _clock(self, sequence: int, message: bytes, times: dict[int, int]) -> None:
        found = {number: value for number, value in fields(message) if isinstance(value, int)}
        clock, time = found.get(1, 0), signed(found.get(2, 0))
        unit = found.get(4) or 1
        if not 0 < unit < _LARGEST:
            unit = 1
        if clock in _OWN:
            place = self.table.get(sequence, clock)
            if place < 0:
                place = self.table.count
                self.table.put(sequence, clock, place)
                if place >= len(self.states):
                    self.states = np.concatenate([self.states, np.zeros_like(self.states)])
            self.states[place] = time, unit, bool(found.get(3))
            clock += (sequence + 1) * 128
        times[clock] = time * unit

    def convert(self, domain: NDArray[np.int64], time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of those clocks as times of the trace."""
        out = time.copy()
        for clock in np.unique(domain).tolist():
            if clock in (0, self.trace):
                continue
            own = domain == clock
            way = self._way(clock)
            if way is None:
                self.strangers[clock] = self.strangers.get(clock, 0) + int(own.sum())
                continue
            there, here = way
            at = np.maximum(np.searchsorted(there, time[own], "right") - 1, 0)
            out[own] = time[own] - there[at] + here[at]
        return out

    def _way(self, clock: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """What a clock showed at some moments and what the trace's did then."""
        if clock not in self._ways:
            self._ways[clock] = self._found_way(clock)
        return self._ways[clock]

    def _found_way(self, clock: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        before: dict[int, int] = {clock: clock}
        waiting = deque([clock])
        while waiting and self.trace not in before:
            here = waiting.popleft()
            for times in self._snapshots:
                if here in times:
                    for other in times:
                        if other not in before:
                            before[other] = here
                            waiting.append(other)
        if self.trace not in before:
            return None
        path = [self.trace]
        while path[-1] != clock:
            path.append(before[path[-1]])
        path.reverse()
        there, here_times = self._pairs(path[0], path[1])
        first = there
        for a, b in itertools.pairwise(path[1:]):
            froms, tos = self._pairs(a, b)
            at = np.maximum(np.searchsorted(froms, here_times, "right") - 1, 0)
            here_times = here_times - froms[at] + tos[at]
        return first, here_times

    def _pairs(self, a: int, b: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both clocks' times in the snapshots that have both, in the order of the first's."""
        found = np.array([(times[a], times[b]) for times in self._snapshots if a in times and b in times], np.int64)
        found = found[np.argsort(found[:, 0], kind="stable")]
        return found[:, 0], found[:, 1]

    def facts(self) -> dict[str, Any]:
        """What the manifest says of them; `base_ns` is the time of day at the trace's 0, when it is known."""
        base = next((s[REALTIME] - s[self.trace] for s in self._snapshots if REALTIME in s and self.trace in s), None)
        return {"unit": "trace", "base_ns": base, "clock": _NAMES.get(self.trace, str(self.trace))}

    def name(self, domain: int) -> str:
        """What a user may know a clock by."""
        if domain >= 128 and domain % 128 in _OWN:
            return f"{domain % 128} of a sequence"
        return f"{domain} ({_NAMES[domain]})" if domain in _NAMES else str(domain)
