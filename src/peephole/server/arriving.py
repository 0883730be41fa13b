"""A capture that a server will show but does not have yet. Imports nothing large: the address is told before that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Arriving:
    """What it will be called, and what makes it of raw files."""

    name: str
    start: Callable[[], None]
    """Called once the address was told."""
    bring: Callable[[], Path]
    """Waits for it."""
