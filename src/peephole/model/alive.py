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


def born(pid: int | str) -> int | None:
    """When that process began, in the system's ticks since boot: with its number, this is one process and no other."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the name in brackets may hold anything; the start is the 22nd field, the 20th behind it
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def is_writing(facts: Mapping[str, Any], folder: str | os.PathLike[str]) -> bool:
    """Whether the process that `process.json` is about runs on this machine and has the journal in `folder` open."""
    pid = facts.get("pid")
    if facts.get("clean") is True or not isinstance(pid, int) or pid <= 0 or (facts.get("boot") or None) != boot_id():
        return False
    # another program may have the number by now, be recorded as well and call its folder the same
    if facts.get("born") is not None and facts["born"] != born(pid):
        return False
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            maps = file.read()
    except FileNotFoundError:
        return not os.path.exists("/proc/self/maps") and _runs(pid)
    except OSError:
        return _runs(pid)
    # the writer has its segments mapped, under the name that they have now; what stands before the capture's own name
    # may differ between a container and its host
    place = os.fsencode("/".join(["", *os.path.realpath(folder).split(os.sep)[-3:], "t"])).replace(b"\n", rb"\012")
    return place in maps and any(_is_in(folder, line) for line in maps.splitlines() if place in line)


def _is_in(folder: str | os.PathLike[str], line: bytes) -> bool:
    """Whether a line of `maps` is about a file of that folder, and not of one that the folder is a copy of."""
    words = line.split(maxsplit=5)
    path = words[5].replace(rb"\012", b"\n")
    try:
        there = os.stat(path)
    except OSError:  # it is gone, or it is a path of the container that the writer is in, which says nothing here
        return not path.endswith(b" (deleted)")
    try:
        here = os.stat(os.path.join(os.fsencode(folder), path.rpartition(b"/")[2]))
    except OSError:  # the writer has begun another segment since the copy was made
        return False
    return os.path.samestat(there, here) or here.st_ino == int(words[4])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is somebody else's
        return True
    return True
