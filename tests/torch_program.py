"""Small programs under torch.compile that the tests record, and what torch itself says at the same moments.

python tests/torch_program.py TRUTH.json NAME...: compiles and runs the programs of these names, prints a hash of their
results, and, unless TRUTH.json is -, writes every graph that a pass left, taken here and by nobody else. Under torchrun
each rank writes its own, TRUTH.json.0 and so on.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """A transformer block with attention written by hand."""

    def __init__(self, width: int = 32, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        weights = torch.softmax(q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5, dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(b, t, c))


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    """Three steps of gradient descent; the losses and the parameters after them."""
    step = torch.compile(lambda x, y: F.mse_loss(model(x), y))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = step(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return [*losses, *(parameter.detach() for parameter in model.parameters())]


def block() -> list[torch.Tensor]:
    return train(Block(), torch.randn(2, 16, 32), torch.randn(2, 16, 32))


def mlp() -> list[torch.Tensor]:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return train(model, torch.randn(4, 8), torch.randn(4, 4))


def conv() -> list[torch.Tensor]:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2))
    return train(model, torch.randn(2, 1, 8, 8), torch.randn(2, 2))


def inference() -> list[torch.Tensor]:
    model = Block().eval()
    with torch.no_grad():
        return [torch.compile(model)(torch.randn(2, 16, 32))]


def breaks() -> list[torch.Tensor]:
    @torch.compile
    def noisy(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x) + 1
        print("a break")
        return y * 2

    @torch.compile(dynamic=False)
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    return [noisy(torch.ones(8)), scaled(torch.ones(4), 2.0), scaled(torch.ones(4, dtype=torch.float64), 2.0)]


def dynamic() -> list[torch.Tensor]:
    @torch.compile(dynamic=True)
    def scaled(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 6:
            return x * 2
        return x * x.shape[0]

    return [scaled(torch.ones(5, 3)), scaled(torch.ones(6, 3))]


def branches() -> list[torch.Tensor]:
    """Graphs inside a graph, compiled by two threads that are not the main one, the second as the first did it."""
    results: list[torch.Tensor] = []

    def chosen(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,))

    for sign in (1, -1):
        torch._dynamo.reset()
        thread = threading.Thread(target=lambda sign=sign: results.append(torch.compile(chosen)(sign * torch.ones(4))))
        thread.start()
        thread.join()
    return results


def library() -> list[torch.Tensor]:
    """An operation that Inductor can only call, before and after kernels and a product."""

    @torch.library.custom_op("mine::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)

    @torch.compile
    def called(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = twice(torch.sin(x) + 1)
        return twice(torch.relu(torch.cos(y) @ w))

    with torch.no_grad():
        return [called(torch.ones(8, 8), torch.ones(8, 8))]


class Wide(nn.Module):
    """Layers of more than a megabyte, so that DDP cuts the graph in two."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(8, 600), nn.Linear(600, 600), nn.Linear(600, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.middle(self.first(x).relu()).relu())


KEPT: list[nn.Module] = []
"""Until the process ends: torch may wait forever when a model goes whose last all-reduce is not forgotten yet."""


def ddp() -> list[torch.Tensor]:
    """Three steps that the ranks of torchrun take together."""
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(Wide(), bucket_cap_mb=1)
    torch.manual_seed(torch.distributed.get_rank())
    KEPT.append(model)
    results = train(model, torch.randn(4, 8), torch.randn(4, 4))
    torch.distributed.destroy_process_group()
    torch._dynamo.reset()  # programs after this one are compiled as if they were the first
    return results


PROGRAMS: dict[str, Callable[[], list[torch.Tensor]]] = {
    one.__name__: one for one in (block, mlp, conv, inference, breaks, dynamic, library, branches, ddp)
}


def listed(graph: Any) -> list[list[str]]:
    """The instructions of a graph as torch writes them: name, target, arguments."""
    found = []
    for node in graph.nodes:
        target = node.op
        if node.op == "call_function":
            is_op = type(node.target).__module__ == "torch._ops"
            target = str(node.target) if is_op else torch.fx.node._get_qualified_name(node.target)
            target = target.removeprefix("torch.ops.")
        elif node.op == "call_method":
            target = f"Tensor.{node.target}"
        words = [*map(repr, node.args), *(f"{name}={value!r}" for name, value in node.kwargs.items())]
        found.append([node.name, re.sub(r"^_operator\.", "operator.", target), ", ".join(words)])
    return found


def watch(truth: list[Any]) -> None:
    """Notes the graphs that Dynamo made, those after every pass that torch observes and every stage, and the halves."""
    from torch._dynamo.output_graph import OutputGraph
    from torch._inductor import compile_fx
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver as Observer

    def note(name: str, gm: Any) -> None:
        truth.append([str(torch._guards.CompileContext.current_compile_id()), name, listed(gm.graph)])

    leave, compiler = Observer.__exit__, OutputGraph.call_user_compiler

    def left(self: Any, *error: Any) -> Any:
        note(self.passname, self.gm)
        return leave(self, *error)

    def compiled(self: Any, gm: Any, *rest: Any, **words: Any) -> Any:
        note("dynamo", gm)
        return compiler(self, gm, *rest, **words)

    def stage(name: str) -> None:
        passes = getattr(compile_fx, f"_recursive_{name}")

        def staged(gm: Any, *rest: Any, **words: Any) -> Any:
            result = passes(gm, *rest, **words)
            note(name, result if isinstance(result, torch.fx.GraphModule) else gm)
            return result

        setattr(compile_fx, f"_recursive_{name}", staged)

    Observer.__exit__, OutputGraph.call_user_compiler = left, compiled
    for name in ("pre_grad_passes", "joint_graph_passes", "post_grad_passes"):
        stage(name)
    partition = compile_fx.min_cut_rematerialization_partition

    def partitioned(*args: Any, **words: Any) -> Any:
        halves = partition(*args, **words)
        for name, gm in zip(("partition forward", "partition backward"), halves, strict=True):
            note(name, gm)
        return halves

    compile_fx.min_cut_rematerialization_partition = partitioned


def main(path: str, names: list[str]) -> None:
    truth: list[Any] = []
    if path != "-":
        watch(truth)
    torch.set_num_threads(1)
    rank = os.environ.get("RANK")
    for name in names:
        torch.manual_seed(0)
        results = PROGRAMS[name]()
        digest = hashlib.sha256(b"".join(one.contiguous().numpy().tobytes() for one in results)).hexdigest()
        named = f"{name} rank {rank}" if name == "ddp" else name
        sys.stdout.write(f"{named} {digest[:16]}\n")  # at once: ranks share a pipe
        sys.stdout.flush()
    if path != "-":
        with open(path if rank is None else f"{path}.{rank}", "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(truth, file)


def leave() -> None:
    """Ends the process as Python does, but for taking the interpreter apart.

    A thread of gloo that asks for the interpreter meanwhile is unwound through C++, which aborts a rank now and then.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
    if KEPT:
        leave()
