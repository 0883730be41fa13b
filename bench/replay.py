"""How fast is the graph after any match? Ours and the stock viewer's, over the same pickles, in the same run.

    python bench/replay.py [--stock-seconds 20] [--pickles FOLDER]

Records mnist and gpt (bench/workloads.py) with tinygrad's own tracing, or takes FOLDER/{mnist,gpt}/rewrites.pkl.*.
One JSON object per measurement. The stock viewer is given --stock-seconds for each; what it could not finish is
extrapolated from the graphs that it did, and marked so.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from peephole.compilers.answers import Schedule
from peephole.compilers.traces import trace_of
from peephole.query.capture.contexts import Step, contexts, steps
from peephole.query.rewrites import step_graphs as rewrites
from peephole.query.rewrites.schedules import schedule, schedule_contexts
from peephole.store.capture import Capture, open_capture

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.replay_equality import import_pickle, record
from bench.workloads import workload

STEPS = (("gpt", "early symbolic"), ("mnist", "symbolic+reduce_collapse+debuf"))
WIDE = """
from tinygrad.uop.ops import UOp, Ops, UPat, PatternMatcher, graph_rewrite
leaves = [UOp.variable(f"x{i}", 0, 100) for i in range(4003)]
terms = [UOp(Ops.MUL, src=(a, b)) for a, b in zip(leaves, leaves[1:])]
sums = [UOp(Ops.ADD, src=(a, b)) for a, b in zip(terms, terms[1:])]
swap = PatternMatcher([(UPat(Ops.MUL, name="m"), lambda m: m.replace(src=m.src[::-1])
                        if m.src[0].arg.name < m.src[1].arg.name and m.src[0].arg.name.endswith("7") else None)])
graph_rewrite(UOp.sink(*sums), swap, name="wide")
"""


def report(bench: str, ours: float, peer: float | None, facts: dict[str, Any], unit: str = "s") -> None:
    ratio = None if peer is None or not ours else round(peer / ours, 2)
    rounded = None if peer is None else round(peer, 4)
    print(
        json.dumps({"bench": bench, "ours": round(ours, 4), "peer": rounded, "ratio": ratio, "unit": unit, **facts}),
        flush=True,
    )


class Timed:
    """Runs something; keeps its result, the seconds that passed, and those that the processor worked for it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        begun, worked = time.perf_counter(), time.process_time()
        self.result = work()
        self.seconds, self.cpu = time.perf_counter() - begun, round(time.process_time() - worked, 4)


def find(capture: Capture, name: str) -> Step:
    """The step of that name with the most matches."""
    found = [s for c in contexts(capture) for s in steps(capture, c.id) if s.name == name]
    return max(found, key=lambda step: step.matches)


def measure(name: str, path: Path, pickled: Path, stock_seconds: float) -> None:
    capture = open_capture(path)
    step = find(capture, name)
    del capture
    # what a person waits for: the capture is opened, the step is clicked
    first = Timed(lambda: rewrites.graph_at(open_capture(path), step.id, 0))
    capture = open_capture(path)
    rewrites.graph_at(capture, step.id, 0)
    wanted = [step.matches, *range(1, step.matches, max(1, step.matches // 40))]
    jumps = [Timed(partial(rewrites.graph_at, capture, step.id, match)) for match in wanted]
    seconds, cpu = sorted(jump.seconds for jump in jumps), sorted(jump.cpu for jump in jumps)

    def walk_all() -> int:
        fresh = open_capture(path)
        replay = trace_of(fresh).replay(step.id)
        return sum(len(replay.pool.reach(root)) for root in replay.roots())

    everything = Timed(walk_all)
    peer = run_stock(pickled, name, stock_seconds)
    facts = {"nodes": len(first.result.nodes.id), "matches": step.matches}
    note = {"peer_note": peer["note"], **facts}
    report(f"{name}: first graph", first.seconds, peer.get("first"), {"cpu": first.cpu, **note})
    worst = {"worst": round(seconds[-1], 4), "cpu": cpu[len(cpu) // 2], "worst_cpu": cpu[-1]}
    report(f"{name}: any match, median", statistics.median(seconds), None, {**worst, **facts})
    every = {"cpu": everything.cpu, "walked": everything.result, **note}
    report(f"{name}: all graphs walked", everything.seconds, peer.get("all"), every)


def run_stock(pickled: Path, name: str, seconds: float) -> dict[str, Any]:
    """The stock viewer's own generator in a process of its own, stopped when its time is up."""
    command = [sys.executable, __file__, "--stock", str(pickled), "--step", name, "--stock-seconds", str(seconds)]
    done = subprocess.run(
        command, env={**os.environ, "VIZ": "0"}, capture_output=True, text=True, check=False, timeout=seconds + 120
    )
    if done.returncode:
        return {"note": f"failed: {done.stderr.strip().splitlines()[-1:]}"}
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def stock(pickled: Path, name: str, seconds: float) -> None:
    """Runs in the other process."""
    import signal

    from tinygrad.viz import serve

    trace = pickle.loads(pickled.read_bytes())
    step = max((s for group in trace.rewrites for s in group if s.name == name), key=lambda s: len(s.matches))
    begun = time.perf_counter()
    found: dict[str, Any] = {"note": f"no graph within {seconds:g} s"}

    def stop(*_: Any) -> None:
        print(json.dumps(found), flush=True)
        os._exit(0)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    for shown, _ in enumerate(serve.get_full_rewrite(serve.VizData(trace), step), 1):
        now = time.perf_counter() - begun
        found.setdefault("first", now)
        found["all"] = found["first"] + (now - found["first"]) / max(shown - 1, 1) * len(step.matches)
        found["note"] = f"extrapolated from {shown} of {len(step.matches) + 1} graphs"
    found["note"] = "finished"
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(found), flush=True)


def _schedule(path: Path, context: int) -> Schedule:
    return schedule(open_capture(path), context)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stock-seconds", type=float, default=20)
    parser.add_argument("--pickles", type=Path)
    parser.add_argument("--stock", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.stock:
        stock(args.stock, args.step, args.stock_seconds)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for program, name in STEPS:
            pickled = (
                next((args.pickles / program).glob("rewrites.pkl*"))
                if args.pickles
                else record(workload(program), folder / program)
            )
            path = import_pickle(pickled, folder / f"{program}.peep").path
            measure(name, path, pickled, args.stock_seconds)
            capture = open_capture(path)
            kernels = {number: len(schedule(capture, number).kernels) for number, _ in schedule_contexts(capture)}
            largest = max(kernels, key=kernels.__getitem__)
            del capture
            split = Timed(partial(_schedule, path, largest))
            facts = {"cpu": split.cpu, "kernels": kernels[largest]}
            report(f"{program}: how a schedule was split", split.seconds, None, facts)
        (folder / "wide.py").write_text(WIDE)
        pickled = record(folder / "wide.py", folder / "wide")
        path = import_pickle(pickled, folder / "wide.peep").path
        measure("wide", path, pickled, args.stock_seconds)
    report("replay: largest memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, None, {}, "MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
