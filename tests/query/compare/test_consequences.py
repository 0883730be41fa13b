"""What follows from what: a schedule holds the kernels that were compiled in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from peephole.query.compare.comparison import compare
from peephole.query.compare.recorded import recorded
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


def write(path: Path, code: str, constant: str, late: int = -1) -> Path:
    """A kernel whose second match takes what the first one left, and a schedule that calls it and a constant.

    A pass over the first kernel stands in another one's context; `late` is when it ran.
    """
    with CaptureWriter(path) as writer:
        writer.describe(name=path.stem, source="tinygrad", frameworks={"tinygrad": "0.14.0"})
        nodes = [
            (0, "CONST", "7", []), (1, "CONST", "8", []), (2, "SINK", None, [0, 1]), (3, "BASE", None, []),
            (4, "SOURCE", code, []), (5, "PROGRAM", None, [3, 4]), (6, "DONE", None, [5]),
            (7, "CALL", None, [4, 0 if constant == "7" else 1]),
        ]  # fmt: skip
        ids, ops, args, sources = (list(column) for column in zip(*nodes, strict=True))
        writer.append("nodes", {"id": ids, "op": ops, "dtype": ["void"] * 8, "arg": args, "src": sources})
        names = ["Schedule", "r_4", "Before", "E_8"]  # Before has the constants first
        kinds = ["schedule", "kernel", "schedule", "kernel"]
        contexts = {
            "id": [0, 1, 2, 3],
            "name": names,
            "kind": kinds,
            "start": [50, 100, 10, 300],
            "dur": [99, 30, 9, 40],
        }
        writer.append("contexts", contexts)
        writer.append(
            "steps",
            {
                "id": [0, 1, 2, 3, 4, 5], "context": [0, 0, 1, 2, 3, 3], "ordinal": [0, 1, 0, 0, 0, 1],
                "root": [3, 3, 3, 2, 3, 3], "start": [50, 200, 100, 10, 300, late], "dur": [1, 10, 20, 1, 5, -1],
                "name": ["to linear", "precompile kernels", "render", "to linear", "render", "precompile kernels"],
            },
        )  # fmt: skip
        writer.append(
            "matches",
            {
                "step": [1, 2, 2, 5], "ordinal": [0, 0, 1, 0], "before": [3, 3, 5, 3], "after": [7, 5, 6, 5],
                "file": ["rules.py"] * 4, "line": [1, 2, 3, 1],
            },
        )  # fmt: skip
        for context, text in ((1, code), (3, "y = 3")):
            columns = {"context": [context], "kind": ["source"], "language": ["c"], "content": [text.encode()]}
            writer.append("artifacts", columns)
    return path


def follows(folder: Path, a: tuple[str, str], b: tuple[str, str], late: int = -1) -> dict[str, tuple[str, ...]]:
    one, two = open_capture(write(folder / "a.peep", *a, late)), open_capture(write(folder / "b.peep", *b, late))
    found = compare([recorded(one)], [recorded(two)])
    return {row.context: row.follows for row in found.divergence}


def test_a_schedule_follows_from_the_kernel_that_it_holds(tmp_path: Path) -> None:
    """The code came in the very step in which the two part."""
    assert follows(tmp_path, ("x = 1", "7"), ("x = 2", "7")) == {"r_4": (), "Schedule": ("r_4",), "E_8": ("r_4",)}


def test_a_constant_beside_it_may_come_from_anywhere(tmp_path: Path) -> None:
    assert follows(tmp_path, ("x = 1", "7"), ("x = 2", "8")) == {"r_4": (), "Schedule": ("r_4",), "E_8": ("r_4",)}


def test_a_schedule_that_differs_by_itself_follows_from_nothing(tmp_path: Path) -> None:
    assert follows(tmp_path, ("x = 1", "7"), ("x = 1", "8")) == {"Schedule": ()}


@pytest.mark.parametrize(("late", "cause"), [(-1, ("r_4",)), (400, ("r_4",)), (310, ())])
def test_what_ran_behind_a_kernel_s_compilation_is_no_difference_of_its_own(
    tmp_path: Path, late: int, cause: tuple[str, ...]
) -> None:
    """A pass between two contexts stands in the one before it; while it is compiled, a kernel makes its own graphs."""
    assert follows(tmp_path, ("x = 1", "7"), ("x = 2", "7"), late)["E_8"] == cause
