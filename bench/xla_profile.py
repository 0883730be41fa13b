"""A profile of half a million events imported, beside jaxlib's own reader walking the same file, and beside xprof's
conversion for its trace viewer where a Python that has xprof is named (`pip install xprof` in a venv of its own).

python bench/xla_profile.py [--events 500000] [--xprof PYTHON]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Cost = tuple[float, float, float]
XPROF = """
import json, sys, time
from pathlib import Path
from xprof.convert import raw_to_tool_data
wall, cpu = time.perf_counter(), time.process_time()
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "trace_viewer", {})
# ru_maxrss would be that of the process that started this one, where that is larger
memory = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) >> 10
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, memory]))
"""
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--xprof", help="a Python that has xprof")
    options = parser.parse_args()
    from peephole.ingest import import_files

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "made.xplane.pb"
        path.write_bytes(space(options.events))
        small = Path(place) / "small.xplane.pb"
        small.write_bytes(space(options.events // 4))
        import_files([small], Path(place) / "warm.peep")  # the loops are compiled once for all times
        ours, walked, peers = [], [], []
        for round_ in range(3):
            ours.append(taken(lambda at=round_: import_files([path], Path(place) / f"{at}.peep")))  # type: ignore[misc]
            walked.append(taken(lambda: peer_walk(path)))
            if options.xprof:
                done = subprocess.run([options.xprof, "-c", XPROF, path], capture_output=True, text=True, check=True)
                peers.append(tuple(json.loads(done.stdout.splitlines()[-1])))
        report(ours, walked, "jaxlib's ProfileData walks its events", options.events)
        if peers:
            report(ours, peers, "xprof makes its trace viewer's data", options.events)


def peer_walk(path: Path) -> int:
    """How many events jaxlib's reader gives."""
    from jax.profiler import ProfileData

    count = 0
    for plane in ProfileData.from_file(str(path)).planes:
        for line in plane.lines:
            for event in line.events:
                count += bool(event.name and event.start_ns >= 0 and event.duration_ns >= 0)
    return count


def taken(work: Callable[[], object]) -> Cost:
    """Seconds, and of CPU, of some work, and the most MB of this process so far."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return time.perf_counter() - wall, time.process_time() - cpu, memory


def report(ours: list[Cost], peers: list[Cost], who: str, events: int) -> None:
    """Medians of the rounds, in which ours and the peer took turns."""
    (wall, cpu, memory), (other, other_cpu, _) = (
        map(statistics.median, zip(*one, strict=True)) for one in (ours, peers)
    )
    row = {"bench": f"XLA profile of {events:,} events, imported", "ours": round(wall, 2), "peer": round(other, 2)}
    more = {"unit": "s", "cpu": round(cpu, 2), "peer_cpu": round(other_cpu, 2), "peak_mb": memory, "peer_is": who}
    print(json.dumps({**row, **more}), flush=True)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def whole(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def part(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def space(count: int) -> bytes:
    """An XSpace with threads of nested calls and kernels that name their instruction."""
    random.seed(1)
    names = [
        "hlo_op",
        "hlo_module",
        "program_id",
        "run_id",
        "device_ordinal",
        "jit_f",
        *(f"op.{i}" for i in range(200)),
    ]
    facts = b"".join(
        part(5, whole(1, i) + part(2, whole(1, i) + part(2, name.encode()))) for i, name in enumerate(names, 1)
    )
    events = b"".join(
        part(4, whole(1, i) + part(2, whole(1, i) + part(2, f"$prog.py:{i} call".encode()))) for i in range(1, 1001)
    )
    lines = []
    for line in range(8):
        rows, at = [part(2, f"thread {line}".encode()), whole(3, 1000)], 0
        for event in range(count // 8):
            at += random.randrange(1000, 900_000)
            row = whole(1, random.randrange(1, 1001)) + whole(2, at) + whole(3, random.randrange(1000, 2_000_000))
            if line < 2:
                for stat, kind, value in (
                    (1, 7, 7 + event % 200),
                    (2, 7, 6),
                    (3, 4, 12),
                    (4, 4, event // 200),
                    (5, 4, 0),
                ):
                    row += part(4, whole(1, stat) + whole(kind, value))
            rows.append(part(4, row))
        lines.append(part(3, b"".join(rows)))
    return part(1, part(2, b"/host:CPU") + b"".join(lines) + events + facts)


if __name__ == "__main__":
    main()
