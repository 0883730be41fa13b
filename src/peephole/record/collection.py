"""Whether the garbage collector is at work, and in which thread.

Python 3.11 collects in the middle of any call that makes objects, `ContextVar.set` among them, which finalizers must
not enter once more: the process would crash. Later ones collect between two steps of Python only. So a context
variable is left as it is while a collection runs.

Python 3.12 begins a collection that it had put off within the finalizers of another one, and crashes when that one is
the interpreter's last. What it clears away then are generators with our spans around them, so none is put off any more.

The collector calls its callbacks at the start and at the end. A handler or tracing function may come in as soon as one
of them is Python, so the first that is called and the last are methods of a dict, called with the phase as the key:

    start   running["start"] = …    _arrange: running["stop"] = …    the program's own    running.pop("start")
    stop    running["stop"] = …     _arrange                         the program's own    running.pop("stop")
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable
from contextvars import ContextVar
from threading import get_ident
from typing import Any, Final

running: Final[dict[str, Any]] = {}
"""Not empty while a collection runs, in any thread."""

_thread = 0
"""The thread that collects; 0 as long as nobody knows."""
_IN_THE_MIDDLE: Final = sys.version_info < (3, 12)
_WITHIN_OTHERS: Final = (3, 12) <= sys.version_info < (3, 13)
_first: Final[Callable[[str, Any], Any]] = running.__setitem__
_last: Final[Callable[[str, Any], Any]] = running.pop


def runs_here() -> bool:
    """Whether a collection runs in this thread: what is called is called by a finalizer."""
    return bool(running) and _thread in (0, get_ident())


def set_outside(variable: ContextVar[Any], value: Any) -> None:
    """Sets a context variable unless a collection runs."""
    if not runs_here():
        variable.set(value)


def watch() -> None:
    """Begins to look; the collector's callbacks of the program come in between ours."""
    if _IN_THE_MIDDLE and _arrange not in gc.callbacks:
        gc.callbacks.append(_last)
        gc.callbacks.insert(0, _arrange)
        gc.callbacks.insert(0, _first)


def forget() -> None:
    """Looks no more."""
    if not runs_here():
        for callback in (_first, _arrange, _last):
            with contextlib.suppress(ValueError):
                gc.callbacks.remove(callback)
        running.clear()


def end() -> None:
    """For the interpreter's end: where it would crash, only the collections that it asks for itself come."""
    if _WITHIN_OTHERS:
        gc.set_threshold(0)


def _arrange(phase: str, _: dict[str, int]) -> None:
    global _thread  # noqa: PLW0603 - there is one collector
    if phase == "start":
        running["stop"] = True
        _thread = get_ident()
    else:
        _thread = 0
    callbacks = gc.callbacks
    if callbacks[-1] is not _last:
        # others have come behind, and may use a span as well; what stands behind this one may be moved by now
        with contextlib.suppress(ValueError):
            callbacks.remove(_last)
        callbacks.append(_last)
