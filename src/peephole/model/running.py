"""Whether the process that writes a journal still runs. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def boot_id() -> str | None:
    """Which machine this is, and since when; None where the system does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def is_writing(facts: Mapping[str, Any], folder: str) -> bool:
    """Whether the process that `process.json` is about runs on this machine and has its journal's folder open."""
    pid = facts.get("pid")
    if facts.get("clean") is True or not isinstance(pid, int) or pid <= 0 or (facts.get("boot") or None) != boot_id():
        return False
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            maps = file.read()
    except FileNotFoundError:
        return not os.path.exists("/proc/self/maps") and _runs(pid)
    except OSError:
        return _runs(pid)
    # another program may have the number by now: the writer has its segments mapped
    return os.fsencode(folder) + b"/t" in maps


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is somebody else's
        return True
    return True
