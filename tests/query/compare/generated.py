"""Captures made by hand for comparisons: kernels with code and graphs, and how long they ran."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peephole.store.writer import CaptureWriter


@dataclass(frozen=True)
class Kernel:
    """A kernel: its name, the identity of what it computes, the body of its code, the line it came from."""

    truth: int
    name: str
    graph: int
    body: str
    line: int
    first_buffer: int = 0


def write_kernels(
    path: Path,
    kernels: Sequence[Kernel],
    durations: Mapping[str, Sequence[int]] | None = None,
    more: Callable[[CaptureWriter], None] | None = None,
) -> Path:
    """A capture of these kernels in order; `durations` are the runs of each by name, in ns. `more` writes the rest."""
    with CaptureWriter(path) as writer:
        writer.describe(name=path.stem, source="tinygrad", program="gen.py", frameworks={"tinygrad": "0.14.0"})
        nodes: dict[str, list[Any]] = {name: [] for name in ("id", "op", "dtype", "arg", "src")}

        def node(op: str, arg: str | None, *src: int) -> int:
            number = len(nodes["id"]) + 10 * len(kernels)
            for column, value in zip(nodes, (number, op, "dtypes.float", arg, list(src)), strict=True):
                nodes[column].append(value)
            return number

        contexts: dict[str, list[Any]] = {name: [] for name in ("id", "name", "kind", "stack", "start", "dur")}
        steps: dict[str, list[Any]] = {name: [] for name in ("id", "context", "ordinal", "name", "root")}
        artifacts: dict[str, list[Any]] = {name: [] for name in ("context", "kind", "language", "content")}
        for at, kernel in enumerate(kernels):
            buffer = node("BUFFER", f"ParamArg(slot={kernel.first_buffer + 2 * at}, dtype=dtypes.float)")
            other = node("BUFFER", f"ParamArg(slot={kernel.first_buffer + 2 * at + 1}, dtype=dtypes.float)")
            root = node("SINK", None, node("ADD", None, buffer, node("MUL", str(kernel.graph), other)))
            stack = f'[["/prog/gen.py",{kernel.line},"step","x"]]'
            values = (at, kernel.name, "kernel", stack, 1000 * at, 10)
            for column, value in zip(contexts, values, strict=True):
                contexts[column].append(value)
            for column, value in zip(steps, (at, at, 0, "View Base AST", root), strict=True):
                steps[column].append(value)
            code = f"void {kernel.name}(float* a) {{\n{kernel.body}\n}}".encode()
            for column, value in zip(artifacts, (at, "source", "c", code), strict=True):
                artifacts[column].append(value)
        writer.append("nodes", nodes)
        writer.append("contexts", contexts)
        writer.append("steps", steps)
        writer.append("artifacts", artifacts)
        if durations:
            _slices(writer, [kernel.name for kernel in kernels], durations)
        if more:
            more(writer)
    return path


def write_runs(path: Path, durations: Mapping[str, Sequence[int]], created: str = "", kind: str = "device") -> Path:
    """A capture of the runs of a device, or of another kind of track, alone, as a trace has them."""
    with CaptureWriter(path) as writer:
        writer.describe(name=path.stem, source="chrome", created=created)
        _slices(writer, [], durations, kind)
    return path


def _slices(
    writer: CaptureWriter, contexts: list[str], durations: Mapping[str, Sequence[int]], kind: str = "device"
) -> None:
    writer.append("tracks", {"id": [0], "name": ["GPU"], "kind": [kind]})
    rows: dict[str, list[Any]] = {name: [] for name in ("track", "start", "dur", "name", "context")}
    now = 0
    for run in range(max(map(len, durations.values()))):
        for name, own in durations.items():
            if run < len(own):
                context = contexts.index(name) if name in contexts else -1
                for column, value in zip(rows, (0, now, int(own[run]), name, context), strict=True):
                    rows[column].append(value)
                now += int(own[run]) + 100
    writer.append("slices", rows)


def thousand(seed: int) -> tuple[list[Kernel], list[Kernel]]:
    """1,000 kernels of a program, and what another version of it made of them.

    Some are renamed, some compute the same by other code, some changed what they compute; many names and some codes
    occur several times; they come in another order, a few are gone and a few new.
    """
    draw = random.Random(seed)
    names = [f"r_{draw.choice((16, 32, 64, 128))}_{draw.choice((4, 8))}" for _ in range(1000)]
    old = [Kernel(i, names[i], i, f"  a[{i}] = {draw.random()};", 100 + i // 4) for i in range(1000)]
    for i in range(0, 200, 2):  # the same code twice, from other lines
        old[i + 1] = Kernel(i + 1, old[i].name, old[i].graph, old[i].body, old[i + 1].line)
    new = []
    for kernel in old:
        kind = draw.random()
        if kind < 0.03:
            continue
        name = f"{kernel.name}n{draw.randrange(9)}" if kind < 0.25 else kernel.name
        body, graph = kernel.body, kernel.graph
        if 0.4 < kind < 0.6:
            body = f"  a[0] = {draw.random()};  // other code"
        if 0.5 < kind < 0.6:
            graph = 10_000 + kernel.truth
        new.append(Kernel(kernel.truth, name, graph, body, kernel.line, 5000))
    new += [Kernel(-1 - i, "r_16_4", 50_000 + i, f"  new {i};", 900 + i, 5000) for i in range(20)]
    blocks = [new[at : at + 10] for at in range(0, len(new), 10)]
    draw.shuffle(blocks)
    return old, [kernel for block in blocks for kernel in block]
