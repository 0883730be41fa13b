"""A trace with one thing that is not as tinygrad makes it is read, or refused in one sentence, in as little time."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.sources.tinygrad.runs import ROOT, environment, run

from peephole.sources.tinygrad.text import Texts

PROGRAM = """
from tinygrad import Device, Tensor, TinyJit

@TinyJit
def step(x):
    return ((x + 1).sum(axis=0).contiguous() * 2).realize()

data = Tensor([[1.0, 2, 3], [4, 5, 6]]).realize()
for i in range(3):
    step(data)
data.to(Device.DEFAULT + ":1").realize()
"""

# One place of each sort (a class's field, an argument of its construction, a part of a node) gets one wrong value after
# the other. The first two have an endless text and hash, and cannot be interrupted: hence a process of its own.
READ = """
import itertools, sys
from pathlib import Path
from peephole.errors import CaptureError
from peephole.sources.base import no_progress
from peephole.sources.tinygrad.pickle import files
from peephole.sources.tinygrad.pickle import reader
from peephole.sources.pickles.standin import StandIn
from tests.kept_rows import KeptRows

laugh = deep = ()
for _ in range(60):
    laugh = (laugh, laugh)
for _ in range(100_000):
    deep = (deep,)
WRONG = (laugh, [laugh], deep, 1 << 80, 1 << 20_000, "9" * 5000, -5, float("nan"), None, b"x", "x", {}, True)

paths = [Path(path) for path in sys.argv[1:]]
loaded = {path: reader.load(path) for path in paths}
reader.load = loaded.__getitem__
nodes = next(one.value for one in loaded.values() if type(one.value) is not list).uop_fields
places = {}

def visit(value, depth=0):
    if isinstance(value, StandIn):
        for name in value.__dict__:
            places.setdefault((type(value).__name__, name), (value.__dict__, name))
        parts = [*value.__dict__.values(), *value.args]
    else:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        if isinstance(value, dict) and value is not nodes:
            for name in value:
                places.setdefault(("dict", name), (value, name))
    if depth < 7:
        for part in parts:
            visit(part, depth + 1)

for one in loaded.values():
    visit(one.value)
for number, node in nodes.items():
    for at in range(len(node)):
        places.setdefault((node[0].args[0], at), (nodes, number, at))
tries = 0
for place, (shift, wrong) in itertools.product(places.values(), enumerate(WRONG)):
    if (hash(str(place[1:])) + shift) % 8:  # an eighth of them each time; strings hash by PYTHONHASHSEED
        continue
    where, key, *at = place
    old = where[key]
    dict.__setitem__(where, key, (*old[: at[0]], wrong, *old[at[0] + 1 :]) if at else wrong)
    try:
        files.read(paths, KeptRows(), no_progress)
    except CaptureError as error:
        assert str(error).endswith(".") and len(str(error)) < 500
    finally:
        dict.__setitem__(where, key, old)
    tries += 1
print(tries)
"""


def test_one_wrong_value_is_read_or_refused(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    run([sys.executable, tmp_path / "program.py"], environment(tmp_path, "PYTHON", VIZ="-1"))
    found = sorted(tmp_path.glob("*.pkl.*"))
    assert len(found) == 2
    done = run([sys.executable, "-c", READ, *found], environment(tmp_path, "PYTHON", PYTHONPATH=str(ROOT)))
    assert int(done.stdout) > 100


def test_a_number_without_end_has_a_short_text() -> None:
    class Size(int):
        pass

    assert Texts().any(Size(1 << 20_000)) == Texts().any(1 << 20_000) == "…"
    assert Texts().any(Size(7)) == "7"
