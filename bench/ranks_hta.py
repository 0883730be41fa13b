"""The same traces of several ranks in HolisticTraceAnalysis and as a run: what both answer, and the CPU time of each.

    python -m venv hta && hta/bin/pip install HolisticTraceAnalysis
    python bench/ranks_hta.py --hta hta/bin/python [--ranks 8] [--slices 20000]

Prints a JSON object per measurement; `ours` and `peer` are seconds of CPU of all processes, start included.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # what measurements share is found beside them

from bench.rank_files import plan, write_rank
from bench.ranks import report

ASKED = """
import json, logging, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
found = TraceAnalysis(trace_dir=sys.argv[1])
out = {}
for name, ask in (
    ("overlap", lambda: found.get_comm_comp_overlap(visualize=False).set_index("rank").iloc[:, -1].to_dict()),
    ("temporal", lambda: len(found.get_temporal_breakdown(visualize=False))),
    ("idle", lambda: len(found.get_idle_time_breakdown(ranks=[0], visualize=False)[0])),
    ("stragglers", lambda: [int(rank) for rank in found.get_potential_stragglers()]),
):
    try:
        out[name] = ask()
    except Exception as error:
        out[name] = f"{type(error).__name__}: {str(error)[:80]}"
print(json.dumps(out))
"""


def spent(*command: str) -> tuple[float, str]:
    """CPU seconds of a command and of what it started, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ran.stdout


def as_hta_reads(path: Path) -> Path:
    """The trace with the spaces that HTA's pattern for ranks looks for, under a name that it takes."""
    text = gzip.decompress(path.read_bytes()).decode()
    head, rest = text[:200], text[200:]
    other = path.with_name(path.name.replace("trace-", "rank-"))
    other.write_bytes(gzip.compress(head.replace('":', '": ').encode() + rest.encode(), 1))
    path.unlink()
    return other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hta", required=True, help="a Python that has HolisticTraceAnalysis")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--slices", type=int, default=20_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "traces"
        folder.mkdir()
        known = plan(args.ranks, args.slices, 50, {args.ranks // 3: (2, 5)})
        files = [as_hta_reads(write_rank(known, rank, folder)) for rank in range(args.ranks)]
        run = str(Path(temporary) / "run.peep")
        ours, _ = spent(sys.executable, "-m", "peephole", "import", *map(str, files), "-o", run)
        answer, said = spent(sys.executable, "-m", "peephole", "ranks", run, "--json")
        theirs, told = spent(args.hta, "-c", ASKED, str(folder))
    rows = {row["rank"]: row for row in map(json.loads, said.splitlines())}
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    overlap = {rank: round(100 * row["overlap_ns"] / row["communication_ns"], 2) for rank, row in rows.items()}
    slow = {rank: row["slow_steps"] for rank, row in rows.items() if row["slow_steps"]}
    report("ranks: import and answers, next to HTA's", ours + answer, round(theirs, 3), "s", ranks=args.ranks,
           overlap=overlap, hta_overlap=found["overlap"], slow=slow, hta_stragglers=found["stragglers"],
           hta_temporal=found["temporal"], hta_idle=found["idle"])  # fmt: skip


if __name__ == "__main__":
    main()
