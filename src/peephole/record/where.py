"""Where in the program something happened: frames outside of Peephole."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, Final

_HERE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_FRAMES: Final = 64
_WRAPPERS: Final = 16
"""Decorators and partials around a rule that are looked behind; one may be around itself."""


def call_site() -> tuple[str, int]:
    """File and line of the program's innermost frame."""
    frame = _program_frame()
    return ("", -1) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def call_stack() -> list[list[Any]]:
    """The program's frames, innermost first: [file, line, function, source line]."""
    import linecache

    frame = _program_frame()
    stack: list[list[Any]] = []
    while frame is not None and len(stack) < _FRAMES:
        code = frame.f_code
        if not code.co_filename.startswith(_HERE):
            source = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
            stack.append([code.co_filename, frame.f_lineno, code.co_qualname, source])
        frame = frame.f_back
    return stack


def rule_site(rule: object) -> tuple[str, int]:
    """File and line of a rule, given as a function or as just that; of the caller when it is neither."""
    if isinstance(rule, tuple) and len(rule) == 2 and isinstance(rule[1], int):
        return str(rule[0]), rule[1]
    inner: Any = rule
    for _ in range(_WRAPPERS):
        around = inner
        inner = getattr(inner, "__wrapped__", None) or getattr(inner, "func", None) or inner
        if inner is around:
            break
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    return call_site() if code is None else (code.co_filename, code.co_firstlineno)


def _program_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame
