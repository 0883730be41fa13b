"""Steps: the row of a tracked pass, and what its matches say. Standard library only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from peephole.model.tables import NONE
from peephole.sources.tinygrad.text import Texts, fields_of, label


def step_row(
    number: int, context: int, ordinal: int, fields: Mapping[str, Any], matches: int, error: str | None
) -> dict[str, Any]:
    """The row of a step from the fields of a TrackedGraphRewrite."""
    file, line = place(fields.get("loc"))
    name, sink, depth = fields.get("name"), fields.get("sink"), fields.get("depth")
    return {
        "id": number,
        "context": context,
        "ordinal": ordinal,
        "depth": depth if type(depth) is int and 0 <= depth < 0x7FFF else 0,
        "name": name if type(name) is str else "",
        "file": file,
        "line": line,
        "root": sink if type(sink) is int and 0 <= sink < 1 << 62 else NONE,
        "matches": matches,
        "bottom_up": fields.get("bottom_up") is True,
        "walk": fields.get("walk") is True,
        "enter_calls": fields.get("enter_calls") is True,
        "error": error,
    }


def place(location: Any) -> tuple[str | None, int]:
    """File and line of a location."""
    if type(location) is tuple and len(location) >= 2 and type(location[0]) is str and type(location[1]) is int:
        return location[0], location[1] if 0 <= location[1] < 1 << 31 else NONE
    return None, NONE


def error_of(matches: Any, fields: Mapping[int, Any], texts: Texts) -> str | None:
    """The message of the rule that raised, which is the last one of its step; None when none did."""
    last = matches[-1] if isinstance(matches, list) and matches else None
    number = last[1] if isinstance(last, (tuple, list)) and len(last) > 1 else None
    node = fields.get(number) if type(number) is int else None
    if type(node) is tuple and len(node) > 3 and texts.op(node[0]) == "REWRITE_ERROR":
        return texts.arg(node[3])
    return None


def metadata_text(value: Any, line_of: Callable[[Any], str | None] = lambda _: None) -> str | None:
    """The tensor operations that a node came from, and their lines where they were recorded: `exp@prog.py:4`."""
    parts = []
    for one in value[:50] if isinstance(value, (tuple, list)) else (value,):
        fields = fields_of(one)
        name, caller = fields.get("name"), fields.get("caller") or line_of(one)
        if type(name) is not str:
            continue
        text = name + (" bw" if fields.get("backward") else "")
        parts.append(f"{text}@{caller}" if type(caller) is str and caller else text)
    return ", ".join(parts) or None


Range = tuple[str, int, int]
"""Name, begin and length in ns of a range that tinygrad took around a step."""


def step_times(steps: Sequence[Any], ranges: Sequence[Range]) -> list[tuple[int, int] | None]:
    """When each step of a context began and how long it took, from the ranges of the context in the order they ended.

    A step's range is appended when it ends, and the steps are listed as they began: the depths say which ended first.
    """
    fields = [fields_of(step) for step in steps]
    depths = [depth if isinstance(depth := own.get("depth"), int) else 0 for own in fields]
    ended: list[int] = []
    open_: list[int] = []
    for at, depth in enumerate(depths):
        while open_ and depths[open_[-1]] >= depth:
            ended.append(open_.pop())
        open_.append(at)
    ended.extend(reversed(open_))
    places: dict[str, deque[int]] = {}
    for place_, (name, _, _) in enumerate(ranges):
        places.setdefault(name, deque()).append(place_)
    times: list[tuple[int, int] | None] = [None] * len(steps)
    reached = -1
    for at in ended:
        waiting = places.get(label(fields[at].get("name")), deque())
        while waiting and waiting[0] <= reached:
            waiting.popleft()
        if waiting:
            reached = waiting.popleft()
            times[at] = ranges[reached][1:]
    return times
