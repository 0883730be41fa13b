"""Which range belongs to which exec point: their keys, and the queues in which one waits for the other.

A kernel's range and exec have one key, the device and the function's name. A copy's range says where from, where to, or
both, in the words of whoever moved the bytes:

    TINY -> AMD      into a device: any source           PYTHON -> TINY   out of a device: any destination
    AMD -> AMD:1     from one device to another          its exec: copy 4 B, AMD:1 <- AMD
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from peephole.sources.tinygrad.text import fields_of, label, plain
from peephole.sources.tinygrad.tracks import kind_of

Key = tuple[str, ...]

_WORD: Final = re.compile(r"[^A-Za-z0-9_]")
_COPY: Final = re.compile(r"copy ([0-9.]{1,20}) ?([KMG]?B?), .* <- (.*)\Z")
_UNITS: Final = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "M": 10**6}
_ANY: Final = frozenset(("TINY", "DISK", "TINYFS"))
_SHOWN: Final = 7
"""Letters of a device's name in the name of an exec point."""


def function_name(name: str) -> str:
    """The name that a kernel's function has in the generated code."""
    return _WORD.sub(lambda found: f"{ord(found[0]):02X}", plain(name))


def single_spaced(name: Any) -> str:
    """An exec point's name without the blanks that put it into columns."""
    return " ".join(label(name).split())


def is_copy(executed: Any) -> bool:
    """Whether an exec point is a copy's."""
    return single_spaced(executed.arg["name"]).startswith("copy ")


def exec_keys(executed: Any) -> tuple[Key, ...]:
    """The keys under which an exec point's range may be found, the most telling first."""
    name = single_spaced(executed.arg["name"])
    device = executed.device
    if name.startswith("copy "):
        found = _COPY.match(name)
        source = found[3] if found else ""
        return ("copy", device, source), ("copy", "", source), ("copy", device, "")
    if name.startswith("batched "):
        return ((base_of(device).split(":")[0], name),)
    return ((device, function_name(name)),)


def range_key(event: Any) -> Key | None:
    """The key of a range or of a batch; None for a range that no exec point belongs to."""
    if type(event).__name__ == "ProfileGraphEvent":
        return event.ents[0].device.split(":")[0], f"batched {len(event.ents)}"
    kind = kind_of(event.device)
    if kind == "copy" or says_copy(event):
        name = event.name if type(event.name) is str else event.name.display_name
        source, _, to = label(name).partition(" -> ")
        if to in _ANY:  # PYTHON calls itself that whichever of its devices it is, the queue's name is right
            return "copy", "", single_spaced(base_of(event.device)[:_SHOWN])
        if not to or source in _ANY:
            return "copy", base_of(event.device), ""
        return "copy", to, single_spaced(source[:_SHOWN])
    return (event.device, function_name(event.name)) if kind == "device" and type(event.name) is str else None


def says_copy(event: Any) -> bool:
    """Whether a range of an older release says itself that it is a copy; later its lane does."""
    return fields_of(event).get("is_copy") is True


def base_of(device: str) -> str:
    """The device that a queue belongs to: `AMD:1` of `AMD:1:SDMA:0`."""
    base, *rest = device.split(":")
    return f"{base}:{rest[0]}" if rest and rest[0].isdigit() else base


def copy_bytes(executed: Any, sizes: Iterable[int]) -> int | None:
    """The bytes of a copy: of the sizes of its buffers the one that its name rounds, else what the name says."""
    found = _COPY.match(single_spaced(executed.arg["name"]))
    unit = _UNITS.get(found[2]) if found else None
    if found is None or unit is None or found[1].count(".") > 1:
        return None
    said = float(found[1]) * unit
    return next((size for size in sizes if abs(size - said) <= unit * 0.0051), int(said))


class Waiting:
    """Events in the order in which they came, each under one or several keys; iterates over the keys."""

    def __init__(self) -> None:
        self._queues: dict[Key, deque[list[Any]]] = {}

    def put(self, event: Any, keys: Iterable[Key]) -> None:
        """Adds an event that any of the keys finds."""
        entry = [event, tuple(keys), True]
        for key in entry[1]:
            self._queues.setdefault(key, deque()).append(entry)

    def first(self, key: Key) -> Any:
        """The oldest event of a key; None when there is none."""
        queue = self._queues.get(key)
        return queue[0][0] if queue else None

    def second(self, key: Key) -> Any:
        """The one after it; None when there is none."""
        waiting = (entry[0] for entry in self._queues.get(key, ()) if entry[2])
        next(waiting, None)
        return next(waiting, None)

    def all(self, key: Key) -> list[Any]:
        """The events of a key, in their order."""
        return [entry[0] for entry in self._queues.get(key, ()) if entry[2]]

    def take(self, key: Key) -> Any:
        """The first one, taken away."""
        entry = self._queues[key][0]
        entry[2] = False
        for other in entry[1]:
            queue = self._queues.get(other)
            while queue and not queue[0][2]:
                queue.popleft()
            if queue is not None and not queue:
                del self._queues[other]
        return entry[0]

    def __iter__(self) -> Iterator[Key]:
        return iter(list(self._queues))

    def drain(self) -> Iterator[Any]:
        """Takes everything away."""
        for key in self:
            while key in self._queues:
                yield self.take(key)
