"""What follows from what: a schedule holds the kernels that were compiled in it."""

from __future__ import annotations

from pathlib import Path

from peephole.query.compare.comparison import compare
from peephole.query.compare.recorded import recorded
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


def write(path: Path, code: str, constant: str) -> Path:
    """A kernel whose second match takes what the first one left, and a schedule that calls it and a constant."""
    with CaptureWriter(path) as writer:
        writer.describe(name=path.stem, source="tinygrad", frameworks={"tinygrad": "0.14.0"})
        nodes = [
            (0, "CONST", "7", []), (1, "CONST", "8", []), (2, "SINK", None, [0, 1]), (3, "BASE", None, []),
            (4, "SOURCE", code, []), (5, "PROGRAM", None, [3, 4]), (6, "DONE", None, [5]),
            (7, "CALL", None, [4, 0 if constant == "7" else 1]),
        ]  # fmt: skip
        ids, ops, args, sources = (list(column) for column in zip(*nodes, strict=True))
        writer.append("nodes", {"id": ids, "op": ops, "dtype": ["void"] * 8, "arg": args, "src": sources})
        names = ["Schedule", "r_4", "Before"]  # the last one has the constants first
        contexts = {"id": [0, 1, 2], "name": names, "kind": ["schedule", "kernel", "schedule"], "start": [50, 100, 10]}
        writer.append("contexts", contexts)
        writer.append(
            "steps",
            {
                "id": [0, 1, 2, 3], "context": [0, 0, 1, 2], "ordinal": [0, 1, 0, 0], "root": [3, 3, 3, 2],
                "start": [50, 200, 100, 10], "dur": [1, 10, 20, 1],
                "name": ["to linear", "precompile kernels", "render", "to linear"],
            },
        )  # fmt: skip
        writer.append(
            "matches",
            {
                "step": [1, 2, 2], "ordinal": [0, 0, 1], "before": [3, 3, 5], "after": [7, 5, 6],
                "file": ["rules.py"] * 3, "line": [1, 2, 3],
            },
        )  # fmt: skip
        columns = {"context": [1], "kind": ["source"], "language": ["c"], "content": [code.encode()]}
        writer.append("artifacts", columns)
    return path


def follows(folder: Path, a: tuple[str, str], b: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    one, two = open_capture(write(folder / "a.peep", *a)), open_capture(write(folder / "b.peep", *b))
    found = compare([recorded(one)], [recorded(two)])
    return {row.context: row.follows for row in found.divergence}


def test_a_schedule_follows_from_the_kernel_that_it_holds(tmp_path: Path) -> None:
    """The code came in the very step in which the two part."""
    assert follows(tmp_path, ("x = 1", "7"), ("x = 2", "7")) == {"r_4": (), "Schedule": ("r_4",)}


def test_a_constant_beside_it_may_come_from_anywhere(tmp_path: Path) -> None:
    assert follows(tmp_path, ("x = 1", "7"), ("x = 2", "8")) == {"r_4": (), "Schedule": ("r_4",)}


def test_a_schedule_that_differs_by_itself_follows_from_nothing(tmp_path: Path) -> None:
    assert follows(tmp_path, ("x = 1", "7"), ("x = 1", "8")) == {"Schedule": ()}
