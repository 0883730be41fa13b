"""A pass over 10,000 named instructions with 1,000 matches: the first graph, and any match; `peer` is
the budget. `cpu` is what other work on the machine does not change.

python -m bench.passes
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

T = TypeVar("T")
INSTRUCTIONS, MATCHES = 10_000, 1_000


def main() -> None:
    from peephole.query.rewrites.passes import changed_boxes
    from peephole.query.rewrites.step_graphs import graph_at, matches
    from peephole.server.graph_wire import graph_reply
    from peephole.store.capture import open_capture

    with tempfile.TemporaryDirectory() as folder:
        capture = open_capture(write(Path(folder) / "passes.peep"))
        graph, first = timed(lambda: graph_at(capture, 0, 0))
        count = len(matches(capture, 0))
        order = random.Random(1).sample(range(1, count + 1), 60)
        times = [timed(lambda at=match: graph_reply(capture, graph_at(capture, 0, at)))[1] for match in order]  # type: ignore[misc]
        _, tree = timed(lambda: changed_boxes(capture, 0))
    middle = tuple(statistics.median(column) for column in zip(*times, strict=True))
    facts = {"unit": "ms", "instructions": len(graph.nodes.id), "entries": count}
    for what, (wall, cpu), limit in (
        ("first graph", first, 300),
        ("any match", middle, 100),
        ("slowest of 60", max(times), None),
        ("counts for the tree", tree, None),
    ):
        row = {"bench": f"passes: {what}", "ours": round(wall * 1e3, 1), "cpu": round(cpu * 1e3, 1), "peer": limit}
        print(json.dumps({**row, **facts, **({"peer_is": "the budget"} if limit else {})}), flush=True)


def timed(work: Callable[[], T]) -> tuple[T, tuple[float, float]]:
    """What it gives, and how long it took: on the clock, and of the CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def write(path: Path) -> Path:
    """A chain of instructions with side inputs; each match replaces one of the chain, the first near the inputs."""
    from peephole.store.writer import CaptureWriter

    dice = random.Random(0)
    nodes: dict[str, list[object]] = {"id": [], "op": [], "name": [], "src": [], "shape": [], "dtype": []}

    def node(op: str, name: str | None, src: list[int]) -> int:
        number = len(nodes["id"])
        for column, value in zip(nodes.values(), (number, op, name, src, "(64, 64)", "f32"), strict=True):
            column.append(value)
        return number

    operands = [tuple(max(0, i - dice.randint(1, 40)) for _ in range(2)) if i else () for i in range(INSTRUCTIONS)]
    replaced = set(range(3, INSTRUCTIONS, INSTRUCTIONS // MATCHES))
    before: list[int] = []
    for i in range(INSTRUCTIONS):
        before.append(node("add", f"add.{i}", [before[s] for s in operands[i]]))
    root = node("GRAPH", "main", list(before))
    after: list[int] = []
    rows: dict[str, list[object]] = {"step": [], "ordinal": [], "before": [], "after": [], "removed": [], "added": []}
    for i in range(INSTRUCTIONS):
        src = [after[s] for s in operands[i]]
        new = node("mul", f"mul.{i}", src) if i in replaced else node("add", f"add.{i}", src)
        after.append(new)
        if i in replaced:
            values = (0, len(rows["step"]), before[i], new, [before[i]], [new])
            for column, value in zip(rows.values(), values, strict=True):
                column.append(value)
    came_out = node("GRAPH", "main", list(after))
    with CaptureWriter(path) as writer:
        writer.append("contexts", {"id": [0], "name": ["main"], "kind": ["module"]})
        steps = {"id": [0], "context": [0], "ordinal": [0], "name": ["algsimp"], "root": [root], "after": [came_out]}
        writer.append("steps", {**steps, "matches": [len(rows["step"])]})
        writer.append("nodes", nodes)
        writer.append("matches", rows)
    return path


if __name__ == "__main__":
    main()
