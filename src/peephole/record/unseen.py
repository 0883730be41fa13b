"""Functions that stand between the program and what it called, and are not seen in its tracebacks. Standard library.

Such a function takes its own frame off a traceback that passes it, and then raises again, which adds none:

    @unseen
    def wrapper(*args):
        try:
            return wrapped(*args)
        except BaseException as error:
            hide(error)
            raise

An interrupt may also come when the function is entered, before its `try`: the whole body is put under that handler.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_HOME: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def hide(error: BaseException) -> None:
    """Takes the frames of ours that a traceback begins with off it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_HOME):
        trace = trace.tb_next
    error.__traceback__ = trace


def unseen(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose first statement is a `try` around everything, with its beginning inside of the `try` too."""
    code = getattr(function, "__code__", None)
    if not isinstance(function, FunctionType) or code is None or not code.co_exceptiontable:
        return function
    numbers = _numbers(code.co_exceptiontable)
    start, _, target, depth = (next(numbers) for _ in range(4))
    if start and not depth >> 1:
        entry = bytes(_entry(0, start, target, depth))
        function.__code__ = code.replace(co_exceptiontable=entry + code.co_exceptiontable)
    return function


def _numbers(table: bytes) -> Iterator[int]:
    """The numbers of an exception table: six bits in a byte, the seventh says that there are more."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0


def _entry(*numbers: int) -> Iterator[int]:
    """Start, length, target and depth as bytes; the eighth bit says that an entry begins."""
    mark = 128
    for number in numbers:
        parts = [number >> shift & 63 for shift in range(24, -1, -6)]
        while len(parts) > 1 and not parts[0]:
            del parts[0]
        for part in parts[:-1]:
            yield part | 64 | mark
            mark = 0
        yield parts[-1] | mark
        mark = 0
