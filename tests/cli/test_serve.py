"""`peephole serve`: which captures it shows."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from tests.timeline_capture import write_timeline

from peephole.cli.serve import find_all
from peephole.errors import CaptureError
from peephole.ingest import by_run, names_for
from peephole.server.library import Library


def chrome(path: Path, name: str) -> Path:
    events = [{"ph": "X", "name": name, "ts": 1, "dur": 5, "pid": 1, "tid": 1}]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PEEPHOLE_DIR", str(tmp_path / "captures"))
    return tmp_path


def test_captures_and_files_of_any_kinds_are_shown_together(folder: Path, tape_line: object) -> None:
    assert callable(tape_line)
    tape = folder / "run.log"
    tape.write_text(tape_line(0.1, 1, "RECV", "CLIENT CLIENT 00cc", "BinaryOp", "91B", "op=matmul"))
    given = [chrome(folder / "run.json", "a"), write_timeline(folder / "steps.peep"), tape]
    library = Library(find_all([str(path) for path in given]))
    shelves = library.shelves()
    assert [shelf.handle for shelf in shelves] == ["run", "steps", "run-2"]
    names = [set(shelf.open().names()) for shelf in shelves[:2]]
    assert "a" in names[0]
    assert "E_16384_4" in names[1]
    assert shelves[2].open().count("messages") == 1


def test_files_of_one_source_are_one_capture(folder: Path) -> None:
    paths = [chrome(folder / "rank0.json", "a"), chrome(folder / "rank1.json", "b")]
    (shelf,) = Library(find_all([str(path) for path in paths])).shelves()
    assert set(shelf.open().names()) >= {"a", "b"}


def test_a_file_of_no_known_source_is_refused_before_anything_is_served(folder: Path) -> None:
    (folder / "x.bin").write_bytes(b"\x00nothing known")
    with pytest.raises(CaptureError, match=r"x\.bin"):
        find_all([str(chrome(folder / "run.json", "a")), str(folder / "x.bin")])


def test_files_of_several_runs_are_a_capture_each(folder: Path) -> None:
    """A profile and rewrites of each of two runs as VIZ leaves them, and two profiles of another tool."""
    for run in ("first", "second"):
        (folder / run).mkdir()
        (folder / run / "profile.pkl.me").write_bytes(pickle.dumps([], 4))
        (folder / run / "rewrites.pkl.me").write_bytes(pickle.dumps(("keys", "contexts"), 4))
        (folder / f"{run}.folded").write_text(f"main;{run} 3\n")
    kinds = ("first/rewrites.pkl.me", "second/rewrites.pkl.me", "first/profile.pkl.me", "second/profile.pkl.me")
    given = [folder / name for name in (*kinds, "first.folded", "second.folded")]
    first, second, *profiles = by_run(given)
    assert [path.parent.name for path in (*first, *second)] == ["first", "first", "second", "second"]
    assert profiles == [[given[4]], [given[5]]]
    names = [set(shelf.open().names()) for shelf in Library(find_all([str(path) for path in given[4:]])).shelves()]
    assert ["first" in found for found in names] == [True, False] and "second" in names[1]
    assert names_for([first, second, *profiles]) == [
        "first-rewrites.pkl.peep",
        "second-rewrites.pkl.peep",
        "first.peep",
        "second.peep",
    ]
    # one of each kind is one run, wherever they lie
    assert by_run([given[0], given[3]]) == [[given[0], given[3]]]


def test_what_has_nothing_to_do_with_each_other_stays_apart(folder: Path, tmp_path: Path) -> None:
    """Logs of two programs in torch, a profile of one of them, and a trace that no torch wrote: three captures."""
    logs = []
    for run in ("first", "second"):
        (folder / run).mkdir()
        logs.append(folder / run / "torch_trace.log")
        record = 'V1119 10:00:00.000000 7 torch/_logging/structured.py:1] {"chromium_event": {}, "has_payload": "0"}'
        logs[-1].write_text(f"{record}\n\t{{}}\n")
    other = chrome(folder / "other.json", "a")
    profile = folder / "second" / "profile.json"
    profile.write_text('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}')
    first, second = logs
    assert by_run([first, other, second, profile]) == [[first], [second, profile], [other]]
    assert by_run([first, profile]) == [[first, profile]]
    ranks = [folder / run / "torch_trace_rank_0_x.log" for run in ("first", "second")]
    for log, named in zip(logs, ranks, strict=True):
        log.rename(named)
    assert by_run(ranks) == [ranks]
