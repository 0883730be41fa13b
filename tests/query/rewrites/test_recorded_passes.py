"""A compiler over named instructions, recorded through the API by a program: terminal, server, SQL, search."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.conftest import Cli

from peephole.errors import PeepholeError
from peephole.query.capture.contexts import contexts, steps
from peephole.query.capture.search import build_index
from peephole.query.rewrites.decisions import decided, decisions
from peephole.query.rewrites.passes import changed_in
from peephole.query.rewrites.step_graphs import graph_at, matches
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import Capture, open_capture
from peephole.store.sql import run_sql

PROGRAM = Path(__file__).parent.parent.parent / "passes_program.py"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passes") / "passes.peep"
    subprocess.run([sys.executable, str(PROGRAM), str(path)], check=True, timeout=120)
    return path


@pytest.fixture
def capture(path: Path) -> Capture:
    return open_capture(path)


def ids(capture: Capture) -> dict[str, int]:
    (context,) = contexts(capture)
    assert (context.name, context.kind) == ("0/0", "graph")
    return {step.name: step.id for step in steps(capture, context.id)}


def test_every_last_entry_is_the_graph_that_came_out(capture: Capture) -> None:
    assert capture.manifest.problems == []
    for step in ids(capture).values():
        last = graph_at(capture, step, len(matches(capture, step)))
        row = run_sql(capture, f"SELECT after FROM steps WHERE id = {step}").rows
        assert last.root == next(iter(row))[0], "down to the ids of its nodes"


def test_what_each_pass_changed(capture: Capture) -> None:
    named = {number: name for name, number in ids(capture).items()}
    (context,) = contexts(capture)
    changed = changed_in(capture, context.id)
    found = {named[one.step]: (one.boxes, one.kind, one.graphs_in, one.graphs_out) for one in changed}
    assert found == {
        "transpose folding": (3, "", 1, 1),
        "algsimp": (0, "", 1, 1),
        "dce": (2, "", 1, 1),
        "fusion": (9, "", 1, 1),
        "schedule": (0, "order", 1, 1),
        "partition": (2, "partition", 1, 2),
    }


def test_decisions_and_their_last_word(capture: Capture) -> None:
    fusion = ids(capture)["fusion"]
    found = decisions(capture, fusion)
    assert not any(decisions(capture, step) for step in ids(capture).values() if step != fusion)
    assert [(one.kind, one.a_name, one.b_name, one.reason) for one in found] == [
        ("refused", "mm_nt", "bias", "producer is not loop-fusible"),
        ("refused", "bias", "gelu", "fusion is not profitable"),
        ("fused", "bias", "gelu", ""),
    ]
    assert found[0].file == str(PROGRAM) and found[0].line > 0
    verdict = decided(capture, "gelu", "bias")
    assert verdict is not None and verdict.last.decision.kind == "fused" and len(verdict.words) == 2
    nodes = graph_at(capture, fusion, 0).nodes
    boxes = dict(zip(nodes.name, nodes.identity, strict=True))
    assert (found[1].a_identity, found[1].b_identity) == (boxes["bias"], boxes["gelu"])
    with pytest.raises(PeepholeError, match="no decision about mm_nt and gelu; mm_nt was decided on with bias"):
        decided(capture, "mm_nt", "gelu")
    assert decided(capture, "mm_nt", "unheard of") is None, "then it is a question about kernels"


def test_a_partition_says_which_graphs_came_and_went(capture: Capture, path: Path, peephole: Cli) -> None:
    lines = graph_at(capture, ids(capture)["partition"], 1).diff
    assert [text for sign, text in lines if sign == "-"] == ["graph main"]
    assert {text for sign, text in lines if sign == "+"} >= {"graph forward", "graph backward"}
    assert not [text for _, text in lines if "GRAPH" in text]
    printed = peephole("show", path, "-i", "0/0", "partition", "--match", "1").stdout
    assert "- graph main\n" in printed and "GRAPH" not in printed


def test_the_terminal_prints_it(path: Path, peephole: Cli) -> None:
    assert peephole("show", path).stdout == "No events, but 1 context: `-s COMPILER` lists them, `-i NAME` shows one.\n"
    assert "0 ns" not in peephole("rules", path).stdout, "their times were not recorded"
    listed = peephole("show", path, "-i", "0/0").stdout
    assert "partition - 1 → 2" in listed and "schedule - order only" in listed and "fusion - 9 changed" in listed
    text = peephole("show", path, "-i", "0/0", "fusion").stdout
    assert "gelu = gelu(bias) f32 (64, 64)" in text and "graph body of fusion.1  4 instructions" in text
    assert "changed by the pass, rule not recorded" in text
    assert "refused  mm_nt + bias  producer is not loop-fusible" in text
    assert "  fusion.1 = fusion(mm_nt, b1, body of fusion.1) kLoop f32 (64, 64)\n" in text
    gone = peephole("show", path, "-i", "0/0", "fusion", "--match", "1").stdout.splitlines()
    assert gone.count("- bias = add(mm_nt, b1) f32 (64, 64)") == 2  # in the graph and in the difference
    moved = peephole("show", path, "-i", "0/0", "schedule", "--match", "1").stdout
    assert moved.endswith("only the order or the place of instructions differs\n  main: w2 moved to before mm2\n")
    assert "This pass changed nothing." in peephole("show", path, "-i", "0/0", "algsimp").stdout
    one = peephole("show", path, "-i", "0/0", "fusion", "--match", "2").stdout
    assert "0 added, 1 changed, 0 removed" in one and "~ out = output(mm2) donated f32 (64, 64)" in one
    refused = peephole("show", path, "-i", "0/0", "fusion", "--match", "3", check=False)
    assert refused.returncode == 2 and "matches 0 to 2" in refused.stderr
    why = peephole("why", "bias", "gelu", path).stdout.splitlines()
    assert why[1] == "fused" and "refused: fusion is not profitable" in why[3]


def test_the_same_as_json(path: Path, peephole: Cli) -> None:
    objects: list[dict[str, Any]] = [
        json.loads(line) for line in peephole("show", path, "-i", "0/0", "fusion", "--json").stdout.splitlines()
    ]
    assert [(one.get("match"), one.get("entry")) for one in objects[:3]] == [(0, None), (1, "rule"), (2, "rest")]
    assert [node["name"] for node in objects[0]["nodes"]][-1] == "main"
    assert objects[2]["rule"] is None and len(objects[2]["changed"]) == 1
    assert [one["decision"] for one in objects[3:]] == ["refused", "refused", "fused"]
    answer = json.loads(peephole("why", "bias", "gelu", path, "--json").stdout)
    assert answer["relation"] == "fused" and [one["decision"] for one in answer["decisions"]] == ["refused", "fused"]


def test_sql_and_search(capture: Capture) -> None:
    sql = "SELECT d.kind, a.name, b.name FROM decisions d JOIN nodes a ON a.id = d.a JOIN nodes b ON b.id = d.b"
    assert ("fused", "bias", "gelu") in list(run_sql(capture, sql).rows)
    lists = run_sql(capture, "SELECT len(removed), len(added) FROM matches ORDER BY step, ordinal").rows
    assert list(lists) == [(1, 1), (2, 1)]
    hit = build_index(capture).search("mm_nt").hits[0]
    assert (hit.kind, hit.text, hit.step) == ("node", "mm_nt", ids(capture)["algsimp"])
    assert "mm_nt" in graph_at(capture, hit.step, hit.match).nodes.name


def test_the_server_sends_it(path: Path, capture: Capture) -> None:
    client = TestClient(create_app(Library([path])), base_url="http://127.0.0.1")
    base, step = "/api/v1/captures/passes", ids(capture)["fusion"]
    listed = client.get(f"{base}/steps").json()
    assert all(after >= 0 for after in listed["after"])
    entries = client.get(f"{base}/steps/{step}/matches").json()
    assert entries["total"] == 2 and [entries["kinds"][code] for code in entries["kind"]] == ["rule", "rest"]
    assert entries["names"][entries["afterName"][0]] == "fusion.1" and entries["boxes"] == [9, 1]
    graph = client.get(f"{base}/steps/{step}/graph?match=1").json()
    assert {graph["names"][graph["name"][at]] for at in graph["changed"]} == {"mm2"}
    assert [node["name"] for node in graph["removed"]] == ["bias", "gelu"]
    assert client.get(f"{base}/steps/{step}/matches/2").json()["kind"] == "rest"
    decisions = client.get(f"{base}/steps/{step}/decisions").json()
    assert decisions["kind"] == ["refused", "refused", "fused"] and decisions["aName"][0] == "mm_nt"
    context = listed["context"][0]
    passes = client.get(f"{base}/contexts/{context}/passes").json()
    assert passes["graphsOut"][-1] == 2 and passes["entries"] == [1, 0, 2, 2, 1, 1]


def test_what_was_recorded_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "killed.peep"
    done = subprocess.run([sys.executable, str(PROGRAM), str(path), "kill"], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    capture = open_capture(path)
    (context,) = contexts(capture)
    by_name = {step.name: step for step in steps(capture, context.id)}
    assert len(decisions(capture, by_name["fusion"].id)) == 3
    assert graph_at(capture, by_name["fusion"].id, 2).kind == "rest"
    killed = by_name["never ends"]
    assert (killed.after, killed.matches) == (-1, 1)
    last = graph_at(capture, killed.id, 1)
    (changed,) = last.changed
    assert last.nodes.op[last.nodes.id.index(changed)] == "tuple"
