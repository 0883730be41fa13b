"""Moments, values, arrows and memory: everything a program may record besides spans and rewrites.

All of these do nothing while nothing is recorded.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any, Literal

from peephole.model.tables import NONE
from peephole.record import active
from peephole.record.rows import args_text, text_of
from peephole.record.span import current, span

SpanOrId = span | int


def marker(name: str, colour: str | None = None, **args: Any) -> None:
    """Records a moment with a name, shown over the whole timeline. `colour`: #rrggbb or a name."""
    _moment(name, "marker", colour, args)


def signal(name: str, **args: Any) -> None:
    """Records a signal, the marker of a distributed program: `signal("START_FORWARD")`."""
    _moment(name, "signal", None, args)


def counter(name: str, value: float, unit: str | None = None) -> None:
    """Records the value that something has from now on; each name is a track of its own."""
    recorder = active.recorder
    if recorder is None:
        return
    time = perf_counter_ns()
    try:
        number = float(value)
    except Exception:  # whatever it is, the program went on with it
        recorder.problem("a counter was given something that is no number")
        return
    recorder.row("counters", track=recorder.track(text_of(name), "counter", unit=unit), time=time, value=number)


def flow(source: SpanOrId, target: SpanOrId, bytes: int | None = None, kind: str = "message") -> None:
    """Records an arrow from one span to another, given as spans that are still open or as their `id`."""
    recorder = active.recorder
    if recorder is None:
        return
    begin, end = _number(source), _number(target)
    if begin and end:
        recorder.row("flows", **{"from": begin, "to": end}, bytes=NONE if bytes is None else bytes, kind=kind)
    else:
        recorder.problem("a flow named a span that had ended without anyone asking for its id")


def alloc(bytes: int, device: str = "CPU", dtype: str | None = None, name: str | None = None) -> int:
    """Records that memory was taken and gives the number of the buffer; 0 when nothing is recorded."""
    recorder = active.recorder
    if recorder is None:
        return 0
    buffer = recorder.new_id()
    recorder.row("buffers", id=buffer, device=device, alloc=perf_counter_ns(), bytes=bytes, dtype=dtype, name=name)
    return buffer


def free(buffer: int) -> None:
    """Records that a buffer was given back."""
    recorder = active.recorder
    if recorder is not None and buffer:
        recorder.free(buffer, perf_counter_ns())


def use(
    buffer: int,
    mode: Literal["read", "write", "readwrite"] = "read",
    position: int = 0,
    by: SpanOrId | None = None,
) -> None:
    """Records that a span reads or writes a buffer: the innermost open one unless `by` names another."""
    recorder = active.recorder
    if recorder is None or not buffer:
        return
    user = current.get() if by is None else by
    number = 0 if user is None else _number(user)
    if number:
        recorder.row("uses", buffer=buffer, slice=number, mode=mode, position=position)
    else:
        recorder.problem("a buffer was used outside any open span")


def _moment(name: str, kind: str, colour: str | None, args: dict[str, Any]) -> None:
    recorder = active.recorder
    if recorder is not None:
        text = args_text(args) if args else None
        recorder.row("markers", time=perf_counter_ns(), name=name, kind=kind, colour=colour, args=text)


def _number(of: SpanOrId) -> int:
    return of.id if isinstance(of, span) else of
