"""A capture that is written and read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from peephole.model.sink import Strings
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a.peep"
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["CPU", "GPU"], "kind": ["device", "device"]})
        writer.append(
            "slices",
            {
                "track": [1, 0, 1],
                "start": [50, 5, 10],
                "dur": [5, 10, 20],
                "name": Strings(np.array([0, 1, -1]), ["k\udc80", "b"]),
                "args": [None, "{}", None],
            },
        )
        writer.append("nodes", {"id": [7, 3], "op": ["ADD", "CONST"], "src": [[3, 3], []]})
        writer.append("artifacts", {"kind": ["source"], "content": [b"\0x"]})
        writer.describe(program="train.py", colour="red")
        writer.problem("odd row", 2)
    capture = open_capture(path)
    assert capture.name == "a"
    assert capture.manifest.program == "train.py"
    assert capture.manifest.extra["colour"] == "red"
    assert capture.manifest.problems == [{"reason": "odd row", "count": 2, "example": ""}]
    slices = capture.read("slices")
    assert slices["start"].tolist() == [5, 10, 50]
    assert list(slices.texts("name")) == ["b", None, "k\\udc80"]
    assert list(slices.texts("args")) == ["{}", None, None]
    assert slices["context"].tolist() == [-1, -1, -1]
    nodes = capture.read("nodes", ["id", "src", "tag"])
    assert [nodes.lists("src")[i] for i in range(2)] == [[], [3, 3]]
    assert list(nodes.texts("tag")) == [None, None]
    assert capture.read("artifacts", ["content"]).blobs("content")[0] == b"\0x"
    lanes = capture.lanes()
    assert lanes.track.tolist() == [0, 1]
    assert lanes.count.tolist() == [1, 2]
    frame, first = capture.slices(1, 0, 30, 51, ["name", "start"])
    assert (first, frame["start"].tolist()) == (2, [50])
    frame, first = capture.slices(1, 0, 29, 30, ["start"])
    assert (first, frame["start"].tolist()) == (1, [10])
    assert len(capture.read("flows")) == 0


def test_a_table_that_an_earlier_version_did_not_have_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "old.peep"
    with CaptureWriter(path) as writer:
        writer.append("markers", {"time": [1], "name": ["a"]})
    (path / "uses.parquet").unlink()
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["tables"]["uses"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    capture = open_capture(path)
    assert capture.count("uses") == 0
    assert len(capture.read("uses", ["buffer"])) == 0
    assert capture.count("markers") == 1


def test_sums_of_any_stretch_equal_a_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "many.peep"
    lanes = [(0, 0), (0, 1), (1, 0)]
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["a", "b"], "kind": ["device", "device"]})
        for track, depth in lanes:
            n = 40_000
            start = np.cumsum(rng.integers(5, 100, n))
            dur = np.minimum(rng.integers(0, 90, n), np.diff(start, append=start[-1] + 50))
            name = Strings(rng.integers(-1, 5, n).astype(np.int32), ["k0", "k1", "k2", "k3", "k4"])
            columns = {"track": np.full(n, track), "depth": np.full(n, depth), "start": start, "dur": dur, "name": name}
            writer.append("slices", columns)
    capture = open_capture(path)
    end = capture.span()[1]
    for t0, t1 in [(0, end), (-5, 2 * end), *np.sort(rng.integers(0, end, (12, 2))).tolist(), (77, 78)]:
        found = capture.sums(lanes, [0, 1, 0], t0, t1)
        by_name = np.zeros((2, 2, 6), np.int64)
        for at, (track, depth) in enumerate(lanes):
            frame, _ = capture.slices(track, depth, t0, t1)
            inside = np.minimum(frame["start"] + frame["dur"], t1) - np.maximum(frame["start"], t0)
            assert (found.time[at], found.count[at]) == (inside.sum(), len(frame))
            np.add.at(by_name[at % 2, 0], frame.texts("name").codes, inside)
            np.add.at(by_name[at % 2, 1], frame.texts("name").codes, 1)
        assert (found.name_time == by_name[:, 0]).all() and (found.name_count == by_name[:, 1]).all()
