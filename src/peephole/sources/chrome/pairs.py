"""Begin and end events to slices: B/E per thread, b/e per category, id and scope.

Files are not always sorted, so events wait in a window and are matched in time order; the window bounds the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from peephole.model.sink import Sink

WINDOW = 1 << 18
Waiting = tuple[int, bool, tuple[int, ...], int, int, str | None]
"""time, whether it is a begin, what belongs together, track, name's number, args."""
Slice = tuple[int, int, int, int, str | None]
"""track, start, dur, name's number, args."""
_Key = tuple[int, ...]
_OPEN_ARGS = '{"open":true}'


class Pairs:
    """Takes begins and ends in file order, gives slices to `emit`."""

    def __init__(self, sink: Sink, emit: Callable[[Slice], None], text: Callable[[int], str], window: int = WINDOW):
        self._sink, self._emit, self._text = sink, emit, text
        self._window = window
        self._waiting: list[Waiting] = []
        self._sorted_to = -(2**63)
        self._open: dict[_Key, list[tuple[int, int, int, str | None]]] = {}
        self._inverted = 0

    def take(self, time: int, begins: bool, key: _Key, track: int, name: int, args: str | None) -> None:
        """One begin or end; `key` says which belong together."""
        self._waiting.append((time, begins, key, track, name, args))
        if len(self._waiting) >= 2 * self._window:
            self._match(self._window)

    def take_all(self, events: list[Waiting]) -> None:
        """The same for many."""
        at = 0
        while at < len(events):
            room = 2 * self._window - len(self._waiting)
            self._waiting += events[at : at + room]
            at += room
            if len(self._waiting) >= 2 * self._window:
                self._match(self._window)

    def _match(self, keep: int) -> None:
        waiting = self._waiting
        waiting.sort(key=itemgetter(0))
        ready, self._waiting = waiting[: len(waiting) - keep], waiting[len(waiting) - keep :]
        for time, begins, key, track, name, args in ready:
            if time < self._sorted_to:
                self._inverted += 1
            else:
                self._sorted_to = time
            if begins:
                self._open.setdefault(key, []).append((time, track, name, args))
            else:
                self._end(time, key, name, args)

    def _end(self, time: int, key: _Key, name: int, args: str | None) -> None:
        stack = self._open.get(key)
        if not stack:
            self._sink.problem("end without a begin", 1, self._text(name))
            return
        at = len(stack) - 1
        if name > 0 and stack[at][2] != name:
            # crossing instead of nesting: the innermost open one of that name, else the innermost
            at = next((i for i in range(len(stack) - 1, -1, -1) if stack[i][2] == name), at)
        start, track, begun, begin_args = stack.pop(at)
        if not stack:
            del self._open[key]
        self._emit((track, start, max(time - start, 0), begun, merged(begin_args, args)))

    def finish(self, last: int) -> None:
        """The file has ended at time `last`: what is open becomes a slice that says so."""
        self._match(0)
        count = 0
        for stack in self._open.values():
            for start, track, name, args in stack:
                self._emit((track, start, max(last - start, 0), name, merged(args, _OPEN_ARGS)))
                count += 1
        if count:
            self._sink.problem("slice that was still open at the end", count)
        if self._inverted:
            self._sink.problem("begin or end that stood far from its place in time", self._inverted)
        self._open.clear()
        self._inverted, self._sorted_to = 0, -(2**63)


def merged(first: str | None, second: str | None) -> str | None:
    """Two JSON objects as one text."""
    if first is None or second is None:
        return first if second is None else second
    return first[:-1].rstrip() + ("," if len(first) > 2 else "") + second.lstrip()[1:]
