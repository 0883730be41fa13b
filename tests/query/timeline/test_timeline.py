"""The timeline's questions, against sums made one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.timeline_capture import KERNELS, MS, ORIGIN, STEPS, rows, write_timeline

from peephole.query.capture.names import Track, told_apart
from peephole.query.timeline import tracks as timeline
from peephole.query.timeline.correlations import Links
from peephole.query.timeline.slice_facts import slice_at, slice_detail, slice_links
from peephole.query.timeline.slice_search import find_slices
from peephole.query.timeline.top_table import BINS, name_runs, top_table
from peephole.store.capture import Capture, open_capture
from peephole.store.sql import run_sql


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return open_capture(write_timeline(tmp_path_factory.mktemp("timeline") / "steps.peep"))


def test_tracks_stand_in_viz_order_with_copies_under_their_device(capture: Capture) -> None:
    found = timeline.timeline_tracks(capture)
    assert [(row.group, row.name) for row in found] == [
        ("Host", "USER"), ("Host", "TINY"), ("Devices", "CPU"), ("Devices", "CPU:1"), ("Devices", "CPU:COPY"),
        ("Devices", "CPU:1:COPY"), ("Counters", "watts"), ("Memory", "CPU"), ("Memory", "CPU:1"),
    ]  # fmt: skip
    assert {row.name: row.under for row in found if row.kind == "copy"} == {"CPU:COPY": 3, "CPU:1:COPY": 4}
    assert next(row for row in found if row.name == "TINY").depths == (0, 1)


def test_span_reaches_over_everything(capture: Capture) -> None:
    assert timeline.timeline_span(capture) == (ORIGIN, ORIGIN + 119 * MS)


@pytest.mark.parametrize(("low", "high"), [(0, 119 * MS), (3 * MS, 27 * MS + 500), (13 * MS, 13 * MS + 1)])
def test_range_figures_equal_a_sum_over_slices(capture: Capture, low: int, high: int) -> None:
    found = timeline.range_figures(capture, ORIGIN + low, ORIGIN + high, most=100)
    every = rows()
    inside: Counter[str] = Counter()
    busy: Counter[int] = Counter()
    count: Counter[int] = Counter()
    for track, depth, start, dur, name in zip(
        every["track"], every["depth"], every["start"], every["dur"], every["name"], strict=True
    ):
        part = min(start + dur, ORIGIN + high) - max(start, ORIGIN + low)
        if start < ORIGIN + high and start + dur > ORIGIN + low:
            count[track] += 1
            if depth == 0:
                busy[track] += part
            if track in (3, 4):
                inside[name] += part
    assert {row.track: (row.busy, row.count) for row in found.tracks if row.count} == {
        track: (busy[track], count[track]) for track in count
    }
    assert {row.name: row.total for row in found.top} == {name: ns for name, ns in inside.items() if ns}
    assert found.kernels == count[3] + count[4]
    assert found.copies == count[5] + count[6]
    assert found.copied == 1000 * found.copies
    assert found.exact


def test_of_very_many_tracks_the_fullest_are_summed_up(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = timeline.range_figures(capture, ORIGIN, ORIGIN + 119 * MS)
    monkeypatch.setattr(timeline, "_TRACKS", 2)
    some = timeline.range_figures(capture, ORIGIN, ORIGIN + 119 * MS)
    assert not some.exact
    assert set(some.tracks) <= set(exact.tracks) and len(some.tracks) == 2


def test_overview_equals_a_count_of_busy_ns(capture: Capture) -> None:
    pixels = 119
    found = timeline.overview(capture, ORIGIN, ORIGIN + 119 * MS, pixels)
    expected = np.zeros(pixels)
    every = rows()
    for track, start, dur in zip(every["track"], every["start"], every["dur"], strict=True):
        if track in (3, 4):
            for pixel in range((start - ORIGIN) // MS, min(pixels, (start + dur - ORIGIN) // MS + 1)):
                low = max(start, ORIGIN + pixel * MS)
                expected[pixel] += max(0, min(start + dur, ORIGIN + (pixel + 1) * MS) - low) / MS / 2
    # buckets are at most two pixels wide and spread what they hold evenly
    assert found.devices.sum() == pytest.approx(expected.sum(), rel=0.005)
    assert np.abs(np.convolve(found.devices - expected, [0.5, 0.5])).max() < 0.5
    assert found.devices[8:11] == pytest.approx(expected[8:11], abs=0.05)


def test_colours_are_one_each_for_the_costliest(capture: Capture) -> None:
    colours = timeline.name_colours(capture)
    names = capture.names()
    own = [int(colours[names.index(kernel)]) for kernel in KERNELS]
    assert len(set(own)) == 3
    assert own[0] == 5  # the costliest takes the first
    assert all(1 <= colour <= 12 for colour in colours.tolist())


def test_a_slice_and_its_links(capture: Capture) -> None:
    row = slice_at(capture, 3, 0, ORIGIN + 20 * MS + 5)
    found = slice_detail(capture, row)
    assert (found.name, found.dur, found.start - ORIGIN) == (KERNELS[0], 6 * MS + 1, 20 * MS)
    assert found.track_name == "CPU"
    assert found.stack[0].line == 35
    assert slice_detail(capture, found.after).name == KERNELS[1]
    links = slice_links(capture, row, Links(capture))
    assert (links.rank, links.of, links.runs) == (5, STEPS, 2 * STEPS)
    assert [(buffer.id, buffer.mode, buffer.bytes) for buffer in links.buffers] == [
        (1, "write", 196_600),
        (2, "read", 787_700),
    ]
    second = slice_links(capture, found.after, Links(capture))
    assert [(arrow.source.name, arrow.target.row) for arrow in second.flows] == [("copy", found.after)]


def test_the_nearest_slice_where_there_is_none(capture: Capture) -> None:
    row = slice_at(capture, 3, 0, ORIGIN + 6 * MS + 100)
    assert slice_detail(capture, row).name == KERNELS[0]
    assert slice_at(capture, 99, 0, ORIGIN) == -1


def test_flows_of_a_window_only_when_few(capture: Capture) -> None:
    links = Links(capture)
    arrows, total = links.flows_in(ORIGIN, ORIGIN + 10 * MS, 10)
    assert total == 2
    assert {arrow.source.name for arrow in arrows} == {"copy"}
    assert links.flows_in(ORIGIN, ORIGIN + 119 * MS, 3) == ([], 2 * STEPS)


def test_hits_of_the_whole_trace_in_order(capture: Capture) -> None:
    hits = find_slices(capture, "R_16 4_4")
    every = rows()
    starts = sorted(s for s, n in zip(every["start"], every["name"], strict=True) if n == KERNELS[0])
    assert hits.start.tolist() == starts
    assert [slice_detail(capture, int(row)).name for row in hits.row] == [KERNELS[0]] * len(starts)
    assert hits.at(hits.after(ORIGIN + 20 * MS)) == hits.row[2]
    nothing = find_slices(capture, "E_16384_5")
    assert len(nothing) == 0
    assert nothing.near == (KERNELS[2],)


@pytest.mark.parametrize("interval", [None, (ORIGIN + 15 * MS, ORIGIN + 70 * MS), (ORIGIN + 3 * MS, ORIGIN + 9 * MS)])
def test_top_equals_sql(capture: Capture, interval: tuple[int, int] | None) -> None:
    found = top_table(capture, "kernels", interval=interval)
    low, high = interval or (0, 2**62)
    # of an interval what overlaps it, with the part that lies in it: as the figures beside the timeline have it
    part = f"least(start + dur, {high}) - greatest(start, {low})"
    sql = (
        "SELECT name, sum(d), count(*), min(d), max(d), quantile_disc(d, 0.5), quantile_disc(d, 0.95) "
        f"FROM (SELECT name, {part} AS d FROM slices WHERE track IN (3, 4) AND start < {high} AND start + dur > {low}) "
        "GROUP BY name ORDER BY 2 DESC"
    )
    expected = [tuple(map(str, row)) for row in run_sql(capture, sql).rows]
    ours = [
        (row.name, row.total, row.count, row.shortest, row.longest, int(row.median), int(row.p95)) for row in found.rows
    ]
    assert [tuple(map(str, row)) for row in ours] == expected
    assert found.total == sum(row.total for row in found.rows)
    assert all(sum(row.histogram) == row.count and len(row.histogram) == BINS for row in found.rows)


def test_top_of_a_large_capture_is_close(capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = top_table(capture, "kernels")
    monkeypatch.setattr("peephole.query.timeline.top_table.EXACT", 1)
    rough = top_table(capture, "kernels")
    assert not rough.exact
    for one, two in zip(exact.rows, rough.rows, strict=True):
        assert (one.name, one.total, one.count, one.histogram) == (two.name, two.total, two.count, two.histogram)
        reach = max(1, one.longest - one.shortest)
        assert abs(two.median - one.median) <= reach / 256 + 1


def test_runs_of_a_name_by_device(capture: Capture) -> None:
    number = capture.names().index(KERNELS[0])
    found = name_runs(capture, number, "kernels")
    assert [(row.name, row.count) for row in found.tracks] == [("CPU", STEPS), ("CPU:1", STEPS)]
    assert [run.dur for run in found.slowest[:2]] == [6 * MS + 5] * 2
    assert slice_detail(capture, found.slowest[0].row).dur == 6 * MS + 5


def test_runs_of_an_interval_are_as_long_as_their_part_in_it(capture: Capture) -> None:
    number = capture.names().index(KERNELS[0])
    found = name_runs(capture, number, "kernels", (ORIGIN + 2 * MS, ORIGIN + 20 * MS + 500_000))
    assert [(row.count, row.total) for row in found.tracks] == [(2, 4 * MS + 500_000), (2, 4 * MS + 1000 + 499_000)]
    assert [run.dur for run in found.slowest] == [4 * MS + 1000, 4 * MS, 500_000, 499_000]


def test_tracks_of_one_name_are_told_apart_by_what_the_capture_says() -> None:
    def track(id: int, name: str, parent: int = -1, process: int = -1, slices: int = 1) -> Track:
        return Track(id, name, "thread", parent, 0, slices, process)

    owners = [track(90, "rank 0 · Spans", slices=0), track(91, "rank 1 · Spans", slices=0)]
    assert told_apart([*owners, track(1, "prof", 90), track(2, "prof", 91)]) == {1: "rank 0", 2: "rank 1"}
    assert told_apart([track(1, "main", process=7), track(2, "main", process=8)]) == {1: "process 7", 2: "process 8"}
    both = [track(1, "x", 90, 7), track(2, "x", 90, 8), track(3, "x", 91, 7)]
    assert told_apart([*owners, *both]) == {
        1: "rank 0 · process 7",
        2: "rank 0 · process 8",
        3: "rank 1 · process 7",
    }
    assert told_apart([track(1, "x"), track(2, "x")]) == {1: "#1", 2: "#2"}
    assert told_apart([track(1, "x"), track(2, "x", slices=0), track(3, "y")]) == {}


def test_only_chosen_tracks(capture: Capture) -> None:
    assert top_table(capture, "kernels", tracks=[3]).count == STEPS * 42
    assert top_table(capture, "copies").rows[0].count == 2 * STEPS
    assert {row.name for row in top_table(capture, "host").rows} >= {"train step", "simplify ranges"}


def test_an_empty_capture_has_an_empty_timeline(tmp_path: Path) -> None:
    from peephole.store.writer import CaptureWriter

    with CaptureWriter(tmp_path / "empty.peep") as writer:
        writer.describe(name="empty")
    capture = open_capture(tmp_path / "empty.peep")
    assert timeline.timeline_span(capture) == (0, 0)
    assert timeline.timeline_tracks(capture) == []
    assert top_table(capture).rows == ()
    assert len(find_slices(capture, "x")) == 0
