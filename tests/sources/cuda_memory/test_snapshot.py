"""A memory snapshot in PyTorch's form: what was held at any moment, stacks, segments, moments without memory."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from tests.capture_rows import rows

from peephole import sources
from peephole.errors import CaptureError, PeepholeError
from peephole.ingest import import_files
from peephole.query.memory.buffers import devices
from peephole.store.capture import Capture, open_capture

ROUNDED = 12
"""Bytes that a block has more than was asked for; torch's history knows only what was asked for."""
BASE_US = 1_790_000_000_000_000
FRAMES = [
    {"filename": "/opt/torch/nn/functional.py", "line": 9, "name": "linear"},
    {"filename": "/prog/model.py", "line": 31, "name": "forward"},
    {"filename": "/prog/train.py", "line": 5, "name": "<module>"},
]


def snapshot(steps: int = 40, timed: bool = True, seed: int = 1) -> dict[str, Any]:
    """A history in which memory comes and goes, and what is there at its end, as torch gives it."""
    rng = random.Random(seed)
    history: list[dict[str, Any]] = []
    live: dict[int, int] = {0x7F00_0000_0000: 4096}  # from before the history
    segments = {0x7F00_0000_0000: 1 << 21}

    def event(action: str, where: int, size: int, **more: Any) -> None:
        entry = {"action": action, "addr": where, "size": size, "stream": 0, "frames": FRAMES, **more}
        if timed:
            entry["time_us"] = BASE_US + 10 * len(history)
        history.append(entry)

    for step in range(steps):
        if step % 10 == 0:
            where = 0x7F00_0000_0000 + (step // 10 + 1) * (1 << 24)
            segments[where] = 1 << 21
            event("segment_alloc", where, 1 << 21)
        if len(live) > 3 and rng.random() < 0.5:
            where = rng.choice(list(live))
            event("free_requested", where, live[where] - ROUNDED)
            event("free_completed", where, live.pop(where) - ROUNDED)
        base = rng.choice(list(segments))
        taken = [w for w in live if base <= w < base + (1 << 21)]
        where = max((w + live[w] for w in taken), default=base)
        size = 512 * rng.randrange(1, 40)
        if where + size <= base + segments[base]:
            live[where] = size
            event("alloc", where, size - ROUNDED)
    event("oom", 1 << 20, 1 << 34, device_free=12 << 20)
    event("snapshot", 0, 0)
    found = []
    for base, total in segments.items():
        blocks, at = [], base
        for where in sorted(w for w in live if base <= w < base + total):
            if where > at:
                blocks.append(
                    {"address": at, "size": where - at, "requested_size": 0, "state": "inactive", "frames": []}
                )
            own = {
                "address": where,
                "size": live[where],
                "requested_size": live[where] - ROUNDED,
                "state": "active_allocated",
            }
            blocks.append({**own, "frames": FRAMES})
            at = where + live[where]
        blocks.append(
            {"address": at, "size": base + total - at, "requested_size": 0, "state": "inactive", "frames": []}
        )
        kind = {"segment_type": "large", "device": 0, "stream": 0, "segment_pool_id": (0, 0), "frames": FRAMES}
        found.append({"address": base, "total_size": total, "blocks": blocks, **kind})
    notes = [{"name": "step", "stage": stage, "device": 0, "time_us": BASE_US + at}
             for stage, at in (("START", 50), ("END", 200))]  # fmt: skip
    return {
        "segments": found, "device_traces": [history], "allocator_settings": {"expandable_segments": False},
        "external_annotations": notes,
    }  # fmt: skip


def imported(value: Any, path: Path) -> Capture:
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol=4))
    return open_capture(import_files([path], path.parent / f"{path.name}.peep"))


def active(data: dict[str, Any], device: int = 0) -> int:
    """As torch's own memory_viz sums it up, without what was rounded up."""
    from torch.cuda._memory_viz import _block_extra, calc_active

    own = [segment for segment in data["segments"] if segment["device"] == device]
    held = [block for segment in own for block in segment["blocks"] if block["state"] == "active_allocated"]
    asked = sum(int(_block_extra(block)[1]) for block in held)
    assert asked == sum(map(calc_active, own)) - ROUNDED * len(held)
    return asked


@pytest.mark.parametrize("name", ["snapshot.pickle", "x"])
def test_what_is_held_at_any_moment(name: str, tmp_path: Path) -> None:
    data = snapshot()
    capture = imported(data, tmp_path / name)
    assert capture.manifest.source == "cuda_memory" and not capture.manifest.problems
    buffers = rows(capture, "buffers")
    own = [b for b in buffers if b["device"] == "CUDA:0"]
    # by hand, event after event
    total = 4096 - ROUNDED
    for entry in data["device_traces"][0]:
        time = (entry["time_us"] - BASE_US) * 1000
        total += entry["size"] * ((entry["action"] == "alloc") - (entry["action"] == "free_completed"))
        held = sum(b["bytes"] for b in own if b["alloc"] <= time and (b["free"] < 0 or b["free"] > time))
        assert held == total
    assert total == active(data) == sum(b["bytes"] for b in own if b["free"] < 0)
    assert {b["name"] for b in own} == {"forward (/prog/model.py:31)"}
    segments = [b for b in buffers if b["device"] == "CUDA:0 segments"]
    assert sum(b["bytes"] for b in segments if b["free"] < 0) == sum(s["total_size"] for s in data["segments"])
    assert set(devices(capture)) == {"CUDA:0", "CUDA:0 segments"}
    assert capture.manifest.clocks["base_ns"] == BASE_US * 1000


def test_fragmentation_oom_and_stacks(tmp_path: Path) -> None:
    data = snapshot()
    capture = imported(data, tmp_path / "s")
    names = {t["id"]: t["name"] for t in rows(capture, "tracks")}
    last: dict[str, float] = {}
    for row in sorted(rows(capture, "counters"), key=lambda row: row["time"]):
        last[names[row["track"]]] = row["value"]
    reserved = sum(s["total_size"] for s in data["segments"])
    assert last["CUDA:0 reserved"] == reserved and last["CUDA:0 allocated"] == active(data)
    assert last["CUDA:0 fragmentation"] == pytest.approx(100 * (1 - active(data) / reserved))
    oom, end = rows(capture, "markers")
    assert oom["name"] == "out of memory: 16.0 GiB asked, 12.0 MiB free" and end["name"] == "snapshot"
    assert json.loads(oom["args"])["callstack"][1] == "forward (/prog/model.py:31)"
    events = {s["correlation"]: s for s in rows(capture, "slices")}
    uses = rows(capture, "uses")
    allocs = [events[u["slice"]] for u in uses if u["mode"] == "write"]
    assert sum(e["name"].startswith("alloc") for e in allocs) == sum(
        e["action"] == "alloc" for e in data["device_traces"][0]
    )
    assert all(len(json.loads(e["args"])["callstack"]) == 3 for e in allocs)
    (note,) = [s for s in events.values() if s["name"] == "step"]
    assert (note["start"], note["dur"]) == (50_000, 150_000)
    (table,) = rows_of_artifacts(capture)
    assert table.count("segment 0x") == len(data["segments"]) and "active_allocated" in table


def rows_of_artifacts(capture: Capture) -> list[str]:
    contents = capture.read("artifacts", ["content"]).blobs("content")
    return [(contents[row] or b"").decode() for row in range(len(contents))]


def test_private_pools_and_nodes_of_fx_are_named(tmp_path: Path) -> None:
    graph = {
        "filename": "/tmp/fx_generated_8.py", "line": 7, "name": "forward", "fx_node_op": "call_function",
        "fx_node_name": "linear",
        "fx_original_trace": '  File "/prog/train.py", line 5, in <module>\n'
                             '  File "/prog/model.py", line 31, in block\n',
    }  # fmt: skip
    data = snapshot()
    own = data["segments"][1]
    own["segment_pool_id"] = (1, 0)
    data["segments"][2]["segment_pool_id"] = (0, 3)
    made = next(e for e in data["device_traces"][0] if e["action"] == "alloc" and e["size"] > 0)
    made |= {"frames": [graph, *FRAMES], "pool_id": (1, 0)}
    capture = imported(data, tmp_path / "s")
    buffers = rows(capture, "buffers")
    names = [b["name"] for b in buffers if b["device"] == "CUDA:0 segments"]
    assert names.count("segment of stream 0, private pool 1.0") == 1
    assert names.count("segment of stream 0, private pool 0.3") == 1
    assert names.count("segment of stream 0") == len(names) - 2 > 0
    assert "block (/prog/model.py:31) · call_function linear" in {b["name"] for b in buffers}
    args = [json.loads(s["args"]) for s in rows(capture, "slices")]
    assert [a["callstack"][0] for a in args if a.get("pool_id") == [1, 0]] == [
        "block (/prog/model.py:31) · call_function linear"
    ]
    table = rows(capture, "artifacts")[0]["content"].decode()
    assert table.count("private pool 1.0") == table.count("private pool 0.3") == 1


def test_old_snapshots_without_times_are_in_their_order(tmp_path: Path) -> None:
    data = snapshot(timed=False)
    capture = imported(data, tmp_path / "s")
    assert [p["reason"] for p in capture.manifest.problems] == [
        "events without times, shown a microsecond apart in their order"
    ]
    assert sum(b["bytes"] for b in rows(capture, "buffers") if b["device"] == "CUDA:0" and b["free"] < 0) == active(
        data
    )


def test_expandable_segments(tmp_path: Path) -> None:
    page = 2 << 20
    events = [
        {"action": action, "addr": where, "size": size, "time_us": BASE_US + at, "frames": []}
        for at, (action, where, size) in enumerate(
            [("segment_map", 0, page), ("segment_map", page, page), ("segment_unmap", 0, 2 * page)]
        )
    ]
    capture = imported({"segments": [], "device_traces": [[], events]}, tmp_path / "s")
    assert [(b["device"], b["free"]) for b in rows(capture, "buffers")] == [("CUDA:1 segments", 2000)] * 2


@pytest.mark.parametrize(
    "value",
    [
        {"segments": 5, "device_traces": "x"},
        {"segments": [5, {"blocks": [7, {"size": "x", "state": 9}], "total_size": None, "address": -1}]},
        {
            "segments": [],
            "device_traces": [[{"action": 4}, {"action": "alloc", "addr": "x", "size": 2.5, "frames": [1, {}]}]],
        },
        {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1 << 70, "time_us": -5}]]},
    ],
)
def test_odd_values_are_no_trap(value: Any, tmp_path: Path) -> None:
    imported(value, tmp_path / "s")


def test_nothing_in_it_is_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (open, (str(tmp_path / "made"), "w"))

    with pytest.raises(CaptureError, match="nothing of it was run"):
        imported({"segments": [Evil()], "device_traces": []}, tmp_path / "s")
    assert not (tmp_path / "made").exists()
    data = pickle.dumps(snapshot(4), protocol=4)
    for cut in range(1, len(data), 97):
        with pytest.raises(PeepholeError):
            imported(data[:cut], tmp_path / f"c{cut}")


def test_tinygrads_pickles_are_still_tinygrads(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(pickle.dumps([1, 2], protocol=4))
    assert sources.find(path).name == "tinygrad"
