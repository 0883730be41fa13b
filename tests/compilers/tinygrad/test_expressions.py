"""Index expressions, open ranges and address spaces: node by node what tinygrad's own code says, on whole programs."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from tests.compilers.tinygrad import decided

from peephole.cli.main import main
from peephole.compilers import compiler_named
from peephole.compilers.labels import NodeText, labels_of
from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.graph_labels import graph_facts, graph_labels, graph_text
from peephole.query.rewrites.step_graphs import graph_at

TINYGRAD = compiler_named("tinygrad")


def test_every_node_of_a_training_step_says_what_tinygrad_says(train: Any) -> None:
    from tinygrad.uop.ops import multirange_str

    recording = decided.Recording(train.pickle)
    told: Counter[str] = Counter()

    @functools.cache  # a node is in the graphs of many steps
    def tinygrad_says(uop: Any) -> tuple[str, str, str | None]:
        is_place = uop.op.name in ("INDEX", "STAGE") and sum(len(s.toposort()) for s in uop.src[1:]) < 30
        rendered = uop.render() if is_place else "UOp("  # what tinygrad has no words for
        space = "" if uop.addrspace is None else uop.addrspace.name
        return space, multirange_str(uop.ranges), None if "UOp(" in rendered else rendered

    for context in contexts(train.capture):
        for step in steps(train.capture, context.id):
            graph = graph_at(train.capture, step.id, 0)
            facts = graph_facts(train.capture, step.id, graph.nodes)
            assert facts is not None
            places = {id_: place for place, id_ in enumerate(graph.nodes.id)}
            sink = recording.node(recording.trace.rewrites[context.id][step.ordinal].sink)
            stack, done = [(places[graph.root], sink)], set()
            while stack:
                v, uop = stack.pop()
                if v in done:
                    continue
                done.add(v)
                stack.extend(zip((places[s] for s in graph.nodes.src[v]), uop.src, strict=True))
                space, ranges, expression = tinygrad_says(uop)
                assert (facts.space[v], facts.ranges[v]) == (space, ranges), uop
                told[space] += 1
                if expression is not None:
                    assert facts.indexed.get(v, "") == expression
                    told["expression"] += 1
    assert told["expression"] > 500 and min(told[space] for space in ("GLOBAL", "ALU")) > 50, told


def test_a_box_has_its_expression_and_a_large_one_none() -> None:
    texts = [
        NodeText("CONST", "dtypes.weakint", "8"),
        NodeText("RANGE", "dtypes.weakint", "(0, AxisType.WEAK)"),
        NodeText("RANGE", "dtypes.weakint", "(1, AxisType.REDUCE)"),
        NodeText("MUL", "dtypes.weakint"),
        NodeText("ADD", "dtypes.weakint"),
        NodeText("PARAM", "dtypes.float", "ParamArg(slot=0, dtype=dtypes.float, addrspace=AddrSpace.LOCAL)"),
        NodeText("INDEX", "dtypes.float"),
    ]
    src = [[], [0], [0], [2, 0], [3, 1], [0], [5, 4]]
    labels = labels_of(TINYGRAD, texts, src, 6)
    assert labels.inside[6] == "(0,1) [r1*8+r0]"
    assert labels.facts is not None and labels.facts.space[6] == "LOCAL" and labels.facts.ranges[3] == "1"
    # every sum has both the sum before it twice: 2 ** 40 terms, were it written out
    for _ in range(40):
        texts.append(NodeText("ADD", "dtypes.weakint"))
        src.append([len(src) - 1 if len(src) > 7 else 4] * 2)
    texts.append(NodeText("INDEX", "dtypes.float"))
    src.append([5, len(src) - 1])
    facts = TINYGRAD.facts(texts, src)
    assert facts is not None and len(texts) - 1 not in facts.indexed and facts.ranges[-1] == "0,1"


def test_the_terminal_and_the_page_have_them(train: Any, capsys: Any) -> None:
    kernel = next(context for context in contexts(train.capture) if context.kind == "kernel")
    assert main(["show", str(train.capture.path), "-i", str(kernel.id), "initial symbolic", "--match", "0"]) == 0
    printed = capsys.readouterr().out
    assert "] INDEX (0" in printed and "[r0" in printed
    step = next(step for step in steps(train.capture, kernel.id) if step.name == "initial symbolic")
    drawn = graph_labels(train.capture, graph_at(train.capture, step.id, 0)).labels
    boxes = [drawn.inside[v] for v, at in enumerate(drawn.look) if drawn.looks[at].name == "INDEX"]
    assert boxes and all("[" in (text or "") for text in boxes)


def test_an_ast_as_python_is_the_ast(train: Any, monkeypatch: Any, capsys: Any) -> None:
    import tinygrad.dtype
    import tinygrad.uop.ops

    names = {**vars(tinygrad.dtype), **vars(tinygrad.uop.ops), "inf": float("inf"), "nan": float("nan")}
    recording = decided.Recording(train.pickle)
    seen = 0
    for context in contexts(train.capture):
        for step in steps(train.capture, context.id):
            if step.name == "View Base AST":
                sink = recording.node(recording.trace.rewrites[context.id][step.ordinal].sink)
                text = graph_text(train.capture, graph_at(train.capture, step.id, 0))
                made = eval(text, dict(names))
                pairs = list(zip(made.toposort(), sink.toposort(), strict=True))
                assert all(
                    (one.op, one.dtype, one.arg, one.tag, len(one.src))
                    == (other.op, other.dtype, other.arg, other.tag, len(other.src))
                    for one, other in pairs
                )
                seen += 1
    assert seen > 3
    monkeypatch.setenv("DEBUG", "3")
    kernel = next(context for context in contexts(train.capture) if context.kind == "kernel")
    assert main(["show", str(train.capture.path), "-i", str(kernel.id)]) == 0
    assert "UOp(Ops.SINK, dtypes.void, arg=KernelInfo(" in capsys.readouterr().out
