"""The fuzzer itself: it finds what is wrong, makes it small, keeps it; and every kind yields mutants that run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fuzz.edits import Draw
from fuzz.hunt import hunt
from fuzz.kinds import KINDS, Kind
from fuzz.mutant import Mutant, read_mutant
from fuzz.trial import Verdict

ROOT = Path(__file__).resolve().parents[2]

TRY = """
import json, sys, time
from pathlib import Path
from fuzz import trial
from fuzz.mutant import Mutant
trial.prepare()
CASES = {
    "raises": "1/0", "sleeps": "import time; time.sleep(100)", "loops": "while True: pass",
    "eats": "x = bytearray(6 << 30)", "crashes": "import os; os.abort()", "ends": "import os; os._exit(0)",
    "refuses": "raise PeepholeError('No.')", "answers": "0",
}
import peephole.cli.main as cli
from peephole.errors import PeepholeError
def fake(arguments):
    def dispatch(_):
        exec(CASES[arguments[0]], {"PeepholeError": PeepholeError})
        return 0
    cli._dispatch = dispatch
    return real(arguments)
real, cli.main = cli.main, fake
found = {}
for name in CASES:
    trial.WALL_S = 4 if name == "sleeps" else 120  # the others end by themselves, on a busy machine too
    verdict = trial.run(Mutant({}, ((name,),)), 2)
    found[name] = [verdict.fault, verdict.refused]
print(json.dumps(found))
"""


def test_every_way_to_fail_is_noticed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRY], cwd=ROOT, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answers"] == ["", False]
    assert found["refuses"] == ["", True]
    assert "ZeroDivisionError" in found["raises"][0]
    assert "s of CPU" in found["loops"][0]
    assert "SIGKILL" in found["sleeps"][0]
    assert "MemoryError" in found["eats"][0]
    assert "SIGABRT" in found["crashes"][0]
    assert "no word" in found["ends"][0]


def test_a_failing_mutant_is_made_small_and_known(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()

    def make(draw: Draw, _seeds: Path) -> Mutant:
        from hypothesis import strategies as st

        return Mutant({"f": draw(st.binary(max_size=40))}, (("info", "f"),))

    def run(mutant: Mutant) -> Verdict:
        return Verdict("has an x", "x") if b"x" in mutant.files["f"] else Verdict()

    known: set[str] = set()
    kind = Kind("test", make)
    tally = hunt(kind, tmp_path / "seeds", 1, 4000, time.monotonic() + 60, known, run)
    assert [found.mutant.files["f"] for found in tally.found] == [b"x"]
    assert known == {"test x"}
    again = hunt(kind, tmp_path / "seeds", 2, 1000, time.monotonic() + 60, known, run)
    assert not again.found
    kept = tmp_path / "kept.zip"
    kept.write_bytes(tally.found[0].mutant.packed("why"))
    assert read_mutant(kept) == tally.found[0].mutant
    assert read_mutant(kept).digest() == tally.found[0].mutant.digest()


def test_it_ends_when_its_time_is_over(tmp_path: Path) -> None:
    def make(draw: Draw, _seeds: Path) -> Mutant:
        from hypothesis import strategies as st

        return Mutant({"f": draw(st.binary())}, ())

    def run(_: Mutant) -> Verdict:
        time.sleep(0.05)
        return Verdict()

    begun = time.monotonic()
    tally = hunt(Kind("test", make), tmp_path, 1, 2000, begun + 1, set(), run)
    assert 1 <= tally.mutants <= 21


@pytest.mark.slow
def test_every_kind_has_mutants(tmp_path: Path) -> None:
    env = {**os.environ, "FUZZ_S": "12", "FUZZ_JOBS": "1", "FUZZ_SEED": "3", "FUZZ_BATCH": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "fuzz"], cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    table = {line.split()[0]: line.split() for line in done.stdout.splitlines()[1:]}
    assert {kind.name for kind in KINDS} <= set(table)


def test_an_unknown_kind_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there is no kind 'nothing'" in done.stderr
