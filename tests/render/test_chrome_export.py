"""A capture written as Chrome JSON and read again is the same profile."""

from __future__ import annotations

import io
import json
from pathlib import Path

from peephole.ingest import import_files
from peephole.render.chrome import micro, write_chrome
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


def test_round_trip(tmp_path: Path, capture_dir: Path) -> None:
    with CaptureWriter(tmp_path / "c.peep") as writer:
        writer.append("tracks", {"id": [0, 1, 2], "name": ["CPU", "main", 'x"<b>'], "parent": [-1, 0, 0]})
        writer.append(
            "slices",
            {
                "track": [1, 1, 2, 2],
                "start": [1, 2, 10, 11],
                "dur": [10, 3, 5, 5],
                "name": ["outer", "inner", "k1", 'k"2'],
                "correlation": [0, 5, 6, 0],
                "args": ['{"a":1}', None, None, None],
            },
        )
        writer.append("markers", {"time": [7], "name": ["epoch"]})
        writer.append("counters", {"track": [2, 2], "time": [1, 2], "value": [1.5, float("nan")]})
        writer.append("flows", {"from": [5], "to": [6], "kind": ["launch"]})
    out = io.BytesIO()
    write_chrome(open_capture(tmp_path / "c.peep"), out)
    events = json.loads(out.getvalue())["traceEvents"]
    slices = {event["name"]: event for event in events if event["ph"] == "X"}
    # nested rows share a thread, overlapping ones do not
    assert slices["outer"]["tid"] == slices["inner"]["tid"]
    assert slices["k1"]["tid"] != slices['k"2']["tid"]
    (tmp_path / "t.json").write_bytes(out.getvalue())
    again = open_capture(import_files([tmp_path / "t.json"]))
    frame = again.read("slices")
    found = sorted(zip(frame.texts("name"), frame["start"].tolist(), frame["dur"].tolist(), strict=True))
    assert found == [("inner", 2, 3), ('k"2', 11, 5), ("k1", 10, 5), ("outer", 1, 10)]
    assert (again.count("flows"), again.count("markers"), again.count("counters")) == (1, 1, 1)
    assert not again.manifest.problems


def test_micro_is_exact() -> None:
    assert [micro(t) for t in (0, 1, 999, 1000, -1, 1790857026123456789)] == [
        "0.000", "0.001", "0.999", "1.000", "-0.001", "1790857026123456.789",
    ]  # fmt: skip
