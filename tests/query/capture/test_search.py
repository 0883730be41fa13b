"""The index of names, on captures that lack something."""

from __future__ import annotations

from pathlib import Path

from peephole.query.capture.search import build_index
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter


def write(path: Path, steps: dict[str, list[int]]) -> Capture:
    """Two contexts, `\\x1b[34mgemm\\x1b[0m` and `relu`, and these steps with a match each; no node is there."""
    with CaptureWriter(path) as writer:
        names = ["\x1b[34mgemm\x1b[0m", "relu"]
        writer.append("contexts", {"id": [3, 8], "name": names, "kind": ["kernel", "kernel"]})
        count = len(steps["id"])
        writer.append("steps", {**steps, "name": ["pass"] * count, "matches": [1] * count})
        rules = {"file": ["/lib/rules.py"] * count, "line": list(range(count))}
        writer.append("matches", {"step": steps["id"], "before": [1] * count, "after": [2] * count, **rules})
    return open_capture(path)


def test_matches_without_their_nodes_are_searched_all_the_same(tmp_path: Path) -> None:
    index = build_index(write(tmp_path / "x.peep", {"id": [0, 1, 2], "context": [3, 3, 8]}))
    assert next((hit.kind, hit.text, hit.count) for hit in index.search("gemm").hits) == ("kernel", "gemm", 2)
    assert [hit.text for hit in index.search("rules.py").hits] == ["lib/rules.py:0", "lib/rules.py:1", "lib/rules.py:2"]
