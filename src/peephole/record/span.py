"""A span: one slice, from `with` to its end.

Which lane a span goes to:

    MainThread     |== epoch =========================|        a span inside another one: one row deeper
                      |= load =| |= step ====|
    MainThread 2                |= fetch ======|               another task's span: a lane that is free, with a flow
                                                               (kind async) from the span that it came out of

The span that a new one belongs to is found through contextvars, so it is right across awaits, tasks and threads. A
lane takes a span only when nothing but its parent is open on top, so slices of one row never overlap.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from peephole.model.journal import FLAG_OPEN, KIND_SLICE, SLICE, SLOT
from peephole.model.tables import NONE
from peephole.record import active
from peephole.record.rows import json_text, text_of
from peephole.record.span_lanes import Lane, free_lane, main_lane
from peephole.record.writer import Writer, blank

Function = TypeVar("Function", bound=Callable[..., Any])

current: Final[ContextVar[span | None]] = ContextVar("peephole_span", default=None)
"""The innermost open span of this task or thread."""

_get: Final = current.get
_set: Final = current.set
_pack: Final = SLICE.pack_into
_OWN_NAMES: Final = 1000
_modules: Final = sys.modules
_running_loop: Callable[[], object] | None = None


class span:
    """Records what happens inside `with span("name"):`, or in every call of a function under `@span("name")`.

    Further keywords become the slice's args. It costs next to nothing while nothing is recorded.
    """

    # fmt: off
    __slots__ = (
        "_again", "_args", "_correlation", "_depth", "_given", "_lane", "_parent", "_task", "_told", "name", "start",
    )
    # fmt: on

    def __init__(self, name: str = "", **args: Any) -> None:
        self.name = name if name.__class__ is str else text_of(name)
        self._args = args
        self._lane: Lane | None = None
        self._correlation = 0
        self._task = 0
        self._again: list[span] | None = None
        self._told = False

    def __enter__(self) -> Self:
        recorder = active.recorder
        if recorder is None:
            return self
        if self._lane is not None:
            self._enter_again()
            return self
        try:
            slot = recorder.local.slot
            lane: Lane = slot.lane
            stack = lane.stack
        except AttributeError:
            lane = main_lane(recorder)
            slot = recorder.local.slot
            stack = lane.stack
        if self._correlation:
            self._correlation = 0  # the object was used before
        parent = _get()
        if stack[-1] is parent and ("asyncio" not in _modules if _running_loop is None else _running_loop() is None):
            self._depth = 0 if parent is None else parent._depth + 1
            self._parent = parent
        else:
            lane = self._place(lane, parent)
            stack = lane.stack
        stack.append(self)
        self._lane = lane
        _set(self)
        self.start = start = perf_counter_ns()
        if self.name not in slot.writer.texts:
            self._tell_new(start, slot.writer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = perf_counter_ns()
        lane = self._lane
        if lane is None:
            return
        if self._again:
            self._again.pop().__exit__(kind, error, trace)
            return
        self._lane = None
        self._told = False
        stack = lane.stack
        if stack[-1] is self:
            del stack[-1]
        elif self in stack:
            stack.remove(self)  # what it opened goes on: a generator or a task that outlives it
        if _get() is self:
            _set(self._parent)
        recorder = lane.recorder
        if recorder.closed or lane.generation != recorder.generation:
            return  # written when the recording stopped, or the parent's to write
        if kind is None and not self._args:
            start = self.start
            try:
                writer = recorder.local.slot.writer
            except AttributeError:
                writer = recorder.slot().writer
            text = writer.texts.get(self.name)
            pos = writer.pos
            if text is not None and pos < writer.limit:
                writer.pos = pos + SLOT
                buf = writer.buf
                try:
                    _pack(buf, pos, start, end - start, text, self._correlation, lane.track, self._depth, 0, KIND_SLICE)
                except struct.error:
                    blank(buf, pos)  # nested deeper than a slot can say
                else:
                    if end > recorder.flush_at:
                        recorder.flush(end)
                    return
        self._write(lane, end, kind)

    def __call__(self, function: Function) -> Function:
        """The function, recorded with a span of this name (its own when none was given) at every call."""
        from peephole.record.wrap import wrapped

        return wrapped(function, self.name, self._args)

    @property
    def id(self) -> int:
        """The number by which flows and uses name this span; ask for it before the span ends. 0 without recording."""
        if not self._correlation and self._lane is not None:
            self._correlation = self._lane.recorder.new_correlation()
        return self._correlation

    def note(self, **args: Any) -> None:
        """Adds args that are only known while the span is open; of several entries to the innermost."""
        if self._again:
            self._again[-1].note(**args)
            return
        if not hasattr(self, "_given"):
            self._given = self._args  # what the span has when it is entered the next time
        self._args = {**self._args, **args}

    def enter_aside(self) -> bool:
        """Opens the span on a lane of its own, whatever is open: for generators, which outlive the calls around."""
        recorder = active.recorder
        if recorder is not None:
            self._task = _task_number()
            lane = self._lane = self._settle(main_lane(recorder), _get(), aside=True)
            lane.stack.append(self)
            self.start = perf_counter_ns()
        return recorder is not None

    def tell(self, now: int) -> None:
        """Writes that the span is open, once."""
        if self._lane is not None and not self._told:
            self._told = True
            self.write_open(now)

    def write_open(self, now: int) -> None:
        """Writes the span as far as it got; the row that it ends with counts instead, if there ever is one."""
        lane = self._lane
        start = getattr(self, "start", now)  # another thread may be about to set it
        if lane is not None:
            args = json_text(self._args) if self._args else None
            writer = lane.recorder.slot().writer
            where = (lane.track, start, max(now - start, 0), self.name or "span", self._depth, self._correlation)
            if args is None:
                writer.slice(*where, FLAG_OPEN)
            else:
                writer.slice_with_args(*where, NONE, args, FLAG_OPEN)

    def _tell_new(self, now: int, writer: Writer) -> None:
        # what has a name of its own may last long: it is there when the program is killed. A program that gives
        # every span a name of its own must not write twice as much for it.
        if len(writer.texts) < _OWN_NAMES:
            self.tell(now)

    def _write(self, lane: Lane, end: int, kind: type[BaseException] | None) -> None:
        args = self._args
        if kind is not None:
            args = {**args, "error": kind.__name__}
        lane.recorder.slice(
            lane.track,
            self.start,
            end - self.start,
            self.name or "span",
            self._depth,
            correlation=self._correlation,
            args=args or None,
        )
        if hasattr(self, "_given"):
            self._args = self._given
            del self._given

    def _place(self, main: Lane, parent: span | None) -> Lane:
        """The lane for a span that may belong to another task or thread than what is open on this thread."""
        while parent is not None and not parent._is_open_in(main):
            parent = parent._parent
        self._task = task = _task_number()
        if parent is not None:
            lane = parent._lane
            assert lane is not None
            if lane.family is main.family and parent._task == task and lane.stack[-1] is parent:
                self._parent = parent
                self._depth = parent._depth + 1
                return lane
        return self._settle(main, parent)

    def _is_open_in(self, main: Lane) -> bool:
        lane = self._lane
        return lane is not None and lane.recorder is main.recorder and lane.generation == main.generation

    def _settle(self, main: Lane, parent: span | None, *, aside: bool = False) -> Lane:
        lane = free_lane(main, aside=aside)
        self._parent = parent
        self._depth = 0
        self._lane = lane
        if parent is not None and parent._lane is not None:
            lane.recorder.row("flows", **{"from": parent.id, "to": self.id}, kind="async")
        return lane

    def _enter_again(self) -> None:
        """One object may be entered while it is open; each entry is a span of its own."""
        inner = span(self.name, **getattr(self, "_given", self._args))
        if self._again is None:
            self._again = []
        self._again.append(inner)
        inner.__enter__()


def _task_number() -> int:
    """Tells tasks of asyncio apart; 0 outside of any."""
    global _running_loop  # noqa: PLW0603 - asyncio is the program's to import
    if _running_loop is None:
        events = _modules.get("asyncio.events")
        _running_loop = getattr(events, "_get_running_loop", None)
        if _running_loop is None:
            return 0
    loop = _running_loop()
    if loop is None:
        return 0
    task = _modules["asyncio"].current_task(loop)
    return 0 if task is None else id(task)
