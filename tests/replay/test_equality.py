"""The replayed graphs are the stock viewer's, match by match."""

from __future__ import annotations

from typing import Any

import pytest

from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites import step_graphs as rewrites


@pytest.mark.parametrize(("program", "least"), [("add", 60), ("passes", 18), ("deep", 2)])
def test_every_graph_is_the_stock_viewers(
    program: str, least: int, equality: Any, request: pytest.FixtureRequest
) -> None:
    recorded = request.getfixturevalue(program)
    report = equality.compare(recorded.pickle, recorded.capture)
    assert report.differences == []
    assert report.steps >= least and report.graphs > report.steps, report
    assert report.complete


def test_training_a_small_net(equality: Any, train: Any) -> None:
    report = equality.compare(train.pickle, train.capture, seconds=10, sample=3)
    assert report.differences == []
    assert report.steps > 20 and report.graphs > 200


def test_the_passes_take_every_way(passes: Any, equality: Any) -> None:
    report = equality.compare(passes.pickle, passes.capture)
    assert report.irregular >= 2, "nothing was stepped through"
    assert report.errors >= 1, "no replay ended in an error"
    found = {step.name: step for c in contexts(passes.capture) for step in steps(passes.capture, c.id)}
    graph = rewrites.graph_at(passes.capture, found["endless"].id, found["endless"].matches)
    assert graph.nodes.op == ["REWRITE_ERROR"] and "infinite loop" in (graph.error or "")
    raised = found["raises"]
    graph = rewrites.graph_at(passes.capture, raised.id, raised.matches)
    assert "REWRITE_ERROR" in graph.nodes.op and "cannot do this" in (graph.error or "")
