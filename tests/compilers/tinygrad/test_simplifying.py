"""Index expressions are simplified as tinygrad does it: drawn ones, both simplified, print the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from peephole.compilers import compiler_named
from peephole.compilers.labels import NodeText
from peephole.compilers.tinygrad.indexing.simplifying import Simplifier, TooLong
from peephole.compilers.tinygrad.indexing.terms import Terms

TINYGRAD = compiler_named("tinygrad")


def drawn(draw: random.Random, deep: int) -> Any:
    """An expression of ranges, a variable and numbers, as schedules and kernels index with."""
    from tinygrad.uop.ops import UOp

    if deep == 0 or draw.random() < 0.15:
        at = draw.randrange(5)
        if at == 4:
            return UOp.variable("pos", draw.choice((0, 1)), draw.choice((1, 9, 31)))
        return UOp.range(draw.choice((1, 2, 4, 8, 18)), at)
    one = drawn(draw, deep - 1)
    what = draw.randrange(8)
    number = draw.choice((-3, -1, 0, 1, 2, 3, 4, 8, 16, 17, 64))
    if what < 2:
        return one * number
    if what == 2:
        return one + number
    if what == 3:
        return one // draw.choice((1, 2, 3, 4, 8, 16))
    if what == 4:
        return one % draw.choice((2, 3, 4, 8, 16))
    if what == 5:
        return ((one < number).logical_not() & (one < number + 16)).where(one + -1, UOp.invalid())
    return one + drawn(draw, deep - 1)


def argument(node: Any) -> str:
    """A node's argument as a recording holds it."""
    return "" if node.arg is None else str(node.val) if node.op.name == "CONST" else repr(node.arg)


def printed(uop: Any) -> str:
    """What Peephole prints of an INDEX, out of the fields that a recording holds."""
    nodes = list(uop.toposort())
    places = {node: place for place, node in enumerate(nodes)}
    texts = [NodeText(node.op.name, str(node.dtype), argument(node)) for node in nodes]
    facts = TINYGRAD.facts(texts, [[places[s] for s in node.src] for node in nodes])
    assert facts is not None
    return facts.indexed.get(len(nodes) - 1, "")


@pytest.mark.parametrize("seed", range(4))
def test_drawn_expressions_print_as_tinygrad_prints_them(seed: int) -> None:
    from tinygrad.dtype import dtypes
    from tinygrad.uop.ops import UOp

    draw = random.Random(seed)
    buffer = UOp.placeholder((4096,), dtypes.float, 0)
    wrong, met = [], 0
    for _ in range(250):
        uop = buffer.index(drawn(draw, draw.randrange(1, 5)))
        if sum(len(s.toposort()) for s in uop.src[1:]) < 30:
            met += 1
            ours, theirs = printed(uop), uop.render()
            if ours != theirs:
                wrong.append((uop.render(simplify=False), ours, theirs))
    assert met > 150
    assert wrong == []


def test_an_expression_that_wants_too_many_steps_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.compilers.tinygrad.indexing import simplifying

    terms = Terms()
    term = terms.add(terms.add(terms.const(1), terms.const(2)), terms.const(3))
    assert Simplifier(terms).simplify(term) is terms.const(6)
    monkeypatch.setattr(simplifying, "MOST_STEPS", 1)
    with pytest.raises(TooLong):
        Simplifier(terms).simplify(term)
