"""Kernels of two versions of a program are paired by what they are, and no wrong pair is called the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.query.compare.generated import Kernel, thousand, write_kernels

from peephole.query.compare.comparison import compared
from peephole.query.compare.recorded import Recorded, recorded
from peephole.store.capture import Capture, open_capture

OPEN: list[Capture] = []
"""Captures that must stay open while they are compared."""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_kernels_shuffled_renamed_and_changed(tmp_path: Path, seed: int) -> None:
    old, new = thousand(seed)
    a = open_capture(write_kernels(tmp_path / "a.peep", old))
    b = open_capture(write_kernels(tmp_path / "b.peep", new))
    found = compared([recorded(a)], [recorded(b)])
    truth = {kernel.truth: at for at, kernel in enumerate(new)}
    known = sum(kernel.truth in truth for kernel in old)
    right = wrongly_same = 0
    for row in found.comparison.kernels:
        if row.unit_a >= 0 and row.unit_b >= 0:
            one, two = old[row.unit_a], new[row.unit_b]
            # of two that are alike in everything but their line either is right
            alike = one.truth == two.truth or (one.body, one.graph) == (two.body, two.graph)
            right += alike
            wrongly_same += row.state == "same" and one.body != two.body
    assert wrongly_same == 0
    assert right >= 0.95 * known
    exact = sum(
        row.unit_a >= 0 and row.unit_b >= 0 and old[row.unit_a].truth == new[row.unit_b].truth
        for row in found.comparison.kernels
    )
    assert exact >= 0.95 * known


def test_names_alone_pair_nothing_as_the_same(tmp_path: Path) -> None:
    a = open_capture(
        write_kernels(tmp_path / "a.peep", [Kernel(0, "r_4", 1, "  x;", 1), Kernel(1, "r_8", 2, "  y;", 2)])
    )
    b = open_capture(
        write_kernels(tmp_path / "b.peep", [Kernel(0, "r_8", 1, "  x;", 1), Kernel(1, "r_4", 3, "  z;", 2)])
    )
    rows = {row.name_a: row for row in compared([recorded(a)], [recorded(b)]).comparison.kernels}
    assert (rows["r_4"].name_b, rows["r_4"].state, rows["r_4"].how) == ("r_8", "same", "code")
    assert (rows["r_8"].name_b, rows["r_8"].state) == ("r_4", "changed")


def test_numbers_of_buffers_and_counters_mean_nothing_but_which_buffer_is_which_does(tmp_path: Path) -> None:
    def program(first: int, swapped: bool) -> Path:
        from peephole.store.writer import CaptureWriter

        path = tmp_path / f"{first}{swapped}.peep"
        with CaptureWriter(path) as writer:
            writer.describe(name="x", source="tinygrad", frameworks={"tinygrad": "0.14.0"})
            slots = [f"ParamArg(slot={first + i}, dtype=dtypes.float)" for i in (0, 1)]
            src = [[], [], [0, 0] if swapped else [0, 1]]
            ops, args = ["BUFFER", "BUFFER", "ADD"], [*slots, None]
            writer.append("nodes", {"id": [0, 1, 2], "op": ops, "dtype": ["f"] * 3, "arg": args, "src": src})
            writer.append("contexts", {"id": [0], "name": [f"Schedule 1 Kernel n{first}"], "kind": ["schedule"]})
            writer.append("steps", {"id": [0], "context": [0], "ordinal": [0], "name": ["p"], "root": [2]})
        return path

    base, moved, other = (recorded(open_capture(program(*how))) for how in ((3, False), (7, False), (7, True)))
    assert compared([base], [moved]).comparison.same
    assert "numbers of buffers" in compared([base], [moved]).comparison.normalised
    found = compared([base], [other]).comparison
    assert not found.same and [row.what for row in found.divergence] == ["input: the graphs that went in differ"]


def test_of_kernels_with_one_code_those_that_ran_equally_often_are_one(tmp_path: Path) -> None:
    """Workers compile in another order each time: which of two equal kernels came first says nothing."""

    def capture(name: str, first: tuple[str, int], second: tuple[str, int]) -> Recorded:
        kernels = [Kernel(at, kernel, 1, "  x = 1;", 3) for at, (kernel, _) in enumerate((first, second))]
        runs = {kernel: [5000] * count for kernel, count in (first, second)}
        OPEN.append(open_capture(write_kernels(tmp_path / f"{name}.peep", kernels, runs)))
        return recorded(OPEN[-1])

    a = capture("a", ("k1", 5), ("k2", 15))
    found = compared([a], [capture("b", ("k3", 15), ("k4", 5))]).comparison
    assert {(row.name_a, row.name_b) for row in found.kernels} == {("k1", "k4"), ("k2", "k3")} and found.same
    swapped = compared([a], [capture("c", ("k1", 15), ("k2", 5))]).comparison
    assert swapped.same and not any(row.uneven for row in swapped.kernels), "as many runs of one code as before"
    more = compared([a], [capture("d", ("k1", 5), ("k2", 16))]).comparison
    assert not more.same and [row.name for row in more.counts if row.differs] == ["launches"]
    OPEN.clear()
