"""The groups that tracks are shown in."""

from __future__ import annotations

from typing import Final

HOST, DEVICES, MESSAGES, COUNTERS, MEMORY = "Host", "Devices", "Messages", "Counters", "Memory"
_GROUP_OF: Final = {
    "device": DEVICES, "copy": DEVICES, "batch": DEVICES, "disk": DEVICES,
    "client": MESSAGES, "dispatcher": MESSAGES, "worker": MESSAGES,
    "counter": COUNTERS, "memory": MEMORY,
}  # fmt: skip


def group_of(kind: str) -> str:
    """The group of a track of that kind."""
    return _GROUP_OF.get(kind, HOST)
