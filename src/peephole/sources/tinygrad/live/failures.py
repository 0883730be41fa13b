"""The traceback of a rule that raised, of which tinygrad keeps no more than the message. Standard library only."""

from __future__ import annotations

import sys
import traceback
from types import ModuleType, TracebackType
from typing import Any

from peephole.record.unseen import hide, unseen


class Failures:
    """Notes with which traceback a rewrite ended; asks nothing of those that end well."""

    def __init__(self, ops: ModuleType) -> None:
        self._ops = ops
        self._found: dict[int, tuple[Any, str]] = {}
        """By the id of tinygrad's record of the rewrite, which is held so that the id stays its own."""
        profile = getattr(ops, "cpu_profile", None)
        if profile is None:
            return
        profile = getattr(profile, "watches", profile)  # a forked process begins anew

        @unseen
        def watched(*args: Any, **words: Any) -> _Watched:
            try:
                made: _Watched = _Watched(profile(*args, **words), self)
                return made
            except BaseException as error:
                hide(error)
                raise

        watched.watches = profile  # type: ignore[attr-defined]
        ops.cpu_profile = watched  # type: ignore[attr-defined]

    def traceback(self, rewrite: Any) -> str | None:
        """The traceback that a rewrite ended with; None when it is not known."""
        found = self._found.get(id(rewrite))
        return None if found is None else found[1]

    def note(self, error: BaseException, stack: list[str]) -> None:
        """Keeps the traceback for the innermost rewrite, which is the first that an exception passes."""
        active = getattr(self._ops, "active_rewrites", None)
        if not active or id(active[-1]) in self._found:
            return
        parts = [*stack, *traceback.format_tb(error.__traceback__), *traceback.format_exception_only(error)]
        self._found[id(active[-1])] = (active[-1], "Traceback (most recent call last):\n" + "".join(parts))


class _Watched:
    """tinygrad's own context around a rewrite, and a look at what it ends with."""

    __slots__ = ("_failures", "_inner")

    @unseen
    def __init__(self, inner: Any, failures: Failures) -> None:
        try:
            self._inner = inner
            self._failures = failures
        except BaseException as error:
            hide(error)
            raise

    @unseen
    def __enter__(self) -> Any:
        try:
            return self._inner.__enter__()
        except BaseException as error:
            hide(error)
            raise

    @unseen
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            if isinstance(error, Exception):
                # the exception's own traceback begins in the frame that calls this
                above = sys._getframe(1).f_back
                self._failures.note(error, traceback.format_stack(above) if above is not None else [])
            left: bool | None = self._inner.__exit__(kind, error, trace)
            return left
        except BaseException as new:
            hide(new)
            raise
