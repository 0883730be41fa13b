"""Call trees against a plain computation, moment by moment, however the slices lie in the file."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from peephole.query.calls import scan
from peephole.query.calls.tree import CallTree, by_function, call_tree, inverted, searched
from peephole.query.calls.view import first_thread
from peephole.query.timeline.top import top
from peephole.query.timeline.tracks import TimelineTrack
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

Slice = tuple[int, int, int, str]
"""Track, start, duration, name."""
Path_ = tuple[str, ...]
"""A track's name and functions, outermost first."""

TITLES = ["one", "two", "same", "same", *"abcd", "same", "last"]
ROW = st.tuples(
    st.integers(0, len(TITLES) - 1), st.integers(0, 60), st.integers(0, 25), st.sampled_from(["f", "g", "h"])
)
# as many as is drawn first: a list left to itself has five, of which hardly two are on one track
ROWS = st.integers(0, 150).flatmap(lambda many: st.lists(ROW, min_size=many, max_size=many))
CUTS = st.none() | st.tuples(st.integers(-5, 50), st.integers(0, 30))


def write(path: Path, rows: list[Slice]) -> Capture:
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": list(range(len(TITLES))), "name": TITLES})
        if rows:
            track, start, dur, name = zip(*rows, strict=True)
            writer.append("slices", {"track": track, "start": start, "dur": dur, "name": name})
    return open_capture(path)


def plainly(capture: Capture, interval: tuple[int, int] | None) -> dict[Path_, tuple[int, int, int]]:
    """Count, total and self by path: callers by looking at every slice, self by asking at each ns who is lowest."""
    frame = capture.read("slices", ["track", "depth", "start", "dur", "name"])
    rows = []
    for track, depth, start, dur, name in zip(
        *(frame[column].tolist() for column in ("track", "depth", "start", "dur")), frame.texts("name"), strict=True
    ):
        end = start + dur
        if interval is not None:
            a, b = interval[0], max(interval[1], interval[0] + 1)
            if not (start < b and (start >= a or end > a)):
                continue
            start, end = max(start, a), min(end, b)
        rows.append((track, depth, start, end, name))
    paths: dict[int, Path_] = {}
    lanes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        lanes[row[0], row[1]].append(number)
    for number in sorted(range(len(rows)), key=lambda i: rows[i][1]):
        track, depth, start, end, name = rows[number]
        caller: Path_ = (TITLES[track],)
        for up in range(depth - 1, -1, -1):
            lane = [i for i in lanes[track, up] if rows[i][2] <= start]
            # the last to begin; of one without length and one that begins at its end, the second
            if lane and rows[lane[-1]][3] >= end:
                caller = paths[lane[-1]]
                break
        paths[number] = (*caller, name)
    count, total, own = Counter[Path_](), Counter[Path_](), Counter[Path_]()
    lowest: dict[tuple[int, int], tuple[int, int]] = {}
    for number, (track, depth, start, end, _) in enumerate(rows):
        count[paths[number]] += 1
        total[paths[number]] += end - start
        for moment in range(start, end):
            lowest[track, moment] = max(lowest.get((track, moment), (-1, -1)), (depth, number))
    for _, number in lowest.values():
        own[paths[number]] += 1
    return {path: (count[path], total[path], own[path]) for path in count}


def paths_of(tree: CallTree) -> dict[Path_, tuple[int, int, int]]:
    found: dict[Path_, tuple[int, int, int]] = {}
    paths: dict[int, Path_] = {}
    for node in range(len(tree)):
        parent = int(tree.parent[node])
        paths[node] = (*(paths[parent] if parent >= 0 else ()), tree.name(node))
        if parent >= 0:
            figures = (int(tree.sums.count[node]), int(tree.sums.total[node]), int(tree.sums.self[node]))
            assert paths[node] not in found
            found[paths[node]] = figures
            assert int(tree.depth[node]) == len(paths[node]) - 1
    return found


# many tracks and several questions of each capture: sealing one costs more than all that is asked of it
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
# of a range whose middle row is empty
@example(rows=[(0, 13, 11, "f"), (0, 18, 10, "h"), (0, 17, 3, "g")], asked=[(1, (20, 25))])
@given(rows=ROWS, asked=st.lists(st.tuples(st.integers(1, 30), CUTS), min_size=1, max_size=6))
def test_a_call_tree_is_what_a_plain_computation_says(
    monkeypatch: pytest.MonkeyPatch, rows: list[Slice], asked: list[tuple[int, tuple[int, int] | None]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        capture = write(Path(folder) / "x.peep", rows)
        for part, cut in asked:
            monkeypatch.setattr(scan, "PART", part)
            check_tree(capture, None if cut is None else (cut[0], cut[0] + cut[1]))


def check_tree(capture: Capture, interval: tuple[int, int] | None) -> None:
    expected = plainly(capture, interval)
    tree = call_tree(capture, None, interval)
    assert paths_of(tree) == expected
    for title in set(TITLES):
        node = tree.titles.index(title)
        own = sum(figures[2] for path, figures in expected.items() if path[0] == title)
        assert int(tree.sums.total[node]) == own
    # a tree as it is read: callers first, and the longest of the calls of one caller first
    order = tree.order().tolist()
    assert sorted(order) == list(range(len(tree)))
    place = {node: at for at, node in enumerate(order)}
    below = Counter[int]()
    width = tree.width()
    for node in range(len(tree)):
        below[int(tree.parent[node])] += int(width[node])
        if node >= len(tree.titles):
            assert place[int(tree.parent[node])] < place[node]
    for node in range(len(tree)):
        assert int(width[node]) == int(tree.sums.self[node]) * (node >= len(tree.titles)) + below[node]
    check_functions(tree, expected)
    check_inverted(tree, expected)
    check_searched(tree, expected)


def check_functions(tree: CallTree, expected: dict[Path_, tuple[int, int, int]]) -> None:
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for path, (count, total, own) in expected.items():
        row = sums[path[0], path[-1]]
        row[0] += count
        row[1] += 0 if path[-1] in path[1:-1] else total
        row[2] += own
    found = by_function(tree)
    assert {
        (tree.titles[title], tree.functions[function][0]): [count, total, own]
        for title, function, count, total, own in zip(
            found.title.tolist(), found.function.tolist(), found.sums.count.tolist(), found.sums.total.tolist(),
            found.sums.self.tolist(), strict=True,
        )
    } == sums  # fmt: skip


def check_inverted(tree: CallTree, expected: dict[Path_, tuple[int, int, int]]) -> None:
    sums: dict[Path_, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path, (count, total, own) in expected.items():
        up = path[:0:-1]
        for length in range(1, len(up) + 1):
            row = sums[(path[0], *up[:length])]
            row[0] += count
            row[1] += 0 if path[-1] in path[1:-1] else total
            row[2] += own
    assert paths_of(inverted(tree)) == {path: tuple(row) for path, row in sums.items()}


def check_searched(tree: CallTree, expected: dict[Path_, tuple[int, int, int]]) -> None:
    kept: dict[Path_, tuple[int, int, int]] = {}
    for path, (count, total, own) in expected.items():
        if "g" in path[1:]:
            kept[path] = (count, total, own)
            continue
        inner = [other for other in expected if other[: len(path)] == path and "g" in other[len(path) :]]
        outermost = [other for other in inner if other[-1] == "g" and "g" not in other[len(path) : -1]]
        if inner:
            kept[path] = (count, sum(expected[other][1] for other in outermost), 0)
    assert paths_of(searched(tree, "G")) == kept
    # by own time, only what was looked for and what it calls are functions of their own
    found = inverted(searched(tree, "G"))
    tops = {
        (tree.titles[int(found.title[node])], found.name(node)) for node in np.flatnonzero(found.depth == 1).tolist()
    }
    assert tops == {(path[0], path[-1]) for path in expected if "g" in path[1:]}


def test_recursion_is_not_summed_twice(tmp_path: Path) -> None:
    rows = [(0, 0, 100, "f"), (0, 10, 80, "f"), (0, 20, 30, "g"), (0, 22, 20, "f")]
    capture = write(tmp_path / "r.peep", rows)
    found = {row.name: row for row in top(capture).rows}
    assert (found["f"].total, found["f"].self, found["f"].count, found["f"].share) == (100, 90, 3, 1.0)
    assert (found["g"].total, found["g"].self, found["g"].share) == (30, 10, 0.3)
    assert found["f"].mean == pytest.approx(200 / 3)


def test_a_deep_recursion_is_one_node_a_level(tmp_path: Path) -> None:
    deep = 3000
    rows = [(0, i, 2 * (deep - i), "f") for i in range(deep)]
    tree = call_tree(write(tmp_path / "d.peep", rows))
    assert len(tree) == deep + len(set(TITLES)) + 1
    assert int(by_function(tree).sums.total[0]) == 2 * deep
    assert np.all(tree.sums.self[-deep + 1 :] == np.append(np.full(deep - 2, 2), 2))


def test_a_range_reads_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CaptureWriter(tmp_path / "x.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["t"]})
        start = np.arange(200_000) * 10
        writer.append("slices", {"track": np.zeros(200_000, np.int32), "start": start, "dur": np.full(200_000, 5)})
    capture = open_capture(tmp_path / "x.peep")
    read = 0
    real = Capture.slice_rows

    def counting(self: Capture, first: int, past: int, context: bool = False) -> object:
        nonlocal read
        read += past - first
        return real(self, first, past, context)

    monkeypatch.setattr(Capture, "slice_rows", counting)
    tree = call_tree(capture, None, (1_000_000, 1_000_100))
    assert int(tree.sums.count[tree.titles.index("t")]) == 10 and read < 40_000


def test_the_program_s_own_thread_is_the_one_to_begin_with() -> None:
    """It stands before the workers, which may have more slices; one with hardly any is not it."""

    def thread(name: str, depth: int, slices: int) -> TimelineTrack:
        return TimelineTrack(0, name, "thread", "Host", tuple(range(depth)), slices, -1, -1, "")

    workers = [thread("worker 1", 3, 1351), thread("worker 2", 3, 2645)]
    assert first_thread([thread("USER", 1, 1410), thread("TINY", 5, 912), *workers]).name == "TINY"
    assert first_thread([thread("idle", 2, 3), *workers]).name == "worker 1"
    assert first_thread([thread("flat", 1, 4), thread("most", 1, 900)]).name == "most"


def test_a_deep_stack_beside_wide_levels(tmp_path: Path) -> None:
    """Levels of one slice and of many: nodes made one by one are found again by those that come together."""
    rows: list[Slice] = [(0, i, 1000 - 2 * i, f"f{i % 7}") for i in range(300)]
    rows += [(1, 10 * i, 8, f"g{i % 5}") for i in range(50)] + [(1, 10 * i + 1, 2, "h") for i in range(50)]
    rows += [(2, 5000, 90, "f0"), (2, 5010, 20, "f1"), (2, 5040, 20, "f1"), (2, 5041, 5, "g0")]
    capture = write(tmp_path / "x.peep", rows)
    tree = call_tree(capture)
    assert int(tree.depth.max()) == 300
    assert paths_of(tree) == plainly(capture, None)
