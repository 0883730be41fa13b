"""The user's line in tinygrad's metadata: which line of the program made a node. Standard library only."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from peephole.model.user_code import is_library_file


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

    here = f"{Path.cwd()}{os.sep}"
    own: dict[str, bool] = {}

    def located(name: str, backward: bool = False) -> Any:
        frame: Any = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            inside = own.get(file)
            if inside is None:
                inside = own[file] = is_library_file(file)
            if not inside:
                return Metadata(name, backward, f"{file.removeprefix(here)}:{frame.f_lineno}")
            frame = frame.f_back
        return plain(name, backward)

    tensor.Metadata = located  # type: ignore[attr-defined]
    return True
