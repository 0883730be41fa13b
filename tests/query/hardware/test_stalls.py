"""NVIDIA's PMA samples, out of a profile that tinygrad's own classes pickled."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.query.hardware.pma import Record, ampere, blackwell, packets, write_profile

from peephole.cli.main import main
from peephole.ingest import import_files
from peephole.query.hardware.stall_lanes import stall_lanes
from peephole.query.hardware.stalls import REASONS, hottest, place, samples
from peephole.query.hardware.traces import counters, entries
from peephole.store.capture import open_capture

READS = (9, 3, 0x120, 0)  # on Ampere: waits for memory
ISSUES = (18, 4, 0x130, 1)


@pytest.mark.parametrize(("version", "pack"), [(0x890, ampere), (0xA04, blackwell)])
def test_records_over_the_borders_of_packets(version: int, pack: Any) -> None:
    wanted = [(9, wave, 0x10 * wave, wave & 1) for wave in range(40)]
    blob = packets(0x145, b"".join(map(pack, wanted))) + packets(0x145, b"\1\2\3") + packets(0x145, pack(READS), True)
    found = samples(blob + b"\0" * 20, {"device": {"sm_version": version}})
    assert list(zip(found.wave, found.pc, found.active, strict=True)) == [one[1:] for one in (*wanted, READS)]
    assert {place(unit) for unit in found.unit.tolist()} == {(10, 2, 1)}
    assert found.lost == 1


Ranges = dict[str, list[tuple[int, int, str, int, int]]]
"""By lane, the begin and end of each sample, its reason, place in the kernel, and whether it was active."""
NAMES = {1: "MEMORY_THROTTLE", 2: "SYNC", 6: "EXEC_DEPENDENCY", 8: "MEMORY_DEPENDENCY", 11: "PIPE_BUSY", 17: "NONE"}


def busy_stream(seed: int, number: int) -> tuple[bytes, Ranges]:
    """A Blackwell stream of five units whose packets come mixed and now and then with a loss, and what it must show.

    What is lost is told by what was written, byte by byte; nothing here reads a record.
    """
    draw = random.Random(seed)
    blob, wanted = b"", Ranges()
    pending: dict[int, list[tuple[int, Record | None]]] = {unit: [] for unit in (0, 1, 33, 0x145, 0x7FF)}
    met = dict.fromkeys(pending, 0)
    hurt: set[int] = set()
    for _ in range(number):
        unit = draw.choice(list(pending))
        record = (draw.choice(list(NAMES)), draw.choice([0, 1, 17, 63]), draw.randrange(4) * 16, draw.randrange(2))
        content = blackwell(record)
        pending[unit] += [(byte, record if at == 8 else None) for at, byte in enumerate(content)]
        for _ in range(draw.randrange(3)):
            # the same again, so that there are runs
            pending[unit] += [(byte, record if at == 8 else None) for at, byte in enumerate(content)]
        if len(pending[unit]) < 28 and draw.random() < 0.8:
            continue
        sent = pending[unit][: draw.choice([9, 20, 28])]
        pending[unit] = pending[unit][len(sent) :]
        blob += packets(unit, bytes(byte for byte, _ in sent), unit in hurt)
        hurt.discard(unit)
        for record_done in (one for _, one in sent if one is not None):
            key, wave, pc, active = record_done
            lane = f"GPC:{unit // 32} TPC:{unit // 2 % 16} SM:{unit % 2} WAVE:{wave}"
            at = met[unit]
            wanted.setdefault(lane, []).append((at * 32, at * 32 + 32, NAMES[key], pc, active))
            met[unit] += 1
        if draw.random() < 0.05:
            # the rest of this unit's bytes never come; part of a record hangs in the air until the next loss
            pending[unit] = []
            blob += packets(unit, b"\xff" * 5, True)
            hurt.add(unit)
    return blob, wanted


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lanes_have_every_sample_where_it_was(seed: int) -> None:
    blob, wanted = busy_stream(seed, 4000)
    found = samples(blob, {"device": {"sm_version": 0xA04}})
    laid = stall_lanes(found)
    shown = Ranges()
    at = 0
    for lane in laid.lanes:
        own = shown.setdefault(f"GPC:{lane.gpc} TPC:{lane.tpc} SM:{lane.sm} WAVE:{lane.wave}", [])
        for run in range(at, at + lane.runs):
            for start in range(int(laid.start[run]), int(laid.end[run]), 32):
                reason = REASONS[laid.reason[run]]
                own.append((start, start + 32, reason, int(laid.pc[run]), int(laid.active[run])))
        at += lane.runs
        assert lane.samples == len(own)
    assert shown == wanted
    assert [(lane.gpc, lane.tpc, lane.sm, lane.wave) for lane in laid.lanes] == sorted(
        tuple(int(part.split(":")[1]) for part in name.split()) for name in wanted
    )
    assert len(laid.start) < len(found) * 0.9, "samples that are alike make one run"
    tally = Counter((pc, reason) for own in wanted.values() for *_, reason, pc, _ in own)
    places = hottest(found, 3)
    totals = Counter(pc for own in wanted.values() for *_, pc, _ in own)
    assert [(pc, number) for pc, number, _ in places] == sorted(totals.items(), key=lambda one: (-one[1], one[0]))[:3]
    for pc, _, reasons in places:
        assert {REASONS[reason]: number for reason, number in reasons} == {
            reason: number for (own, reason), number in tally.items() if own == pc
        }


def test_lanes_are_bounded_and_the_first_samples_are_shown() -> None:
    blob, wanted = busy_stream(5, 500)
    found = samples(blob, {"device": {"sm_version": 0xA04}})
    laid = stall_lanes(found, 40)
    assert laid.shown == 40 < len(found)
    assert sum(lane.samples for lane in laid.lanes) == 40 == ((laid.end - laid.start) // 32).sum()
    assert {f"GPC:{one.gpc} TPC:{one.tpc} SM:{one.sm} WAVE:{one.wave}" for one in laid.lanes} <= set(wanted)


def test_a_stream_without_samples_has_no_lanes() -> None:
    for blob in (b"", b"\0" * 31, packets(3, b"\1\2")):
        found = samples(blob, {})
        assert len(found) == 0 and stall_lanes(found).lanes == [] and hottest(found, 5) == []


def test_a_profile_of_tinygrads_own_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = packets(0, ampere(READS) * 5 + ampere(ISSUES) * 2) + packets(3, ampere(READS))
    write_profile(tmp_path / "profile.pkl", [first, packets(0, ampere(ISSUES))])
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
