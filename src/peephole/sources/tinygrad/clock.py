"""tinygrad's times in nanoseconds: Decimals of microseconds, live or pickled, moved by the device's offset."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from peephole.sources.tinygrad.text import fields_of

_LONGEST: Final = 40
_LARGEST: Final = 1 << 62


class Nanoseconds(int):
    """A time that we measured ourselves."""


def ns(value: Any) -> int:
    """A time of tinygrad in nanoseconds; ValueError when it is none."""
    if type(value) is Nanoseconds:
        return int(value)
    if type(value) is Decimal:
        return _bounded(int(value * 1000))
    if type(value) in (int, float):
        return _bounded(int(value * 1000))
    args = getattr(value, "args", None)
    if type(args) is tuple and args and type(value).__name__ == "Decimal":
        text = args[0]
        if type(text) is str and len(text) <= _LONGEST:
            return _parse(text)
    raise ValueError(f"{type(value).__name__} is no time")


def _parse(text: str) -> int:
    whole, _, fraction = text.partition(".")
    if "e" in text or "E" in text:
        number = Decimal(text)
        if not number.is_finite() or number.adjusted() > 18:
            raise ValueError(f"{text} is no time")
        return _bounded(int(number * 1000))
    fraction = (fraction + "000")[:3]
    result = int(whole or "0") * 1000
    return _bounded(result - int(fraction) if text.startswith("-") else result + int(fraction))


def _bounded(value: int) -> int:
    if -_LARGEST < value < _LARGEST:
        return value
    raise ValueError("a time is out of range")


class Offsets:
    """What must be added to a device's times to make them the host's."""

    def __init__(self) -> None:
        self._compute: dict[str, int] = {}
        self._copy: dict[str, int] = {}
        self.props: dict[str, Any] = {}

    def learn(self, event: Any) -> None:
        """Takes a ProfileDeviceEvent."""
        fields = fields_of(event)
        device = fields.get("device")
        if type(device) is not str:
            raise ValueError("a device has no name")
        self._compute[device] = ns(fields.get("tdiff", fields.get("comp_tdiff", 0)))
        if "copy_tdiff" in fields:
            self._copy[device] = ns(fields["copy_tdiff"])
        if isinstance(fields.get("props"), dict):
            self.props[device] = fields["props"]

    def knows(self, device: str) -> bool:
        """Whether the device, or the one that it is a queue of, has said its offset."""
        return self._name(device) in self._compute

    def of(self, device: str, copy: bool = False) -> int:
        """The offset of a device or of one of its queues; 0 for those on the host's clock."""
        name = self._name(device)
        if copy and name in self._copy:
            return self._copy[name]
        return self._compute.get(name, 0)

    def _name(self, device: str) -> str:
        while device not in self._compute and ":" in device:
            device = device.rpartition(":")[0]
        return device
