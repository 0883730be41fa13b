"""Traces of a capture: what is said of damage, cuts, losses and full buffers; the real captures packet for packet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.query.hardware import kernels, streams
from tests.query.hardware.test_decode import assert_equal

from peephole.query.hardware.decode import decode
from peephole.query.hardware.events import events
from peephole.query.hardware.packets import Arch
from peephole.query.hardware.traces import HardwareTrace, entries
from peephole.query.hardware.wave_lanes import Lane, lane_view, window
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


def write(path: Path, **blobs: bytes) -> None:
    binary, _ = kernels.kernel("loop")
    n = len(blobs)
    with CaptureWriter(path) as writer:
        writer.append(
            "artifacts",
            {"kind": ["binary"] * n, "name": list(blobs), "language": ["gfx1100"] * n, "content": [binary] * n},
        )
        writer.append(
            "hardware",
            {"kernel": list(blobs), "device": ["AMD"] * n, "run": [0] * n, "kind": ["sqtt"] * n, "unit": ["SE:0"] * n,
             "arch": ["gfx1100"] * n, "props": [json.dumps({"itrace": True})] * n, "content": list(blobs.values())},
        )  # fmt: skip


@pytest.mark.parametrize("props", ["no JSON", "[" * 100_000, "[1]"])
def test_props_that_are_none_are_empty(tmp_path: Path, props: str) -> None:
    with CaptureWriter(tmp_path / "odd.peep") as writer:
        writer.append("hardware", {"kernel": ["gemm"], "kind": ["sqtt"], "props": [props], "content": [b""]})
    assert [entry.props for entry in entries(open_capture(tmp_path / "odd.peep"))] == [{}]


def lossy() -> bytes:
    stream = streams.Stream(Arch.RDNA3)
    stream.traces(0, 0, 0)
    stream.named("WAVESTART", wave=1, simd=0, cu=0, sa=0)
    stream.named("INST", wave=1, op=0, delta=1)
    stream.named("TS_WAVE_STATE", payload=1 << 4, delta=10)
    stream.named("TS_WAVE_STATE", payload=1 << 5, delta=40)
    stream.named("TS_DELTA_OR_MARK", rest=1 << 8, delta=500)
    stream.named("WAVEEND", wave=1, simd=0, cu=0, sa=0, delta=1)
    return bytes(stream.blob())


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    _, program = kernels.kernel("loop")
    whole = kernels.walk_waves(program, 1).blob()
    half = len(whole) // 2
    path = tmp_path / "hurt.peep"
    write(
        path, whole=whole, cut=whole[:half], full=whole[:half].ljust((1 << 20) - 32, b"\0"), empty=b"", lossy=lossy(),
        damaged=whole[:half] + b"\x77" * 8 + whole[half:],
    )  # fmt: skip
    return path


def test_what_is_wrong_is_said(capture: Path) -> None:
    opened = open_capture(capture)
    words = {entry.kernel: HardwareTrace(opened, entry).words() for entry in entries(opened)}
    assert words["whole"] == []
    assert words["empty"] == ["The trace is empty."]
    assert "it was stopped or cut before" in words["cut"][0]
    assert "SQTT_BUFFER_SIZE" in words["full"][0]
    assert words["damaged"][0].startswith("The trace is damaged at byte ")
    assert words["lossy"] == [
        "1 x packets were lost: waves and instructions are missing there.",
        "1 x the trace stalled, 40 cycles in all.",
    ]


def test_a_damaged_trace_is_shown_up_to_there(capture: Path, peephole: Any) -> None:
    opened = open_capture(capture)
    by_name = {entry.kernel: entry for entry in entries(opened)}
    damaged, whole = (HardwareTrace(opened, by_name[name]) for name in ("damaged", "whole"))
    n = len(damaged.packets)
    assert 50 < n < len(whole.packets)
    # the bytes before the damage may hold the begin of a packet that the damage completes
    assert damaged.packets.raw[: n - 1].tolist() == whole.packets.raw[: n - 1].tolist()
    assert damaged.hotspots is not None
    shown = peephole("show", capture, "-s", "damaged SQTT SE:0 PKTS", "--json").stdout.splitlines()
    assert "damaged at byte" in json.loads(shown[-1])["note"]
    assert "1 x packets were lost" in peephole("show", capture, "-s", "lossy SQTT SE:0 PKTS").stdout
    assert "The trace is empty." in peephole("show", capture, "-s", "empty SQTT SE:0 PKTS").stdout


def test_a_window_keeps_the_cycles_of_what_it_merges() -> None:
    rng = np.random.default_rng(0)
    start = np.sort(rng.integers(0, 100_000, 5000))
    end = start + rng.integers(1, 9, 5000)
    none = np.full(5000, -1)
    lane = Lane("VALU", "units", start, end, none, none, none, none, np.arange(5000), np.zeros(5000, bool))
    for t0, t1, pixels in ((0, 100_010, 100), (20_000, 70_000, 313), (40_000, 40_400, 1000)):
        rows, counts, busy = window(lane, t0, t1, pixels)
        seen = (start < t1) & (end > t0)
        assert (counts.sum(), busy.sum()) == (seen.sum(), (end - start)[seen].sum())
        cell = ((start[rows] - t0) / ((t1 - t0) / pixels)).astype(int)
        for i in range(0, len(rows), 7):
            same = seen & (((start - t0) / ((t1 - t0) / pixels)).astype(int) == cell[i])
            assert busy[i] == ((end - start)[same].sum() if len(rows) < seen.sum() else end[rows[i]] - start[rows[i]])


def test_waves_and_units_without_the_program(tmp_path: Path) -> None:
    """No binary, or nothing that disassembles it: operations, executions and delays are there, instructions are not."""
    _, program = kernels.kernel("loop")
    path = tmp_path / "bare.peep"
    write(path, gemm=kernels.walk_waves(program, 1).blob())
    opened = open_capture(path)
    known = HardwareTrace(opened, entries(opened)[0])
    unknown = HardwareTrace(opened, replace(entries(opened)[0], kernel="nobody's", context=-1))
    rows, bare = list(events(known)), list(events(unknown))
    assert [(row.clock, row.unit, row.op, row.delay) for row in rows] == [
        (row.clock, row.unit, row.op, row.delay) for row in bare
    ]
    assert {row.instruction for row in bare} == {""}
    assert sum(row.delay is not None for row in bare) > 100
    assert unknown.hotspots is None
    assert unknown.words() == ["The capture holds no binary of this kernel, so its instructions are not known."]
    lanes = {lane.label: len(lane.start) for lane in lane_view(unknown).lanes}
    assert lanes == {lane.label: len(lane.start) for lane in lane_view(known).lanes}
    assert lanes["VALU"] > 50


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1200", "gfx950"])
def test_real_traces_decode_as_the_reference(arch: str, shared: Any, capture_dir: Path) -> None:
    from peephole.ingest import import_files
    from peephole.query.hardware.traces import content

    packets = 0
    for path in sorted(shared(f"fixtures/sqtt/{arch}").glob("*.pkl")):
        found = open_capture(import_files([path]))
        for entry in entries(found):
            if entry.kind == "sqtt":
                blob = content(found, entry)
                packets += assert_equal(blob, decode(blob))
                trace = HardwareTrace(found, entry)
                assert not trace.losses.marks
                assert trace.words() == []
    assert packets > 20_000
