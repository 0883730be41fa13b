"""Going through a pass match by match says the same as two whole graphs do."""

from __future__ import annotations

from typing import Any

import pytest

from peephole.compilers.traces import trace_of
from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites import step_graphs as rewrites
from peephole.replay import replay as replay_module
from peephole.replay import walker as walker_module
from peephole.replay.difference import changes
from peephole.replay.replay import Replay
from peephole.replay.walker import moves


def check(replay: Replay, reference: Replay) -> int:
    """Compares every match, by content: the two replays have pools of their own."""

    def tell(of: Replay, nodes: list[int]) -> list[Any]:
        pool = of.pool
        return sorted((pool.own[n], tuple(pool.own[s] for s in pool.src[n])) for n in nodes)

    seen = 0
    for moved in moves(replay):
        seen += 1
        assert moved.match == seen
        found = changes(reference.pool, reference.graph(seen - 1), reference.graph(seen))
        for mine, other in (
            (moved.added, found.added),
            (moved.changed, found.changed),
            (moved.removed, found.removed),
        ):
            assert tell(replay, mine) == tell(reference, other), (seen, replay.matches)
    assert seen == min(reference.last, reference.matches)
    return seen


@pytest.mark.parametrize("program", ["add", "passes", "train"])
def test_real_passes(program: str, request: pytest.FixtureRequest) -> None:
    capture = request.getfixturevalue(program).capture
    trace = trace_of(capture)
    every = [s for c in contexts(capture) for s in steps(capture, c.id)]
    seen = 0
    for step in every:
        if 0 < step.matches < 60 and trace.root(trace.step_row(step.id)) >= 0:
            with trace.lock:
                seen += check(trace.own_replay(step.id), trace.own_replay(step.id))
    assert seen > 30


def test_a_crowded_pool_is_emptied_on_the_way(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = train.capture
    every = [s for c in contexts(capture) for s in steps(capture, c.id)]
    step = max((s for s in every if s.matches < 100), key=lambda s: s.matches)
    trace = trace_of(capture)
    with trace.lock:
        crowded, reference = trace.own_replay(step.id), trace.own_replay(step.id)
        for place in (replay_module, walker_module):
            monkeypatch.setattr(place, "CROWDED", -1)
        assert check(crowded, reference) == step.matches
        assert crowded.pool.resets >= step.matches - 1


def test_the_stream_of_a_step_is_what_its_graphs_are(train: Any) -> None:
    capture = train.capture
    every = [s for c in contexts(capture) for s in steps(capture, c.id)]
    step = max((s for s in every if s.matches < 60), key=lambda s: s.matches)
    seen = 0
    for done in rewrites.walk_matches(capture, step.id):
        seen += 1
        graph = rewrites.graph_at(capture, step.id, seen)
        assert (done.match, done.rule, done.diff) == (seen, graph.rule, graph.diff)
        assert len(done.added) == len(graph.added) and len(done.removed) == len(graph.removed)
        assert done.nodes.id == sorted({*done.added, *done.changed}, key=done.nodes.id.index)
        place = {id: i for i, id in enumerate(graph.nodes.id)}
        mine = sorted(zip(done.nodes.op, done.nodes.shape, strict=True), key=str)
        other = [(graph.nodes.op[place[n]], graph.nodes.shape[place[n]]) for n in (*graph.added, *graph.changed)]
        assert mine == sorted(other, key=str)
    assert seen == step.matches > 10
