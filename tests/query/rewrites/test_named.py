"""Passes over named instructions: what is replayed by name is what straightforward edits of a list give."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.query.rewrites.instructions import Book, Graph, Instr, Match, Pass, write

from peephole.errors import PeepholeError
from peephole.query.rewrites.node_history import node_history
from peephole.query.rewrites.step_graphs import GraphAt, graph_at, match_diffs, matches, walk_matches
from peephole.store.capture import Capture, open_capture

X, Y = Instr("x", "parameter"), Instr("y", "parameter")


def contents(graph: GraphAt) -> dict[str, tuple[str, str | None, tuple[str, ...]]]:
    """Name to op, arg and names of sources, without GRAPH nodes."""
    nodes = graph.nodes
    names = dict(zip(nodes.id, nodes.name, strict=True))
    graphs = {id for id, op in zip(nodes.id, nodes.op, strict=True) if op == "GRAPH"}
    return {
        name or "?": (op, arg, tuple(names[s] or "?" for s in src if s not in graphs))
        for name, op, arg, src in zip(nodes.name, nodes.op, nodes.arg, nodes.src, strict=True)
        if op != "GRAPH"
    }


def listing(graph: GraphAt, name: str | None = None) -> list[str]:
    """What a GRAPH lists, in order."""
    nodes = graph.nodes
    names = dict(zip(nodes.id, nodes.name, strict=True))
    at = next(i for i, op in enumerate(nodes.op) if op == "GRAPH" and (name is None or nodes.name[i] == name))
    return [names[s] or "?" for s in nodes.src[at]]


def named(graph: GraphAt, ids: list[int]) -> list[str]:
    names = dict(zip(graph.nodes.id, graph.nodes.name, strict=True))
    return sorted(names[id] or "?" for id in ids)


def marks(graph: GraphAt) -> tuple[list[str], list[str], list[str]]:
    """Names of what was added, altered and removed."""
    removed = sorted(node.name or "?" for node in graph.removed)
    return named(graph, graph.added), named(graph, graph.changed), removed


def opened(tmp_path: Path, book: Book, *passes: Pass) -> Capture:
    return open_capture(write(tmp_path / "passes.peep", book, list(passes)))


def test_matches_are_applied_by_name_and_the_rest_is_an_entry_of_its_own(tmp_path: Path) -> None:
    one = Graph(
        "main", (X, Y, Instr("a", "add", ("x", "y")), Instr("m", "mul", ("a", "x")), Instr("out", "neg", ("m",)))
    )
    two = one.put(Instr("f", "fused", ("x", "y")), "m").rewired("m", "f").without("a", "m")
    three = two.put(Instr("out", "abs", ("f",)))
    book = Book()
    fuse = Match((one, "m"), (two, "f"), removed=[(one, "a"), (one, "m")], added=[(two, "f")], line=5)
    capture = opened(tmp_path, book, Pass("fuse", book.graph(one), book.graph(three), [fuse]))
    first, fused, last = (graph_at(capture, 0, k) for k in range(3))
    assert (
        contents(first) == one.contents() and contents(fused) == two.contents() and contents(last) == three.contents()
    )
    assert listing(fused) == ["x", "y", "f", "out"]
    assert marks(fused) == (["f"], ["out"], ["a", "m"])
    assert fused.rule is not None and (fused.rule.file, fused.rule.line) == ("rules.py", 5)
    assert marks(last) == ([], ["out"], [])
    assert (last.rule, last.kind, last.matches) == (None, "rest", 2)
    infos = matches(capture, 0)
    assert [(i.kind, i.before_name, i.after_name, i.boxes, i.file) for i in infos] == [
        ("rule", "m", "f", 4, "rules.py"),
        ("rest", "out", "out", 1, None),
    ]
    with pytest.raises(PeepholeError, match="there is no match 3"):
        graph_at(capture, 0, 3)


def test_a_plain_match_says_it_all(tmp_path: Path) -> None:
    one = Graph("main", (X, Instr("a", "mul", ("x",)), Instr("out", "neg", ("a",))))
    two = one.put(Instr("s", "shl", ("x",)), "a").rewired("a", "s").without("a")
    three = two.put(Instr("out", "abs", ("s",)))
    book = Book()
    steps = [Match((one, "a"), (two, "s")), Match((two, "out"), (three, "out"))]
    capture = opened(tmp_path, book, Pass("p", book.graph(one), book.graph(three), steps))
    assert [contents(graph_at(capture, 0, k)) for k in range(3)] == [g.contents() for g in (one, two, three)]
    assert [info.kind for info in matches(capture, 0)] == ["rule", "rule"], "nothing is left to explain"
    identity = dict(zip(graph_at(capture, 0, 0).nodes.name, graph_at(capture, 0, 0).nodes.identity, strict=True))
    history = node_history(capture, 0, identity["a"], 0)
    assert (history.created, history.deleted) == (0, 1)


def test_a_step_without_matches_has_an_entry_for_each_group(tmp_path: Path) -> None:
    one = Graph(
        "main",
        (
            *(X, Y, Instr("a", "add", ("x", "x")), Instr("b", "neg", ("a",))),
            *(Instr("c", "add", ("y", "y")), Instr("d", "neg", ("c",)), Instr("out", "tuple", ("b", "d"))),
        ),
    )
    two = one.put(Instr("a2", "mul", ("x",)), "a").rewired("a", "a2").without("a")
    two = two.put(Instr("d", "abs", ("c",)))
    book = Book()
    capture = opened(tmp_path, book, Pass("simplify", book.graph(one), book.graph(two)))
    assert [(i.kind, i.boxes, i.file, i.line) for i in matches(capture, 0)] == [
        ("group", 3, None, -1),
        ("group", 1, None, -1),
    ]
    assert marks(graph_at(capture, 0, 1)) == (["a2"], ["b"], ["a"])
    assert marks(graph_at(capture, 0, 2)) == ([], ["d"], [])
    assert contents(graph_at(capture, 0, 2)) == two.contents()
    assert graph_at(capture, 0, 1).rule is None
    lines = [text for _, diff in match_diffs(capture, 0) for _, text in diff]
    assert lines == ["a = add(x, x)", "b = neg(a)", "b = neg(a2)", "a2 = mul(x)", "d = neg(c)", "d = abs(c)"]


def test_origins_and_order_are_told_apart(tmp_path: Path) -> None:
    one = Graph(
        "main",
        (X, Instr("a", "neg", ("x",), metadata="p.py:1"), Instr("b", "abs", ("x",)), Instr("out", "add", ("a", "b"))),
    )
    moved = Graph("main", tuple(one.named(name) for name in ("x", "b", "a", "out")))
    origin = one.put(Instr("a", "neg", ("x",), metadata="p.py:2"))
    book = Book()
    capture = opened(
        tmp_path,
        book,
        Pass("schedule", book.graph(one), book.graph(moved)),
        Pass("propagate metadata", book.graph(one), book.graph(origin)),
        Pass("nothing", book.graph(one), book.graph(one)),
    )
    assert [i.kind for i in matches(capture, 0)] == ["order"]
    assert listing(graph_at(capture, 0, 1)) == ["x", "b", "a", "out"] and marks(graph_at(capture, 0, 1)) == ([], [], [])
    assert [i.kind for i in matches(capture, 1)] == ["metadata"]
    assert marks(graph_at(capture, 1, 1)) == ([], ["a"], [])
    assert matches(capture, 2) == [] and contents(graph_at(capture, 2, 0)) == one.contents()


def test_dead_instructions_are_there_until_they_are_removed(tmp_path: Path) -> None:
    one = Graph("main", (X, Instr("dead", "neg", ("x",)), Instr("out", "abs", ("x",))))
    two = one.without("dead")
    book = Book()
    gone = Match((one, "dead"), None, removed=[(one, "dead")])
    capture = opened(tmp_path, book, Pass("dce", book.graph(one), book.graph(two), [gone]))
    assert "dead" in contents(graph_at(capture, 0, 0))
    assert marks(graph_at(capture, 0, 1)) == ([], [], ["dead"])
    assert [i.kind for i in matches(capture, 0)] == ["rule"]


def test_a_partition_is_one_graph_in_and_several_out(tmp_path: Path) -> None:
    joint = Graph("joint", (X, Instr("a", "exp", ("x",)), Instr("b", "mul", ("a", "x")), Instr("out", "neg", ("b",))))
    forward = Graph("forward", (X, Instr("a", "exp", ("x",)), Instr("out", "output", ("a",))))
    backward = Graph(
        "backward", (X, Instr("a", "placeholder"), Instr("b", "mul", ("a", "x")), Instr("grad", "neg", ("b",)))
    )
    book = Book()
    capture = opened(tmp_path, book, Pass("partition", book.graph(joint), book.partition([forward, backward])))
    (info,) = matches(capture, 0)
    assert info.kind == "partition"
    before, after = graph_at(capture, 0, 0), graph_at(capture, 0, 1)
    assert named(before, before.graphs) == ["joint"] and named(after, after.graphs) == ["backward", "forward"]
    assert listing(after, "forward") == ["x", "a", "out"] and listing(after, "backward") == ["x", "a", "b", "grad"]
    survivors = set(before.nodes.identity) & set(after.nodes.identity)
    computed = next(i for i, op in enumerate(after.nodes.op) if op == "exp")
    assert after.nodes.identity[computed] in survivors, "the one that is computed is the survivor, not its placeholder"


def test_bodies_of_calls_are_graphs_that_the_call_reads(tmp_path: Path) -> None:
    body = Graph("fused.1", (Instr("p", "parameter"), Instr("n", "neg", ("p",))))
    one = Graph("main", (X, Instr("a", "neg", ("x",)), Instr("out", "abs", ("a",))))
    two = one.put(Instr("fusion", "fusion", ("x",), body=body), "a").rewired("a", "fusion").without("a")
    book = Book()
    fuse = Match((one, "a"), (two, "fusion"), removed=[(one, "a")], added=[(two, "fusion")])
    capture = opened(
        tmp_path,
        book,
        Pass("fusion", book.graph(one), book.graph(two), [fuse]),
        Pass("fusion, not told", book.graph(one), book.graph(two)),
        Pass("inliner", book.graph(two), book.graph(one)),
    )
    for step in (0, 1):
        after = graph_at(capture, step, 1)
        assert [i.kind for i in matches(capture, step)] == ["rule" if step == 0 else "group"]
        assert listing(after, "fused.1") == ["p", "n"] and listing(after, "main") == ["x", "fusion", "out"]
        assert marks(after) == (["fused.1", "fusion", "n", "p"], ["out"], ["a"])
    assert marks(graph_at(capture, 2, 1)) == (["a"], ["out"], ["fused.1", "fusion", "n", "p"])


def test_a_box_has_one_identity_in_all_steps(tmp_path: Path) -> None:
    one = Graph("main", (X, Instr("a", "neg", ("x",)), Instr("out", "abs", ("a",))))
    two = one.put(Instr("a", "exp", ("x",)))
    book = Book()
    capture = opened(
        tmp_path,
        book,
        Pass("1", book.graph(one), book.graph(two)),
        Pass("2", book.graph(two), book.graph(two.without("a").rewired("a", "x"))),
    )
    seen = [
        dict(zip(g.nodes.name, g.nodes.identity, strict=True))
        for g in (graph_at(capture, 0, 0), graph_at(capture, 0, 1), graph_at(capture, 1, 0))
    ]
    assert seen[0] == seen[1] == seen[2]


def test_a_killed_step_has_what_its_matches_did(tmp_path: Path) -> None:
    one = Graph("main", (X, Instr("a", "neg", ("x",)), Instr("out", "abs", ("a",))))
    two = one.put(Instr("e", "exp", ("x",)), "a").rewired("a", "e").without("a")
    book = Book()
    match = Match((one, "a"), (two, "e"), removed=[(one, "a")], added=[(two, "e")])
    capture = opened(tmp_path, book, Pass("killed", book.graph(one), -1, [match]))
    assert contents(graph_at(capture, 0, 1)) == two.contents()


OPS = st.sampled_from(["add", "mul", "neg", "exp"])


@st.composite
def programs(draw: st.DrawFn) -> tuple[Book, Pass, list[Graph], bool]:
    """A random list of instructions, edits with their matches, edits that nobody told, and the graphs between."""
    names = [f"i{n}" for n in range(draw(st.integers(1, 9)))]
    items: list[Instr] = []
    for n, name in enumerate(names):
        src = draw(st.lists(st.sampled_from(names[:n]), max_size=3)) if n else []
        items.append(Instr(name, draw(OPS), tuple(src), draw(st.sampled_from([None, "1", "2"]))))
    graph = Graph(draw(st.sampled_from([None, "main"])), tuple(items))
    book, graphs, steps, fresh = Book(), [graph], list[Match](), 0
    first = graph
    for _ in range(draw(st.integers(0, 6))):
        graph, match, fresh = edited(draw, graph, fresh)
        if match is not None:
            steps.append(match)
            graphs.append(graph)
    told = graph
    for _ in range(draw(st.integers(0, 2))):
        graph, _, fresh = edited(draw, graph, fresh)
    if draw(st.booleans()) and len(graph.items) > 1:
        graph = swapped(draw, graph)
    return book, Pass("p", book.graph(first), book.graph(graph), steps), [*graphs, graph], graph == told


def edited(draw: st.DrawFn, graph: Graph, fresh: int) -> tuple[Graph, Match | None, int]:
    way = draw(st.sampled_from(["alter", "replace", "delete", "insert"]))
    if not graph.items:
        return graph, None, fresh
    name = draw(st.sampled_from([item.name for item in graph]))
    own = graph.named(name)
    at = graph.items.index(own)
    before = [item.name for item in graph.items[:at]]
    src = tuple(draw(st.lists(st.sampled_from(before), max_size=2))) if before else ()
    if way == "alter":
        new = graph.put(Instr(name, draw(OPS), src, draw(st.sampled_from([None, "1", "2"]))))
        return new, Match((graph, name), (new, name)), fresh
    if way == "delete":
        if any(name in item.src for item in graph):
            return graph, None, fresh
        return graph.without(name), Match((graph, name), None, removed=[(graph, name)]), fresh
    added = Instr(f"n{fresh}", draw(OPS), src, "new")
    new = graph.put(added, name)
    if way == "insert":
        return new, Match((graph, name), (graph, name), added=[(new, added.name)]), fresh + 1
    new = new.rewired(name, added.name).without(name)
    lists: dict[str, Any] = {}
    if draw(st.booleans()):
        lists = {"removed": [(graph, name)], "added": [(new, added.name)]}
    return new, Match((graph, name), (new, added.name), **lists), fresh + 1


def swapped(draw: st.DrawFn, graph: Graph) -> Graph:
    at = draw(st.integers(0, len(graph.items) - 2))
    one, two = graph.items[at : at + 2]
    if one.name in two.src:
        return graph
    return Graph(graph.name, (*graph.items[:at], two, one, *graph.items[at + 2 :]))


@settings(max_examples=150)
@given(programs(), st.data())
def test_replay_by_names_is_what_edits_of_the_list_give(made: tuple[Book, Pass, list[Graph], bool], data: Any) -> None:
    book, step, graphs, told = made
    with tempfile.TemporaryDirectory() as folder:
        capture = open_capture(write(Path(folder) / "p.peep", book, [step]))
        count = len(matches(capture, 0))
        rules = len(step.matches)
        order = data.draw(st.permutations(range(count + 1)))
        found = {k: graph_at(capture, 0, k) for k in order}
        for k in range(rules + 1):
            if step.matches or k == 0:
                assert contents(found[k]) == graphs[k].contents(), f"after match {k}"
        assert contents(found[count]) == graphs[-1].contents()
        if graphs[-1].items:
            assert listing(found[count]) == [item.name for item in graphs[-1]]
        if rules:
            assert count == rules + (not told), "an entry of its own for what was not told, and only then"
        check_marks(found, count)
        walked = [
            (done.match, sorted(done.added), sorted(done.changed), sorted(done.removed))
            for done in walk_matches(capture, 0)
        ]
        assert walked == [
            (k, sorted(found[k].added), sorted(found[k].changed), sorted(n.id for n in found[k].removed))
            for k in range(1, count + 1)
        ]


def check_marks(found: dict[int, GraphAt], count: int) -> None:
    """What is marked is what differs, and a box that stays keeps its identity."""
    for k in range(1, count + 1):
        old, new = contents(found[k - 1]), contents(found[k])
        added, changed, removed = marks(found[k])
        assert added == sorted(new.keys() - old.keys()) and removed == sorted(old.keys() - new.keys())
        assert changed == sorted(name for name in new.keys() & old.keys() if new[name] != old[name])
        identity = [dict(zip(g.nodes.name, g.nodes.identity, strict=True)) for g in (found[k - 1], found[k])]
        assert all(identity[0][name] == identity[1][name] for name in new.keys() & old.keys())
