"""Small programs under torch.compile that the tests record, and what torch itself says at the same moments.

python tests/torch_program.py TRUTH.json NAME...: compiles and runs the programs of these names, prints a hash of their
results, and, unless TRUTH.json is -, writes every graph that a pass left, taken here and by nobody else.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from __future__ import annotations

import hashlib
import json
import re
import sys
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


PROGRAMS: dict[str, Callable[[], list[torch.Tensor]]] = {
    one.__name__: one for one in (block, mlp, conv, inference, breaks, dynamic)
}


def listed(graph: Any) -> list[list[str]]:
    """The instructions of a graph as torch writes them: name, target, arguments."""
    found = []
    for node in graph.nodes:
        target = node.op
        if node.op == "call_function":
            is_op = type(node.target).__module__ == "torch._ops"
            target = str(node.target) if is_op else torch.fx.node._get_qualified_name(node.target)
        elif node.op == "call_method":
            target = f"Tensor.{node.target}"
        words = [*map(repr, node.args), *(f"{name}={value!r}" for name, value in node.kwargs.items())]
        found.append([node.name, re.sub(r"^_operator\.", "operator.", target), ", ".join(words)])
    return found


def watch(truth: list[Any]) -> None:
    """Notes the graph after every pass that torch observes."""
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver as Observer

    leave = Observer.__exit__

    def left(self: Any, *error: Any) -> Any:
        truth.append([str(torch._guards.CompileContext.current_compile_id()), self.passname, listed(self.gm.graph)])
        return leave(self, *error)

    Observer.__exit__ = left


def main(path: str, names: list[str]) -> None:
    truth: list[Any] = []
    if path != "-":
        watch(truth)
    torch.set_num_threads(1)
    for name in names:
        torch.manual_seed(0)
        results = PROGRAMS[name]()
        digest = hashlib.sha256(b"".join(one.contiguous().numpy().tobytes() for one in results)).hexdigest()
        print(name, digest[:16])
    if path != "-":
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(truth, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
