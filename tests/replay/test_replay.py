"""The quick ways through a pass (leaping, stepping) against doing every substitution over the whole graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peephole.replay.difference import changes
from peephole.replay.nodes import NodeTable
from peephole.replay.pool import Pool
from peephole.replay.replay import Pass, Replay
from peephole.replay.rules import Rules
from peephole.replay.substitute import Endless, substitute
from peephole.replay.walker import moves
from peephole.store.tables.frame import Frame, Lists, Texts

OPS = ["A", "B", "CALL", "SINK", "FUNCTION"]


class Calls(Rules):
    """Two ways to call: the body of one is always left alone, of the other when it is a SINK."""

    call_ops = frozenset(("CALL", "FUNCTION"))

    def leaves_body(self, pool: Pool, call: int) -> bool:
        return pool.op(call) == "FUNCTION" or pool.op(pool.src[call][0]) == "SINK"


class Nodes:
    """As much of a capture as a table of nodes reads."""

    name = "made here"

    def __init__(self, nodes: list[tuple[int, list[int]]]) -> None:
        codes = np.array([op for op, _ in nodes], np.int32)
        offsets = np.cumsum([0, *(len(src) for _, src in nodes)]).astype(np.int64)
        values = np.array([s for _, src in nodes for s in src], np.int64)
        none = Texts(np.full(len(nodes), -1, np.int32), [])
        same = Texts(np.zeros(len(nodes), np.int32), ["int"])
        columns: dict[str, Any] = {"id": np.arange(len(nodes), dtype=np.int64), "op": Texts(codes, OPS), "dtype": same}
        columns |= {"arg": none, "tag": none, "src": Lists(offsets, values)}
        self._frame = Frame("nodes", len(nodes), columns)

    def read(self, _table: str, _columns: list[str]) -> Frame:
        return self._frame


def table_of(nodes: list[tuple[int, list[int]]]) -> NodeTable:
    return NodeTable(Nodes(nodes)).under(Calls())  # type: ignore[arg-type]


@st.composite
def passes(draw: st.DrawFn) -> tuple[list[tuple[int, list[int]]], Pass]:
    count = draw(st.integers(2, 14))
    nodes: list[tuple[int, list[int]]] = []
    for i in range(count):
        src = draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else []
        nodes.append((draw(st.integers(0, len(OPS) - 1)), src))
    node = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=8))
    before, after = [b for b, _ in pairs], [a for _, a in pairs]
    return nodes, Pass(count - 1, before, after, draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))


def exact(pool: Pool, step: Pass) -> list[int | None]:
    """Every root by a substitution over the whole graph, None for the error that ends them."""
    first = root = pool.of_row(step.root)
    replacements: dict[int, int] = {}
    roots: list[int | None] = [root]
    for before, after in zip(step.before, step.after, strict=True):
        replacements[pool.of_row(before)] = pool.of_row(after)
        real = {old: new for old, new in replacements.items() if old != new}
        start = first if step.bottom_up else root
        try:
            root = substitute(pool, start, real, walk=step.walk).root
        except Endless:
            return [*roots, None]
        roots.append(root)
    return roots


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(passes())
def test_leaps_and_steps_are_exact(case: tuple[list[tuple[int, list[int]]], Pass]) -> None:
    nodes, step = case
    replay = Replay(table_of(nodes), step)
    pool = replay.pool
    expected = exact(pool, step)
    stepped = [None if pool.op(root) == Rules.error_node[0] else root for root in replay.roots()]
    assert stepped == expected
    for match in reversed(range(len(expected))):
        graph = replay.graph(match)
        if expected[match] is None:
            assert graph.error is not None and replay.last == match
        elif match <= replay.last:
            assert graph.root == expected[match]
            assert len(set(graph.identity.values())) == len(graph.nodes) == len(graph.identity)
    walked = Replay(table_of(nodes), step)
    for moved in moves(walked):
        found = changes(pool, replay.graph(moved.match - 1), replay.graph(moved.match))
        for mine, other in ((moved.added, found.added), (moved.changed, found.changed), (moved.removed, found.removed)):
            assert sorted(walked.pool.own[n] for n in mine) == sorted(pool.own[n] for n in other)


def test_a_crowded_pool_is_emptied_and_goes_on(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.compilers.traces import trace_of
    from peephole.query.capture.contexts import contexts, steps
    from peephole.replay import replay as module

    every = [s for c in contexts(train.capture) for s in steps(train.capture, c.id)]
    step = max(every, key=lambda step: step.matches)
    trace = trace_of(train.capture)
    with trace.lock:
        plain = [trace.replay(step.id).pool.walk(root) for root in trace.replay(step.id).roots()]
        fresh = Replay(trace.table_of(step.context), trace.replay(step.id).step)
        monkeypatch.setattr(module, "CROWDED", 0)
        emptied = [fresh.pool.walk(root) for root in fresh.roots()]
        assert fresh.pool.resets > 10 and fresh.pool.ids != trace.replay(step.id).pool.ids
        assert list(map(len, emptied)) == list(map(len, plain))
