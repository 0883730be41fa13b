"""Variables of the environment that are ours until XLA has read them. Standard library only."""

from __future__ import annotations

import os
from typing import Final

_before: Final[dict[str, str | None]] = {}
"""As the program had them."""
_ours: Final[dict[str, str]] = {}
"""As they were set for it."""


def put(name: str, value: str) -> None:
    """Sets a variable, and remembers what the program had there."""
    if _is_changed(name) or name not in _before:
        _before[name] = os.environ.get(name)
    os.environ[name] = _ours[name] = value


def are_set() -> bool:
    """Whether any is not given back yet."""
    return bool(_ours)


def give_back() -> None:
    """Makes them what they were; one that the program has set since then stays."""
    for name, before in _before.items():
        if _is_changed(name):
            continue
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
    _before.clear()
    _ours.clear()


def _is_changed(name: str) -> bool:
    """Whether the program has set a variable since then."""
    return name in _ours and os.environ.get(name) != _ours[name]
