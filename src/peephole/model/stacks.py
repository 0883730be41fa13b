"""Where a context was opened: the frames of its stack, and the one that is the user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from peephole.model.json_text import json_list
from peephole.model.user_code import is_installed, is_users

_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A line of a program."""

    file: str
    line: int
    function: str
    source: str


def frames(text: str | None) -> tuple[StackFrame, ...]:
    """The frames of a stack as `contexts` holds it, innermost first; what is no frame is left out."""
    return tuple(
        StackFrame(row[0], row[1], str(row[2] or ""), str(row[3] or ""))
        for row in json_list(text)[:_MOST]
        if isinstance(row, list) and len(row) >= 4 and isinstance(row[0], str) and isinstance(row[1], int)
    )


def user_frame(stack: Sequence[StackFrame]) -> StackFrame | None:
    """The innermost frame of the user's program, else of a package that it uses; None when there is neither."""
    own = [frame for frame in stack if is_users(frame.file, frame.function)]
    return next((frame for frame in own if not is_installed(frame.file)), own[0] if own else None)
