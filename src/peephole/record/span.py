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

import contextlib
import struct
import sys
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from peephole.model.journal import FLAG_OPEN, INLINE, KIND_ARGS, KIND_SLICE, SLICE
from peephole.model.tables import NONE
from peephole.record import active, collection
from peephole.record.marks import put_mark
from peephole.record.rows import args_bytes, args_text, text_of
from peephole.record.span_lanes import Lane, free_lane, main_lane
from peephole.record.writer import NO_CONTEXT, Writer

Function = TypeVar("Function", bound=Callable[..., Any])

current: Final[ContextVar[span | None]] = ContextVar("peephole_span", default=None)
"""The innermost open span of this task or thread."""

_get: Final = current.get
_set: Final = current.set
_pack: Final = SLICE.pack
_pack_both: Final = struct.Struct(f"<Iq{INLINE - 8}sxB{SLICE.format[1:]}").pack
"""A slot of args without context, and the slice's."""
_OWN_NAMES: Final = 1000
_modules: Final = sys.modules
_collecting: Final = collection.running
_running_loop: Callable[[], object] | None = None


class span:
    """Records what happens inside `with span("name"):`, or in every call of a function under `@span("name")`.

    Further keywords become the slice's args. It costs next to nothing while nothing is recorded.
    """

    # fmt: off
    __slots__ = (
        "_again", "_args", "_correlation", "_depth", "_given", "_lane", "_number", "_parent", "_task", "_told", "name",
        "start",
    )
    # fmt: on

    def __init__(self, name: str = "", **args: Any) -> None:
        self.name = name if name.__class__ is str else text_of(name)
        self._args = args
        self._lane: Lane | None = None
        self._again: list[span] | None = None
        self._given: dict[str, Any] | None = None
        self._correlation = self._task = self._told = 0
        self._number: int | None

    def __enter__(self) -> Self:
        # a handler, finalizer or tracing function may come in between any two steps, with spans of its own: see each
        # step's neighbours before you move it
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
            slot = recorder.slot()
            stack = lane.stack
        if self._correlation:
            self._correlation = 0  # the object was used before
        self.start = 0  # not begun yet: nobody writes it as open
        parent = _get()
        if (
            stack[-1] is parent
            and not _collecting
            and ("asyncio" not in _modules if _running_loop is None else _running_loop() is None)
        ):
            self._depth = depth = 0 if parent is None else parent._depth + 1
            self._parent = parent
            self._lane = lane
        else:
            lane = self._place(lane, parent, slot)
            stack = lane.stack
            depth = self._depth
            parent = self._parent if depth else None
        try:
            # first the lane, so that others go elsewhere, then the time, then others may be inside
            stack.append(self)
            if stack[-2] is not parent:
                lane, depth = self._settle_anew(lane, slot), 0
            self.start = start = perf_counter_ns()
            if _collecting:
                self._set_inside(slot)
            else:
                _set(self)
            self._number = number = slot.writer.texts.get(self.name or "span")
            if number is None:
                self._tell_new(start, slot.writer)
            else:
                try:
                    buf, at = lane.marks[depth]
                except IndexError:
                    buf, at = lane.mark(depth)
                put_mark(buf, at, start, number, self._correlation, start)
        except BaseException:  # of a handler: nobody will end what did not begin
            self._abandon(lane)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lane = self._lane
        if lane is None:
            return
        if self._again:
            self._exit_again(kind, error, trace)
            return
        recorder = lane.recorder
        stack = lane.stack
        try:
            slot = recorder.local.slot
            if slot.lane is lane and stack[-1] is self:
                top = stack.pop()
                if top is not self:  # left open by a handler that came in between
                    stack.append(top)
                    lane.drop(self)
            else:
                lane.drop(self)
        except AttributeError:
            slot = recorder.slot()
            lane.drop(self)
        end = perf_counter_ns()
        self._lane = None
        if lane.order:
            lane.release()
        if _get() is self:
            if not _collecting or not collection.runs_here():
                _set(self._parent)  # else the next span finds that this one has ended
        elif slot.inside:
            self._leave_inside(slot)
        if lane.generation != recorder.generation:
            return  # written when the recording stopped, or the parent's to write
        number = self._number
        writer = slot.writer
        if kind is None and number and writer.thread == lane.thread:  # else the text has another number here
            start, args = self.start, self._args
            correlation, track, depth = self._correlation, lane.track, self._depth
            try:
                if not args:
                    writer.place.write(_pack(start, end - start, number, correlation, track, depth, 0, KIND_SLICE))
                else:
                    text = args_bytes(args)
                    length = len(text) + 8
                    if length <= INLINE:
                        writer.place.write(
                            _pack_both(
                                length, NONE, text, KIND_ARGS,
                                start, end - start, number, correlation, track, depth, 0, KIND_SLICE,
                            )
                        )  # fmt: skip
                    else:
                        block = _pack(start, end - start, number, correlation, track, depth, 0, KIND_SLICE)
                        if not writer.slice_with(NO_CONTEXT + text, block):
                            writer.lose()
                    if self._given is not None:
                        self._args, self._given = self._given, None
            except (ValueError, struct.error):  # the segment is full, or nested deeper than a slot can say
                pass
            else:
                if end > recorder.flush_at:
                    recorder.flush(end)
                return
        self._write(lane, end, kind)

    def __call__(self, function: Function = None) -> Function:  # type: ignore[assignment]
        """The function, recorded with a span of this name (its own when none was given) at every call.

        Without one it was meant to be called itself, under `@span` without parentheses: `wrapped` says so.
        """
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
        if self._given is None:
            self._given = self._args  # what the span has when it is entered the next time
        self._args = {**self._args, **args}

    def enter_aside(self) -> bool:
        """Opens the span on a lane of its own, whatever is open: for generators, which outlive the calls around."""
        recorder = active.recorder
        if recorder is not None:
            self.start = 0
            self._number = None
            self._task = _task_number()
            lane = self._settle(main_lane(recorder), _get(), aside=True)
            try:
                lane.stack.append(self)
                self.start = start = perf_counter_ns()
                number = recorder.slot().writer.intern(self.name or "span")
                if number > 0:
                    put_mark(*lane.mark(0), start, number, self._correlation, start)
            except BaseException:
                self._abandon(lane)
                raise
        return recorder is not None

    def tell(self, now: int) -> None:
        """Writes that the span is open, once; without args its mark says so."""
        if self._lane is not None and self._told != self.start and self._args:
            self._told = self.start
            self.write_open(now)

    def write_open(self, now: int) -> None:
        """Writes the span as far as it got; the row that it ends with counts instead, if there ever is one."""
        lane = self._lane
        start = self.start or now  # another thread may be about to set it
        if lane is not None:
            args = args_text(self._args) if self._args else None
            writer = lane.recorder.slot().writer
            where = (lane.track, start, max(now - start, 0), self.name or "span", self._depth, self._correlation)
            with contextlib.suppress(struct.error):  # nested deeper than a slot can say
                if args is None:
                    writer.slice(*where, FLAG_OPEN, counts=False)
                else:
                    writer.slice_with_args(*where, NONE, args, FLAG_OPEN, counts=False)

    def _tell_new(self, start: int, writer: Writer) -> None:
        # what has a name of its own may last long: its args are there when the program is killed. A program that gives
        # every span a name of its own must not write twice as much for it.
        number = writer.intern(self.name or "span")
        lane = self._lane
        if number > 0 and lane is not None:
            self._number = number
            put_mark(*lane.mark(self._depth), start, number, self._correlation, start)
            if len(writer.texts) < _OWN_NAMES:
                self.tell(start)

    def _abandon(self, lane: Lane) -> None:
        lane.drop(self)
        self._lane = None
        lane.release()
        if _get() is self and not _collecting:
            _set(self._parent)

    def _set_inside(self, slot: Any) -> None:
        """What `_set` does, where a collection may run."""
        if collection.runs_here():
            slot.inside.append(self)
        else:
            _set(self)

    def _leave_inside(self, slot: Any) -> None:
        with contextlib.suppress(ValueError):
            slot.inside.remove(self)

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
        if self._given is not None:
            self._args, self._given = self._given, None
        if end > lane.recorder.flush_at:
            lane.recorder.flush(end)

    def _place(self, main: Lane, parent: span | None, slot: Any) -> Lane:
        """The lane for a span that may belong to another task or thread than what is open on this thread."""
        if slot.inside and collection.runs_here():
            parent = slot.inside[-1]
        while parent is not None and not parent._is_open_in(main):
            parent = parent._parent
        main.heal()
        self._task = task = _task_number()
        if parent is not None:
            lane = parent._lane
            if lane is not None:
                lane.heal()
                if lane.family is main.family and parent._task == task and lane.stack[-1] is parent:
                    self._parent = parent
                    self._depth = parent._depth + 1
                    self._lane = lane
                    return lane
        return self._settle(main, parent)

    def _is_open_in(self, main: Lane) -> bool:
        lane = self._lane
        return lane is not None and lane.recorder is main.recorder and lane.generation == main.generation

    def _settle(self, main: Lane, parent: span | None, *, aside: bool = False) -> Lane:
        # a parent that is on no stack is about to end, or to begin: its row is not free yet
        lane = free_lane(main, aside=aside or (parent is not None and parent._lane is main))
        self._parent = parent
        self._depth = 0
        self._lane = lane
        if parent is not None and parent._lane is not None:
            lane.recorder.row("flows", **{"from": parent.id, "to": self.id}, kind="async")
        return lane

    def _settle_anew(self, lane: Lane, slot: Any) -> Lane:
        """Another lane for a span under which, while it was entered, a handler left one open."""
        while True:
            lane.drop(self)
            lane.release()
            lane = self._settle(slot.lane, self._parent)
            lane.stack.append(self)
            if len(lane.stack) == 2:
                return lane

    def _enter_again(self) -> None:
        """One object may be entered while it is open; each entry is a span of its own."""
        inner = span(self.name, **(self._args if self._given is None else self._given))
        if self._again is None:
            self._again = []
        inner.__enter__()
        self._again.append(inner)

    def _exit_again(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            inner = self._again.pop() if self._again else self
        except IndexError:  # ended by a handler that came in between
            inner = self
        inner.__exit__(kind, error, trace)


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
