"""What torch draws around kernels on a device (`gpu_user_annotation`) ran nothing and is no collective."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.rank_traces import write_ranks

from peephole.fleet.run import make_run
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.run import open_run
from peephole.store.capture import open_capture


def tables(path: Path) -> dict[str, Any]:
    found = open_run(open_capture(path)).tables
    without = {"slices", "capture", "raw_start_ns", "raw_end_ns", "start_ns", "end_ns"}
    return {
        name: {c.name: list(found[name][c.name]) for c in table.columns if c.name not in without}
        for name, table in RUN_TABLES.items()
        if name != "inputs"
    }


def draw_ranges(source: Path, target: Path) -> None:
    """Adds the ranges as torch has them on a GPU: around each collective, and around a step's kernels."""
    with gzip.open(source, "rt") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    spans = [event for event in events if event.get("ph") == "X"]
    ranges = []
    for event in spans:
        if event["name"].startswith("nccl"):
            around = {"tid": 20, "ts": event["ts"], "dur": event["dur"]}
            ranges.append({**event, **around, "name": "nccl:all_reduce", "args": {"External id": 8}})
        if event["name"].startswith("ProfilerStep"):
            inside = [one for one in spans if one["cat"] == "kernel" and one["tid"] == 7
                      and event["ts"] <= one["ts"] < event["ts"] + event["dur"]]  # fmt: skip
            first, last = inside[0]["ts"], max(round(one["ts"] + one["dur"], 3) for one in inside)
            for name in (event["name"], "## forward ##"):
                ranges.append({"ph": "X", "name": name, "pid": 0, "tid": 7, "ts": first, "dur": round(last - first, 3)})
    trace["traceEvents"] = [*[{**one, "cat": "gpu_user_annotation"} for one in ranges], *events]
    with gzip.open(target, "wt") as file:
        json.dump(trace, file)


def test_ranges_on_devices_change_nothing(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 3, slow={2: (1, 3)}, hosts=1)
    (tmp_path / "drawn").mkdir()
    drawn = [tmp_path / "drawn" / file.name for file in known.files]
    for file, target in zip(known.files, drawn, strict=True):
        draw_ranges(file, target)
    plain, found = (tables(make_run(files, tmp_path / name)) for files, name in ((known.files, "a"), (drawn, "b")))
    assert found == plain
    assert found["ranks"]["busy_ns"] == known.busy and found["ranks"]["overlap_ns"] == known.overlap
