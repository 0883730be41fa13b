"""Compiles small functions in every way that a log tells of, and writes down what it knows by itself.

Run with TORCH_TRACE set; `python torch_log_program.py OUT.json`. All goes to a backend that compiles nothing: what is
looked at is Dynamo's and AOTAutograd's work; with --inductor one function goes through Inductor.
"""

# mypy: allow-untyped-decorators

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import CompileContext
from torch.nn import functional as F

graphs: list[dict[str, Any]] = []


def note(kind: str, gm: torch.fx.GraphModule) -> None:
    context = CompileContext.try_get()
    nodes = [
        {
            "name": node.name,
            "op": node.op,
            "target": str(node.target) if node.op != "call_function" else node._pretty_print_target(node.target),
            "overload": isinstance(node.target, torch._ops.OpOverload),
            "reads": [source.name for source in node.all_input_nodes],
        }
        for node in gm.graph.nodes
    ]
    graphs.append({"kind": kind, "compile_id": str(context.compile_id) if context else "", "nodes": nodes})


def noting(kind: str) -> Any:
    def compiler(gm: torch.fx.GraphModule, _inputs: Any) -> Any:
        note(kind, gm)
        return gm

    return compiler


traced = aot_autograd(fw_compiler=noting("forward"), bw_compiler=noting("backward"))


def seen(gm: torch.fx.GraphModule, inputs: Any) -> Any:
    note("dynamo", gm)
    return traced(gm, inputs)


def refusing(gm: torch.fx.GraphModule, _inputs: Any) -> Any:
    raise RuntimeError("this backend compiles nothing")


@torch.compile(backend=seen)
def noisy(x: Any) -> Any:
    y = torch.sin(x) + 1
    print("a break")
    return torch.cos(y) * 2


@torch.compile(backend=seen)
def branchy(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return x - 1


@torch.compile(backend=seen)
def scaled(x: Any, factor: Any) -> Any:
    return x * factor + x.shape[0]


@torch.compile(backend=seen)
def trained(x: Any, w: Any) -> Any:
    x, y = F.gelu(x @ w).chunk(2, dim=-1)
    y = y.clone()
    y += 1
    return (F.softmax(x, dim=-1) * -y).sum()


@torch.compile(backend=seen)
def fixed(x: Any) -> Any:
    return x.reshape(4, 2) if x.shape[0] == 8 else x


@torch.compile(backend=seen)
def either(x: Any, y: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (y,))


@torch.compile(backend=refusing)
def refused(x: Any) -> Any:
    return x + 1


@torch.compile
def written(x: Any) -> Any:
    return torch.relu(x) * 2 + 1


def main() -> None:
    x = torch.ones(8)
    noisy(x)
    branchy(x)
    branchy(-x)
    scaled(torch.ones(4, 4), 1.5)
    scaled(torch.ones(6, 4), 1.5)
    scaled(torch.ones(6, 4, dtype=torch.float64), 1.5)
    scaled(torch.ones(6, 4), 2.5)
    w = torch.ones(4, 6, requires_grad=True)
    trained(torch.ones(2, 4), w).backward()
    z = torch.ones(8)
    torch._dynamo.maybe_mark_dynamic(z, 0)
    fixed(z)
    either(torch.ones(3), torch.ones(3))
    torch._dynamo.config.suppress_errors = True
    refused(x)
    torch._dynamo.config.suppress_errors = False
    if "--inductor" in sys.argv:
        written(torch.ones(16))
    Path(sys.argv[1]).write_text(json.dumps({"graphs": graphs, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
