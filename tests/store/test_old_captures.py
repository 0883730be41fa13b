"""A capture and a journal of the format's first version, as the code of then wrote them, open in every way.

`old/version1.peep.zip`: `(Tensor([1, 2, 3]) + 1).sum()` in tinygrad and a small engine of the program's own, packed.
`old/version1_killed.zip`: the folder of the same engine, killed with SIGKILL inside a step.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from peephole.errors import CaptureError
from peephole.model.tables import FORMAT_VERSION, TABLES
from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.step_graphs import graph_at, matches
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import Capture, open_capture
from peephole.store.sql import run_sql

OLD = Path(__file__).parent / "old"
FIRST = {
    "tracks": "id name kind parent order process rank host unit",
    "slices": "track depth start dur name context correlation args",
    "counters": "track time value",
    "markers": "time name kind track colour args",
    "flows": "from to bytes kind",
    "buffers": "id device alloc free bytes dtype name",
    "uses": "buffer slice mode position",
    "contexts": "id name kind parent function keys stack start dur",
    "steps": "id context ordinal depth name file line root start dur matches bottom_up walk enter_calls error",
    "matches": "step ordinal before after file line dur",
    "nodes": "id op dtype arg src tag shape metadata",
    "artifacts": "context step kind language name content",
    "hardware": "kernel context device run kind unit arch start props content",
    "messages": "slice seq event command op size pair of late failed",
}
"""What the first version had: a journal of it is only read right when no other column says that it was there."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return Path(shutil.copy(OLD / "version1.peep.zip", tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with zipfile.ZipFile(OLD / "version1.peep.zip") as archive:
        archive.extractall(tmp_path / "version1.peep")
    return tmp_path / "version1.peep"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    with zipfile.ZipFile(OLD / "version1_killed.zip") as archive:
        archive.extractall(tmp_path / "killed.peep")
    return tmp_path / "killed.peep"


def step_named(capture: Capture, context: str, name: str) -> int:
    owner = next(c.id for c in contexts(capture) if c.name == context)
    return next(step.id for step in steps(capture, owner) if step.name == name)


def test_what_came_later_says_so() -> None:
    for name, columns in FIRST.items():
        assert [column.name for column in TABLES[name].columns if column.since == 1] == columns.split()
        since = [column.since for column in TABLES[name].columns]
        assert since == sorted(since), f"a new column of {name} comes last"
    assert {name for name, table in TABLES.items() if table.since == 1} == FIRST.keys()
    assert list(TABLES)[: len(FIRST)] == list(FIRST), "a new table comes last: its place is its kind in a journal"
    newest = max(column.since for table in TABLES.values() for column in table.columns)
    assert max(newest, *(table.since for table in TABLES.values())) == FORMAT_VERSION


@pytest.mark.parametrize("way", ["packed", "folder"])
def test_a_capture_of_the_first_version_opens(way: str, request: pytest.FixtureRequest) -> None:
    capture = open_capture(request.getfixturevalue(way))
    assert capture.manifest.format == 1
    assert [c.name for c in contexts(capture) if c.kind == "kernel"] == ["r_3", "engine"]
    step = step_named(capture, "engine", "fold")
    graph = graph_at(capture, step, 1)
    assert sorted(graph.nodes.op) == ["CONST", "LOAD", "MUL", "STORE"]
    assert len(matches(capture, step)) == graph.matches == 1
    for table, declared in TABLES.items():
        frame = capture.read(table)
        assert len(frame) == capture.count(table)
        for column in declared.columns:
            capture.read(table, [column.name])
    assert not capture.count("decisions")
    assert set(capture.read("steps", ["after"])["after"].tolist()) == {-1}
    assert not capture.read("nodes", ["name"], slice(3, 5)).texts("name")[1]
    assert capture.read("matches", ["removed", "step"]).lists("removed")[0] == []


def test_every_graph_of_it_is_replayed(packed: Path) -> None:
    capture = open_capture(packed)
    seen = 0
    for context in contexts(capture):
        for step in steps(capture, context.id):
            for match in range(step.matches + 1):
                seen += bool(graph_at(capture, step.id, match).nodes.id)
    assert seen > 150


def test_sql_knows_the_columns_that_came_later(packed: Path) -> None:
    capture = open_capture(packed)
    sql = """SELECT count(*), min(s.after), max(s.after), count(n.name), max(len(m.removed) + len(m.added)),
             typeof(any_value(m.added))
             FROM steps s JOIN matches m ON m.step = s.id JOIN nodes n ON n.id = m.before"""
    assert list(run_sql(capture, sql).rows) == [(capture.count("matches"), -1, -1, 0, 0, "BIGINT[]")]
    assert list(run_sql(capture, "SELECT count(*) FROM decisions WHERE kind = 'fused'").rows) == [(0,)]
    names = run_sql(capture, "SELECT * FROM steps").columns
    assert names == tuple(column.name for column in TABLES["steps"].columns)


def test_the_page_gets_it(packed: Path) -> None:
    client = TestClient(create_app(Library([packed])), base_url="http://127.0.0.1")
    token = client.get("/api/v1/captures").json()["captures"][0]["id"]
    found = client.get(f"/api/v1/captures/{token}/contexts").json()
    assert "engine" in found["name"]
    steps_reply = client.get(f"/api/v1/captures/{token}/steps").json()
    step = steps_reply["id"][steps_reply["name"].index(steps_reply["names"].index("fold"))]
    graph = client.get(f"/api/v1/captures/{token}/steps/{step}/graph?match=1").json()
    assert sorted(graph["ops"]) == ["CONST", "LOAD", "MUL", "STORE"]
    assert len(graph["added"]) == 1


def test_a_journal_of_the_first_version_is_sealed(killed: Path) -> None:
    capture = open_capture(killed)
    assert capture.manifest.format == FORMAT_VERSION, "its tables are of today"
    assert json.loads((killed / "manifest.json").read_text())["state"] == "sealed"
    assert capture.manifest.problems == []
    step = step_named(capture, "engine", "fold")
    assert [match.after_op for match in matches(capture, step)] == ["CONST"]
    assert sorted(graph_at(capture, step, 1).nodes.op) == ["CONST", "LOAD", "MUL", "STORE"]
    assert graph_at(capture, step_named(capture, "rewrites", "unfinished"), 0).nodes.op == ["CONST"]
    assert set(capture.read("steps")["after"].tolist()) == {-1}


def test_a_newer_one_is_refused(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": FORMAT_VERSION + 1}))
    with pytest.raises(CaptureError, match=f"has format {FORMAT_VERSION + 1} and this peephole reads up to"):
        open_capture(folder)


def test_a_capture_of_today_may_not_lack_a_column(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": FORMAT_VERSION}))
    with pytest.raises(CaptureError, match="its column after is missing"):
        open_capture(folder).read("steps")


def test_nothing_of_the_machine_is_in_them() -> None:
    for name in ("version1.peep.zip", "version1_killed.zip"):
        with zipfile.ZipFile(OLD / name) as archive:
            for member in archive.namelist():
                assert not re.search(rb"/(work|root|tmp|home|usr)/", archive.read(member)), member
