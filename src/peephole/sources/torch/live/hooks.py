"""Functions of torch with ours around them. What goes wrong in ours is counted and never reaches the program."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from peephole.record import active
from peephole.record.unseen import hide, unseen
from peephole.record.where import rule_site

Enter = Callable[[tuple[Any, ...], dict[str, Any]], Any]
"""Called with what a function is called with; what it gives goes to Leave. None: there is nothing to do afterwards."""
Leave = Callable[[Any, Any, BaseException | None], None]
"""Called with what Enter gave, the function's result, and what it raised."""

Place = tuple[str | None, int]
"""File and line."""
MARK: Final = "__peephole__"
_OURS: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + os.sep


def failed(what: str, error: Exception) -> None:
    """Counts an exception of ours; `peephole info` shows it."""
    recorder = active.recorder
    if recorder is not None:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" at {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else ""
        recorder.problem(f"a hook of torch failed ({what}{place}): {type(error).__name__}: {str(error)[:200]}")


def wrap(owner: Any, name: str, enter: Enter, leave: Leave | None = None) -> bool:
    """Puts ours around a function of a module or class, once; False when there is none of that name."""
    original = vars(owner).get(name)
    if original is None or not callable(original):
        return False
    if getattr(original, MARK, False):
        return True

    @unseen
    @functools.wraps(original)
    def call(*args: Any, **words: Any) -> Any:
        try:
            state = None
            if active.recorder is not None:
                try:
                    state = enter(args, words)
                except Exception as error:
                    failed(name, error)
            if state is None:
                return original(*args, **words)
            try:
                result = original(*args, **words)
            except BaseException as error:
                _left(name, leave, state, None, error)
                raise
            _left(name, leave, state, result, None)
            return result
        except BaseException as error:
            hide(error)
            raise

    setattr(call, MARK, True)
    setattr(owner, name, call)
    if not isinstance(owner, type):
        _rebind(name, original, call)
    return True


def _left(name: str, leave: Leave | None, state: Any, result: Any, raised: BaseException | None) -> None:
    if leave is not None:
        try:
            leave(state, result, raised)
        except Exception as error:
            failed(name, error)


def _rebind(name: str, original: Any, call: Any) -> None:
    """Gives modules that took the function by name before us the one with ours around it."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in ("torch", "functorch"):
            known = getattr(module, "__dict__", {})
            if known.get(name) is original:
                known[name] = call


def written_at(function: Any) -> Place:
    """Where a function is written: its `def`, behind its decorators."""
    file, line = rule_site(function)
    for number in range(line, line + 30):
        text = linecache.getline(file, number).lstrip()
        if text.startswith(("def ", "async def ", "class ")):
            return file, number
        if not text:
            break
    return file, line


def caller() -> Place:
    """The innermost line that is not ours: of torch, where it called what is wrapped."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_OURS):
        if frame.f_back is None:
            return None, -1
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
