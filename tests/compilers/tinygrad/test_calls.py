"""From a call in any graph of a real program to the context that it was compiled in."""

from __future__ import annotations

from typing import Any

from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.calls import called_context
from peephole.query.rewrites.step_graphs import graph_at


def test_calls_before_and_after_every_match_lead_to_kernels(train: Any) -> None:
    capture = train.capture
    kinds = {context.id: context.kind for context in contexts(capture)}
    found: dict[str, set[int]] = {}
    for context in contexts(capture):
        if context.kind != "schedule":
            continue
        for step in steps(capture, context.id):
            for match in {0, step.matches}:
                graph = graph_at(capture, step.id, match)
                for op, node in zip(graph.nodes.op, graph.nodes.id, strict=True):
                    if op == "CALL":
                        found.setdefault(step.name, set()).add(called_context(capture, step.id, int(node)))
    assert len(found) >= 4  # calls stand in several passes of a schedule
    reached = set[int]().union(*found.values()) - {-1}
    assert reached
    assert {kinds[context] for context in reached} == {"kernel"}
    # the graph of the kernels reaches every kernel that the later passes reach
    assert found["View Kernel Graph"] - {-1} >= found["resolve linear call"] - {-1}


def test_what_is_no_call_leads_nowhere(train: Any) -> None:
    capture = train.capture
    context = next(context for context in contexts(capture) if context.kind == "kernel")
    step = steps(capture, context.id)[0]
    graph = graph_at(capture, step.id, 0)
    assert {called_context(capture, step.id, int(node)) for node in graph.nodes.id} == {-1}
    assert called_context(capture, step.id, 10**12) == -1
    assert called_context(capture, 10**9, 0) == -1
