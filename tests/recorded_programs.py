"""Programs that the tests record with tinygrad's own tracing, once a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from peephole.store.capture import Capture

ROOT = Path(__file__).resolve().parents[1]

ADD = """
from tinygrad import Tensor
(Tensor.empty(3) + Tensor.empty(3)).realize()
"""

TRAIN = """
from tinygrad import Tensor, nn
from tinygrad.helpers import Context
hidden, out = nn.Linear(8, 4), nn.Linear(4, 3)
opt = nn.optim.SGD(nn.state.get_parameters([hidden, out]), lr=0.1)
with Context(TRAINING=1):
    loss = out(hidden(Tensor.empty(2, 8)).relu()).softmax().log().mean().backward()
    loss.realize(*opt.schedule_step())
"""

# every kind of pass, small enough to read; each ends as it would in a compiler
PASSES = """
from tinygrad.uop.ops import UOp, Ops, UPat, PatternMatcher, graph_rewrite, KernelInfo
from tinygrad.dtype import dtypes
v = lambda name: UOp.variable(name, 0, 100)
x, y, z = v("x"), v("y"), v("z")
drop = PatternMatcher([(UPat.var("a") + 0, lambda a: a), (UPat.var("a") * 1, lambda a: a)])
grow = PatternMatcher([(UPat(Ops.CONST, name="c"), lambda c: c.replace(arg=c.arg + 1) if c.arg < 5 else None)])
twice = PatternMatcher([(UPat(Ops.MUL, src=(UPat.var("a"), UPat.var("b"))), lambda a, b: b + a),
                        (UPat(Ops.CONST, name="c"), lambda c: c.replace(arg=c.arg * 10) if 0 < c.arg < 10 else None)])
wrap = PatternMatcher([(UPat(Ops.PARAM, name="p"), lambda p: p.cast(dtypes.int))])
once = PatternMatcher([(UPat(Ops.CONST, name="c"), lambda c: c.replace(arg=c.arg + 100))])
alu = lambda op, *src: UOp(op, src=src)
c = UOp.const
expr = (alu(Ops.ADD, alu(Ops.MUL, alu(Ops.ADD, x, c(0)), c(1)), alu(Ops.MUL, alu(Ops.ADD, y, c(0)), c(3)))).sink()
for bottom_up in (False, True):
    graph_rewrite(expr, drop, bottom_up=bottom_up, name=f"drop {bottom_up}")
    graph_rewrite(expr, grow, bottom_up=bottom_up, name=f"grow {bottom_up}")
    graph_rewrite(expr, twice, bottom_up=bottom_up, name=f"twice {bottom_up}")
    graph_rewrite(expr, once, bottom_up=bottom_up, name=f"walk {bottom_up}", walk=True)
graph_rewrite(expr, wrap, name="walk wraps what it keeps", walk=True)
graph_rewrite(expr, wrap, name="walk wraps upwards", walk=True, bottom_up=True)
# dtypes are derived anew
widen = PatternMatcher([(UPat(Ops.PARAM, name="p"), lambda p: UOp.variable("w" + p.arg.name, 0, 9, dtypes.long)
                        if p.dtype == dtypes.int else None)])
i, j = UOp.variable("i", 0, 9, dtypes.int), UOp.variable("j", 0, 9, dtypes.int)
mixed = alu(Ops.ADD, alu(Ops.MUL, i, c(2)), alu(Ops.NEG, j))
graph_rewrite(alu(Ops.CMPLT, mixed, c(7)).where(mixed, c(0)).sink(), widen, name="widen")
# a call's body is left alone, or entered, and may be reached from elsewhere too
body = alu(Ops.ADD, x, c(0)).sink(arg=KernelInfo())
call = body.call(alu(Ops.ADD, y, c(0)))
for enter in (False, True):
    graph_rewrite(UOp.sink(call, alu(Ops.MUL, z, c(1))), drop, name=f"call {enter}", enter_calls=enter)
    graph_rewrite(UOp.sink(call, body, call), drop, name=f"call and body {enter}", enter_calls=enter)
    graph_rewrite(UOp.sink(body, call), drop, name=f"body and call {enter}", enter_calls=enter, bottom_up=True)
# errors: a rule raises; a pass goes round in circles
def fail(a): raise ValueError("cannot do this")
bad = PatternMatcher([(UPat(Ops.MUL, name="a"), fail), (UPat.var("a") + 0, lambda a: a)])
ping = PatternMatcher([(UPat(Ops.ADD, name="s"), lambda s: s.replace(src=s.src[::-1]))])
plain = UOp.sink(alu(Ops.ADD, y, c(0)), alu(Ops.MUL, x, c(3)))
for what, rules, bottom_up in (("raises", bad, False), ("raises early", bad, True), ("endless", ping, True),
                               ("raises inside", bad, False)):
    try: graph_rewrite(expr if what == "raises inside" else plain, rules, name=what, bottom_up=bottom_up)
    except (RuntimeError, ValueError): pass
    else: raise SystemExit(what + " did not raise")
"""

DEEP = """
from tinygrad.uop.ops import UOp, Ops, UPat, PatternMatcher, graph_rewrite
node = UOp.variable("x", 0, 100)
for i in range(10_000):
    node = UOp(Ops.ADD, src=(node, UOp.const(i % 7)))
down = PatternMatcher([(UPat(Ops.CONST, name="c"), lambda c: c.replace(arg=50) if c.arg == 3 else None)])
graph_rewrite(node.sink(), down, name="deep")
graph_rewrite(node.sink(), down, name="deep, bottom up", bottom_up=True)
"""


@dataclass(frozen=True)
class Recorded:
    pickle: Path
    capture: Capture


@pytest.fixture(scope="session")
def equality() -> ModuleType:
    """bench/replay_equality.py, which compares with the stock viewer."""
    from bench import replay_equality

    return replay_equality


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory, equality: Any) -> Callable[..., Recorded]:
    """Records a program's text and imports what it left."""
    known: dict[str, Recorded] = {}

    def call(text: str, **env: str) -> Recorded:
        key = text + repr(sorted(env.items()))
        if key not in known:
            folder = tmp_path_factory.mktemp("recorded")
            program = folder / "program.py"
            program.write_text(text)
            pickled = equality.record(program, folder, **env)
            known[key] = Recorded(pickled, equality.import_pickle(pickled, folder / "run.peep"))
        return known[key]

    return call


@pytest.fixture(scope="session")
def add(record: Callable[..., Recorded]) -> Recorded:
    return record(ADD)


@pytest.fixture(scope="session")
def train(record: Callable[..., Recorded]) -> Recorded:
    return record(TRAIN)


@pytest.fixture(scope="session")
def passes(record: Callable[..., Recorded]) -> Recorded:
    return record(PASSES)


@pytest.fixture(scope="session")
def deep(record: Callable[..., Recorded]) -> Recorded:
    return record(DEEP)
