"""Kernels of one name are several: every question about their runs has one answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kernels_of_one_name import FIRST_RUN, LAST_END, NAME, OTHER, TOTALS, write_kernels

from peephole.query.timeline.context_runs import ContextRuns, context_serials, runs_of_contexts
from peephole.query.timeline.correlations import Links
from peephole.query.timeline.slice_facts import slice_links
from peephole.query.timeline.slice_search import group_runs
from peephole.query.timeline.slice_times import SliceTimes
from peephole.query.timeline.top_table import name_runs, top_table
from peephole.store.capture import Capture, open_capture


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    return open_capture(write_kernels(tmp_path / "alike.peep"))


def test_top_code_and_search_have_the_same_numbers(capture: Capture) -> None:
    assert runs_of_contexts(capture) == {context: ContextRuns(*own) for context, own in TOTALS.items()}
    rows = {row.context: row for row in top_table(capture, "kernels").rows}
    assert {context: (row.count, row.total) for context, row in rows.items()} == TOTALS
    assert [(row.name, row.serial) for _, row in sorted(rows.items())] == [(NAME, 1), (NAME, 2), (OTHER, 1)]
    assert context_serials(capture) == {0: 1, 1: 2, 2: 1}
    assert SliceTimes(capture).by_context() == TOTALS  # what search says


def test_each_has_its_own_shortest_median_and_histogram(capture: Capture) -> None:
    first, second = (next(row for row in top_table(capture).rows if row.context == number) for number in (0, 1))
    assert (first.median, first.longest, sum(first.histogram)) == (9_000_000, 9_000_000, 4)
    assert (second.median, second.longest, sum(second.histogram)) == (5_000_000, 5_000_000, 1)


def test_the_runs_of_a_row_are_those_of_the_kernel_on_devices(capture: Capture) -> None:
    number = capture.names().index(NAME)
    for context, (count, total) in TOTALS.items():
        name = capture.names().index(OTHER) if context == 2 else number
        found = name_runs(capture, name, "kernels", context=context)
        assert (sum(track.count for track in found.tracks), sum(track.total for track in found.tracks)) == (
            count,
            total,
        )
        assert (
            len(group_runs(capture, "kernels", name, context))
            == len(group_runs(capture, "kernels", None, context))
            == count
        )
    runs = group_runs(capture, "kernels", number, 0)
    first = capture.span()[0]
    assert (int(runs.start[0]) - first, runs.end - first) == (FIRST_RUN, LAST_END)
    assert len(group_runs(capture, "kernels", number, None)) == 5
    assert len(group_runs(capture, "kernels", number, -1)) == 0
    with pytest.raises(IndexError):
        group_runs(capture, "kernels", 99, None)


def test_a_focused_run_counts_the_runs_of_its_kernel(capture: Capture) -> None:
    row = group_runs(capture, "kernels", None, 1).at(0)
    assert slice_links(capture, row, Links(capture)).runs == 1
