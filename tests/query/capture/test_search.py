"""The index of names, on captures that lack something."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.timeline_capture import MS, STEPS, write_timeline

from peephole.errors import PeepholeError
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


def test_a_pattern_ends_where_the_name_does(tmp_path: Path) -> None:
    """What stands beside a name, the kernel that a pass is of, is no part of it for a pattern; for a word it is."""
    index = build_index(write(tmp_path / "x.peep", {"id": [0, 1, 2], "context": [3, 3, 8]}))
    assert [hit.text for hit in index.search("/^gem+$/").hits] == ["gemm"]
    assert [hit.kind for hit in index.search("/^gem+$/ kind:kernel").hits] == ["kernel"]
    assert index.search("/gemm$/").total == 1 and index.search("gemm").total > 1
    assert "gemm" not in [hit.text for hit in index.search("-/^gem+$/ kind:kernel").hits]


def test_slices_and_kernels_have_runs_and_times(tmp_path: Path) -> None:
    index = build_index(open_capture(write_timeline(tmp_path / "steps.peep")))
    (best, *_) = index.search("E_16384_4").hits
    assert (best.kind, best.text, best.runs, best.total_ns) == ("slice", "E_16384_4", 480, 480 * 12_000)
    (step, *_) = index.search('"train step"').hits
    assert (step.runs, step.total_ns) == (STEPS, STEPS * 19 * MS)


def test_a_track_narrows_what_ran_and_for_how_long(tmp_path: Path) -> None:
    index = build_index(open_capture(write_timeline(tmp_path / "steps.peep")))
    (one,) = index.search("E_16384 track:/^CPU:1$/").hits
    assert (one.runs, one.total_ns) == (240, 240 * 12_000)
    assert [hit.text for hit in index.search("track:/^CPU:1/ kind:slice").hits] == ["E_16384_4", "copy"]
    assert index.search("E_16384 track:TINY").hits == []
    assert {hit.text for hit in index.search("track:TINY").hits} >= {"simplify ranges", "linearize/render"}
    assert index.search("-E_16384 track:/^CPU:1$/").total == index.search("track:/^CPU:1$/").total - 1


def test_kernels_of_one_name_have_their_own_runs_on_a_track(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "k.peep") as writer:
        names = ["CPU", "CPU:1", "TINY"]
        writer.append("tracks", {"id": [0, 1, 2], "name": names, "kind": ["device", "device", "compiler"]})
        writer.append("contexts", {"id": [5, 6], "name": ["E_4", "E_4"], "kind": ["kernel", "kernel"]})
        rows = {"track": [0, 0, 1, 2], "start": [0, 100, 0, 0], "dur": [10, 20, 40, 80], "context": [5, 6, 6, 5]}
        writer.append("slices", {**rows, "name": ["E_4"] * 4})
    index = build_index(open_capture(tmp_path / "k.peep"))

    def runs(query: str) -> dict[int, tuple[int, int]]:
        return {hit.context: (hit.runs, hit.total_ns) for hit in index.search(query).hits}

    assert runs("E_4 kind:kernel track:/^CPU/") == {5: (1, 10), 6: (2, 60)}
    assert runs("E_4 kind:kernel track:CPU:1") == {6: (1, 40)}
    assert runs("E_4 kind:kernel track:TINY") == {}


def test_a_kind_that_there_is_not_is_said_with_those_that_there_are(tmp_path: Path) -> None:
    index = build_index(write(tmp_path / "x.peep", {"id": [0, 1, 2], "context": [3, 3, 8]}))
    with pytest.raises(PeepholeError, match="no kind zzz; there are kernel, context, step, rule"):
        index.search("gemm kind:zzz")
    assert index.search("gemm -kind:zzz").hits
    assert index.search("kind:node").hits == []  # a kind, of which this capture has none


def test_what_is_close_to_a_rule_is_a_rule(tmp_path: Path) -> None:
    index = build_index(write(tmp_path / "x.peep", {"id": [0, 1, 2], "context": [3, 3, 8]}))
    assert {hit.kind for hit in index.search("rule:lib/rulse.py").near} == {"rule"}
    assert [hit.text for hit in index.search("gemn").near] == ["gemm"]


def test_kinds_rules_and_ops_are_facts_of_their_own(tmp_path: Path) -> None:
    capture = write(tmp_path / "x.peep", {"id": [0, 1, 2], "context": [3, 3, 8]})
    index = build_index(capture)
    assert {hit.kind for hit in index.search("kind:rule").hits} == {"rule"}
    assert {hit.text for hit in index.search("rule:rules.py:1").hits} == {"lib/rules.py:1"}
    assert {hit.kind for hit in index.search("kind:kernel").hits} == {"kernel"}
    assert index.search("op:rules").hits == []
    assert index.search("gemm").hits[0].text == "gemm"


def test_the_exact_name_comes_first_whatever_took_longer(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "n.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        names = ["r_4_2_8", "r_4", "a r_4", "r_4_2"]
        starts = {"track": [0] * 4, "start": [0, 10_000, 20_000, 30_000], "dur": [9000, 1, 8000, 9900]}
        writer.append("slices", {**starts, "name": names})
    hits = build_index(open_capture(tmp_path / "n.peep")).search("r_4").hits
    assert [hit.text for hit in hits] == ["r_4", "r_4_2", "r_4_2_8", "a r_4"]
