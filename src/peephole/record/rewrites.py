"""Rewrites of other people's engines: contexts, the steps in them, and the rules that fired."""

from __future__ import annotations

import functools
import itertools
import traceback
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

from peephole.record import active
from peephole.record.collection import set_outside
from peephole.record.nodes import node
from peephole.record.recorder import Recorder
from peephole.record.rows import json_text
from peephole.record.where import call_site, call_stack, rule_site

P = ParamSpec("P")
R = TypeVar("R")
_UNSET: Final = object()


class _Context:
    """A unit of compilation that is open, or the default one of a recording."""

    def __init__(self, recorder: Recorder, name: str, kind: str, function: str | None, parent: int) -> None:
        self.recorder = recorder
        self.generation = recorder.generation
        self.ordinals = itertools.count()
        self.start = perf_counter_ns()
        stack = json_text(call_stack()) if function else None
        self.row: dict[str, Any] = {
            "id": recorder.new_id(),
            "name": name,
            "kind": kind,
            "parent": parent,
            "function": function,
            "stack": stack,
            "start": self.start,
            "compiler": "track_rewrites",
        }
        recorder.row("contexts", **self.row)

    def usable(self, recorder: Recorder) -> bool:
        return self.recorder is recorder and self.generation == recorder.generation

    def close(self, name: str | None) -> None:
        if name is not None:
            self.row["name"] = name
        if self.usable(self.recorder):
            self.recorder.row("contexts", **self.row, dur=perf_counter_ns() - self.start)


_context: Final[ContextVar[_Context | None]] = ContextVar("peephole_context", default=None)
_step: Final[ContextVar[rewrite_step | None]] = ContextVar("peephole_step", default=None)


def track_rewrites(
    name: str | Callable[..., str] | None = None, kind: str = "other"
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: each call of the function is a context that the steps inside belong to.

    `name` is a text, or a function of the call's arguments and `ret`, its result; without one the function's own
    name counts. A call that raises keeps the function's name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if not callable(function):  # without the parentheses the decorated function came as the name
            raise TypeError(f"track_rewrites decorates a function, not {function!r}; write @track_rewrites()")
        function_name = getattr(function, "__qualname__", type(function).__name__)
        own = name if isinstance(name, str) else function_name

        @functools.wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            recorder = active.recorder
            if recorder is None:
                return function(*args, **keywords)
            outer = _context.get()
            parent = outer.row["id"] if outer is not None and outer.usable(recorder) else -1
            context = _Context(recorder, own, kind, function_name, parent)
            outer_step = _step.get()
            set_outside(_context, context)
            set_outside(_step, None)
            final: str | None = None
            try:
                result = function(*args, **keywords)
                if callable(name):
                    try:
                        final = str(name(*args, ret=result, **keywords))
                    except Exception as error:  # a name that fails is no reason for the program to fail
                        recorder.problem(f"the name of a context could not be made: {type(error).__name__}: {error}")
                return result
            finally:
                set_outside(_step, outer_step)
                set_outside(_context, outer)
                context.close(final)

        return call

    return decorate


class rewrite_step:
    """One pass over a graph: `with rewrite_step("simplify", root):`, with the matches that happen inside.

    Steps nest. Outside any context they belong to a default one. An exception that leaves the step, or a rule of it,
    is kept with its traceback.
    """

    def __init__(
        self,
        name: str = "",
        root: object = None,
        *,
        bottom_up: bool = False,
        walk: bool = False,
        enter_calls: bool = False,
        after: object = None,
    ) -> None:
        self.name = name
        self.after = after
        """The graph that came out, where matches do not add up to it; it may be set until the step ends."""
        self._root = root
        self._flags = {"bottom_up": bottom_up, "walk": walk, "enter_calls": enter_calls}
        self._recorder: Recorder | None = None
        self._within: _Context | None = None
        self._error: str | None = None
        self.matches = 0
        """How many rules fired so far."""

    def __enter__(self) -> Self:
        recorder = active.recorder
        if recorder is None:
            return self
        context = _context.get()
        if context is None or not context.usable(recorder):
            context = _default_context(recorder)
        outer = _step.get()
        nested = outer is not None and outer._recorder is recorder and outer._within is context
        file, line = call_site()
        self._recorder, self._within = recorder, context
        self._generation = recorder.generation
        self._depth: int = outer._depth + 1 if nested and outer is not None else 0
        self._start = perf_counter_ns()
        self._error, self.matches = None, 0
        self._row: dict[str, Any] = {
            "id": recorder.new_id(),
            "context": context.row["id"],
            "ordinal": next(context.ordinals),
            "depth": self._depth,
            "name": self.name,
            "file": file,
            "line": line,
            "root": -1 if self._root is None else node(self._root),
            "start": self._start,
            **self._flags,
        }
        self._decisions = 0
        if self.after is not None:
            self._row["after"] = node(self.after)
        recorder.row("steps", **self._row)
        self._outer = outer
        set_outside(_step, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        self._recorder = None
        if _step.get() is self:
            set_outside(_step, self._outer)
        if recorder.generation != self._generation:
            return
        if error is not None and self._error is None:
            self._error = "".join(traceback.format_exception(error))
        dur = perf_counter_ns() - self._start
        if self.after is not None:
            self._row["after"] = node(self.after)
        recorder.row("steps", **self._row, dur=dur, matches=self.matches, error=self._error)

    def match(
        self,
        before: object,
        after: object,
        rule: object = None,
        dur: int = -1,
        removed: Iterable[object] = (),
        added: Iterable[object] = (),
    ) -> None:
        """Records that a rule turned one node into another; see the function `match`."""
        recorder = self._recorder
        if recorder is None:
            return
        file, line = rule_site(rule)
        ids = (node(before), -1 if after is None else node(after))
        lists = [[node(of) for of in some or ()] or None for some in (removed, added)]
        ordinal = self.matches
        self.matches = ordinal + 1
        recorder.row(
            "matches",
            step=self._row["id"],
            ordinal=ordinal,
            before=ids[0],
            after=ids[1],
            file=file,
            line=line,
            dur=dur,
            removed=lists[0],
            added=lists[1],
        )

    def decide(self, kind: str, a: object, b: object, reason: str, rule: object) -> None:
        """Records what was decided; see the function `decision`."""
        recorder = self._recorder
        if recorder is None:
            return
        file, line = rule_site(rule)
        ids = [-1 if of is None else node(of) for of in (a, b)]
        ordinal = self._decisions
        self._decisions = ordinal + 1
        place = {"step": self._row["id"], "ordinal": ordinal, "file": file, "line": line}
        recorder.row("decisions", kind=kind, a=ids[0], b=ids[1], reason=reason, **place)

    def fail(self, error: BaseException) -> None:
        """Keeps the traceback of a rule that raised; the first one counts."""
        if self._error is None:
            self._error = "".join(traceback.format_exception(error))


class match:
    """Records that a rule fired in the innermost step: `match(before, after, rule)`, nodes as objects or numbers.

    Without `after` it times the rule: `with match(before, rule=f) as m: m.after = f(node)`. Nothing is recorded when
    `m.after` stays None; when the rule raises, the match has no after and the step keeps the traceback. `rule` is
    the rule's function, or its (file, line); without one it is where `match` was called. `removed` and `added` are all
    nodes that the rule took and put, where there are others than `before` and `after`.
    """

    __slots__ = ("_before", "_rule", "_start", "_step", "added", "after", "removed")

    def __init__(
        self,
        before: object,
        after: object = _UNSET,
        rule: object = None,
        dur: int = -1,
        removed: Iterable[object] = (),
        added: Iterable[object] = (),
    ) -> None:
        self.after: object = None
        self.removed, self.added = removed, added
        if active.recorder is None:
            self._step: rewrite_step | None = None
            return
        step = _step.get()
        if step is None or step._recorder is not active.recorder:
            step = _default_step(active.recorder)
        self._step = step
        if rule is None:
            rule = call_site()
        if after is not _UNSET:
            step.match(before, after, rule, dur, removed, added)
        self._before, self._rule = before, rule

    def __enter__(self) -> Self:
        self._start = perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        step = self._step
        if step is None:
            return
        dur = perf_counter_ns() - self._start
        if error is not None:
            step.fail(error)
            step.match(self._before, None, self._rule, dur)
        elif self.after is not None:
            step.match(self._before, self.after, self._rule, dur, self.removed, self.added)


def decision(kind: str, a: object, b: object = None, reason: str = "", rule: object = None) -> None:
    """Records what the innermost step decided about one or two nodes: `decision("refused", a, b, "too large")`.

    `kind` is fused, refused, break, recompile or the compiler's own word. `rule` is as in `match`.
    """
    recorder = active.recorder
    if recorder is None:
        return
    step = _step.get()
    if step is None or step._recorder is not recorder:
        step = _default_step(recorder)
    step.decide(kind, a, b, reason, call_site() if rule is None else rule)


def _default_context(recorder: Recorder) -> _Context:
    context: _Context | None = recorder.default_context
    if context is None or not context.usable(recorder):
        context = recorder.default_context = _Context(recorder, "rewrites", "rewrites", None, -1)
    return context


def _default_step(recorder: Recorder) -> rewrite_step:
    """The step of matches that are recorded outside of any; it ends with the recording."""
    step: rewrite_step | None = recorder.default_step
    if step is None or step._generation != recorder.generation:
        outer = _step.get()
        step = recorder.default_step = rewrite_step().__enter__()
        set_outside(_step, outer)
        recorder.on_exit(functools.partial(step.__exit__, None, None, None))
    return step
