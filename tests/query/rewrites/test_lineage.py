"""Boxes from graph to graph of a context: the difference of any two, where each lives, and what made it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.query.rewrites.instructions import Book, Graph, Instr, Match, Pass
from tests.query.rewrites.test_named import X, Y, marks, opened

from peephole.cli.main import main
from peephole.errors import PeepholeError
from peephole.query.capture.contexts import Context, Step, contexts, steps
from peephole.query.rewrites.births import births
from peephole.query.rewrites.graph_difference import ARRIVED, graph_difference
from peephole.query.rewrites.lives import Living, lives
from peephole.query.rewrites.node_history import node_history, node_passages
from peephole.query.rewrites.step_graphs import count_matches, graph_at
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter


def write(path: Path) -> Capture:
    """Three passes, the second of which runs one of its own inside: -(a*b) + a.

    0 turns NEG into SUB, 1 turns ADD into MAX; 2 runs inside of 1, over a graph of its own, and takes the PARAM there
    for another; 3 does nothing.
    """
    nodes: list[tuple[str, list[int]]] = [
        ("PARAM", []),  # 0
        ("CONST", []),
        ("MUL", [0, 1]),
        ("NEG", [2]),
        ("ADD", [3, 0]),
        ("SINK", [4]),  # 5
        ("SUB", [2]),
        ("ADD", [6, 0]),
        ("SINK", [7]),  # 8: after pass 0
        ("MAX", [6, 0]),
        ("SINK", [9]),  # 10: after pass 1
        ("SINK", [0]),  # 11: what the inner pass works on
        ("LOAD", []),
    ]
    with CaptureWriter(path) as sink:
        sink.append("contexts", {"id": [0, 1], "name": ["kernel", "other"], "kind": ["kernel", "kernel"]})
        sink.append(
            "steps",
            {
                "id": [0, 1, 2, 3, 4],
                "context": [0, 0, 0, 0, 1],
                "ordinal": [0, 1, 2, 3, 0],
                "depth": [0, 0, 1, 0, 0],
                "name": ["first", "second", "inside", "last", "elsewhere"],
                "root": [5, 8, 11, 10, 5],
                "matches": [1, 1, 1, 0, 0],
            },
        )
        sink.append(
            "nodes",
            {
                "id": list(range(len(nodes))),
                "op": [op for op, _ in nodes],
                "dtype": ["int"] * len(nodes),
                "src": [src for _, src in nodes],
            },
        )
        sink.append(
            "matches",
            {
                "step": [0, 1, 2],
                "ordinal": [0, 0, 0],
                "before": [3, 7, 0],
                "after": [6, 9, 12],
                "file": ["/a/rules.py"] * 3,
                "line": [7, 8, 9],
                "dur": [100, 200, 300],
            },
        )
    return open_capture(path)


@pytest.fixture
def made(tmp_path: Path) -> Capture:
    return write(tmp_path / "made.peep")


def ops(capture: Capture, first: tuple[int, int], second: tuple[int, int]) -> tuple[list[str], list[str], list[str]]:
    """Ops of what came, changed and went."""
    graph = graph_difference(capture, first, second).graph
    op = dict(zip(graph.nodes.id, graph.nodes.op, strict=True))
    gone = sorted(node.op for node in graph.removed)
    return sorted(op[id] for id in graph.added), sorted(op[id] for id in graph.changed), gone


def test_any_two_graphs_of_a_context_are_compared(made: Capture) -> None:
    assert ops(made, (0, 0), (0, 1)) == (["SUB"], ["ADD"], ["NEG"])
    assert ops(made, (0, 0), (1, 0)) == (["SUB"], ["ADD"], ["NEG"])
    assert ops(made, (0, 0), (3, 0)) == (["MAX", "SUB"], ["SINK"], ["ADD", "NEG"])
    assert ops(made, (3, 0), (0, 0)) == (["ADD", "NEG"], ["SINK"], ["MAX", "SUB"]), "and the other way round"
    assert ops(made, (0, 1), (3, 0)) == (["MAX"], ["SINK"], ["ADD"])
    assert ops(made, (1, 1), (3, 0)) == ([], [], []), "what an inner pass did to its own graph is not what came of it"
    assert ops(made, (1, 0), (2, 1)) == (["LOAD", "SINK"], [], ["ADD", "CONST", "MUL", "PARAM", "SINK", "SUB"])


def test_survivors_are_known_as_in_the_first_graph(made: Capture) -> None:
    found = graph_difference(made, (0, 0), (3, 0))
    before, after = graph_at(made, 0, 0), graph_at(made, 3, 0)
    known = dict(zip(before.nodes.op, before.nodes.identity, strict=True))
    assert found.own == after.nodes.identity and found.shared == 4
    for op, key, own in zip(found.graph.nodes.op, found.graph.nodes.identity, found.own, strict=True):
        assert key == (own + ARRIVED if op in ("MAX", "SUB") else known[op]), op
    (add, neg) = sorted(found.graph.removed, key=lambda node: node.op)
    assert (add.identity, neg.identity) == (known["ADD"], known["NEG"])
    assert neg.users == [known["ADD"]] and add.src == [known["NEG"], known["PARAM"]]
    assert found.graph.diff == [
        ("-", "NEG(MUL) int"),
        ("-", "ADD(NEG, PARAM) int"),
        ("-", "SINK(ADD) int"),
        ("+", "SINK(MAX) int"),
        ("+", "SUB(MUL) int"),
        ("+", "MAX(SUB, PARAM) int"),
    ]


def test_only_graphs_of_one_context(made: Capture) -> None:
    with pytest.raises(PeepholeError, match="only graphs of one context"):
        graph_difference(made, (0, 0), (4, 0))
    with pytest.raises(PeepholeError, match="there is no match 2"):
        graph_difference(made, (0, 2), (1, 0))
    with pytest.raises(PeepholeError, match="no step 9"):
        graph_difference(made, (0, 0), (9, 0))


def test_where_boxes_live_and_what_made_them(made: Capture) -> None:
    first = graph_at(made, 0, 0)
    of = dict(zip(first.nodes.op, first.nodes.identity, strict=True))
    neg, add, param = lives(made, 0, 0, [of["NEG"], of["ADD"], of["PARAM"]])
    assert neg == [Living(0, of["NEG"], True, False, False, 0)]
    assert [(one.step, one.changed, one.came_out) for one in add] == [(0, True, True), (1, False, False)]
    assert [one.step for one in param] == [0, 1, 3], "the pass inside another one is not on its way"
    last = graph_at(made, 3, 0)
    (top,) = lives(made, 3, 0, [dict(zip(last.nodes.op, last.nodes.identity, strict=True))["MAX"]])
    assert [(one.step, one.went_in, one.created) for one in top] == [(1, False, 1), (3, True, 0)]
    found = births(made, 3, 0)
    op = dict(zip(last.nodes.identity, last.nodes.op, strict=True))
    rows = zip(found.identity, found.step, found.match, found.rule, found.dur, strict=True)
    told = {op[identity]: (step, match, found.rules[rule], dur) for identity, step, match, rule, dur in rows}
    assert told == {"SUB": (0, 1, "rules.py:7", 100), "MAX": (1, 1, "rules.py:8", 200)}


def every_step(capture: Capture) -> Iterator[tuple[Context, Step]]:
    for context in contexts(capture):
        for step in steps(capture, context.id):
            yield context, step


@pytest.mark.parametrize("program", ["train", "passes"])
def test_neighbours_differ_as_their_match_says(program: str, request: pytest.FixtureRequest) -> None:
    capture = request.getfixturevalue(program).capture
    compared = 0
    for _, step in every_step(capture):
        for match in range(1, min(step.matches, 4) + 1):
            graph = graph_at(capture, step.id, match)
            if graph.match < match:
                break  # the replay ended in an error
            found = graph_difference(capture, (step.id, match - 1), (step.id, match)).graph
            assert sorted(found.added) == sorted(graph.added) and sorted(found.changed) == sorted(graph.changed)
            assert sorted(node.id for node in found.removed) == sorted(node.id for node in graph.removed)
            compared += 1
    assert compared > 30


def test_far_graphs_of_a_real_compilation(train: Any) -> None:
    """Survivors and what came are all of the second graph, survivors and what went all of the first."""
    capture = train.capture
    compared = 0
    for context in contexts(capture):
        outer = [step for step in steps(capture, context.id) if step.depth == 0]
        for one, other in (
            (outer[0], outer[-1]),
            (outer[-1], outer[0]),
            (outer[1 % len(outer)], outer[len(outer) // 2]),
        ):
            ends = [(step.id, count_matches(capture, step.id)) for step in (one, other)]
            found = graph_difference(capture, ends[0], ends[1])
            first, second = (graph_at(capture, *end) for end in ends)
            assert found.graph.nodes.id == second.nodes.id
            assert found.shared + len(found.graph.added) == len(second.nodes.id)
            assert found.shared + len(found.graph.removed) == len(first.nodes.id)
            assert len(set(found.graph.nodes.identity)) == len(second.nodes.id)
            compared += found.shared > 0 and len(found.graph.added) > 0
    assert compared > 10


def test_births_and_lives_of_a_real_compilation(train: Any) -> None:
    capture = train.capture
    checked = 0
    for context in contexts(capture):
        outer = [step for step in steps(capture, context.id) if step.depth == 0 and step.matches > 2]
        for step in outer[-2:]:
            graph = graph_at(capture, step.id, count_matches(capture, step.id))
            found = births(capture, step.id, graph.match)
            here = {
                i: match for i, at, match in zip(found.identity, found.step, found.match, strict=True) if at == step.id
            }
            for identity in graph.nodes.identity[:: max(1, len(graph.nodes.identity) // 6)]:
                history = node_history(capture, step.id, identity, graph.match)
                assert history.created == here.get(identity, 0)
                (life,) = lives(capture, step.id, graph.match, [identity])
                for one in life:
                    ends = [graph_at(capture, one.step, at) for at in (0, count_matches(capture, one.step))]
                    assert [one.identity in end.nodes.identity for end in ends] == [one.went_in, one.came_out]
                others = {one.step for one in life} - {step.id}
                assert {one.step for one in node_passages(capture, step.id, identity, graph.match)} == others
                checked += 1
    assert checked > 20


def test_named_instructions(tmp_path: Path) -> None:
    one = Graph("main", (X, Y, Instr("a", "add", ("x", "y")), Instr("out", "neg", ("a",))))
    two = one.put(Instr("m", "mul", ("x", "y")), "a").rewired("a", "m").without("a")
    three = two.put(Instr("out", "abs", ("m",)))
    book = Book()
    fold = Match((one, "a"), (two, "m"), removed=[(one, "a")], added=[(two, "m")], line=5)
    passes = [
        Pass("fold", book.graph(one), book.graph(two), [fold]),
        Pass("nothing", book.graph(two), book.graph(two)),
        Pass("simplify", book.graph(two), book.graph(three)),
    ]
    capture = opened(tmp_path, book, *passes)
    found = graph_difference(capture, (0, 0), (2, 1))
    assert marks(found.graph) == (["m"], ["out"], ["a"])
    assert marks(graph_difference(capture, (2, 1), (0, 0)).graph) == (["a"], ["out"], ["m"])
    assert marks(graph_difference(capture, (0, 1), (2, 0)).graph) == ([], [], [])
    assert found.graph.diff == [
        ("-", "a = add(x, y)"),
        ("-", "out = neg(a)"),
        ("+", "out = abs(m)"),
        ("+", "m = mul(x, y)"),
    ]
    graph = graph_at(capture, 2, 1)
    of = dict(zip(graph.nodes.name, graph.nodes.identity, strict=True))
    m, out = lives(capture, 2, 1, [of["m"], of["out"]])
    assert [(p.step, p.went_in, p.came_out, p.changed, p.created) for p in m] == [
        (0, False, True, False, 1),
        (1, True, True, False, 0),
        (2, True, True, False, 0),
    ]
    assert [(p.step, p.changed) for p in out] == [(0, True), (1, False), (2, True)]
    made = births(capture, 2, 1)
    assert (made.identity, made.step, made.match, made.rules) == ([of["m"]], [0], [1], ["rules.py:5"])


def test_the_terminal_compares_two_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "made.peep").path
    assert main(["show", str(path), "-i", "kernel", "--from", "first", "--to", "last", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["from"] == {"step": "first", "match": 0} and record["to"] == {"step": "last", "match": 0}
    op = {node["id"]: node["op"] for node in record["nodes"]}
    assert sorted(op[id] for id in record["added"]) == ["MAX", "SUB"] and [op[id] for id in record["changed"]] == [
        "SINK"
    ]
    assert sorted(node["op"] for node in record["removed_nodes"]) == ["ADD", "NEG"]
    assert record["removed"] == [node["id"] for node in record["removed_nodes"]] and record["shared"] == 4
    assert "+ MAX(SUB, PARAM) int" in record["diff"]
    assert main(["show", str(path), "-i", "kernel", "--from", "first:1", "--to", "second:1"]) == 0
    text = capsys.readouterr().out
    assert "first  the graph that came out, match 1" in text and "1 added, 1 changed, 1 removed" in text
    assert main(["show", str(path), "-i", "kernel", "--to", "first:0", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["from"] == record["to"] == {"step": "first", "match": 0} and not record["added"]
    for words, sentence in (
        (["--from", "frist"], "frist"),
        (["--from", "first:7"], "no match 7"),
    ):
        assert main(["show", str(path), "-i", "kernel", *words]) == 2
        assert sentence in capsys.readouterr().err
    assert main(["show", str(path), "--from", "first"]) == 2
    assert "-i CONTEXT" in capsys.readouterr().err
