"""Real Dask clusters of four processes, recorded by the real command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.tape_events import events

from peephole.query.tape.diagnosis import diagnoses
from peephole.query.tape.stats import lane_stats, pair_stats, patterns
from peephole.query.tape.tape import Tape, tape
from peephole.render.tape.layout import layout
from peephole.store.capture import open_capture

ROOT = Path(__file__).resolve().parents[3]

FAILING = '''
"""A task that fails, a worker that dies, a client in the middle of it."""
import os, time
import peephole
from distributed import Client, LocalCluster, wait

def fails(x):
    raise ValueError("no luck with " + str(x))

def dies(x):
    os._exit(3)

def fine(x):
    return x + 1

if __name__ == "__main__":
    options = dict(n_workers=2, threads_per_worker=2, processes=True, host="127.0.0.1", dashboard_address=None)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        peephole.signal("bad things")
        bad = client.submit(fails, 7)
        wait([bad])
        dead = client.submit(dies, 1, retries=0)
        time.sleep(0.5)
        dead.cancel()
        client.wait_for_workers(2, timeout=120)
        print(sum(client.gather(client.map(fine, range(20)))))
'''

ODD = '''
"""Tasks that are tried again, that ask for tasks themselves, clients with names, a fork, times that are no numbers."""
import multiprocessing, time
import peephole
from distributed import Client, LocalCluster, worker_client

tried = []

def flaky():
    tried.append(1)
    if len(tried) == 1:
        raise ValueError("only the first time")
    return len(tried)

def inc(x):
    time.sleep(0.002)
    return x + 1

def asks(n):
    with worker_client() as client:
        return sum(client.gather(client.map(inc, range(n), pure=False)))

def child():
    with peephole.span("forked"):
        time.sleep(0.001)

if __name__ == "__main__":
    options = dict(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        print("flaky", client.submit(flaky, retries=3).result())
        print("asks", client.submit(asks, 5).result())
        with Client(cluster, name="trainer", set_as_default=False) as one:
            with Client(cluster, name="trainer", set_as_default=False) as other:
                print("named", one.submit(inc, 100).result(), other.submit(inc, 200).result())
        result = client.submit(inc, 300)
        result.result()

        def tell(startstops):
            facts = {"worker": cluster.workers[0].address, "nbytes": 28, "thread": 1, "startstops": startstops}
            cluster.scheduler._peephole.transition(result.key, "processing", "memory", **facts)

        async def odd():
            tell([{"action": "compute"}])
            tell([{"action": "compute", "start": float("nan"), "stop": 1.0}])
            tell([{"action": "compute", "start": None, "stop": 1.0}])
            tell([{"action": "compute", "start": 1e300, "stop": 1e300}])
            cluster.scheduler._peephole.log_event("peephole-transfers", {"worker": 1, "transfers": [3]})

        cluster.sync(odd)
        forked = multiprocessing.get_context("fork").Process(target=child)
        client.gather(client.map(inc, range(400, 403)))
        forked.start()
        forked.join()
'''

CLUSTERS = '''
"""Two clusters at the same time, and another one when they are gone."""
import peephole
from distributed import Client, LocalCluster

def inc(x):
    return x + 1

def start(name):
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    return cluster, Client(cluster, set_as_default=False)

if __name__ == "__main__":
    both = [start("one"), start("other")]
    peephole.signal("together")
    print([sum(client.gather(client.map(inc, range(10)))) for _, client in both])
    for cluster, client in both:
        client.close()
        cluster.close()
    cluster, client = start("next")
    print(sum(client.gather(client.map(inc, range(5)))))
    client.close()
    cluster.close()
'''

OWN = {"failing.py": FAILING, "odd.py": ODD, "clusters.py": CLUSTERS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the captures of `recorded` are."""
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Callable[[str], Tape]:
    """The tape of an example, recorded once."""
    known: dict[str, Tape] = {}

    def get(name: str) -> Tape:
        if name not in known:
            script = ROOT / "examples" / name
            if name in OWN:
                script = folder / name
                script.write_text(OWN[name])
            out = folder / f"{name}.peep"
            done = subprocess.run(
                [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(out), str(script)],
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
                env={**os.environ, "PEEPHOLE_DIR": str(folder)},
            )
            assert done.returncode == 0, done.stderr
            capture = open_capture(out)
            assert not [p for p in capture.manifest.problems if "attach" in str(p)], capture.manifest.problems
            if name == "odd.py":
                assert "plugin" not in done.stderr.lower() and "callback" not in done.stderr, done.stderr
            known[name] = tape(capture)
        return known[name]

    return get


def rows_of(capture: Path) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Beginning and end of what is in each row of each track; moments take no room."""
    frame = open_capture(capture).read("slices", ["track", "depth", "start", "dur"])
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    columns = (frame[name].tolist() for name in ("track", "depth", "start", "dur"))
    for track, depth, start, dur in zip(*columns, strict=True):
        if dur:
            found.setdefault((track, depth), []).append((start, start + dur))
    return found


def test_the_seed_program_on_four_workers(recorded: Callable[[str], Tape]) -> None:
    t = recorded("dask_matmul.py")
    assert t.engine == "dask"
    assert [lane.name for lane in t.lanes] == ["Client", "Dispatcher", "worker-0", "worker-1", "worker-2", "worker-3"]
    assert len(events(t, "COMPUTE", "matmul")) == 4
    assert len(events(t, "COMPUTE", "relu")) == 4
    assert len(events(t, "COMPUTE", "sum")) == 5
    assert len(events(t, "DISPATCH")) == len(events(t, "COMPUTE")) == 5 + 4 + 4 + 5
    assert len(events(t, "CONNECT")) == 4
    assert len(events(t, "RELEASE")) >= 10
    assert set(t.lane[events(t, "COMPUTE", "matmul")].tolist()) == {2, 3, 4, 5}
    # three workers fetch the second matrix from the first: 100 x 100 doubles
    fetched = events(t, "TRANSFER", "randn")
    assert len(fetched) == 3
    assert all(80_000 <= size < 81_000 for size in t.size[fetched].tolist())
    assert [signal.name for signal in t.signals] == ["RANDOM", "FORWARD"]


def test_clocks_of_all_processes_agree(recorded: Callable[[str], Tape]) -> None:
    """A task is dispatched before it computes, and it is reported after: the clocks are three processes'."""
    t = recorded("dask_matmul.py")
    slack = 2_000_000
    arrows = t.arrows
    launched = 0
    for i in range(len(arrows)):
        event = int(arrows.event[i])
        if event >= 0 and t.events[int(t.event[event])] in ("COMPUTE", "DISPATCH"):
            assert arrows.start[i] <= arrows.end[i] + slack
            launched += 1
    assert launched >= 2 * len(events(t, "COMPUTE"))
    random, forward = t.signals
    first = events(t, "COMPUTE", "matmul")
    assert random.end is not None
    assert (t.time[first] >= random.end - slack).all()
    assert (t.time[first] <= (forward.end or 0)).all()


def test_transfers_have_arrows_and_bytes(recorded: Callable[[str], Tape]) -> None:
    t = recorded("dask_matmul.py")
    pairs = {(p.source, p.target): p for p in pair_stats(t)}
    moved = [p for (a, b), p in pairs.items() if a.startswith("worker-") and b.startswith("worker-")]
    assert sum(p.messages for p in moved) >= 3
    assert sum(p.bytes for p in moved) >= 240_000
    assert pairs["Client", "Dispatcher"].messages >= 10


def test_all_reduce_is_named(recorded: Callable[[str], Tape]) -> None:
    t = recorded("dask_allreduce.py")
    found = [pattern for pattern in patterns(t) if pattern.name == "all-reduce"]
    assert len(found) == 1
    assert "6,000,000 bytes; then from" in found[0].words.replace("6,000,288", "6,000,000")
    stats = {lane.name: lane for lane in lane_stats(t)}
    assert all(stats[f"worker-{i}"].bytes_in >= 2_000_000 for i in range(4))


def test_the_same_picture_serves_it(recorded: Callable[[str], Tape]) -> None:
    picture = layout(recorded("dask_allreduce.py"))
    assert [lane.kind for lane in picture.lanes] == ["client", "dispatcher", *["worker"] * 4]
    assert len(picture.bars) >= 6  # computing and transfers have lengths
    assert any(label.role == "signal" and label.text == "allreduce" for label in picture.labels)
    assert any(item.text == "TRANSFER" for item in picture.legend)


def test_failures_and_a_lost_worker(recorded: Callable[[str], Tape]) -> None:
    t = recorded("failing.py")
    (error,) = events(t, "ERROR", "fails").tolist()
    assert "no luck with 7" in t.details[error]
    found = {finding.kind: finding.words for finding in diagnoses(t)}
    assert "no luck with 7" in found["errors"]
    assert found["worker-lost"].startswith("Workers left before the work was done")
    assert len(events(t, "CONNECT")) >= 3  # the nanny started another one
    assert len(events(t, "COMPUTE", "fine")) == 20


def test_a_failure_that_is_tried_again_is_a_failure(recorded: Callable[[str], Tape]) -> None:
    t = recorded("odd.py")
    (error,) = events(t, "ERROR", "flaky").tolist()
    assert "only the first time" in t.details[error]
    assert len(events(t, "DISPATCH", "flaky")) == 2
    (done,) = events(t, "COMPUTE", "flaky").tolist()
    assert t.time[error] <= t.time[done]


def test_each_message_says_what_it_is_about(recorded: Callable[[str], Tape], folder: Path, peephole: Any) -> None:
    recorded("odd.py")
    lines = peephole("show", folder / "odd.py.peep", "-s", "Messages", "-i", "flaky").stdout.splitlines()[1:]
    assert {"RECV", "DISPATCH", "ERROR", "COMPUTE", "SEND", "RELEASE"} == {line.split()[2] for line in lines}
    assert all("flaky" in line for line in lines)


def test_clients_of_one_name_are_told_apart(recorded: Callable[[str], Tape]) -> None:
    names = [lane.name for lane in recorded("odd.py").lanes if lane.kind == "client"]
    assert [name.rstrip("0123456789abcdef") for name in names] == ["Client", "Client trainer-", "Client trainer-"]
    assert len(set(names)) == 3


def test_no_two_slices_share_a_row_at_a_time(recorded: Callable[[str], Tape], folder: Path) -> None:
    """A task that asks for others leaves its thread to them, and goes on for as long as they do."""
    t = recorded("odd.py")
    (asking,) = events(t, "COMPUTE", "asks").tolist()
    inner = [i for i in events(t, "COMPUTE", "inc").tolist() if "inc-" in t.details[i]]
    begin, end = t.time[asking], t.time[asking] + t.dur[asking]
    assert sum(begin <= t.time[i] and t.time[i] + t.dur[i] <= end for i in inner) >= 5
    for row in rows_of(folder / "odd.py.peep").values():
        for (_, busy), (start, _) in pairwise(sorted(row)):
            assert busy <= start


def test_what_dask_cannot_have_meant_costs_nothing_else(recorded: Callable[[str], Tape]) -> None:
    t = recorded("odd.py")
    problems = {reason: count for reason, count, _ in t.problems}
    assert problems == {
        "Dask told what is not understood (KeyError)": 1,
        "Dask told what is not understood (AttributeError)": 1,
        "Dask told times or sizes that are no numbers": 3,
    }


def test_a_forked_child_does_not_write_what_its_parent_will(recorded: Callable[[str], Tape]) -> None:
    t = recorded("odd.py")
    keys = [t.details[i] for i in events(t, "COMPUTE", "inc").tolist()]
    assert len(keys) == len(set(keys)) == 5 + 2 + 1 + 3


def test_clusters_at_the_same_time_are_runs_of_their_own(recorded: Callable[[str], Tape], folder: Path) -> None:
    first = recorded("clusters.py")
    second = tape(open_capture(folder / "clusters.py.peep"), 2)
    assert [session.name for session in first.sessions] == ["cluster 1", "cluster 2"]
    for t in (first, second):
        assert [lane.name for lane in t.lanes] == ["Client", "Dispatcher", "worker-0", "worker-1"]
        assert [signal.name for signal in t.signals] == ["together"]
        assert not [p for p in t.problems if "track" in p[0]]
    # one after another they share their lanes
    assert len(events(first, "COMPUTE", "inc")) == 10 + 5
    assert len(events(second, "COMPUTE", "inc")) == 10


ROWS = """
import time
from peephole.record import active
from peephole.sources.dask.rows import TapeRows

rows = TapeRows(active.recorder, "1")
lane = rows.cluster.worker("tcp://w", 0, 1)
second = 1_000_000_000
sent = time.perf_counter_ns()
wall = time.time()
for key, early in (("early", -0.5), ("late", 0.5), ("right", 0.0)):
    dispatched = (key, sent, key, None, 0, None, (), ())
    done = (key, sent + second, key, lane, 8, 1, (wall + early + 0.4, wall + early + 0.6), ())
    rows.write([dispatched, done])
fetched = {"start": wall + 1.2, "stop": wall + 1.5, "total": 8, "keys": ["x"], "op": "fetched"}
rows.cluster.transfer(sent + second, fetched, rows.cluster.worker("tcp://v", 1, 1), lane)
"""


def test_a_worker_s_clock_is_put_right_by_what_must_come_before_and_after(tmp_path: Path) -> None:
    script, out = tmp_path / "rows.py", tmp_path / "out.peep"
    script.write_text(ROWS)
    command = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(out), str(script)]
    subprocess.run(command, check=True, timeout=120)
    t = tape(open_capture(out))
    sent = int(t.time[events(t, "DISPATCH")[0]])
    found = {t.ops[int(t.op[i])]: (int(t.time[i]) - sent, int(t.dur[i])) for i in events(t, "COMPUTE").tolist()}
    assert found["early"][0] == 0
    assert sum(found["late"]) == 1_000_000_000
    assert abs(found["right"][0] - 400_000_000) < 50_000_000
    assert all(abs(dur - 200_000_000) < 1000 for _, dur in found.values())
    (fetched,) = events(t, "TRANSFER").tolist()
    assert int(t.time[fetched] + t.dur[fetched]) - sent == 1_000_000_000
    assert abs(t.dur[fetched] - 300_000_000) < 1000
