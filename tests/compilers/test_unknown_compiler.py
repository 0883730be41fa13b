"""An engine that nothing is known about, recorded with track_rewrites: all that does not need its meaning works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from peephole.cli.main import main
from peephole.compilers import compiler_named, compiler_of
from peephole.query.capture.contexts import contexts, steps
from peephole.query.capture.search import build_index
from peephole.query.rewrites.calls import called_context
from peephole.query.rewrites.origins import all_origins, line_origins
from peephole.query.rewrites.schedules import schedule, schedule_contexts
from peephole.query.rewrites.step_graphs import GraphAt, graph_at, match_diffs, matches
from peephole.server.app import create_app
from peephole.server.graph_wire import graph_reply
from peephole.server.library import Library
from peephole.store.capture import Capture, open_capture

ENGINE = """
import peephole

class Node:
    def __init__(self, op, *src, arg=None, dtype="f32", shape=None, tag=None):
        self.op, self.src, self.arg, self.dtype, self.shape, self.tag = op, src, arg, dtype, shape, tag

def fold(node):
    return node.src[0]

@peephole.track_rewrites(name="Simplify", kind="schedule")
def simplify():
    x, one = Node("Load", arg="x", shape="[8]"), Node("Const", arg=1)
    mul = Node("Mul", x, one, shape="[8]")
    root = Node("Add", mul, x, shape="[8]", tag="out")
    with peephole.rewrite_step("times one", root):
        peephole.match(mul, x, fold)

@peephole.track_rewrites(name="Look alike")
def look_alike():
    # ops of another compiler, with other meanings
    const = Node("CONST", Node("RANGE"), arg="(0, False)", dtype="weakint")
    other = Node("CONST", Node("RANGE"), arg="(0, 0)", dtype="weakint")
    body = Node("SINK", const, other)
    call = Node("CALL", body, const, dtype="dtypes.void")
    root = Node("SINK", call)
    with peephole.rewrite_step("swap", root):
        peephole.match(const, Node("EXP2", arg="{2}", dtype="bool"), fold)

simplify()
look_alike()
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    program, out = folder / "engine.py", folder / "engine.peep"
    program.write_text(ENGINE)
    command = [sys.executable, "-m", "peephole", "run", "-o", str(out), str(program)]
    subprocess.run(command, env={**os.environ}, check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def capture(path: Path) -> Capture:
    return open_capture(path)


def step_of(capture: Capture, name: str) -> int:
    return next(step.id for c in contexts(capture) for step in steps(capture, c.id) if step.name == name)


def lines(graph: GraphAt) -> list[str]:
    nodes = graph.nodes
    return [f"{op} {arg or ''}".strip() for op, arg in zip(nodes.op, nodes.arg, strict=True)]


def test_the_capture_says_whose_passes_they_are(capture: Capture) -> None:
    assert list(capture.read("contexts", ["compiler"]).texts("compiler")) == ["track_rewrites"] * 2
    assert compiler_of(capture, contexts(capture)[0].id) is compiler_named("track_rewrites")


def test_graphs_matches_and_diffs(capture: Capture) -> None:
    step = step_of(capture, "times one")
    assert lines(graph_at(capture, step, 0)) == ["Load x", "Const 1", "Mul", "Add"]
    after = graph_at(capture, step, 1)
    assert lines(after) == ["Load x", "Add"]
    assert after.nodes.shape == ["[8]", "[8]"] and after.nodes.dtype == ["f32", "f32"]
    assert {node.op for node in after.removed} == {"Const", "Mul"} and len(after.changed) == 1
    (found,) = matches(capture, step)
    assert (found.before_op, found.after_op, found.source) == ("Mul", "Load", "def fold(node):")
    ((_, diff),) = match_diffs(capture, step)
    assert ("-", "ast = Mul(Load(x), Const(1))") in diff or ("-", "ast = Mul(c0, Const(1))") in diff


def test_ops_that_are_called_as_tinygrads_mean_nothing(capture: Capture) -> None:
    step = step_of(capture, "swap")
    before, after = graph_at(capture, step, 0), graph_at(capture, step, 1)
    # args that tinygrad takes for one are two here, and the body of what is called CALL is changed like any source
    assert len(before.nodes.id) == 6
    assert lines(after) == ["EXP2 {2}", "RANGE", "CONST (0, 0)", "SINK", "CALL", "SINK"]
    assert after.nodes.dtype == ["bool", "f32", "weakint", "f32", "dtypes.void", "f32"]
    wire = graph_reply(capture, before)
    assert wire["fold"] == [0] * 6 and set(wire["looks"]["bodies"]) == {0} and wire["insides"] == []
    assert set(wire["looks"]["family"]) == {12} and "dtypes.void" in wire["dtypes"]
    assert "(0, False)" in wire["looks"]["arg"]
    assert called_context(capture, step, before.root) == -1


def test_labels_come_with_the_graph(capture: Capture) -> None:
    wire = json.loads(json.dumps(graph_reply(capture, graph_at(capture, step_of(capture, "times one"), 1))))
    looks = wire["looks"]
    labels = [(looks["name"][at], looks["arg"][at], looks["type"][at]) for at in wire["look"]]
    assert labels == [("Load", "x", "f32 [8]"), ("Add", "", "f32 [8]")]
    assert [looks["name"][node["look"]] for node in wire["removed"]] == [node["op"] for node in wire["removed"]]


def test_search_finds_its_names(capture: Capture) -> None:
    index = build_index(capture)
    found = {hit.kind: hit.text for word in ("Simplify", "times one", "Mul") for hit in index.search(word).hits[:1]}
    assert found == {"context": "Simplify", "step": "times one", "op": "Mul"}


def test_the_terminal_shows_it(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("DEBUG", "7")
    assert main(["show", str(path), "-s", "COMPILER", "--ls"]) == 0
    assert "Look alike" in capsys.readouterr().out
    assert main(["show", str(path), "-i", "Simplify"]) == 0
    assert "times one" in capsys.readouterr().out
    assert main(["show", str(path), "-i", "Simplify", "times one"]) == 0
    out = capsys.readouterr().out
    assert "Mul f32 [8]" in out and "Mul → Load" in out and "Add f32 [8] tag=out" in out


def test_what_it_cannot_say_is_said_in_one_sentence(
    path: Path, capture: Capture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert schedule_contexts(capture) == [] and all_origins(capture) == []
    number = contexts(capture)[0].id
    with pytest.raises(Exception, match="track_rewrites records no schedules"):
        schedule(capture, number)
    note = line_origins(capture, number).note
    assert note == "track_rewrites does not say where the lines of a source come from."
    for words in (["why", "a", "b", str(path)], ["origin", "Simplify", str(path)]):
        assert main(words) == 2
        said = capsys.readouterr().err.strip()
        assert said.count("\n") == 0 and said.endswith("."), said


def test_the_server_answers(path: Path, capture: Capture) -> None:
    client = TestClient(create_app(Library([path])), base_url="http://127.0.0.1")
    handle = client.get("/api/v1/captures").json()["captures"][0]["id"]
    step, number = step_of(capture, "times one"), contexts(capture)[0].id
    graph = client.get(f"/api/v1/captures/{handle}/steps/{step}/graph?match=1").json()
    assert [graph["looks"]["name"][at] for at in graph["look"]] == ["Load", "Add"]
    one = client.get(f"/api/v1/captures/{handle}/steps/{step}/matches/1").json()
    assert one["source"] == "def fold(node):" and one["diff"]
    assert client.get(f"/api/v1/captures/{handle}/steps/{step}/call?node=0").json() == {"context": -1}
    assert client.get(f"/api/v1/captures/{handle}/contexts/{number}/origin").json()["origins"] == []
    refused = client.get(f"/api/v1/captures/{handle}/contexts/{number}/schedule")
    assert refused.status_code >= 400 and "records no schedules" in refused.json()["error"]
