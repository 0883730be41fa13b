"""Whose file a frame is in: the user's, or tinygrad's. Standard library only."""

from __future__ import annotations

import re
from typing import Any, Final

_OWN_FILE: Final = re.compile(
    r"[/\\\\]tinygrad[/\\\\](?:(?:uop|engine|codegen|schedule|nn|runtime|renderer|mixin|viz|llm|shape)[/\\\\].*"
    r"|(?:tensor|device|dtype|helpers|gradient|callify|function|frontend|__init__)\.py)\Z"
    r"|[/\\\\](?:contextlib|functools)\.py\Z"
    r"|[/\\\\]peephole[/\\\\]sources[/\\\\]tinygrad[/\\\\]\w+\.py\Z"
)
"""A file of tinygrad's package or a wrapper of the standard library; a user's own tree may be called tinygrad."""


def user_line(stack: Any) -> str | None:
    """`file:line` of the innermost frame that is not tinygrad's own."""
    if not isinstance(stack, (tuple, list)):
        return None
    for frame in stack:
        if isinstance(frame, (tuple, list)) and len(frame) >= 3 and type(frame[0]) is str and type(frame[1]) is int:
            file = frame[0]
            # generated code (a dataclass's __init__) is called <string>, like the program of `python -c`
            if not is_own_file(file) and not (file.startswith("<") and frame[2] != "<module>"):
                return f"{file}:{frame[1]}"
    return None


def is_own_file(file: str) -> bool:
    """Whether a file is tinygrad's, or a wrapper of the standard library that it is called through."""
    return _OWN_FILE.search(file) is not None
