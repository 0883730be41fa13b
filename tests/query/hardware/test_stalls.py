"""NVIDIA's PMA samples, out of a profile that tinygrad's own classes pickled."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.ingest import import_files
from peephole.query.hardware.stalls import samples
from peephole.query.hardware.traces import counters, entries
from peephole.store.capture import open_capture

Record = tuple[int, int, int, int]
"""Key of the reason, wave, place in the kernel, whether it was active."""
READS = (9, 3, 0x120, 0)  # on Ampere: waits for memory
ISSUES = (18, 4, 0x130, 1)


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


@pytest.mark.parametrize(("version", "pack"), [(0x890, ampere), (0xA04, blackwell)])
def test_records_over_the_borders_of_packets(version: int, pack: Any) -> None:
    wanted = [(9, wave, 0x10 * wave, wave & 1) for wave in range(40)]
    blob = packets(0x145, b"".join(map(pack, wanted))) + packets(0x145, b"\1\2\3") + packets(0x145, pack(READS), True)
    found = list(samples(blob + b"\0" * 20, {"device": {"sm_version": version}}))
    assert [(one.wave, one.pc, int(one.active)) for one in found] == [one[1:] for one in (*wanted, READS)]
    assert {one.place for one in found} == {(10, 2, 1)}


PROGRAM = """
import pickle, sys
from decimal import Decimal
from tinygrad.device import ProfileDeviceEvent
from tinygrad.helpers import ProfileRangeEvent
from tinygrad.runtime.ops_nv import ProfilePMAEvent
blobs = pickle.load(sys.stdin.buffer)
events = [ProfileDeviceEvent("NV", tdiff=Decimal(0), props={"sm_version": 0x890})]
events += [ProfilePMAEvent("NV", "r_16_16", blob, tag, b"key") for tag, blob in enumerate(blobs)]
events.append(ProfileRangeEvent("NV", "r_16_16", Decimal(1), Decimal(5)))
pickle.dump(events, open(sys.argv[1], "wb"))
"""


def test_a_profile_of_tinygrads_own_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = packets(0, ampere(READS) * 5 + ampere(ISSUES) * 2) + packets(3, ampere(READS))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "profile.pkl")],
        input=pickle.dumps([first, packets(0, ampere(ISSUES))]),
        env={**os.environ, "DEV": "NULL"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    capture = open_capture(import_files([tmp_path / "profile.pkl"], tmp_path / "nv.peep"))
    assert not capture.manifest.problems
    assert [entry.source for entry in entries(capture)] == ["PMA r_16_16", "PMA r_16_16n2"]
    found = counters(capture, entries(capture)[0])
    assert [(one.name, one.total, len(one.units)) for one in found] == [
        ("stall MEMORY_DEPENDENCY", 6, 2),
        ("stall NONE", 2, 1),
    ]
    assert main(["show", str(capture.path), "-s", "PMA r_16_16", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if "pc" in row] == [
        {"pc": 0x120, "samples": 6, "reasons": {"MEMORY_DEPENDENCY": 6}},
        {"pc": 0x130, "samples": 2, "reasons": {"NONE": 2}},
    ]
    assert main(["show", str(capture.path), "-s", "PMA r_16_16"]) == 0
    printed = capsys.readouterr().out
    assert "MEMORY_DEPENDENCY" in printed and "0x000120" in printed
