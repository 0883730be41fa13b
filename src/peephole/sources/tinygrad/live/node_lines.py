"""The user's line in tinygrad's metadata: which line of the program made a node. Standard library only."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from peephole.model.user_code import is_library_file


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


def add_lines(tensor: ModuleType) -> bool:
    """Makes `tinygrad.tensor` remember the caller's file and line with every operation; False when it cannot.

    0.12 and 0.13 have a field for it, which is part of their graphs: there it is left as it is.
    """
    plain = tensor.Metadata
    if "caller" in {field.name for field in dataclasses.fields(plain)}:
        return False

    @dataclasses.dataclass(frozen=True)
    class Metadata(plain):  # type: ignore[misc,valid-type]
        caller: str = ""

        def __hash__(self) -> int:
            return hash(self.name)

        def __reduce__(self) -> tuple[Any, ...]:
            # the PYTHON device pickles its graphs: what leaves this process is tinygrad's own
            return plain, (self.name, self.backward)

    caller = Caller()

    def located(name: str, backward: bool = False) -> Any:
        line = caller.line(sys._getframe(1))
        return Metadata(name, backward, line) if line else plain(name, backward)

    tensor.Metadata = located  # type: ignore[attr-defined]
    return True
