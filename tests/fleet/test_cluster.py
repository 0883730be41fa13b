"""The same run on a real Dask cluster: the tables of the pool, also when a worker is killed half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client
from tests.rank_traces import write_ranks

from peephole.errors import PeepholeError
from peephole.fleet.run import make_run
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.inputs import inputs_of
from peephole.query.ranks.run import open_run
from peephole.store.capture import open_capture

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None) as c:
        print(c.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The scheduler's address; it and its workers are processes of their own."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.wait(60)


def tables(path: Path) -> dict[str, dict[str, list[object]]]:
    found = open_run(open_capture(path)).tables
    return {
        name: {column.name: list(found[name][column.name]) for column in table.columns}
        for name, table in RUN_TABLES.items()
        if name != "inputs"  # who read what, and for how long, is another each time
    }


def test_a_cluster_gives_the_tables_of_the_pool_though_a_worker_dies(cluster: str, tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 8, slow={2: (1,)}, kernels=1000)  # long enough to be killed while it is read
    here = make_run(known.files, tmp_path / "here.peep")
    done: list[int] = []
    with Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
        killed: list[str] = []

        def begun(event: tuple[float, dict[str, str]]) -> None:
            if event[1]["path"] == str(known.files[3]) and not killed:
                killed.append(event[1]["worker"])
                os.kill(pids[event[1]["worker"]], signal.SIGKILL)

        client.subscribe_topic("peephole-ranks", begun)
        there = make_run(known.files, tmp_path / "there.peep", lambda _, count, of: done.append(count), cluster)
    assert len(killed) == 1
    assert tables(here) == tables(there)
    assert done == list(range(1, 9)) and open_capture(there).manifest.problems == []
    inputs = inputs_of(open_run(open_capture(there)))
    assert [one.ranks for one in inputs] == [(rank,) for rank in range(8)]
    assert inputs[3].tries > 1, "what the dead worker had begun was begun again"
    assert all(one.worker and one.dur_ns > 0 for one in inputs)  # the one that lives may have read all of them


def test_a_scheduler_that_is_not_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peephole.fleet.cluster._PATIENCE", 1)
    known = write_ranks(tmp_path, 2)
    begun = time.monotonic()
    with pytest.raises(PeepholeError, match="There is no Dask scheduler at"):
        make_run(known.files, tmp_path / "run.peep", scheduler="tcp://127.0.0.1:9")
    assert not (tmp_path / "run.peep").exists() and time.monotonic() - begun < 30
    assert threading.active_count() < 20


@pytest.mark.parametrize("address", ["nonsense://x", "tcp://127.0.0.1", "tcp://127.0.0.1:many", "somewhere"])
def test_what_is_not_an_address_is_one_sentence_at_once(address: str, tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 2)
    with pytest.raises(PeepholeError, match="is not the address of a Dask scheduler"):
        make_run(known.files, tmp_path / "run.peep", scheduler=address)
    assert not (tmp_path / "run.peep").exists()
