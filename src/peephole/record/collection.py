"""Whether the garbage collector is at work, and in which thread.

Python 3.11 collects in the middle of any call that makes objects, `ContextVar.set` among them, which finalizers must
not enter once more: the process would crash. Later ones collect between two steps of Python only. So a context
variable is left as it is while a collection runs.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from contextvars import ContextVar
from threading import get_ident
from typing import Any, Final

thread = 0
"""The thread in which a collection runs; 0 when none does. Read it as `collection.thread`, it changes."""

_IN_THE_MIDDLE: Final = sys.version_info < (3, 12)


def runs_here() -> bool:
    """Whether a collection runs in this thread: what is called is called by a finalizer."""
    return thread != 0 and thread == get_ident()


def set_outside(variable: ContextVar[Any], value: Any) -> None:
    """Sets a context variable unless a collection runs."""
    if not runs_here():
        variable.set(value)


def watch() -> None:
    """Begins to look; the collector's callbacks of the program come in between ours."""
    if _IN_THE_MIDDLE and _begins not in gc.callbacks:
        gc.callbacks.insert(0, _begins)
        gc.callbacks.append(_Ends())


def forget() -> None:
    """Looks no more."""
    if not runs_here():
        for callback in [callback for callback in gc.callbacks if callback is _begins or type(callback) is _Ends]:
            with contextlib.suppress(ValueError):
                gc.callbacks.remove(callback)


def _begins(phase: str, _: dict[str, int]) -> None:
    global thread  # noqa: PLW0603 - there is one collector
    if phase == "start":
        thread = get_ident()


class _Ends:
    """The last callback; when others have come behind it, which may use a span as well, another one is put there."""

    def __call__(self, phase: str, _: dict[str, int]) -> None:
        global thread  # noqa: PLW0603
        if phase == "stop":
            if gc.callbacks and gc.callbacks[-1] is self:
                thread = 0
            elif type(gc.callbacks[-1]) is not _Ends:
                gc.callbacks.append(_Ends())
