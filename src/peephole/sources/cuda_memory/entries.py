"""What stands in a snapshot, taken with care: any value may be missing or of another type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_LARGEST: Final = 1 << 60
_FRAMES: Final = 64
"""Frames of a stack that are kept."""
_LINE: Final = re.compile(r'File "([^"\n]+)", line (\d+)(?:, in ([^\n]*))?')
_LIBRARY: Final = ("/torch/", "/site-packages/", "<frozen", "??")


def number(entry: Mapping[str, Any], key: str, otherwise: int = 0) -> int:
    """A whole number of an entry."""
    value = entry.get(key)
    return value if type(value) is int and abs(value) < _LARGEST else otherwise


def address(entry: Mapping[str, Any], *keys: str) -> int:
    """An address, which may have any 64 bits."""
    for key in keys:
        value = entry.get(key)
        if type(value) is int and 0 <= value < 1 << 64:
            return value
    return 0


def dictionaries(value: Any) -> list[dict[str, Any]]:
    """Those of a list that are dictionaries."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class Stacks:
    """Stacks as texts; the same frames are put into words once."""

    def __init__(self) -> None:
        self._frames: dict[int, str] = {}

    def frames(self, entry: Mapping[str, Any]) -> list[str]:
        """The frames of an entry, innermost first: `function (file:line)`."""
        return [self._frame(frame) for frame in dictionaries(entry.get("frames"))[:_FRAMES]]

    def _frame(self, frame: dict[str, Any]) -> str:
        known = self._frames.get(id(frame))  # the pickle shares what is the same
        if known is None:
            file, line = str(frame.get("filename", "")), number(frame, "line")
            name = str(frame.get("name", "")) or "?"
            place = f"{name} ({file}:{line})" if file and line else name
            known = self._frames[id(frame)] = _with_node(frame, place)
        return known

    def label(self, entry: Mapping[str, Any]) -> str:
        """What the user knows an allocation by: the innermost frame that is no library's, else the innermost."""
        frames = self.frames(entry)
        own = next((f for f in frames if ".py" in f and not any(part in f for part in _LIBRARY)), None)
        return own or next((f for f in frames if ".py" in f), frames[0] if frames else "")


def _with_node(frame: Mapping[str, Any], place: str) -> str:
    """A frame of generated code with the node of the FX graph that it came of, at the line of the program that made
    that (`_dump_snapshot(augment_with_fx_traces=True)`)."""
    op, node, trace = (frame.get(f"fx_{key}") for key in ("node_op", "node_name", "original_trace"))
    if not isinstance(node, str) or not node:
        return place
    lines = _LINE.findall(trace) if isinstance(trace, str) else []
    if lines:
        file, line, name = lines[-1]
        place = f"{name or '?'} ({file}:{line})"
    return f"{place} · {op} {node}" if isinstance(op, str) and op else f"{place} · {node}"


def pool_of(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    """The private pool (of a CUDA graph, or of the program's own) that a segment or an event is of."""
    for key in ("segment_pool_id", "pool_id"):
        value = entry.get(key)
        if (
            isinstance(value, tuple | list)
            and len(value) == 2
            and all(type(one) is int for one in value)
            and any(value)
        ):
            return value[0], value[1]
    return None


def args_of(entry: Mapping[str, Any], stacks: Stacks, where: int | None, **more: Any) -> str:
    """What an event at an address says of itself, as JSON; `query/memory/addresses.py` looks for the address."""
    found: dict[str, Any] = {} if where is None else {"address": hex(where)}
    found |= more
    for key in ("stream", "segment_pool_id", "pool_id", "compile_context", "user_metadata", "segment_type"):
        value = entry.get(key)
        if isinstance(value, str | int) and value != "":
            found[key] = value
        elif isinstance(value, tuple | list) and all(type(one) is int for one in value):
            found[key] = list(value)
    if frames := stacks.frames(entry):
        found["callstack"] = frames
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
