"""Instructions found in a trace, against tinygrad's own mapping; control flow; waves; counters; the terminal."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.query.hardware import kernels, streams
from tinygrad.renderer.amd import sqtt as reference

from peephole.errors import CaptureError, PeepholeError
from peephole.query.hardware.counters import metrics, unpack
from peephole.query.hardware.decode import SILENT, decode
from peephole.query.hardware.elf import resources, sections
from peephole.query.hardware.flow import control_flow
from peephole.query.hardware.hotspots import hotspots
from peephole.query.hardware.losses import losses
from peephole.query.hardware.mapping import map_instructions
from peephole.query.hardware.packets import Arch
from peephole.query.hardware.program import disassemble
from peephole.query.hardware.waves import clock_samples, occupancy, waves
from peephole.store.writer import CaptureWriter


@pytest.mark.parametrize("name", ["straight", "diamond", "loop", "loop_with_break", "switch"])
def test_program_counters_are_the_references(name: str) -> None:
    binary, program = kernels.kernel(name)
    for seed in range(5):
        blob = kernels.walk_waves(program, seed).blob()
        packets = decode(blob)
        mapped = map_instructions(packets, program)
        expected = [
            (p._time, info.wave, info.pc)
            for p, info in reference.map_insts(blob, binary, "gfx1100")
            if info is not None
        ]
        found = [
            (int(packets.time[row]), wave, int(program.pc[inst]))
            for row, wave, inst in zip(
                mapped.packet.tolist(), mapped.wave.tolist(), mapped.instruction.tolist(), strict=True
            )
            if wave >= 0 and inst >= 0
        ]
        assert found == expected
        assert len(found) > 80
        assert not mapped.problems


def test_execution_finds_its_dispatch() -> None:
    _, program = kernels.kernel("straight")
    stream = streams.Stream(Arch.RDNA3)
    stream.header()
    stream.named("WAVESTART", wave=2, simd=0, cu=0, sa=0)
    stream.named("INST", wave=2, op=0, delta=1)
    stream.named("VALUINST", wave=2, delta=2)
    stream.named("ALUEXEC", op=3, delta=3)
    stream.named("ALUEXEC", op=2, delta=1)
    packets = decode(stream.blob(), skip={"NOP"})
    mapped = map_instructions(packets, program)
    assert mapped.wave.tolist() == [2, 2, -2, -1, -2]
    assert mapped.link.tolist() == [-1, -1, 1, 0, -1]
    assert mapped.problems == {"execution without a traced dispatch": 1}
    found = hotspots(packets, mapped, program)
    assert found.hits.tolist() == [1, 1, 0]
    assert found.latency.total.tolist() == [5, 3, 0]
    assert found.stall.total.tolist() == [0, 1, 0]


def test_waves_that_do_not_fit_are_counted_not_fatal() -> None:
    _, program = kernels.kernel("straight")
    rng = np.random.default_rng(0)
    for _ in range(50):
        blob = streams.random_stream(Arch.RDNA3, int(rng.integers(1 << 30)), 300).blob()
        mapped = map_instructions(decode(blob), program)
        assert mapped.instruction.max(initial=-1) <= len(program)
    assert mapped.problems


def edges(name: str) -> set[tuple[int, int, str]]:
    _, program = kernels.kernel(name)
    flow = control_flow(program)
    covered = [i for block in flow.blocks for i in range(block.first, block.last + 1)]
    assert covered == list(range(len(program)))
    return {(edge.source, edge.target, edge.kind) for edge in flow.edges}


def test_control_flow() -> None:
    assert edges("straight") == set()
    assert edges("diamond") == {(0, 2, "taken"), (0, 1, "not taken"), (1, 3, "always"), (2, 3, "always")}
    assert edges("loop") == {(0, 1, "always"), (1, 1, "taken"), (1, 2, "not taken")}
    assert edges("loop_with_break") == {(0, 2, "taken"), (0, 1, "not taken"), (1, 0, "always")}
    assert edges("switch") == {
        (0, 3, "taken"), (0, 1, "not taken"), (1, 4, "taken"), (1, 2, "not taken"), (2, 5, "always"), (3, 5, "always"),
        (4, 5, "always"),
    }  # fmt: skip


def test_elf() -> None:
    binary, program = kernels.kernel("loop")
    found = resources(binary, "gfx1100")
    assert found is not None
    assert (found.vgprs, found.lds_bytes, found.scratch_bytes) == (32, 1024, 64)
    wide = resources(kernels.elf(b"\0" * 4, wave32=False), "gfx1100")
    assert wide is not None
    assert wide.vgprs == 16
    assert [r.vgprs for arch in ("gfx906", "gfx950") if (r := resources(binary, arch))] == [16, 32]
    assert int(program.pc[0]) == sections(binary)[".text"].address
    assert program.indices(np.array([program.pc[2], 1])).tolist() == [2, -1]
    for size in range(0, len(binary), 7):
        try:
            sections(binary[:size])
        except CaptureError as error:
            assert "ELF" in str(error)
    with pytest.raises(PeepholeError, match="unknown to tinygrad's disassembler"):
        disassemble(kernels.elf(b"\xff" * 16), "gfx1100")


def test_registers_have_one_name_alone_and_in_a_range() -> None:
    _, program = kernels.kernel("registers")
    assert [sorted(names) for names in program.registers[:2]] == [["v3", "v4", "v5", "v6"], ["v0", "v4"]]
    assert sorted(kernels.kernel("loop")[1].registers[3]) == ["s0", "s1"]


def test_waves_of_all_units_and_occupancy() -> None:
    stream = streams.Stream(Arch.RDNA4)
    stream.header()
    for cu in range(3):
        for simd in range(4):
            stream.named("WAVESTART", wave=5, simd=simd, cu=cu, sa=1, delta=1)
    for cu in range(3):
        for simd in range(3):
            stream.named("WAVEEND", wave=5, simd=simd, cu=cu, sa=1, delta=2)
    found = waves(decode(stream.blob()))
    assert len(found) == 12
    assert int(found.closed.sum()) == 9
    assert set(found.cu.tolist()) == {16, 17, 18}
    moments, number = occupancy(found)
    assert int(number.max()) == 12
    assert int(number[-1]) == 0
    assert moments.tolist() == sorted(moments.tolist())


def test_clock_samples_give_the_time() -> None:
    stream = streams.Stream(Arch.RDNA3)
    stream.header()
    stream.named("TS_DELTA_OR_MARK", rest=1 << 9, delta=1000)
    stream.named("TS_DELTA_OR_MARK", delta=2000)
    stream.named("TS_DELTA_OR_MARK", rest=1 << 9, delta=1100)
    samples = clock_samples(decode(stream.blob()))
    assert samples.tick.tolist() == [1000, 1100]
    assert samples.cycle.tolist() == [0, 2000]


def test_losses_are_told() -> None:
    stream = streams.Stream(Arch.CDNA)
    stream.header()
    for kind in (2, 4, 5, 2, 6):
        stream.named("CDNA_MISC", payload=kind, delta=3)
    stream.named("CDNA_EVENT")
    # the zeros behind the stream are CDNA_MISC packets of the kind "time"
    found = losses(decode(stream.blob()))
    assert found.counts() == {
        "packets were lost": 2, "the trace stalled": 1, "the trace went on": 1,
        "waves were saved for another process": 1,
    }  # fmt: skip
    assert found.stalls() == [(24, 36)]
    assert found.sentences()[1] == "1 x the trace stalled, 12 cycles in all."


@pytest.mark.parametrize("arch", [Arch.RDNA3, Arch.RDNA4])
def test_losses_of_rdna_are_told(arch: Arch) -> None:
    real, lost = {Arch.RDNA3: 1 << 9, Arch.RDNA4: 1 << 7}[arch], 1 << 8
    stream = streams.Stream(arch)
    stream.header()
    stream.named("TS_DELTA_OR_MARK", rest=real, delta=1000)  # a sample of the clock
    stream.named("TS_DELTA_OR_MARK", delta=50)  # time passes
    stream.named("TS_DELTA_OR_MARK", rest=lost, delta=70)  # time passes, and packets are missing
    stream.named("TS_WAVE_STATE", payload=1 << 4, delta=5)
    stream.named("TS_WAVE_STATE", payload=1 << 5 | 1 << 6, delta=200)
    stream.named("TS_WAVE_STATE", payload=1 << 1, delta=1)  # nothing to report
    stream.named("TS_WAVE_STATE", payload=1 << 4, delta=1)  # a stall without an end
    for skip in ((), SILENT):
        found = losses(decode(stream.blob(), skip))
        assert {reason: times.tolist() for reason, times in found.marks.items()} == {
            "packets were lost": [120], "the trace stalled": [125, 327], "the trace went on": [325],
            "the chip throttled itself": [325],
        }  # fmt: skip
        assert found.stalls() == [(125, 325), (327, 327)]
    assert losses(decode(streams.random_stream(arch, 1, 0).blob())).marks == {}


def test_counters() -> None:
    blob = struct.pack("<9Q", *range(1, 9), 100)
    found = unpack(streams.SCHED, blob)
    assert [(c.name, c.total, c.largest, c.count) for c in found] == [
        ("SQ_INSTS_VALU", 36, 8, 8),
        ("GRBM_GUI_ACTIVE", 100, 100, 1),
    ]
    assert [(u.engine, u.array, u.values) for u in found[0].units] == [
        (0, 0, (1, 2)), (0, 1, (3, 4)), (1, 0, (5, 6)), (1, 1, (7, 8)),
    ]  # fmt: skip
    assert [(m.name, round(m.value, 4)) for m in metrics(found)] == [("VALU utilization", 1.125)]
    assert unpack(streams.SCHED, blob[:20])[0].total == 3
    assert unpack([{"name": "x", "xcc": 1 << 30}], blob) == []


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    binary, program = kernels.kernel("loop")
    path = tmp_path / "hw.peep"
    props = json.dumps({"itrace": True, "se": 0})
    with CaptureWriter(path) as writer:
        writer.append("artifacts", {"kind": ["binary"], "name": ["gemm"], "language": ["gfx1100"], "content": [binary]})
        writer.append(
            "hardware",
            {
                "kernel": ["gemm"] * 3,
                "device": ["AMD"] * 3,
                "run": [0, 1, 0],
                "kind": ["sqtt", "sqtt", "pmc"],
                "unit": ["SE:0", "SE:0", ""],
                "arch": ["gfx1100"] * 3,
                "props": [props, json.dumps({"itrace": False}), json.dumps({"sched": streams.SCHED})],
                "content": [kernels.walk_waves(program, 1).blob(), b"", struct.pack("<9Q", *range(1, 9), 100)],
            },
        )
    return path


def test_terminal(capture: Path, peephole: Any) -> None:
    listing = peephole("show", capture, "--ls").stdout
    for name in ("All Counters", "gemm PMC", "gemm SQTT SE:0 PKTS", "gemm n2 SQTT SE:0 PKTS"):
        assert name in listing
    rows = [
        json.loads(line)
        for line in peephole("show", capture, "-s", "gemm SQTT SE:0 PKTS", "--json").stdout.splitlines()
    ]
    assert set(rows[0]) == {"clock", "unit", "op", "duration", "delay", "pc", "instruction"}
    assert {row["unit"] for row in rows} >= {"WAVE:0", "VALU", "SALU"}
    assert any(row["delay"] for row in rows)
    lives = [row for row in rows if row["op"] == "WAVE"]
    assert {row["unit"].rsplit(" ", 1)[0] for row in lives} == {"CU:0 SIMD:0", "CU:0 SIMD:1"}
    assert [row["clock"] for row in rows] == sorted(row["clock"] for row in rows)
    hot = [
        json.loads(line)
        for line in peephole("show", capture, "-s", "gemm SQTT SE:0 PKTS", "-t", "--json").stdout.splitlines()
    ]
    assert hot[0]["hits"] > 0
    csv = peephole("show", capture, "-s", "gemm SQTT SE:0 PKTS", "--csv").stdout.splitlines()
    assert csv[0] == "clock,unit,op,duration,delay,pc,instruction"
    assert len(csv) == len(rows) + 1
    text = peephole("show", capture, "-s", "gemm PMC").stdout
    assert "SQ_INSTS_VALU" in text
    assert "WGP:1" in text
    assert "36" in text
    counters = json.loads(peephole("show", capture, "-s", "gemm PMC", "--json").stdout.splitlines()[0])
    assert counters["sum"] == 36
    flat = peephole("show", capture, "-s", "gemm PMC", "--csv").stdout.splitlines()
    assert flat[:2] == ["counter,block,xcc,inst,se,sa,wgp,value", "SQ_INSTS_VALU,SQ,0,0,0,0,0,1"]
    assert flat[-1] == "VALU utilization,derived,,,,,,1.125"
    assert peephole("show", capture, "-s", "All Counters", "--csv").stdout.splitlines() == [
        "kernel,SQ_INSTS_VALU,GRBM_GUI_ACTIVE", "gemm,36,100",
    ]  # fmt: skip
    head = peephole("show", capture, "-s", "gemm SQTT SE:0 PKTS", "-t", "1", "--csv").stdout.splitlines()[0]
    assert head.startswith("pc,instruction,hits,latency_mean,latency_sum,latency_worst,stall_mean")
    assert "without instruction detail" in peephole("show", capture, "-s", "gemm n2 SQTT SE:0 PKTS").stdout
    wrong = peephole("show", capture, "-s", "gemm SQTT SE:9 PKTS", check=False)
    assert wrong.returncode == 2


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1200"])
@pytest.mark.parametrize("name", ["empty", "plus", "gemm", "sync"])
def test_real_traces_map_as_the_reference(arch: str, name: str, shared: Any, capture_dir: Path) -> None:
    from peephole.ingest import import_files
    from peephole.query.hardware.traces import HardwareTrace, content, entries
    from peephole.store.capture import open_capture

    found = open_capture(import_files([shared(f"fixtures/sqtt/{arch}/profile_{name}_run_0.pkl")]))
    checked = 0
    for entry in entries(found):
        if entry.kind != "sqtt" or not entry.props["itrace"]:
            continue
        trace = HardwareTrace(found, entry)
        assert trace.binary is not None
        assert trace.mapped is not None
        assert trace.program is not None
        expected = [
            (p._time, info.wave, info.pc)
            for p, info in reference.map_insts(content(found, entry), trace.binary, arch)
            if info is not None
        ]
        rows = zip(
            trace.mapped.packet.tolist(), trace.mapped.wave.tolist(), trace.mapped.instruction.tolist(), strict=True
        )
        ours = [(int(trace.packets.time[r]), w, int(trace.program.pc[i])) for r, w, i in rows if w >= 0 and i >= 0]
        assert ours == expected
        checked += 1
    assert checked >= 2
