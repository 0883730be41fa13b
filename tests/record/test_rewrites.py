"""Rewrite engines: contexts, steps, matches, nodes by identity."""

from __future__ import annotations

import functools
import json
import weakref
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import peephole
from peephole.record import active


class Ops(Enum):
    ADD = 1
    CONST = 2


class Node:
    def __init__(self, op: Any, *src: Any, arg: Any = None) -> None:
        self.op, self.src, self.arg = op, src, arg


class Slotted:
    __slots__ = ("op", "src")

    def __init__(self, op: str, *src: Any) -> None:
        self.op, self.src = op, src


def test_the_same_object_is_the_same_node(recorder: Any, finish: Any) -> None:
    leaf = Node(Ops.CONST, arg=(1, "x"))
    root = Node(Ops.ADD, leaf, leaf)
    first = peephole.node(root)
    assert peephole.node(root) == first and peephole.node(leaf) != first
    assert peephole.node(first) == first
    nodes = {row["id"]: row for row in finish().rows["nodes"]}
    assert nodes[first]["op"] == "ADD"
    (source,) = set(nodes[first]["src"])
    assert nodes[first]["src"] == [source, source]
    assert (nodes[source]["op"], nodes[source]["arg"], nodes[source]["src"]) == ("CONST", "(1, 'x')", [])


def test_fields_with_and_without_an_object(recorder: Any, finish: Any) -> None:
    key = ("a", "tuple")
    a = peephole.node(key, op="LOAD", dtype="float", shape=(2, 3))
    b = peephole.node(op="ADD", src=[a, key], tag="t")
    c = peephole.node(op="ADD", src=[a, key], tag="t")
    assert peephole.node(key) == a and b != c
    with pytest.raises(TypeError, match="colour"):
        peephole.node(op="ADD", colour=1)
    rows = {row["id"]: row for row in finish().rows["nodes"]}
    assert (rows[a]["dtype"], rows[a]["shape"]) == ("float", "(2, 3)")
    assert (rows[b]["src"], rows[b]["tag"], rows[b]["arg"]) == ([a, a], "t", None)


def test_nodes_are_not_kept_alive_and_a_new_object_is_a_new_node(recorder: Any) -> None:
    numbers = set()
    for _ in range(100):
        it = Node("X")
        gone = weakref.ref(it)
        numbers.add(peephole.node(it))
        del it
        assert gone() is None
    assert len(numbers) == 100
    assert not recorder.nodes._ids


def test_objects_without_weak_references_keep_their_identity(recorder: Any) -> None:
    assert len({peephole.node(Slotted("X")) for _ in range(100)}) == 100


def test_deep_graphs(recorder: Any, finish: Any) -> None:
    it = Node("LEAF")
    for _ in range(20_000):
        it = Node("NEXT", it)
    peephole.node(it)
    assert len(finish().rows["nodes"]) == 20_001
    while it.src:  # taken apart by hand: dropping such a chain recurses
        it = it.src[0]


def test_contexts_steps_and_matches(recorder: Any, finish: Any) -> None:
    one, two, three = Node("A"), Node("B"), Node("C")

    def rule(_: Any) -> Any:
        return three

    @peephole.track_rewrites(name=lambda x, ret: f"kernel {ret}", kind="kernel")
    def compile_it(x: Any) -> int:
        """Compiles."""
        with peephole.rewrite_step("simplify", x, bottom_up=True) as step:
            peephole.match(one, two)
            with peephole.rewrite_step("inner"):
                with peephole.match(two, rule=rule) as m:
                    m.after = rule(two)
                with peephole.match(two, rule=rule) as m:
                    m.after = None
            peephole.match(two, three, rule=("rules.py", 7), dur=5)
            assert step.matches == 2
        with peephole.rewrite_step("next", two, walk=True):
            pass
        return 42

    assert compile_it(one) == 42 and compile_it.__doc__ == "Compiles."
    journal = finish()
    (context,) = journal.last("contexts")
    assert (context["name"], context["kind"], context["parent"]) == ("kernel 42", "kernel", -1)
    assert context["function"].endswith("compile_it") and context["dur"] > 0
    file, line, function, source = json.loads(context["stack"])[0]
    assert Path(file).name == "test_rewrites.py" and line > 0
    assert function == "test_contexts_steps_and_matches" and "compile_it(one)" in source
    steps = journal.last("steps")
    assert [(s["name"], s["ordinal"], s["depth"], s["matches"]) for s in steps] == [
        ("simplify", 0, 0, 2),
        ("inner", 1, 1, 1),
        ("next", 2, 0, 0),
    ]
    assert [(s["bottom_up"], s["walk"]) for s in steps] == [(True, False), (False, False), (False, True)]
    assert {s["context"] for s in steps} == {context["id"]}
    assert steps[1]["root"] == -1 and all(s["dur"] > 0 and s["error"] is None for s in steps)
    assert Path(steps[0]["file"]).name == "test_rewrites.py"
    nodes = {row["id"]: row["op"] for row in journal.rows["nodes"]}
    found = [(m["step"], m["ordinal"], nodes[m["before"]], nodes[m["after"]]) for m in journal.rows["matches"]]
    simplify, inner = steps[0]["id"], steps[1]["id"]
    assert found == [(simplify, 0, "A", "B"), (inner, 0, "B", "C"), (simplify, 1, "B", "C")]
    matches = journal.rows["matches"]
    assert matches[1]["line"] == rule.__code__.co_firstlineno and matches[1]["dur"] >= 0
    assert (matches[2]["file"], matches[2]["line"], matches[2]["dur"]) == ("rules.py", 7, 5)


def test_steps_outside_any_context_fall_into_one(recorder: Any, finish: Any) -> None:
    for _ in range(2):
        with peephole.rewrite_step("alone"):
            pass
    peephole.match(Node("A"), Node("B"))
    journal = finish()
    (context,) = journal.last("contexts")
    assert context["kind"] == "rewrites"
    assert [(s["name"], s["ordinal"], s["matches"]) for s in journal.last("steps")] == [
        ("alone", 0, 0),
        ("alone", 1, 0),
        ("", 2, 1),
    ]


def test_contexts_nest_and_their_steps_begin_anew(recorder: Any, finish: Any) -> None:
    @peephole.track_rewrites()
    def inner() -> None:
        with peephole.rewrite_step("in"):
            pass

    @peephole.track_rewrites("outer")
    def outer() -> None:
        with peephole.rewrite_step("out"):
            inner()

    outer()
    journal = finish()
    contexts = {row["id"]: row for row in journal.last("contexts")}
    assert sorted(row["name"].split(".")[-1] for row in contexts.values()) == ["inner", "outer"]
    steps = {row["name"]: row for row in journal.last("steps")}
    assert (steps["in"]["ordinal"], steps["in"]["depth"]) == (0, 0)
    assert contexts[steps["in"]["context"]]["parent"] == steps["out"]["context"]


def test_a_rule_that_raises_is_kept_with_its_traceback(recorder: Any, finish: Any) -> None:
    def rule(_: Any) -> Any:
        raise ZeroDivisionError("in the rule")

    with pytest.raises(ZeroDivisionError), peephole.rewrite_step("fails"):
        peephole.match(Node("A"), Node("B"))
        with peephole.match(Node("C"), rule=rule) as m:
            m.after = rule(None)
    with peephole.rewrite_step("caught"):
        with pytest.raises(ZeroDivisionError), peephole.match(Node("D"), rule=rule):
            rule(None)
        peephole.match(Node("A"), Node("B"))
    journal = finish()
    fails, caught = journal.last("steps")
    for step, matches in ((fails, 2), (caught, 2)):
        assert "in rule" in step["error"] and "ZeroDivisionError: in the rule" in step["error"]
        assert step["matches"] == matches
    raised = [m for m in journal.rows["matches"] if m["after"] == -1]
    assert [m["step"] for m in raised] == [fails["id"], caught["id"]]
    assert [m["ordinal"] for m in journal.rows["matches"]] == [0, 1, 0, 1]


def test_without_a_recording_nothing_happens() -> None:
    assert active.recorder is None

    @peephole.track_rewrites()
    def compile_it() -> int:
        with peephole.rewrite_step("s", Node("A")) as step, peephole.match(Node("A")) as m:
            m.after = Node("B")
        peephole.match(Node("A"), Node("B"))
        return step.matches

    assert compile_it() == 0 and peephole.node(Node("A")) == -1


def test_a_decorator_without_its_parentheses_is_told() -> None:
    decorated: Any = peephole.track_rewrites(lambda graph: graph)
    with pytest.raises(TypeError, match=r"write @track_rewrites\(\)"):
        decorated(3)


def test_a_rule_is_where_it_is_written_however_it_is_wrapped(recorder: Any, finish: Any) -> None:
    def rule(node: Any) -> Any:
        return node

    wrapped: Any = rule
    for _ in range(3):

        def around(node: Any, inner: Any = wrapped) -> Any:
            return inner(node)

        wrapped = functools.partial(functools.wraps(wrapped)(around))
    for one in (rule, wrapped):
        peephole.match(Node("A"), Node("B"), one)
    lines = {(row["file"], row["line"]) for row in finish().rows["matches"]}
    assert lines == {(__file__, rule.__code__.co_firstlineno)}


def test_whatever_can_be_called_is_a_context(recorder: Any, finish: Any) -> None:
    assert peephole.track_rewrites("named")(functools.partial(int, "7"))() == 7
    assert peephole.track_rewrites()(functools.partial(int, "8"))() == 8
    rows = finish().last("contexts")
    assert [(row["name"], row["function"]) for row in rows] == [("named", "partial"), ("partial", "partial")]


def test_a_pass_over_named_instructions(recorder: Any, finish: Any) -> None:
    one = peephole.node(op="add", name="a")
    two = peephole.node(op="mul", name="a")
    with peephole.rewrite_step("given", one, after=two):
        peephole.match(one, two, removed=[one], added=iter([two]))
        peephole.decision("refused", one, None, "too large", rule=("rules.py", 3))
    with peephole.rewrite_step("set", one) as step:
        with peephole.match(one) as match:
            match.after, match.added = two, [two]
        peephole.decision("fused", one, two)
        step.after = two
    rows = finish().rows
    assert [row["after"] for row in rows["steps"]] == [two, two, -1, two], "a step is written when it begins, too"
    assert [(row["removed"], row["added"]) for row in rows["matches"]] == [([one], [two]), (None, [two])]
    named = {row["id"]: row["name"] for row in rows["nodes"]}
    assert named[one] == named[two] == "a"
    first, second = rows["decisions"]
    assert (first["kind"], first["a"], first["b"], first["reason"]) == ("refused", one, -1, "too large")
    assert (first["file"], first["line"], first["ordinal"]) == ("rules.py", 3, 0)
    assert second["file"] == __file__


def test_a_name_is_never_taken_from_an_attribute(recorder: Any, finish: Any) -> None:
    it = Node("ADD")
    it.name = "what the user calls it"  # type: ignore[attr-defined]
    peephole.node(it)
    assert [row["name"] for row in finish().rows["nodes"]] == [None]


def test_decisions_outside_of_any_recording_do_nothing() -> None:
    peephole.decision("fused", object(), object())
    with peephole.rewrite_step("x", after=object()) as step:
        step.after = object()


def test_odd_values_do_not_reach_the_program(recorder: Any, finish: Any) -> None:
    one = peephole.node(op="x", name=3)
    with peephole.rewrite_step("odd", one, after=one):
        peephole.match(one, None, removed=None, added=None)  # type: ignore[arg-type]
        peephole.decision(Ops.ADD, one, reason=None)  # type: ignore[arg-type]
    rows = finish().rows
    assert rows["nodes"][0]["name"] == "3" and len(rows["decisions"]) == 1
