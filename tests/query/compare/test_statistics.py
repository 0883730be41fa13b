"""The tests behind verdicts: equal to scipy's where that is installed; chance is not taken for a change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.query.compare.generated import write_runs

from peephole.query.compare.comparison import compare
from peephole.query.compare.gate import judged, terms
from peephole.query.compare.recorded import Recorded, recorded
from peephole.query.compare.runs import Runs, RunTable
from peephole.query.compare.statistics import benjamini_hochberg, mann_whitney, median_interval, t_test
from peephole.store.capture import Capture, open_capture

OPEN: list[Capture] = []
"""Captures that must stay open while they are compared."""


@pytest.mark.parametrize(("n", "m"), [(6, 6), (6, 11), (20, 20), (15, 40), (300, 200)])
@pytest.mark.parametrize("ties", [False, True])
def test_p_is_that_of_scipy(n: int, m: int, ties: bool) -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(n + m)
    a, b = draw.normal(size=n), draw.normal(size=m) + 0.6
    if ties:
        a, b = np.round(a), np.round(b)
    method = "exact" if not ties and n * m <= 400 else "asymptotic"
    assert mann_whitney(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method=method).pvalue, rel=1e-9)
    assert t_test(np.exp(a), np.exp(b)) == pytest.approx(stats.ttest_ind(a, b).pvalue, abs=1e-9)
    p = draw.random(30) ** 3
    assert benjamini_hochberg(p.tolist()) == pytest.approx(stats.false_discovery_control(p))


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    draw = np.random.default_rng(5)
    for n in (6, 15, 60):
        found = [median_interval(draw.lognormal(size=n)) for _ in range(2000)]
        assert np.mean([low <= 1 <= high for low, high in filter(None, found)]) > 0.94
    assert median_interval(draw.normal(size=5)) is None


def test_runs_that_move_together_are_worth_less() -> None:
    draw = np.random.default_rng(7)

    def drifting() -> np.ndarray:
        values = draw.normal(size=120)
        for at in range(1, 120):
            values[at] += 0.6 * values[at - 1]
        return values

    together = sum(mann_whitney(drifting(), drifting()) < 0.05 for _ in range(300))
    independent = sum(mann_whitney(draw.normal(size=60), draw.normal(size=60)) < 0.05 for _ in range(300))
    assert independent < 25
    assert together < 36, "as if they were independent it would be a third of them"


def side(path: Path, runs: dict[str, np.ndarray]) -> Recorded:
    OPEN.append(open_capture(write_runs(path, {name: own.astype(int).tolist() for name, own in runs.items()})))
    return recorded(OPEN[-1])


def resampled(one: Recorded, runs: dict[str, np.ndarray]) -> Recorded:
    """That recording with other runs, without a capture written and read for each."""

    def row(of: Runs) -> Runs:
        own = runs[of.name].astype(int)
        return replace(of, count=len(own), total=int(own.sum()), dur=own[1:].astype(np.float64))

    rows = tuple(map(row, one.runs.runs))
    return replace(one, runs=RunTable(rows, {"kernels": int(sum(row.dur.sum() for row in rows))}, True))


def pool() -> dict[str, np.ndarray]:
    """Long runs of a program on a noisy machine: tails, a slow first run, kernels of all lengths."""
    draw = np.random.default_rng(11)
    lengths = (5_000, 20_000, 100_000, 400_000, 2_000_000)
    return {f"k{at}": length * draw.lognormal(sigma=0.06, size=500) for at, length in enumerate(lengths)}


def test_other_runs_are_those_that_a_capture_of_them_has(tmp_path: Path) -> None:
    """What the two tests below are made from."""
    draw, runs = np.random.default_rng(2), pool()
    own = {name: draw.choice(all_, 21) for name, all_ in runs.items()}
    made = resampled(side(tmp_path / "a.peep", runs), own).runs
    read = side(tmp_path / "b.peep", own).runs
    assert (made.totals, made.exact) == (read.totals, read.exact)
    for one, two in zip(made.runs, read.runs, strict=True):
        assert (one.group, one.name, one.count, one.total) == (two.group, two.name, two.count, two.total)
        assert np.array_equal(one.dur, two.dur)


def test_of_200_pairs_of_one_program_fewer_than_five_per_cent_are_claimed(tmp_path: Path) -> None:
    draw, runs = np.random.default_rng(3), pool()
    program = side(tmp_path / "program.peep", runs)
    verdicts, together = [], []
    for _ in range(200):
        sides = [resampled(program, {name: draw.choice(own, 21) for name, own in runs.items()}) for _ in "ab"]
        found = compare(sides[:1], sides[1:])
        verdicts += [row.verdict for row in found.times]
        together += [row.verdict for row in found.totals]
    assert len(verdicts) == 1000
    assert len(together) == 200
    for claims in (verdicts, together):
        assert sum(verdict in ("slower", "faster") for verdict in claims) < 0.05 * len(claims)


def test_a_true_change_of_ten_per_cent_is_found(tmp_path: Path) -> None:
    draw, runs = np.random.default_rng(4), pool()
    program = side(tmp_path / "program.peep", runs)
    found = []
    for _ in range(200):
        a = resampled(program, {name: draw.choice(own, 21) for name, own in runs.items()})
        b = resampled(
            program, {name: draw.choice(own, 21) * (1.1 if name == "k4" else 1) for name, own in runs.items()}
        )
        found += [row.verdict == "slower" for row in compare([a], [b]).times if row.name == "k4"]
    assert len(found) == 200 and sum(found) >= 0.9 * 200


def test_a_little_more_everywhere_is_said_of_all_kernels_together(tmp_path: Path) -> None:
    """300 kernels of 2 µs, each 10 % slower: none makes up half a per cent of the run, all of them do."""
    draw = np.random.default_rng(6)

    def runs(more: float) -> dict[str, np.ndarray]:
        return {f"k{at}": 2000 * more * draw.lognormal(sigma=0.06, size=21) for at in range(300)}

    a, b = side(tmp_path / "a.peep", runs(1)), side(tmp_path / "b.peep", runs(1.1))
    found = compare([a], [b])
    assert not any(row.verdict in ("slower", "faster") for row in found.times)
    (total,) = found.totals
    assert total.verdict == "slower" and total.change == pytest.approx(0.1, abs=0.02)
    assert "kernels take +" in found.verdict and found.same
    assert judged(found, terms("time>5%")).exit_code == 1 and judged(found, terms("time>20%")).exit_code == 0
    again = compare([a], [side(tmp_path / "c.peep", runs(1))])
    assert again.totals[0].verdict in ("same", "unsure") and "no time shown to differ" in again.verdict


def test_nothing_is_claimed_below_six_runs_and_the_first_is_left_out(tmp_path: Path) -> None:
    slow, quick = np.full(6, 2_000_000), np.full(6, 1_000_000)
    row = compare([side(tmp_path / "a.peep", {"k": quick})], [side(tmp_path / "b.peep", {"k": slow})]).times[0]
    assert (row.n_a, row.n_b, row.verdict, row.tested) == (5, 5, "unsure", False)
    slow, quick = np.append(9e9, np.full(6, 2_000_000)), np.append(1, np.full(6, 1_000_000))
    row = compare([side(tmp_path / "c.peep", {"k": quick})], [side(tmp_path / "d.peep", {"k": slow})]).times[0]
    assert (row.n_a, row.median_a, row.median_b, row.verdict) == (6, 1_000_000, 2_000_000, "slower")


def test_several_captures_a_side_are_compared_by_their_medians(tmp_path: Path) -> None:
    draw = np.random.default_rng(8)

    def captures(which: str, drifts: list[float], more: float) -> list[Recorded]:
        return [
            side(tmp_path / f"{which}{at}.peep", {"k": 1e6 * more * drift * draw.lognormal(sigma=0.01, size=30)})
            for at, drift in enumerate(drifts)
        ]

    drifting = compare(captures("a", [0.9, 1.1, 1.0], 1), captures("b", [1.0, 1.15, 0.95], 1)).times[0]
    assert drifting.verdict not in ("slower", "faster") and drifting.captures
    steady = compare(captures("c", [1.0, 1.004, 0.997], 1), captures("d", [1.002, 1.0, 0.996], 1.1)).times[0]
    assert steady.verdict == "slower"
    single = compare(captures("e", [1.0], 1), captures("f", [1.06], 1))
    assert single.times[0].verdict == "slower", "one capture a side cannot know of drift"
    noise = captures("g", [1.08], 1)
    assert compare(captures("h", [1.0], 1), captures("i", [1.06], 1), noise).times[0].verdict == "same"
