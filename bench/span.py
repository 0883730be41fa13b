"""A span beside tinygrad's own event, in the same run: CPU time, bytes on disk, memory. `python bench/span.py`.

The peer is `cpu_profile`, which keeps a ProfileRangeEvent in memory and writes nothing; it has a name and no args. Ours
with args (`span_args`) stands beside the same.

Each measurement is the best of rounds that take turns: what else runs on the machine only ever adds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time_ns

import peephole
from peephole.record import active, process


def spans(count: int) -> None:
    for _ in range(count):
        with peephole.span("kernel"):
            pass


def nested(count: int) -> None:
    with peephole.span("outer"):
        for _ in range(count):
            with peephole.span("kernel"):
                pass


def noted(count: int) -> None:
    for number in range(count):
        with peephole.span("kernel", number=number):
            pass


def tiny_events() -> Callable[[int], None]:
    os.environ["PROFILE"] = "1"
    from tinygrad.helpers import PROFILE, cpu_events, cpu_profile

    assert PROFILE, "tinygrad keeps events only when it profiles"

    def events(count: int) -> None:
        for _ in range(count):
            with cpu_profile("kernel"):
                pass
        cpu_events.clear()

    return events


def per_event(work: Callable[[int], None], count: int) -> float:
    begin = thread_time_ns()  # of this thread alone: others run on the machine
    work(count)
    return (thread_time_ns() - begin) / count


def journal_bytes(capture: Path) -> int:
    return sum(path.stat().st_size for path in (capture / "journal").glob("*/*.seg"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="events in a round")
    parser.add_argument("--rounds", type=int, default=25)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "bench.peep"
        off = min(per_event(spans, args.count) for _ in range(5))
        process.start_capture(str(capture), "bench", [])
        active.start(capture)
        works = {"span": spans, "span_nested": nested, "span_args": noted}
        peer = tiny_events()
        for work in (*works.values(), peer):
            work(args.count)
        times: dict[str, list[float]] = {name: [] for name in (*works, "peer")}
        for _ in range(args.rounds):
            for name, work in works.items():
                times[name].append(per_event(work, args.count))
            times["peer"].append(per_event(peer, args.count))
        theirs = min(times["peer"])
        for name in works:
            ours = min(times[name])
            line = {"bench": name, "ours": round(ours), "peer": round(theirs), "ratio": round(ours / theirs, 3)}
            print(json.dumps({**line, "unit": "ns"}))
        print(json.dumps({"bench": "span_off", "ours": round(off), "peer": 0, "ratio": None, "unit": "ns"}))
        active.stop()

        sizes = Path(folder) / "sizes.peep"
        process.start_capture(str(sizes), "bench", [])
        active.start(sizes)
        spans(10_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spans(490_000)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        active.stop()
        bytes_each = journal_bytes(sizes) / 500_000
        print(json.dumps({"bench": "span_bytes", "ours": round(bytes_each, 2), "budget": 40, "unit": "B"}))
        print(json.dumps({"bench": "span_memory_of_490k", "ours": grown, "budget": 4096 + 1024, "unit": "kB"}))


if __name__ == "__main__":
    main()
