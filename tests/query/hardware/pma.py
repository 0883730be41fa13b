"""Streams of NVIDIA's PMA samples, and profiles with them that tinygrad's own classes pickled."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

Record = tuple[int, int, int, int]
"""Key of the reason, wave, place in the kernel, whether it was active."""


def ampere(record: Record) -> bytes:
    key, wave, pc, active = record
    return ((pc >> 4) | key << 45 | wave << 50 | active << 62).to_bytes(8, "little")


def blackwell(record: Record) -> bytes:
    key, wave, pc, active = record
    return (key | (wave >> 4) << 6 | (pc >> 4) << 8 | active << 67 | (wave & 15) << 68).to_bytes(9, "little")


def packets(unit: int, content: bytes, dropped: bool = False) -> bytes:
    """The bytes in packets, 28 in each, a record over the border of two where it comes so."""
    made = b""
    for at in range(0, len(content), 28):
        part = content[at : at + 28]
        header = len(part) | (unit & 0xFF) << 8 | (unit >> 8) << 25 | dropped << 28
        part = part.ljust(28, b"\0")
        made += part[:4] + header.to_bytes(4, "little") + part[4:]
    return made


PROGRAM = """
import pickle, sys
from decimal import Decimal
from tinygrad.device import ProfileDeviceEvent
from tinygrad.helpers import ProfileRangeEvent
from tinygrad.runtime.ops_nv import ProfilePMAEvent
blobs = pickle.load(sys.stdin.buffer)
events = [ProfileDeviceEvent("NV", tdiff=Decimal(0), props={"sm_version": int(sys.argv[2])})]
events += [ProfilePMAEvent("NV", sys.argv[3], blob, tag, b"key") for tag, blob in enumerate(blobs)]
events.append(ProfileRangeEvent("NV", sys.argv[3], Decimal(1), Decimal(5)))
pickle.dump(events, open(sys.argv[1], "wb"))
"""


def write_profile(path: Path, blobs: list[bytes], version: int = 0x890, kernel: str = "r_16_16") -> None:
    """A pickle of a kernel's runs, as tinygrad leaves it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(version), kernel],
        input=pickle.dumps(blobs),
        env={**os.environ, "DEV": "NULL"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
