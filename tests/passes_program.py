"""A program with a compiler of its own that edits a list of named instructions in place, recorded through the API.

python tests/passes_program.py CAPTURE [kill]
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field

import peephole


@dataclass
class Instr:
    """An instruction, altered in place by passes."""

    name: str
    op: str
    src: list[str] = field(default_factory=list)
    arg: str | None = None
    body: list[Instr] | None = None

    def node(self, nodes: dict[str, int]) -> int:
        """Records what it is now."""
        src = [nodes[name] for name in self.src]
        if self.body is not None:
            src.append(graph_node(self.body, f"body of {self.name}"))
        return peephole.node(op=self.op, src=src, arg=self.arg, name=self.name, dtype="f32", shape=(64, 64))


Graph = list[Instr]


def graph_node(graph: Graph, name: str, nodes: dict[str, int] | None = None) -> int:
    """Records a list of instructions."""
    known: dict[str, int] = {} if nodes is None else nodes
    for item in graph:
        known[item.name] = item.node(known)
    return peephole.node(op="GRAPH", name=name, src=[known[item.name] for item in graph])


def find(graph: Graph, name: str) -> Instr:
    return next(item for item in graph if item.name == name)


def nodes_of(graph: Graph) -> dict[str, int]:
    nodes: dict[str, int] = {}
    graph_node(graph, "scratch", nodes)
    return nodes


def rewire(graph: Graph, old: str, new: str) -> None:
    for item in graph:
        if item.name != new:
            item.src = [new if name == old else name for name in item.src]


def use_transposed(graph: Graph) -> None:
    """matmul(x, transpose(w)) -> matmul_nt(x, w)."""
    with peephole.rewrite_step("transpose folding", graph_node(graph, "main")) as step:
        for item in list(graph):
            if item.op == "matmul" and (other := find(graph, item.src[1])).op == "transpose":
                before = nodes_of(graph)
                new = Instr(f"{item.name}_nt", "matmul_nt", [item.src[0], other.src[0]])
                graph.insert(graph.index(item), new)
                rewire(graph, item.name, new.name)
                graph.remove(item)
                after = nodes_of(graph)
                old, now = before[item.name], after[new.name]
                peephole.match(old, now, use_transposed, removed=[old], added=[now])
        step.after = graph_node(graph, "main")


def remove_dead(graph: Graph) -> None:
    """What nobody reads goes, without a word."""
    step = peephole.rewrite_step("dce", graph_node(graph, "main"))
    with step:
        used = {name for item in graph for name in item.src}
        while dead := [item for item in graph if item.name not in used and item.op not in ("output", "parameter")]:
            for item in dead:
                graph.remove(item)
            used = {name for item in graph for name in item.src}
        step.after = graph_node(graph, "main")


def fuse(graph: Graph) -> None:
    """gelu goes into a fusion with its bias; matmuls are left alone."""
    with peephole.rewrite_step("fusion", graph_node(graph, "main")) as step:
        nodes = nodes_of(graph)
        peephole.decision("refused", nodes["mm_nt"], nodes["bias"], "producer is not loop-fusible", fuse)
        peephole.decision("refused", nodes["bias"], nodes["gelu"], "fusion is not profitable", fuse)
        peephole.decision("fused", nodes["bias"], nodes["gelu"], "", fuse)
        bias, gelu = find(graph, "bias"), find(graph, "gelu")
        body = [
            Instr("p0", "parameter"),
            Instr("p1", "parameter"),
            Instr("bias.1", "add", ["p0", "p1"]),
            Instr("gelu.1", "gelu", ["bias.1"]),
        ]
        fused = Instr("fusion.1", "fusion", list(bias.src), "kLoop", body)
        graph.insert(graph.index(bias), fused)
        rewire(graph, "gelu", "fusion.1")
        graph.remove(bias)
        graph.remove(gelu)
        after = nodes_of(graph)
        removed = [nodes["bias"], nodes["gelu"]]
        peephole.match(nodes["gelu"], after["fusion.1"], fuse, removed=removed, added=[after["fusion.1"]])
        find(graph, "out").arg = "donated"  # done on the way, told to nobody
        step.after = graph_node(graph, "main")


def schedule(graph: Graph) -> None:
    """Parameters move to where they are used first."""
    with peephole.rewrite_step("schedule", graph_node(graph, "main")) as step:
        last = find(graph, "w2")
        graph.remove(last)
        graph.insert(graph.index(find(graph, "mm2")), last)
        step.after = graph_node(graph, "main")


def nothing(graph: Graph) -> None:
    """A pass that finds nothing to do."""
    root = graph_node(graph, "main")
    with peephole.rewrite_step("algsimp", root, after=root):
        pass


def partition(graph: Graph) -> None:
    """One graph in, two out; the second gets the value that the first computes."""
    with peephole.rewrite_step("partition", graph_node(graph, "main")) as step:
        cut = graph.index(find(graph, "fusion.1"))
        forward = [*graph[: cut + 1], Instr("saved", "output", ["fusion.1"])]
        backward = [Instr("fusion.1", "placeholder"), *graph[cut + 1 :]]
        both = [graph_node(forward, "forward"), graph_node(backward, "backward")]
        step.after = peephole.node(op="GRAPH", src=both)


@peephole.track_rewrites(name=lambda graph, kill, ret: "0/0", kind="graph")
def compile_graph(graph: Graph, kill: bool) -> None:
    """The whole pipeline."""
    use_transposed(graph)
    nothing(graph)
    remove_dead(graph)
    fuse(graph)
    schedule(graph)
    if kill:
        with peephole.rewrite_step("never ends", graph_node(graph, "main")):
            before = nodes_of(graph)
            find(graph, "out").op = "tuple"
            peephole.match(before["out"], nodes_of(graph)["out"], schedule)
            os.kill(os.getpid(), signal.SIGKILL)
    partition(graph)


def block() -> Graph:
    """Two layers of a transformer's feed-forward block, and something that nobody reads."""
    return [
        Instr("x", "parameter"),
        Instr("w1", "parameter"),
        Instr("b1", "parameter"),
        Instr("w2", "parameter"),
        Instr("t", "transpose", ["w1"], "(1, 0)"),
        Instr("mm", "matmul", ["x", "t"]),
        Instr("bias", "add", ["mm", "b1"]),
        Instr("gelu", "gelu", ["bias"]),
        Instr("unused", "exp", ["gelu"]),
        Instr("mm2", "matmul", ["gelu", "w2"]),
        Instr("out", "output", ["mm2"]),
    ]


if __name__ == "__main__":
    with peephole.record(sys.argv[1]):
        compile_graph(block(), "kill" in sys.argv[2:])
