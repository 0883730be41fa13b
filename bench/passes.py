"""A pass over 10,000 named instructions with 1,000 matches: the first graph, and any match. There is no peer.

python -m bench.passes
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

INSTRUCTIONS, MATCHES = 10_000, 1_000


def main() -> None:
    from peephole.query.rewrites.passes import changed_boxes
    from peephole.query.rewrites.step_graphs import graph_at, matches
    from peephole.server.graph_wire import graph_reply
    from peephole.store.capture import open_capture

    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "passes.peep")
        capture = open_capture(path)
        began = time.perf_counter()
        graph = graph_at(capture, 0, 0)
        first = time.perf_counter() - began
        count = len(matches(capture, 0))
        times = []
        order = random.Random(1).sample(range(1, count + 1), 60)
        for match in order:
            began = time.perf_counter()
            graph_reply(capture, graph_at(capture, 0, match))
            times.append(time.perf_counter() - began)
        began = time.perf_counter()
        changed_boxes(capture, 0)
        tree = time.perf_counter() - began
    print(f"{len(graph.nodes.id):,} instructions, {count:,} entries")
    print(f"first graph  {first * 1e3:7.1f} ms  (limit 300)")
    print(f"any match    {statistics.median(times) * 1e3:7.1f} ms, slowest {max(times) * 1e3:.1f} ms  (limit 100)")
    print(f"counts       {tree * 1e3:7.1f} ms for the tree")


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
