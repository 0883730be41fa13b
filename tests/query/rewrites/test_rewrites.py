"""The queries: contexts, steps, matches, graphs, differences, rules."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.errors import PeepholeError
from peephole.query.capture.context_lookup import find_context, find_steps
from peephole.query.capture.contexts import Step, contexts, steps
from peephole.query.rewrites import step_graphs as rewrites
from peephole.query.rewrites.rules import rules
from peephole.query.rewrites.step_graphs import GraphAt
from peephole.query.timeline.source_items import compiled
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter


def all_steps(capture: Capture) -> dict[str, Step]:
    return {step.name: step for c in contexts(capture) for step in steps(capture, c.id)}


def write(path: Path, nodes: list[tuple[str, list[int]]], matches: list[tuple[int, int]], **flags: bool) -> Capture:
    """A capture with one step: nodes are numbered from 0, the last one of the first graph is the root."""
    with CaptureWriter(path) as sink:
        sink.append("contexts", {"id": [0], "name": ["hand made"], "kind": ["other"]})
        root = flags.pop("root", len(nodes) - 1)
        step = {"id": [0], "context": [0], "ordinal": [0], "name": ["step"], "root": [root], "matches": [len(matches)]}
        sink.append("steps", {**step, **{name: [value] for name, value in flags.items()}})
        sink.append(
            "nodes",
            {
                "id": list(range(len(nodes))),
                "op": [op for op, _ in nodes],
                "dtype": ["int"] * len(nodes),
                "src": [src for _, src in nodes],
            },
        )
        if matches:
            sink.append(
                "matches",
                {
                    "step": [0] * len(matches),
                    "ordinal": list(range(len(matches))),
                    "before": [before for before, _ in matches],
                    "after": [after for _, after in matches],
                },
            )
    return open_capture(path)


def test_the_tree_of_steps(add: Any) -> None:
    items = compiled(add.capture)
    assert [item.context.kind for item in items] == ["callify", "schedule", "kernel"]
    assert all(item.steps and item.matches for item in items)
    assert "program.py" in items[0].context.place
    own = steps(add.capture, items[1].context.id)
    assert len(own) == items[1].steps and sum(step.matches for step in own) == items[1].matches
    at = next(row for row, step in enumerate(own) if step.name == "stage to store")
    parent = next(step for step in own[at::-1] if step.depth < own[at].depth)
    assert parent.name == "get_kernel_graph"
    view = next(step for step in own if step.name == "View Kernel Graph")
    assert view.matches == 0
    shown = rewrites.graph_at(add.capture, view.id, 0)
    assert (shown.matches, shown.added, shown.rule, shown.diff) == (0, [], None, [])


def test_matches_know_their_rule(add: Any) -> None:
    step = all_steps(add.capture)["early transform tensor graph"]
    first, second = rewrites.matches(add.capture, step.id)
    assert (first.ordinal, first.before_op, first.after_op) == (1, "ADD", "CONTIGUOUS")
    assert "CONTIGUOUS" in (second.source or "") and (second.file or "").endswith("tensor.py") and second.dur > 0
    lines = dict(rewrites.rule_lines(add.capture, second.file, second.line, around=2))
    assert len(lines) == 5 and lines[second.line].strip() == second.source


def test_what_a_match_did(passes: Any) -> None:
    step = all_steps(passes.capture)["drop False"]
    graphs = [rewrites.graph_at(passes.capture, step.id, match) for match in range(step.matches + 1)]
    for old, new in pairwise(graphs):
        # x+0 became x: nothing new, the sum gone, its user reads another box
        assert new.added == [] and len(new.changed) == 1
        assert sorted(node.op for node in new.removed) in (["ADD"], ["ADD", "CONST"], ["CONST", "MUL"])
        assert [line[0] for line in new.diff][-2:] == ["-", "+"]
        survivors = set(old.nodes.identity) & set(new.nodes.identity)
        assert len(survivors) == len(new.nodes.id) == len(set(new.nodes.identity))
    gone = graphs[1].removed[0]
    assert gone.users and set(gone.users) <= set(graphs[0].nodes.identity)


def test_boxes_survive_what_happens_below_them(deep: Any) -> None:
    step = all_steps(deep.capture)["deep"]
    before, after = (rewrites.graph_at(deep.capture, step.id, match) for match in (0, 1))
    assert len(before.nodes.id) > 10_000
    assert set(before.nodes.id) & set(after.nodes.id) != set(before.nodes.id)
    users = [i for i, src in enumerate(after.nodes.src) if set(src) & set(after.added)]
    # all 10,000 sums have other ids, the same boxes, and only those that read the constant have changed
    assert len(after.added) + len(after.changed) <= len(users) + 1
    ops = dict(zip(before.nodes.identity, before.nodes.op, strict=True))
    assert sum(ops.get(i) == op for i, op in zip(after.nodes.identity, after.nodes.op, strict=True)) > 10_000


def test_any_order_gives_the_same_graphs(train: Any) -> None:
    step = max(all_steps(train.capture).values(), key=lambda step: step.matches)

    def shape(graph: GraphAt) -> list[Any]:
        place = {id: i for i, id in enumerate(graph.nodes.id)}
        rows = zip(graph.nodes.op, graph.nodes.dtype, graph.nodes.arg, graph.nodes.src, strict=True)
        return [(op, dtype, arg, [place[s] for s in src]) for op, dtype, arg, src in rows]

    wanted = sorted({0, 1, 2, step.matches // 3, step.matches // 2, step.matches})
    forward = {match: rewrites.graph_at(train.capture, step.id, match) for match in wanted}
    fresh = open_capture(train.capture.path)
    for match in reversed(wanted):
        again = rewrites.graph_at(fresh, step.id, match)
        assert shape(again) == shape(forward[match])
        assert again.nodes.identity == forward[match].nodes.identity
        assert again.diff == forward[match].diff


def test_replayed_nodes_have_ids_above_the_captures(train: Any) -> None:
    capture = train.capture
    largest = int(capture.read("nodes", ["id"])["id"].max())
    step = max(all_steps(capture).values(), key=lambda step: step.matches)
    graph = rewrites.graph_at(capture, step.id, step.matches // 2)
    known = set(capture.read("nodes", ["id"])["id"].tolist())
    assert all(id in known or id > largest for id in graph.nodes.id)
    assert graph.nodes.id[-1] == graph.root


@pytest.mark.parametrize("bottom_up", [False, True])
def test_a_replacement_that_contains_itself_ends_in_an_error(tmp_path: Path, bottom_up: bool) -> None:
    nodes: list[tuple[str, list[int]]] = [("X", []), ("WRAP", [0]), ("Y", []), ("SINK", [0, 2])]
    capture = write(tmp_path / "c.peep", nodes, [(2, 0), (0, 1), (2, 1)], bottom_up=bottom_up)
    assert rewrites.graph_at(capture, 0, 1).error is None
    graph = rewrites.graph_at(capture, 0, 2)
    assert graph.nodes.op == ["REWRITE_ERROR"] and "no end" in (graph.error or "") and graph.nodes.arg == [graph.error]
    assert rewrites.graph_at(capture, 0, 3).match == 2, "a replay ends at its error"


def test_a_node_that_is_not_in_the_capture(tmp_path: Path) -> None:
    capture = write(tmp_path / "c.peep", [("X", []), ("SINK", [0, 77])], [(0, 99)])
    assert rewrites.graph_at(capture, 0, 0).nodes.op == ["X", "?", "SINK"]
    assert rewrites.graph_at(capture, 0, 1).nodes.op == ["?", "SINK"]


def test_nodes_in_a_circle(tmp_path: Path) -> None:
    capture = write(tmp_path / "c.peep", [("X", [1, 0]), ("Y", [0]), ("SINK", [1])], [(1, 0)])
    for match in (0, 1):
        assert rewrites.graph_at(capture, 0, match).nodes.op[-1] == "SINK"


def test_a_capture_is_let_go(tmp_path: Path) -> None:
    capture = write(tmp_path / "c.peep", [("X", []), ("SINK", [0])], [])
    rewrites.graph_at(capture, 0, 0)
    weak = weakref.ref(capture)
    del capture
    gc.collect()
    assert weak() is None


def test_errors_are_one_sentence(add: Any, tmp_path: Path) -> None:
    step = all_steps(add.capture)["stage to store"]
    for match in (-1, 5):
        with pytest.raises(PeepholeError, match=f"stage to store has matches 1 to 4, .* no match {match}"):
            rewrites.graph_at(add.capture, step.id, match)
    with pytest.raises(PeepholeError, match="no step 9999"):
        rewrites.graph_at(add.capture, 9999, 0)
    with pytest.raises(PeepholeError, match="did you mean 'stage to store'"):
        find_steps(add.capture, contexts(add.capture)[1], "stage to stor")
    with pytest.raises(PeepholeError, match="no context 'E_33'"):
        find_context(add.capture, "E_33")
    assert find_context(add.capture, "E_3").kind == "kernel"
    empty = write(tmp_path / "empty.peep", [], [])
    assert compiled(empty)[0].matches == 0 and rules(empty) == []
    with pytest.raises(PeepholeError, match="holds no graph"):
        rewrites.graph_at(empty, 0, 0)


def test_rules(add: Any) -> None:
    found = rules(add.capture)
    assert sum(rule.matches for rule in found) == add.capture.count("matches")
    assert [rule.total_ns for rule in found] == sorted((rule.total_ns for rule in found), reverse=True)
    assert all(
        rule.source and rule.contexts and rule.mean_ns * rule.matches == pytest.approx(rule.total_ns) for rule in found
    )


def test_rules_as_json_have_whole_nanoseconds(add: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", str(add.capture.path), "--json"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(printed) == len(rules(add.capture))
    assert {type(rule[key]) for rule in printed for key in ("total_ns", "mean_ns", "matches", "line")} == {int}


def test_source_lines_are_read_from_python_files_only(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret\n")
    capture = write(tmp_path / "c.peep", [("X", []), ("SINK", [0])], [])
    assert rewrites.rule_lines(capture, str(secret), 1) == []
    assert rewrites.rule_lines(capture, "/dev/stdin", 1) == rewrites.rule_lines(capture, None, 1) == []
    (tmp_path / "rules.py").write_text("one\ntwo\nthree\n")
    assert rewrites.rule_lines(capture, str(tmp_path / "rules.py"), 2, 1) == [(1, "one"), (2, "two"), (3, "three")]
    assert rewrites.rule_lines(capture, str(tmp_path / "rules.py"), 4, 1) == []


def test_the_terminal(add: Any, peephole: Callable[..., Any]) -> None:
    path = add.capture.path
    shown = peephole("show", path, "-i", "E_3", "lower all index dtypes").stdout
    assert "▸" in shown and "[" in shown and "match 7" in shown and "as above" in shown
    assert "- ast =" in shown and "+ ast =" in shown and "\x1b" not in shown
    lines = peephole("show", path, "-i", "E_3", "lower all index dtypes", "--match", "3", "--json").stdout.splitlines()
    facts = json.loads(lines[0])
    assert len(lines) == 1
    assert list(facts) == ["context", "step", "match", "nodes", "added", "removed", "changed", "rule", "diff"]
    assert set(facts["nodes"][0]) == {"id", "op", "dtype", "arg", "src", "shape", "tag"}
    assert set(facts["rule"]) == {"file", "line", "source", "dur_ns"} and facts["match"] == 3
    # a source's text is an argument of many lines: still one line of the diff
    written = json.loads(peephole("show", path, "-i", "E_3", "linearize/render", "--match", "3", "--json").stdout)
    assert any("SOURCE(" in line for line in written["diff"]) and not any("\n" in line for line in written["diff"])
    every = peephole("show", path, "-i", "E_3", "lower all index dtypes", "--json").stdout.splitlines()
    assert [json.loads(line)["match"] for line in every] == list(range(8))
    listed = [json.loads(line) for line in peephole("rules", path, "--json").stdout.splitlines()]
    assert sum(rule["matches"] for rule in listed) == add.capture.count("matches") and "E_3" in str(listed)
    assert peephole("rules", path, "-n", "3").stdout.count("\n") == 4
    failed = peephole("show", path, "-i", "E_3", "lower all", "--match", "3", check=False)
    assert failed.returncode == 2 and "did you mean 'lower all index dtypes'" in failed.stderr
    failed = peephole("show", path, "-i", "E_3", "lower all index dtypes", "--match", "8", check=False)
    assert failed.returncode == 2 and failed.stderr.count("\n") == 1
    failed = peephole("why", "E_3", "E_4", path, check=False)
    assert failed.returncode == 2 and "no kernel 'E_4'" in failed.stderr
