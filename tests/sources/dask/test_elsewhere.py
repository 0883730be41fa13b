"""Schedulers and workers that somebody else started: only their client is recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tape_events import events

from peephole.query.tape.stats import pair_stats
from peephole.query.tape.tape import tape
from peephole.store.capture import open_capture

SLACK = 5_000_000
"""ns by which two processes' clocks may differ: Dask asks for the time over sockets that may have to wait."""


def test_a_scheduler_that_nobody_records(tmp_path: Path, peephole: Any) -> None:
    """Only the client is recorded: the scheduler's own task stream tells what the workers did."""
    import subprocess

    server = tmp_path / "server.py"
    server.write_text(
        "import sys\nfrom distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host='127.0.0.1',"
        " dashboard_address=None) as c:\n"
        "        print(c.scheduler_address, flush=True)\n        sys.stdin.readline()\n"
    )
    client = tmp_path / "client.py"
    client.write_text(
        "import sys\nfrom distributed import Client\n\ndef inc(x):\n    return x + 1\n\n"
        "if __name__ == '__main__':\n    with Client(sys.argv[1]) as c:\n"
        "        print(sum(c.gather(c.map(inc, range(12)))))\n"
    )
    running = subprocess.Popen([sys.executable, str(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        assert address.startswith("tcp://127.0.0.1:")
        assert "worker-0" in peephole("top", address).stdout
        out = tmp_path / "only_client.peep"
        assert "78" in peephole("run", "--no-view", "-o", out, client, address).stdout
    finally:
        running.communicate("\n", timeout=120)
    t = tape(open_capture(out))
    assert len(events(t, "COMPUTE", "inc")) == 12
    assert {lane.name for lane in t.lanes if lane.kind == "worker"} == {"worker-0", "worker-1"}


STRANGER = """
import sys
sys.modules["peephole"] = None  # this machine does not have it
import time
right, wrong = time.time, float(sys.argv[1])
time.time = lambda: right() + wrong  # and its clock is not ours
sys.argv = ["dask", *sys.argv[2:]]
if __name__ == "__main__":
    import importlib
    importlib.import_module("distributed.cli.dask_{NAME}").main()
"""

ELSEWHERE = """
import sys
import numpy as np
import peephole
from distributed import Client

def make(i): return np.ones(50_000) * i
def add(a, b): return a + b
def fails(x): raise ValueError("no luck with " + str(x))

if __name__ == "__main__":
    with Client(sys.argv[1]) as client:
        peephole.signal("START_SUM")
        left = client.submit(make, 1, workers=["alpha"])
        right = client.submit(make, 2, workers=["beta"])
        print(float(client.submit(add, left, right, workers=["beta"]).result().sum()))
        bad = client.submit(fails, 7)
        try:
            bad.result()
        except ValueError:
            pass
        peephole.signal("END_SUM")
"""

BUSY = """
import sys
from distributed import Client
with Client(sys.argv[1]) as client:
    print("busy", flush=True)
    for i in range(1_000_000):
        client.submit(int, i).result()
"""

SEVERAL = """
import sys
from distributed import Client

def inc(x): return x + 1

if __name__ == "__main__":
    one, other = Client(sys.argv[1]), Client(sys.argv[1], set_as_default=False)
    print(sum(one.gather(one.map(inc, range(10)))), sum(other.gather(other.map(inc, range(100, 110)))))
    one.close()
    print(sum(other.gather(other.map(inc, range(200, 205)))))
    other.close()
"""

LEFT = """
import sys
from distributed import Client
with Client(sys.argv[1]) as client:
    on = [client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.plugins))]
    on += client.run(lambda dask_worker: list(dask_worker.plugins)).values()
    print([name for names in on for name in names if "peephole" in name])
"""


@pytest.fixture(params=[(0, 0, 0), (3600, -120, 45)], ids=["same clock", "wrong clocks"])
def elsewhere(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A scheduler and two workers that somebody else started, without Peephole, the seconds that their clocks are ahead
    as parameters; gives the address."""
    programs = {name: tmp_path / f"{name}.py" for name in ("scheduler", "worker")}
    for name, path in programs.items():
        path.write_text(STRANGER.replace("{NAME}", name))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PEEPHOLE")}
    file = tmp_path / "scheduler.json"

    def start(name: str, ahead: float, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(programs[name]), str(ahead), *arguments, "--no-dashboard"]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    first, *others = request.param
    started = [start("scheduler", first, "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))]
    try:
        end = time.monotonic() + 60
        while not (file.exists() and file.read_text().strip().endswith("}")):
            assert time.monotonic() < end and started[0].poll() is None
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        for name, ahead in zip(("alpha", "beta"), others, strict=True):
            started.append(start("worker", ahead, address, "--name", name, "--nthreads", "1", "--no-nanny"))
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=120)
        yield address
    finally:
        # asked politely they wait for each other; nobody needs them any more
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def record_client(address: str, out: Path, program: str = ELSEWHERE) -> subprocess.CompletedProcess[str]:
    """Records the client of a scheduler elsewhere."""
    script = out.with_name("program.py")
    script.write_text(program)
    command = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(out), str(script), address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_scheduler_that_somebody_else_started(elsewhere: str, tmp_path: Path) -> None:
    out = tmp_path / "out.peep"
    done = record_client(elsewhere, out)
    assert done.returncode == 0, done.stderr
    assert "150000.0" in done.stdout
    assert "peephole.sources" not in done.stderr  # Dask's words about what it loads
    capture = open_capture(out)
    assert not capture.manifest.problems
    t = tape(capture)
    assert [lane.name for lane in t.lanes] == ["Client", "Dispatcher", "alpha", "beta"]
    ops = {event: {t.ops[i] for i in t.op[t.is_event(event)].tolist()} for event in t.events}
    assert ops["RECV"] >= {"make", "add", "fails"}
    assert ops["DISPATCH"] >= {"make", "add", "fails"}
    assert ops["COMPUTE"] == {"make", "add"}
    assert ops["ERROR"] == {"fails"}
    moved = {(pair.source, pair.target): pair.bytes for pair in pair_stats(t)}
    assert moved["alpha", "beta"] >= 400_000
    # clocks: what a worker computed lies after its dispatch and within the program's signals
    (signal,) = t.signals
    assert signal.name == "SUM" and signal.end is not None
    compute = np.flatnonzero(t.is_event("COMPUTE"))
    assert (t.time[compute] >= signal.start).all() and (t.time[compute] + t.dur[compute] <= signal.end).all()
    add = next(i for i in compute.tolist() if t.ops[int(t.op[i])] == "add")
    sent = next(i for i in np.flatnonzero(t.is_event("DISPATCH")).tolist() if t.ops[int(t.op[i])] == "add")
    assert t.time[sent] <= t.time[add]
    # beta fetches from alpha before it adds, and every arrow goes forward in time, whatever the clocks said
    fetch = int(np.flatnonzero(t.is_event("TRANSFER"))[0])
    assert t.time[sent] <= t.time[fetch] and t.time[fetch] + t.dur[fetch] <= t.time[add] + SLACK
    assert (t.arrows.start <= t.arrows.end + SLACK).all()
    assert plugins_left(elsewhere) == "[]"


def plugins_left(address: str) -> str:
    left = subprocess.run(
        [sys.executable, "-c", LEFT, address], capture_output=True, text=True, timeout=120, check=True
    )
    return left.stdout.strip()


@pytest.mark.parametrize("elsewhere", [(3600, 0, 0)], indirect=True)
def test_several_clients_of_a_scheduler_elsewhere_write_it_once(elsewhere: str, tmp_path: Path) -> None:
    out = tmp_path / "out.peep"
    done = record_client(elsewhere, out, SEVERAL)
    assert done.returncode == 0, done.stderr
    capture = open_capture(out)
    assert not capture.manifest.problems
    t = tape(capture)
    # also what comes after the client that recorded first has gone
    assert len(events(t, "COMPUTE", "inc")) == len(events(t, "DISPATCH", "inc")) == 10 + 10 + 5
    assert len([lane for lane in t.lanes if lane.kind == "client"]) == 2
    assert t.time.max() - t.time.min() < 100e9
    assert plugins_left(elsewhere) == "[]"


@pytest.mark.parametrize("elsewhere", [(3600, 0, 0)], indirect=True)
def test_a_busy_scheduler_s_clock_is_known_before_its_first_word(elsewhere: str, tmp_path: Path) -> None:
    out = tmp_path / "out.peep"
    with subprocess.Popen([sys.executable, "-c", BUSY, elsewhere], stdout=subprocess.PIPE) as busy:
        try:
            assert busy.stdout is not None
            assert busy.stdout.readline() == b"busy\n"
            done = record_client(elsewhere, out)
        finally:
            busy.kill()
    assert done.returncode == 0, done.stderr
    t = tape(open_capture(out))
    assert "int" in t.ops  # what others asked for is on the tape too
    assert t.time.max() - t.time.min() < 100e9
