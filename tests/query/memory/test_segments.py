"""Segments and blocks at any moment, against the allocator's events read by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.sources.cuda_memory.test_snapshot import BASE_US, FRAMES, ROUNDED, imported, snapshot

from peephole.cli.main import main
from peephole.query.memory.segments import Allocator, SegmentsAt, out_of_memory

PAGE = 2 << 20


def blocks_of(at: SegmentsAt) -> dict[int, int]:
    return {int(at.address[s]) + int(o): int(n) for s, o, n in zip(at.segment, at.offset, at.size, strict=True)}


def segments_of(at: SegmentsAt) -> dict[int, int]:
    return {int(a): int(n) for a, n in zip(at.address, at.bytes, strict=True)}


def largest_free(segments: dict[int, int], blocks: dict[int, int]) -> int:
    """Byte by byte in steps of the smallest size."""
    best = 0
    for start, size in segments.items():
        run = 0
        for where in range(start, start + size, 512):
            taken = any(b <= where < b + n for b, n in blocks.items())
            run = 0 if taken else run + 512
            best = max(best, run)
    return best


@pytest.mark.parametrize("forgotten", [0, 25])
def test_every_moment_is_that_of_the_events(forgotten: int, tmp_path: Path) -> None:
    """Also where the history is a ring that has lost its first events."""
    data = snapshot(120, seed=3)
    full = data["device_traces"][0]
    blocks, segments = {0x7F00_0000_0000: 4096 - ROUNDED}, {0x7F00_0000_0000: PAGE}
    expected = []
    for entry in full:
        where, size = entry["addr"], entry["size"]
        match entry["action"]:
            case "alloc":
                blocks[where] = size
            case "free_completed":
                del blocks[where]
            case "segment_alloc":
                segments[where] = size
        expected.append((entry["time_us"], dict(blocks), dict(segments)))
    base = full[forgotten]["time_us"]
    data["device_traces"] = [full[forgotten:]]
    allocator = Allocator(imported(data, tmp_path / "s"), "CUDA:0")
    for time, held, reserved in expected[forgotten:]:
        at = allocator.at((time - base) * 1000)
        assert blocks_of(at) == held and segments_of(at) == reserved and at.lost == 0
        assert allocator.reserved_at((time - base) * 1000) == at.reserved == sum(reserved.values())
        assert at.allocated == sum(held.values())
    assert at.largest == largest_free(segments, {where: size + ROUNDED for where, size in blocks.items()})
    # and the last of them is what torch says of itself
    assert segments_of(at) == {s["address"]: s["total_size"] for s in data["segments"]}
    active = [b for s in data["segments"] for b in s["blocks"] if b["state"].startswith("active")]
    assert blocks_of(at) == {b["address"]: b["requested_size"] for b in active}
    assert at.taken.tolist() == [b["size"] for b in sorted(active, key=lambda b: b["address"])]


def mapped(*events: tuple[str, int, int]) -> dict[str, Any]:
    trace = [
        {"action": action, "addr": where, "size": size, "stream": 3, "time_us": BASE_US + at, "frames": FRAMES}
        for at, (action, where, size) in enumerate(events)
    ]
    return {"segments": [], "device_traces": [trace]}


def test_expandable_segments_grow_and_are_unmapped_in_part(tmp_path: Path) -> None:
    data = mapped(
        ("segment_map", 0, PAGE),
        ("segment_map", PAGE, 3 * PAGE),
        ("alloc", PAGE - 512, 1024),
        ("segment_unmap", 2 * PAGE, PAGE),
        ("segment_unmap", 0, 4 * PAGE),
    )
    allocator = Allocator(imported(data, tmp_path / "s"), "CUDA:0")
    moments = [allocator.at(1000 * at) for at in range(5)]
    assert [segments_of(at) for at in moments] == [
        {0: PAGE}, {0: 4 * PAGE}, {0: 4 * PAGE}, {0: 2 * PAGE, 3 * PAGE: PAGE}, {}
    ]  # fmt: skip
    # a block may lie across parts that were mapped one after the other
    assert blocks_of(moments[2]) == {PAGE - 512: 1024}
    assert moments[4].lost == 1024 and moments[4].fragmentation == 0
    assert moments[0].name == ["expandable segment of stream 3"]


def test_segments_that_happen_to_touch_are_two(tmp_path: Path) -> None:
    data = mapped(("segment_alloc", PAGE, PAGE), ("segment_alloc", 2 * PAGE, PAGE), ("alloc", PAGE, 512))
    at = Allocator(imported(data, tmp_path / "s"), "CUDA:0").at(2000)
    assert segments_of(at) == {PAGE: PAGE, 2 * PAGE: PAGE} and at.largest_free.tolist() == [PAGE - 512, PAGE]


def test_addresses_of_64_bits(tmp_path: Path) -> None:
    top = (1 << 64) - PAGE
    data = mapped(("segment_alloc", top, PAGE), ("alloc", top + 512, 512), ("alloc", 0, 512))
    at = Allocator(imported(data, tmp_path / "s"), "CUDA:0").at(2000)
    assert blocks_of(at) == {top + 512: 512} and at.lost == 512


def test_in_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = snapshot()
    path = str(imported(data, tmp_path / "s").path)
    memory = ["show", path, "-s", "CUDA:0 Memory"]
    assert main(memory) == 0
    text = capsys.readouterr().out
    assert "reserved 10.49 MB at the end" in text and text.count("out of memory: 16.0 GiB asked") == 2
    assert main([*memory, "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()][1:]
    assert events[-1]["event"] == "oom" and events[-1]["stack"][1] == "forward (/prog/model.py:31)"
    assert events[-2]["reserved_bytes"] == 5 * PAGE
    assert main([*memory, "-i", "segments", "--json"]) == 0
    first, *rest = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["reserved_bytes"], first["segments"]) == (5 * PAGE, 5)
    assert first["allocated_bytes"] == sum(b["bytes"] for s in rest for b in s["blocks"])
    assert [s["segment"] for s in rest] == [hex(s["address"]) for s in data["segments"]]
    assert main([*memory, "-i", "segments", "0us"]) == 0
    assert "4.19 MB reserved in 2 segments at 0.000 ms" in capsys.readouterr().out
    assert main([*memory, "-i", "segments", "peak", "-t", "2"]) == 0
    assert capsys.readouterr().out.count("segment of stream") == 2
    assert main([*memory, "-i", "b7"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("b7  12.79 kB on CUDA:0 at 0x7f0001000000\n") and "    <module> (/prog/train.py:5)\n" in text
    for wrong in (["b999"], ["zz"], ["segments", "soon"], ["segments", "1ms", "2ms"]):
        assert main([*memory, "-i", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_what_is_older_has_its_stack_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = snapshot()
    data["device_traces"] = [[]]
    capture = imported(data, tmp_path / "s")
    active = sum(b["state"] == "active_allocated" for s in data["segments"] for b in s["blocks"])
    at = Allocator(capture, "CUDA:0").at(0)
    assert len(at.size) == active and at.lost == 0 and not out_of_memory(capture, "CUDA:0")
    assert main(["show", str(capture.path), "-s", "CUDA:0 Memory", "-i", "b9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stack"][1] == "forward (/prog/model.py:31)"
