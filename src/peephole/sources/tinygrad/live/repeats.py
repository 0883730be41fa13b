"""Kernels that run again and again, in a captured JIT: a slot in the journal each time, and nothing else.

tinygrad writes an `exec` point for each run, an object with the names and numbers of all that it used, and the
follower makes rows of it. That costs several times what the run of a small kernel does. What is the same each time
(a call is an immutable node) is written once, as a plan (model/journal.py), when a call runs for the second time:

    first run    exec point, range  ─▶ Timeline ─▶ slice, uses
    later ones   plan number, start, length, variables, buffers that the JIT was given  ─▶ sealing ─▶ slice, uses

Only for devices that run a kernel in the call of its program, which `kernel_times` times. Standard library only.
"""

from __future__ import annotations

import functools
import struct
import sys
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from peephole.model.journal import KIND_PLAN, KIND_RUN, OPEN_BUFFER, RUN
from peephole.model.tables import NONE
from peephole.record.rows import json_text
from peephole.record.unseen import hide, unseen
from peephole.sources.tinygrad.buffers import life_number
from peephole.sources.tinygrad.event_args import variables_of
from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.live.plans import Planner
from peephole.sources.tinygrad.live.recode import PREFIX
from peephole.sources.tinygrad.own_ranges import Known, Ran
from peephole.sources.tinygrad.text import NOT_UNDERSTOOD

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder
    from peephole.record.writer import Writer
    from peephole.sources.tinygrad.timeline import Timeline

_WHOLE: Final = struct.Struct(f"<I{RUN.format[1:]}2xBB").pack
"""A run without open buffers: all of its slot."""
_LONGEST: Final = 0xFFFFFFFF


class Ours(int):
    """The level of PROFILE that we set, told apart from one that the program set."""


class Plan:
    """What the runs of a call have in common."""

    __slots__ = ("book", "known", "number", "open", "payload", "stamp", "writer")

    def __init__(self, book: Book, number: int, payload: bytes, known: Known, slots: tuple[int, ...]) -> None:
        self.book = book
        self.stamp = book.stamp
        self.number = number
        self.known = known
        self.open = slots
        """The inputs of the JIT that it uses."""
        self.payload = payload
        self.writer: Writer | None = None
        """That of the thread that it was written by: another one's series has it too, before its runs."""


class Seen:
    """A call that ran, and when first."""

    __slots__ = ("book", "hopeless", "since")

    def __init__(self, book: Book, *, hopeless: bool = False) -> None:
        self.book = book
        self.since = perf_counter_ns()
        self.hopeless = hopeless
        """It is written in tinygrad's way each time."""


class Book:
    """The plans of one recording."""

    def __init__(self, recorder: Recorder, timeline: Timeline, *, linked: bool) -> None:
        self.recorder = recorder
        self.planner = Planner(timeline, linked=linked)
        self.stamp = 0
        """Grows when a buffer is allocated anew: a plan names the one that was there before."""
        self._values: tuple[tuple[Any, ...], Writer | None, int] = ((), None, 0)

    def write(self, plan: Plan, start: int, dur: int, variables: dict[str, Any], buffers: list[int]) -> None:
        """Writes that a call ran."""
        recorder = self.recorder
        if recorder.closed:
            return
        try:
            writer = recorder.local.slot.writer
        except AttributeError:
            writer = recorder.slot().writer
        if writer is not plan.writer:
            if not writer.record(KIND_PLAN, plan.payload):
                return
            plan.writer = writer
        values = 0
        if variables:
            items = tuple(variables.items())
            last = self._values
            if last[0] == items and last[1] is writer:
                values = last[2]
            else:
                values = max(0, writer.intern(json_text(variables_of(variables))))
                self._values = items, writer, values
        correlation = recorder.new_correlation()
        if not buffers:
            if not writer.put(_WHOLE(RUN.size, start, dur, plan.number, correlation, values, 0, KIND_RUN)):
                writer.lose()
            return
        more = struct.pack(f"<{len(buffers)}q", *buffers)
        writer.record(KIND_RUN, RUN.pack(start, dur, plan.number, correlation, values) + more)


_book: Book | None = None
"""That of the recording that is under way."""


def follow(book: Book | None) -> None:
    """Makes this the book that runs are written to."""
    global _book  # noqa: PLW0603
    _book = book


def count_lives(buffer: Any, profile: Any) -> None:
    """Makes buffers know how often they were allocated in this recording."""
    if "_peephole_lives" in vars(buffer):
        return
    allocate = buffer.allocate

    @unseen
    @functools.wraps(allocate)
    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            done = allocate(self, *args, **kwargs)
            book = _book
            if book is not None and self._base is None and profile.value:
                before = self.__dict__.get("_peephole_life")
                life = 0
                if before is not None and before[0] is book:
                    life = before[1] + 1
                    book.stamp += 1
                self._peephole_life = (book, life)
            return done
        except BaseException as error:
            hide(error)
            raise

    buffer.allocate = counted
    buffer._peephole_lives = True


def buffer_number(book: Book, buffer: Any) -> int:
    """Our number of a buffer, or of the one that it is a view of; NONE for one that is not recorded."""
    base = buffer.base
    life = base.__dict__.get("_peephole_life")
    if life is None or life[0] is not book or base.trace_num in book.planner.unallocated:
        return NONE
    return life_number(base.trace_num, life[1])


def plan_repeats(realize: ModuleType | None, ran: deque[Ran]) -> None:
    """Puts what writes repeated calls as plans and runs in the place of tinygrad's bookkeeping."""
    if realize is None or "_peephole_repeats" in vars(realize) or realize.__spec__._initializing:  # type: ignore[union-attr]
        return
    own = getattr(realize, "track_stats", None)
    needed = ("runtime_cache", "get_call_arg_uops", "get_call_outs_ins", "pm_exec", "PROFILE")
    if type(own) is not FunctionType or own.__code__.co_varnames[:4] != ("ctx", "call", "st", "ets"):
        return
    if not all(hasattr(realize, name) for name in needed):
        return
    vars(realize)["_peephole_repeats"] = True
    realize.track_stats = _tracking(realize, own, ran)  # type: ignore[attr-defined]


def _tracking(realize: Any, own: FunctionType, ran: deque[Ran]) -> Callable[..., Any]:
    profile = hidden.of(realize, "PROFILE")
    # tinygrad's own function as it is in an unrecorded program: counters, and what DEBUG prints
    off = dict.fromkeys(("PROFILE", f"{PREFIX}PROFILE"), 0)
    quiet = FunctionType(own.__code__, {**vars(realize), **off}, own.__name__, own.__defaults__)

    @unseen
    @functools.wraps(own)
    def track_stats(ctx: Any, call: Any, st: Any, ets: Any) -> None:
        try:
            book = _book
            if book is None or profile.value.__class__ is not Ours:
                own(ctx, call, st, ets)
                return
            plan = call.__dict__.get("_peephole")
            if plan.__class__ is not Plan or plan.book is not book or plan.stamp != book.stamp:
                plan = _next(realize, book, call, plan)
                if plan is None:
                    own(ctx, call, st, ets)
                    return
            try:
                last = ran.pop()
            except IndexError:  # the follower was quicker
                own(ctx, call, st, ets)
                return
            known, start, end = last
            dur = end - start
            if known is not plan.known or dur > _LONGEST:
                ran.append(last)
                own(ctx, call, st, ets)
                return
            buffers = []
            for slot in plan.open:
                buffer = ctx.input_uops[slot].buffer
                number = buffer_number(book, buffer) if hasattr(buffer, "base") else NONE
                buffers.append(number)
            quiet(ctx, call, st, ets)
            book.write(plan, start, dur, ctx.var_vals, buffers)
        except BaseException as error:
            hide(error)
            raise

    return track_stats


def _next(realize: Any, book: Book, call: Any, before: Plan | Seen | None) -> Plan | None:
    """The plan of a call that ran before, None where it is written in tinygrad's way: the first time, or always."""
    if before is None or before.book is not book:
        call.__dict__["_peephole"] = Seen(book)
        return None
    if before.__class__ is Seen and before.hopeless:
        return None
    try:
        plan = _plan(realize, book, call, before)
    except NOT_UNDERSTOOD:
        call.__dict__["_peephole"] = Seen(book, hopeless=True)
        return None
    if plan is not None:
        call.__dict__["_peephole"] = plan
    return plan


def _plan(realize: Any, book: Book, call: Any, before: Plan | Seen) -> Plan | None:
    """A plan, or None as long as something about the call is not known; ValueError when it never will be."""
    ast = call.src[0]
    if ast.op.name != "PROGRAM" or type(call.src[1].device) is not str:
        raise ValueError("no kernel of one device")
    runtime = realize.runtime_cache.get((ast.key, call.src[1].device))
    known = getattr(runtime, "__dict__", {}).get("_peephole_name")
    if known is None or known[0] is None:
        raise ValueError("not timed by us")
    arguments = realize.get_call_arg_uops(call)
    outputs, inputs = realize.get_call_outs_ins(call)
    uses, slots = [], []
    for position, place in enumerate(ast.arg.globals):
        argument = arguments[place]
        if argument.op.name == "PARAM":
            slots.append(argument.arg.slot)
            number = OPEN_BUFFER
        elif argument.op.name == "MSTACK" or any(source.op.name == "PARAM" for source in argument.src):
            raise ValueError("a part of an input")
        else:
            buffer = argument.buffer
            if not hasattr(buffer, "base"):
                raise ValueError("buffers of several devices")
            number = buffer_number(book, buffer)
            if number == NONE:
                continue
        written, read = position in outputs, position in inputs
        mode = "readwrite" if written and read else "write" if written else "read"
        uses.append((number, mode, min(position, 0x7FFF)))
    made = book.planner.plan(known, uses, before.since if isinstance(before, Seen) else 0)
    return None if made is None else Plan(book, *made, known, tuple(slots))


def loaded() -> ModuleType | None:
    """The module that runs schedules, when it is there."""
    return sys.modules.get("tinygrad.engine.realize")
