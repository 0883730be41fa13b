"""Which heavy modules each command loads: what it does not need costs every call tenths of a second."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from peephole.store.writer import CaptureWriter

COLUMNS = {"numpy", "pyarrow", "pyarrow.parquet"}
"""What reads tables."""
SQL = {"duckdb", "pyarrow.dataset", "pyarrow.compute"}
HEAVY = (
    *(
        "numpy",
        "numpy.random",
        "numpy.ma",
        "pyarrow",
        "pyarrow.parquet",
        "pyarrow.compute",
        "pyarrow.dataset",
        "duckdb",
        "numba",
    ),
    *("pandas", "matplotlib", "rich.console", "rich.table", "starlette", "uvicorn", "tinygrad", "distributed"),
    *("asyncio", "concurrent.futures", "multiprocessing", "http.client", "unittest"),
    # what seals a capture, and what follows one that is still written
    *("peephole.store.sealing.build", "peephole.store.journal.journals", "peephole.store.journal.live"),
)
CALL = """
import contextlib, io, json, sys, threading
from peephole.cli.main import main
out = io.StringIO()
with contextlib.redirect_stdout(out):
    code = main(sys.argv[2:])
loaded = [name for name in json.loads(sys.argv[1]) if name in sys.modules]
print(json.dumps([code, len(out.getvalue()), loaded, threading.active_count()]))
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "small.peep"
    with CaptureWriter(path) as writer:
        kinds = ["device", "thread", "thread"]
        writer.append("tracks", {"id": [0, 1, 2], "name": ["CPU", "main", "main"], "kind": kinds})
        row = list(range(1000))
        writer.append(
            "slices",
            {
                "track": [i % 3 for i in row],
                "start": [i * 100 for i in row],
                "dur": [50] * 1000,
                "name": [f"k{i % 9}" for i in row],
                "context": [0] * 1000,
                "args": ['{"n":1,"flops":2.5}'] * 1000,
            },
        )
        writer.append("contexts", {"id": [0], "name": ["schedule"], "kind": ["schedule"], "start": [0], "dur": [9]})
        writer.append("markers", {"time": [5], "name": ["m"], "kind": ["event"], "track": [0]})
    return path


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["ls", "{folder}"], set()),
        (["info", "{capture}"], COLUMNS),
        (["show", "{capture}"], COLUMNS),
        (["show", "-t", "{capture}"], COLUMNS),
        (["show", "--ls", "{capture}"], COLUMNS),
        (["show", "--calls", "{capture}"], COLUMNS),
        (["show", "-s", "CPU", "-i", "k0", "{capture}"], COLUMNS),
        (["search", "k1", "{capture}"], COLUMNS),
        (["idle", "{capture}"], COLUMNS),
        (["rules", "{capture}"], COLUMNS),
        (["why", "k1", "k2", "{capture}"], COLUMNS),
        (["origin", "k1", "{capture}"], COLUMNS),
        (["query", "select count(*) from slices", "{capture}"], COLUMNS | SQL),
        (["export", "{capture}", "-o", "{folder}/out.json"], COLUMNS),
        (["pack", "{capture}", "-o", "{folder}/out.peep.zip"], COLUMNS),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_command_loads_what_it_needs(words: list[str], allowed: set[str], small: Path) -> None:
    words = [word.format(folder=small.parent, capture=small) for word in words]
    command = [sys.executable, "-c", CALL, json.dumps(HEAVY), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    code, printed, loaded, threads = json.loads(done.stdout.splitlines()[-1])
    # `why` and `origin` find nothing in this capture, which they say after they looked
    assert (code, bool(printed or done.stderr)) == (2 if words[0] in ("why", "origin") else 0, True), done.stderr
    assert set(loaded) <= allowed
    assert threads == 1, "a thread was started for a small capture"


LOOP = """
import sys
from peephole.cli.main import main
main(["ls", sys.argv[1]])
import numpy as np
from peephole.store.tables.compiled_loops import warm
warm()
print([name for name in ("numba", "scipy", "cffi", "pandas") if name in sys.modules])
"""


def test_a_compiled_loop_loads_numba_alone(small: Path) -> None:
    """Where scipy and cffi are installed numba loads both with its first loop, to no use of ours."""
    done = subprocess.run(
        [sys.executable, "-c", LOOP, small.parent], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines()[-1] == "['numba']", done.stdout
