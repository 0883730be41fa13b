"""`make fuzz`: mutates every kind of input for FUZZ_S seconds and keeps what fails as a regression test.

    python -m fuzz [KIND …]     FUZZ_S=300 seconds, FUZZ_JOBS=2 processes, FUZZ_SEED=0 for the same mutants again

Prints a table of counts. Exit code 1 when something failed: the mutant is in tests/fuzz/kept then, which
tests/fuzz/test_kept.py runs, and stays there as a test when the fault is mended.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
KEPT: Final = ROOT / "tests" / "fuzz" / "kept"
_BATCH: Final = int(os.environ.get("FUZZ_BATCH", "30"))
"""Mutants of a kind before the next kind's turn."""
_COUNTS: Final = ("mutants", "refused", "faults")


def main(names: list[str]) -> int:
    """Makes the seeds, hunts in several processes, prints the sums."""
    from fuzz.kinds import KINDS

    known = [kind.name for kind in KINDS]
    for name in names:
        if name not in known:
            print(f"fuzz: there is no kind {name!r}; there are {', '.join(known)}.", file=sys.stderr)
            return 2
    seconds = float(os.environ.get("FUZZ_S", "300"))
    jobs = int(os.environ.get("FUZZ_JOBS", str(os.cpu_count() or 1)))
    first = int(os.environ.get("FUZZ_SEED") or time.time_ns() % (1 << 32))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ["FUZZ_DIR"] = folder
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        subprocess.run([sys.executable, "-m", "fuzz.seeds", str(seeds)], cwd=ROOT, check=True)
        print(f"fuzz: seed {first}, {seconds:g} s, {jobs} processes", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "fuzz", "--hunt", str(seeds), str(seconds)]
        hunters = [subprocess.Popen([*command, str(first + job), *names], cwd=ROOT) for job in range(jobs)]
        for one in hunters:
            one.wait()
        said = [line for path in Path(folder).glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    failed = any(hunter.returncode for hunter in hunters)
    return 1 if _sum_up(said) or failed else 0


def _sum_up(lines: list[str]) -> bool:
    """Prints a table and keeps what failed; whether anything did."""
    sums: dict[str, Counter[str]] = {}
    slowest: dict[str, float] = {}
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        facts = json.loads(line)
        kind = facts["kind"]
        sums.setdefault(kind, Counter()).update({name: facts[name] for name in _COUNTS})
        slowest[kind] = max(slowest.get(kind, 0.0), facts["slowest"])
        for fault in facts["found"]:
            found.setdefault(fault["where"], {**fault, "kind": kind})
    print(f"{'kind':<12}{'mutants':>9}{'refused':>9}{'faults':>8}{'slowest':>10}")
    total: Counter[str] = Counter()
    for kind, counts in sorted(sums.items()):
        total.update(counts)
        print(f"{kind:<12}{counts['mutants']:>9,}{counts['refused']:>9,}{counts['faults']:>8,}{slowest[kind]:>8.1f} s")
    print(f"{'all':<12}{total['mutants']:>9,}{total['refused']:>9,}{total['faults']:>8,}")
    KEPT.mkdir(parents=True, exist_ok=True)
    for where, fault in sorted(found.items()):
        path = KEPT / f"{fault['kind']}-{fault['digest']}.zip"
        path.write_bytes(base64.b64decode(fault["packed"]))
        print(f"\n{where}\n  kept as {path.relative_to(ROOT)}")
        print("  " + fault["fault"].strip().replace("\n", "\n  "))
    return bool(found)


def hunter(seeds: Path, seconds: float, number: int, names: list[str]) -> None:
    """One of the processes: the kinds in turn until the time is over; a line of JSON in a file for each turn."""
    from fuzz.hunt import hunt
    from fuzz.kinds import KINDS

    from fuzz import trial

    kinds = [kind for kind in KINDS if not names or kind.name in names]
    kinds = kinds[number % len(kinds) :] + kinds[: number % len(kinds)]
    sys.setrecursionlimit(20_000)  # for what is nested deeply; a trial has its own
    trial.prepare()
    end = time.monotonic() + seconds
    known: set[str] = set()
    turn = 0
    log = seeds.parent / f"{number}.jsonl"
    while time.monotonic() < end:
        for kind in kinds:
            tally = hunt(kind, seeds, number * 1_000_003 + turn, _BATCH, end, known)
            faults = [
                {
                    "where": found.verdict.where,
                    "fault": found.verdict.fault,
                    "digest": found.mutant.digest(),
                    "packed": base64.b64encode(found.mutant.packed(found.verdict.fault.splitlines()[-1])).decode(),
                }
                for found in tally.found
            ]
            facts = {name: getattr(tally, name) for name in _COUNTS}
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"kind": kind.name, **facts, "slowest": tally.slowest, "found": faults}) + "\n")
            for found in tally.found:
                last = found.verdict.fault.strip().splitlines()[-1]
                print(f"fuzz: {found.verdict.where}: {last}", file=sys.stderr, flush=True)
        turn += 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hunt"]:
        hunter(Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
        os._exit(0)  # what was frozen for the forks would be taken for leaks
    else:
        sys.exit(main(sys.argv[1:]))
