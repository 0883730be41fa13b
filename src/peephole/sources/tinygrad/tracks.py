"""The lanes of a run of tinygrad, in VIZ's order: GC, USER, TINY, devices with their queues, disk, memory."""

from __future__ import annotations

from typing import Any, Final, Protocol

_FIRST: Final = {"GC": (0, "gc"), "USER": (1, "user"), "TINY": (2, "tiny")}
_DISK: Final = 1_000_000_000
_MEMORY: Final = 1_100_000_000
_LETTERS: Final = "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Out(Protocol):
    """Where rows go: a recorder, or columns on their way into a sink."""

    def row(self, table: str, **columns: Any) -> None:
        """Takes one row."""

    def problem(self, reason: str, count: int = 1) -> None:
        """Counts something that was not understood."""

    def track(self, name: str, kind: str, order: int, unit: str | None) -> int:
        """The number of a track."""

    def new_correlation(self) -> int:
        """A number for a slice."""


def kind_of(device: str) -> str:
    """The kind of a track by its name."""
    if device in _FIRST:
        return _FIRST[device][1]
    if device.endswith(" Memory"):
        return "memory"
    if device.endswith(" Graph"):
        return "batch"
    base, *rest = device.split(":")
    if base in ("DISK", "TINYFS"):
        return "disk"
    return "copy" if any(not part.isdigit() for part in rest) else "device"


def order_of(device: str) -> int:
    """The track's place: a number from the name alone, since a live run learns its devices one by one."""
    if device in _FIRST:
        return _FIRST[device][0]
    base, *rest = device.removesuffix(" Memory").removesuffix(" Graph").split(":")
    letters = 0
    for at in range(3):
        letters = letters * len(_LETTERS) + (_LETTERS.find(base[at].upper()) + 1 if at < len(base) else 0)
    number = int(rest[0]) if rest and rest[0].isdigit() and len(rest[0]) < 3 else 0
    queue = 50 if device.endswith(" Graph") else 60 if any(not part.isdigit() for part in rest) else 0
    place = (letters * 100 + number) * 100 + queue
    if device.endswith(" Memory"):
        return _MEMORY + place
    return _DISK if kind_of(device) == "disk" else 100 + place
