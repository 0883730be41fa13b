"""What tinygrad's events say beside times: args, links, variables, positions of buffers. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def variables_of(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Symbolic values as they are shown."""
    return {str(k)[:100]: v for k, v in list(values.items())[:100] if type(v) in (int, float, bool)}


def numbers(value: Any) -> frozenset[int]:
    """The positions of buffers."""
    return frozenset(n for n in value if type(n) is int) if isinstance(value, (tuple, list)) else frozenset()
