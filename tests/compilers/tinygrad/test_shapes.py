"""Shapes that are worked out from what a trace holds, on graphs that no compiler writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from peephole.compilers.tinygrad.shapes import Shapes
from peephole.replay.nodes import NodeTable
from peephole.replay.pool import Pool
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter

Node = tuple[str, str | None, list[int]]


def shapes_of(folder: Path, nodes: list[Node]) -> list[str | None]:
    """The shapes of nodes, each an op, an arg and the places of its sources."""
    ops, args, sources = (list(column) for column in zip(*nodes, strict=True))
    with CaptureWriter(folder / "made.peep") as writer:
        ids = list(range(len(nodes)))
        writer.append("nodes", {"id": ids, "op": ops, "dtype": ["int"] * len(ops), "arg": args, "src": sources})
    capture = open_capture(folder / "made.peep")
    pool = Pool(NodeTable(capture))
    pool.load(ids)
    return Shapes(pool).of([pool.of_row(row) for row in ids])


def test_a_stage_has_the_extents_of_its_ranges(tmp_path: Path) -> None:
    nodes: list[Node] = [
        ("CONST", "4", []),
        ("RANGE", "0", [0]),
        ("CONST", "8", []),
        ("MUL", None, [1, 2]),
        ("STAGE", None, [0, 1, 3]),
    ]
    assert shapes_of(tmp_path, nodes)[-1] == "(4,25)"


@pytest.mark.parametrize("op", ["ADD", "MUL"])
def test_an_expression_that_doubles_at_every_step_is_told_at_once(tmp_path: Path, op: str) -> None:
    nodes: list[Node] = [("CONST", "3", [])]
    nodes += [(op, None, [i, i]) for i in range(48)]
    nodes.append(("STAGE", None, [0, len(nodes) - 1]))
    # 3 * 2**48 + 1 values, or more than any memory has
    assert shapes_of(tmp_path, nodes)[-1] == ("(844424930131969)" if op == "ADD" else "(?)")


def test_a_shape_that_doubles_at_every_step_cannot_be_told(tmp_path: Path) -> None:
    nodes: list[Node] = [("CONST", "3", []), ("CONST", "5", []), ("STACK", None, [0, 1])]
    nodes.append(("BUFFER", None, [2]))
    nodes += [("INDEX", None, [i, i]) for i in range(3, 60)]
    found = shapes_of(tmp_path, nodes)
    assert found[3] == "(3,5)"
    assert found[4] == "(3,5,5)"
    assert found[-1] is None


def test_nodes_without_the_sources_that_they_need(tmp_path: Path) -> None:
    nodes: list[Node] = [("CAST", None, []), ("RANGE", "0", []), ("BUFFER", None, [0]), ("STAGE", None, [0, 1, 0])]
    assert shapes_of(tmp_path, nodes)[2] == "(?)"
