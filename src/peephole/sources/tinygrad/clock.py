"""tinygrad's times in nanoseconds: Decimals of microseconds, live or pickled, moved by the device's offset."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from peephole.sources.tinygrad.pairing import base_of
from peephole.sources.tinygrad.text import fields_of

_LONGEST: Final = 40
_LARGEST: Final = 1 << 62
HOST: Final = frozenset(("TINY", "USER", "GC"))
_HOST_CLOCK: Final = frozenset(("CPU", "PYTHON", "NULL", "NPY", "DISK", "TINYFS"))
"""Devices that run on the host and its clock; in 0.14 they run a kernel before its exec point is written."""
_OWN_CLOCK: Final = {"AMD", "CL", "CUDA", "DSP", "GPU", "HIP", "METAL", "NV", "QCOM", "RDMA", "WEBGPU"}
"""Devices that may have a clock of their own: what else is timed, `cpu_profile("load", "LOADER")`, is on the host's."""
SKEW: Final = 100_000
"""How far, in ns, a device's aligned clock may be behind the host's."""


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
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise ValueError(f"{text} is no time") from None
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
        return device in self._compute or base_of(device) in self._compute

    def assume(self, device: str, offset: int, copy: bool) -> None:
        """Takes an estimate, of the device's own clock or of that of its copies."""
        if copy:
            self._copy[device] = offset
            self._compute.setdefault(device, offset)
        else:
            self._compute[device] = offset

    def adopt(self, estimates: Offsets) -> None:
        """Takes estimates for the devices that have said nothing."""
        for device in [device for device in estimates._compute if not self.knows(device)]:
            self._compute[device] = estimates._compute[device]
            if device in estimates._copy:
                self._copy[device] = estimates._copy[device]

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


def device_of(event: Any) -> str:
    """The device of a range, or the first one of a batch."""
    devices = [entry.device for entry in event.ents] if type(event).__name__ == "ProfileGraphEvent" else [event.device]
    if not all(type(device) is str for device in devices):
        raise ValueError("a range has no device")
    return str(devices[0])


def host_clock(device: str) -> bool:
    """Whether a device has the host's clock."""
    return _base(device) in _HOST_CLOCK or device in HOST or is_own_name(device)


def is_own_name(device: str) -> bool:
    """Whether this is no device but a name of the program's own, for what it times on the host."""
    return device not in HOST and _base(device) not in _HOST_CLOCK | _OWN_CLOCK


def learn_devices(names: Iterable[str]) -> None:
    """Takes the names of the devices that this tinygrad has."""
    _OWN_CLOCK.update(name for name in names if name not in _HOST_CLOCK)


def _base(device: str) -> str:
    return device.split(":", maxsplit=1)[0].removesuffix(" Graph")


def slack(device: str) -> int:
    """How far a device's aligned times may be off."""
    return 0 if host_clock(device) else SKEW
