"""The user's line among the frames that tinygrad keeps with an event. Standard library only."""

from __future__ import annotations

from typing import Any

from peephole.model.user_code import is_users


def user_line(stack: Any) -> str | None:
    """`file:line` of the innermost frame that is not tinygrad's own."""
    if not isinstance(stack, (tuple, list)):
        return None
    for frame in stack:
        if isinstance(frame, (tuple, list)) and len(frame) >= 3 and type(frame[0]) is str and type(frame[1]) is int:
            file, line, function = frame[:3]
            if is_users(file, function):
                return f"{file}:{line}"
    return None
