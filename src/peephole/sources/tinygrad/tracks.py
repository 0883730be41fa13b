"""The lanes of a run of tinygrad, in VIZ's order: GC, USER, TINY, devices with their queues, disk, memory."""

from __future__ import annotations

from typing import Any, Final, Protocol

_FIRST: Final = {"GC": (0, "gc"), "USER": (1, "user"), "TINY": (2, "tiny")}
_DEVICES: Final = 100
_DISK: Final = 999
_MEMORY: Final = 1000


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
    """The track's place among the kinds of lanes; those of one place stand by their device and name, as in VIZ."""
    if device in _FIRST:
        return _FIRST[device][0]
    place = _DISK if device.split(" ", maxsplit=1)[0].split(":", maxsplit=1)[0] == "DISK" else _DEVICES
    return _MEMORY + place if device.endswith(" Memory") else place
