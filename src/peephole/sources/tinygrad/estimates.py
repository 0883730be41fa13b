"""Where ranges probably were, until their device says how far its clock is off: for the live view and after SIGKILL.

tinygrad says it when the program ends. Until then two things bound what is to be added to a device's times:

    submitted on the host (exec) - began on the device  <=  offset  <=  seen on the host - ended on the device
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from peephole.model.tables import NONE
from peephole.sources.tinygrad.clock import SKEW, Offsets, device_of, ns
from peephole.sources.tinygrad.pairing import Key, Waiting, base_of, range_key, says_copy
from peephole.sources.tinygrad.text import NOT_UNDERSTOOD
from peephole.sources.tinygrad.tracks import Out

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

Clock = tuple[str, bool]
"""A device, and whether it is the clock of its copies."""
_NEAR: Final = 1_000_000_000


class Sketching(Protocol):
    """A timeline of its own for what is provisional."""

    offsets: Offsets

    def sketch(self, event: Any) -> None:
        """Writes a range."""


class Provisional:
    """Slices into the recorder until final ones come; nothing else."""

    def __init__(self, recorder: Recorder, out: Out) -> None:
        self._recorder = recorder
        self.track = out.track
        self.settle = recorder.settle

    def row(self, table: str, **columns: Any) -> None:
        """Takes a slice."""
        if table == "slices":
            self._recorder.provisional(
                columns["track"],
                columns["start"],
                columns["dur"],
                columns["name"],
                columns.get("context", NONE),
                columns["args"],
            )

    def problem(self, reason: str, count: int = 1) -> None:
        """The final rows say it."""

    def new_correlation(self) -> int:
        """No number: nothing refers to what is provisional."""
        return 0


class Estimates:
    """Writes ranges whose device has not said its offset yet; the estimate is made when its first ones come."""

    def __init__(self, out: Provisional, timeline: Sketching) -> None:
        self.fresh: list[Any] = []
        """Ranges that came since the last `write`."""
        self._next: tuple[int, list[Any]] = 0, []
        """Those that came before it, and when they were seen: exec points come a round later than ranges."""
        self._out = out
        self._timeline = timeline
        self._known: dict[Clock, int] = {}
        self._written = False

    def write(self, now: int, offsets: Offsets, execs: Waiting) -> None:
        """Writes what came in the round before and is still on an unknown clock."""
        (seen, due), self._next, self.fresh = self._next, (now, self.fresh), []
        due = [event for event in due if not offsets.knows(device_of(event))]
        if not due:
            return
        self._written = True
        for event in self._estimate(due, seen, execs):
            with suppress(*NOT_UNDERSTOOD):  # counted when it is taken
                self._timeline.sketch(event)

    def settle(self) -> None:
        """Says that the final ones have been written."""
        if self._written:
            self._written = False
            self._out.settle()

    def adopt(self, offsets: Offsets, events: Iterable[Any], execs: Waiting) -> list[str]:
        """Hands the estimates to the devices that never said anything; the device of each event that is moved by it."""
        seen, due = self._next
        self._estimate(due, seen, execs)
        own = self._timeline.offsets
        devices = [device for event in events if not offsets.knows(device := device_of(event)) and own.of(device)]
        offsets.adopt(own)
        return devices

    def _estimate(self, events: Sequence[Any], now: int, execs: Waiting) -> list[Any]:
        """Learns the offsets of new clocks and corrects those that lead into the future; the events with times."""
        least: dict[Clock, int] = {}
        most: dict[Clock, int] = {}
        turns: Counter[Key] = Counter()
        waiting: dict[Key, list[Any]] = {}
        good = []
        for event in events:
            try:
                times = list(_times(event))
                key = range_key(event)
                submitted = None
                if key is not None and any(clock not in self._known for clock, _, _ in times):
                    found = waiting[key] if key in waiting else waiting.setdefault(key, execs.all(key))
                    submitted = ns(found[turns[key]].ts) if turns[key] < len(found) else None
                    turns[key] += 1
            except NOT_UNDERSTOOD:
                continue  # counted when it is taken
            good.append(event)
            for clock, start, end in times:
                most[clock] = min(most.get(clock, now - end), now - end)
                if submitted is not None:
                    least[clock] = max(least.get(clock, submitted - start), submitted - start)
        for clock, bound in most.items():
            known = self._known.get(clock)
            offset = min(known, bound) if known is not None else _first(least.get(clock), bound)
            self._known[clock] = offset
            self._timeline.offsets.assume(clock[0], offset, clock[1])
        return good


def _first(least: int | None, most: int) -> int:
    if most >= 0 and (most < _NEAR if least is None else least <= SKEW):
        return 0  # the host's own clock fits
    return most if least is None else min(least, most)


def _times(event: Any) -> Iterator[tuple[Clock, int, int]]:
    if type(event).__name__ == "ProfileGraphEvent":
        for entry in event.ents:
            start, end = ns(event.sigs[entry.st_id]), ns(event.sigs[entry.en_id])
            yield (base_of(entry.device), says_copy(entry)), start, max(start, end)
    else:
        start = ns(event.st)
        yield (base_of(event.device), says_copy(event)), start, start if event.en is None else max(start, ns(event.en))
