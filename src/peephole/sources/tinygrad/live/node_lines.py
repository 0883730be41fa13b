"""The user's line in tinygrad's metadata: which line of the program made a node. Standard library only.

tinygrad's own objects stay as they are, in print, comparison and pickle: the lines are kept beside them.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from peephole.model.user_code import is_library_file
from peephole.record.unseen import hide, unseen

_lines: Final[dict[int, tuple[weakref.ref[Any], str]]] = {}
"""The `id` of a Metadata that is alive, to the user's line that it was made on."""


class Caller:
    """Finds the user's line among the frames that called."""

    def __init__(self) -> None:
        self._here = f"{Path.cwd()}{os.sep}"
        self._own: dict[str, bool] = {}

    def line(self, frame: Any) -> str:
        """`file:line` of the innermost frame that is not a library's; empty when there is none."""
        while frame is not None:
            if not self._inside(frame):
                return f"{frame.f_code.co_filename.removeprefix(self._here)}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def function(self, frame: Any) -> str:
        """The name of the function that this is a frame of, when it is a library's; else empty."""
        return frame.f_code.co_name if self._inside(frame) else ""

    def _inside(self, frame: Any) -> bool:
        file = frame.f_code.co_filename
        inside = self._own.get(file)
        if inside is None:
            inside = self._own[file] = is_library_file(file)
        return inside


def line_of(metadata: Any) -> str | None:
    """The user's line that an object of tinygrad's metadata was made on, where that is known."""
    found = _lines.get(id(metadata))
    return found[1] if found is not None and found[0]() is metadata else None


def add_lines(tensor: ModuleType) -> bool:
    """Has the caller's file and line remembered with every operation of `tinygrad.tensor`; False when it cannot.

    0.12 and 0.13 have a field for it, which is part of their graphs: there it is left as it is.
    """
    kind = tensor.Metadata
    if "caller" in {field.name for field in dataclasses.fields(kind)}:
        return False
    begin = kind.__init__
    caller = Caller()

    @unseen
    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **words: Any) -> None:
        try:
            begin(self, *args, **words)
            line = caller.line(sys._getframe(1))
            if line:
                # forgotten without a frame of ours, in which an interrupt would be lost
                _lines[id(self)] = weakref.ref(self, functools.partial(_lines.pop, id(self))), line
        except BaseException as error:
            hide(error)
            raise

    kind.__init__ = __init__
    return True
