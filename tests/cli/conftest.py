"""A small capture that has a bit of everything, with names that try to be more than data."""

from __future__ import annotations

from pathlib import Path

import pytest

from peephole.store.writer import CaptureWriter

NASTY = "\x1b]0;owned\x07[bold red]<script>\n"


@pytest.fixture
def small(capture_dir: Path) -> Path:
    """Two tracks, nesting, markers, one compilation with two steps and its source."""
    path = capture_dir / "small.peep"
    with CaptureWriter(path) as writer:
        writer.describe(program="train.py", argv=["train.py", "--fast"], source="test", host="box")
        writer.problem("one we did not understand", 3, "example")
        writer.append(
            "tracks",
            {"id": [1, 2], "name": ["USER", "GPU:0"], "kind": ["user", "device"], "order": [0, 1]},
        )
        writer.append(
            "slices",
            {
                "track": [1, 1, 2, 2, 2, 2],
                "depth": [0, 1, 0, 0, 0, 0],
                "start": [1_000, 2_000, 3_000, 5_000, 9_000, 12_000],
                "dur": [20_000, 5_000, 1_000, 2_000, 1_500, 0],
                "name": ["epoch", "forward", "gemm", "gemm", "\x1b[34msoftmax\x1b[0m", NASTY],
                "context": [-1, -1, 7, 7, -1, -1],
                "args": [None, None, '{"flops": 2e12, "bytes": 4096}', None, "not json", None],
            },
        )
        writer.append("markers", {"time": [2_500, 8_000], "name": ["START", "STOP"], "kind": ["marker", "signal"]})
        writer.append("contexts", {"id": [7], "name": ["gemm"], "kind": ["kernel"]})
        writer.append(
            "steps",
            {
                "id": [1, 2],
                "context": [7, 7],
                "ordinal": [0, 1],
                "depth": [0, 1],
                "name": ["simplify", "expand"],
                "matches": [12, 0],
            },
        )
        writer.append(
            "artifacts",
            {"context": [7], "kind": ["source"], "language": ["c"], "name": ["gemm"], "content": [b"void gemm() {}\n"]},
        )
    return path
