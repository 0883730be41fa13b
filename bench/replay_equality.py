"""Is every replayed graph the one that tinygrad's own viewer shows? All steps and matches of real programs.

    python bench/replay_equality.py [add mnist gpt] [--seconds 1e9]

Prints one JSON object per program, and to stderr every minute how far it is. Graphs are compared by walking both from
the root: same op, dtype, arg and tag, same sources in order, and two places share a node in one if they share it in the
other.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peephole.compilers.tinygrad.rules import TinygradRules
from peephole.compilers.traces import trace_of
from peephole.replay.replay import Replay
from peephole.store.capture import Capture, open_capture

ERROR_OP = TinygradRules.error_node[0]
SAMPLE = 25
"""How many matches of a step are also gone to directly; stepping through it, every graph is compared."""


def record(program: Path, folder: Path, **env: str) -> Path:
    """Runs a program with tinygrad's own tracing; gives its rewrites pickle."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"DEV": "NULL", "VIZ": "-1", "TMPDIR": str(folder), "CACHELEVEL": "0", **env}
    done = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    found = list(folder.glob("rewrites.pkl*"))
    if not found:
        raise RuntimeError(f"{program} left no rewrites: {done.stderr[-2000:]}")
    return found[0]


def import_pickle(path: Path, out: Path) -> Capture:
    """The capture of a pickle."""
    from peephole.ingest import import_files

    return open_capture(import_files([path], out))


@dataclass
class Comparison:
    """One step's nodes and tinygrad's, matched as they are met."""

    replay: Replay
    texts: Any
    ours: dict[int, Any] = field(default_factory=dict)
    theirs: dict[Any, int] = field(default_factory=dict)
    resets: int = 0

    def difference(self, root: int, sink: Any) -> str | None:
        """Where two graphs differ; None when they are the same."""
        pool = self.replay.pool
        if pool.resets != self.resets:
            self.resets = pool.resets
            self.ours.clear()
            self.theirs.clear()
        stack = [(root, sink)]
        while stack:
            node, uop = stack.pop()
            if node in self.ours or uop in self.theirs:
                if self.ours.get(node) is not uop or self.theirs.get(uop) != node:
                    return f"shared otherwise: {pool.texts(node)} and {self.fields(uop)}"
                continue
            if uop.op.name == ERROR_OP and pool.op(node) == ERROR_OP and not uop.src:
                continue
            if self.fields(uop) != self.normal(pool.texts(node)) or len(uop.src) != len(pool.src[node]):
                return f"{self.normal(pool.texts(node))} for {self.fields(uop)}"
            self.ours[node], self.theirs[uop] = uop, node
            stack.extend(zip(pool.src[node], uop.src, strict=True))
        return None

    def fields(self, uop: Any) -> tuple[Any, ...]:
        texts = self.texts
        return self.normal((texts.op(uop.op), texts.dtype(uop.dtype), texts.arg(uop.arg), texts.arg(uop.tag)))

    @staticmethod
    def normal(fields: tuple[Any, ...]) -> tuple[Any, ...]:
        # tinygrad interns 0 and False as one, whichever came first
        return tuple(x.replace("False", "0").replace("True", "1") if isinstance(x, str) else x for x in fields)


@dataclass
class Report:
    steps: int = 0
    graphs: int = 0
    leaps: int = 0
    irregular: int = 0
    errors: int = 0
    stock_died: int = 0
    """Steps in which the stock replay itself ended in an exception that it does not catch."""
    differences: list[str] = field(default_factory=list)
    complete: bool = True


def stock(pickled: Path) -> tuple[Any, Callable[[Any], Iterator[Any]]]:
    """The pickle, and tinygrad's own generator of a step's graphs, without the labels, which cost most of its time."""
    os.environ["VIZ"] = "0"
    from tinygrad.viz import serve

    serve.uop_to_json = lambda _data, _uop: {}
    serve.pystr = lambda _uop: ""
    trace = pickle.loads(pickled.read_bytes())
    data = serve.VizData(trace)

    def graphs(step: Any) -> Iterator[Any]:
        _build(data, [step.sink, *(number for match in step.matches for number in match[:2])])
        yield from serve.get_full_rewrite(data, step)

    return trace, graphs


def _build(data: Any, starts: list[int]) -> None:
    """Makes the nodes of a step, which the stock viewer does by recursion: a deep graph is too much for that."""
    from tinygrad.uop.ops import UOp

    stack = list(starts)
    while stack:
        number = stack[-1]
        op, dtype, src, arg, *rest = data.trace.uop_fields[number]
        missing = [s for s in src if s not in data.all_uops]
        if missing:
            stack.extend(missing)
            continue
        if number not in data.all_uops:
            data.all_uops[number] = UOp(op, dtype, tuple(data.all_uops[s] for s in src), arg, *rest)
        stack.pop()


def compare(pickled: Path, capture: Capture, seconds: float = 1e9, sample: int = SAMPLE) -> Report:
    """Compares all steps, or as many as fit into the time."""
    from peephole.sources.tinygrad.text import Texts

    begun = told = time.monotonic()
    trace, graphs = stock(pickled)
    report, texts, ours = Report(), Texts(), trace_of(capture)
    number, last = -1, sum(map(len, trace.rewrites))
    for group in trace.rewrites:
        for step in group:
            number += 1
            if time.monotonic() - begun > seconds:
                report.complete = False
                return report
            if time.monotonic() - told > 60:
                told = time.monotonic()
                found = f"{report.graphs} graphs equal, {len(report.differences)} steps differ"
                print(f"step {number} of {last}, {told - begun:.0f} s: {found}", file=sys.stderr, flush=True)
            with ours.lock:
                _compare_step(report, ours.replay(number), texts, graphs(step), f"{step.name} (step {number})", sample)
    return report


def _compare_step(report: Report, replay: Replay, texts: Any, graphs: Iterator[Any], name: str, sample: int) -> None:
    comparison = Comparison(replay, texts)
    roots = replay.roots()
    every = max(1, replay.matches // sample)
    report.steps += 1
    report.irregular += not replay.regular
    match = -1
    chosen: list[tuple[int, Any]] = []
    for match, shown in enumerate(_until_death(graphs, report)):
        sink = shown["_sink"]
        found = comparison.difference(next(roots), sink)
        report.graphs += 1
        if match % every == 0 or match == replay.matches:
            chosen.append((match, sink))
        if found is not None:
            report.differences.append(f"{name}, match {match} of {replay.matches}: {found}"[:600])
            return
    for at, sink in chosen:
        graph = replay.graph(at)
        report.leaps += 1
        report.errors += graph.error is not None
        found = comparison.difference(graph.root, sink)
        if found is not None or graph.match != at or len(set(graph.identity.values())) != len(graph.nodes):
            report.differences.append(f"{name}, straight to match {at} of {replay.matches}: {found}"[:600])
            return
    if next(roots, None) is not None and not report.stock_died:
        report.differences.append(f"{name}: {replay.matches} matches, but the stock replay ends at {match}")


def _until_death(graphs: Iterator[Any], report: Report) -> Iterator[Any]:
    try:
        yield from graphs
    except (KeyError, AssertionError, IndexError, TypeError, ValueError):
        report.stock_died += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=["add", "mnist", "gpt"])
    parser.add_argument("--seconds", type=float, default=300, help="for each program (default 300; 1e9: all of it)")
    parser.add_argument("--pickle", type=Path, help="compare this rewrites pickle instead")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.workloads import workload

    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.programs if args.pickle is None else [args.pickle.name]:
            folder = Path(temporary) / name
            pickled = args.pickle or record(workload(name), folder)
            folder.mkdir(exist_ok=True)
            begun = time.monotonic()
            report = compare(pickled, import_pickle(pickled, folder / "run.peep"), args.seconds)
            took = round(time.monotonic() - begun, 1)
            row = {"bench": f"replay equality {name}", "ours": len(report.differences), "unit": "differences"}
            print(json.dumps({**row, **vars(report), "seconds": took}), flush=True)
            failed += len(report.differences)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
