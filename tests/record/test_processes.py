"""Real programs that end in all ways, fork, spawn and fill the disk."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WORK = """
recording = peephole.record(sys.argv[1])
recording.__enter__()
with peephole.span("outer"):
    for number in range(5000):
        with peephole.span("step"):
            pass
    with peephole.span("last"):
        {end}
"""


def finished(journal: Any) -> int:
    return int(journal.names().count("step"))


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.kill(os.getpid(), 15)", -signal.SIGTERM),
        ("os.abort()", -signal.SIGABRT),
        ("os._exit(7)", 7),
    ],
)
def test_what_was_recorded_is_there_after_a_sudden_end(
    end: str, code: int, program: Any, tmp_path: Path, read_journal: Any
) -> None:
    done = program(WORK.format(end=end), tmp_path / "x.peep")
    assert done.returncode == code, done.stderr
    journal = read_journal(tmp_path / "x.peep")
    assert finished(journal) == 5000
    assert [row["name"] for row in journal.left_open()] == ["outer", "last"]
    assert [facts["clean"] for facts in journal.processes] == [False]
    assert json.loads((tmp_path / "x.peep" / "manifest.json").read_text())["state"] == "recording"


@pytest.mark.parametrize(
    ("end", "code"),
    [("sys.exit(5)", 5), ("raise ValueError('boom')", 1), ("pass", 0), ("raise KeyboardInterrupt", -signal.SIGINT)],
)
def test_an_orderly_end_is_clean_and_sealed(end: str, code: int, program: Any, tmp_path: Path) -> None:
    from peephole.store.capture import open_capture

    done = program(WORK.format(end=end), tmp_path / "x.peep")
    assert done.returncode == code
    capture = open_capture(tmp_path / "x.peep")
    assert capture.manifest.state == "sealed" and capture.manifest.clean
    names = capture.read("slices", ["name"]).texts("name")
    assert list(names).count("step") == 5000


def test_a_killed_program_opens_with_the_store_too(program: Any, tmp_path: Path) -> None:
    from peephole.store.capture import open_capture

    program(WORK.format(end="os.kill(os.getpid(), 9)"), tmp_path / "x.peep")
    capture = open_capture(tmp_path / "x.peep")
    frame = capture.read("slices", ["name", "args"])
    open_names = {
        name
        for name, args in zip(frame.texts("name"), frame.texts("args"), strict=True)
        if args and json.loads(args).get("open")
    }
    assert open_names == {"outer", "last"}
    assert list(frame.texts("name")).count("step") == 5000
    assert not capture.manifest.clean


@pytest.mark.parametrize("seconds", [0.0, 0.013, 0.05, 0.2, 0.41])
def test_killed_at_any_moment_the_events_up_to_it_are_there(seconds: float, tmp_path: Path, read_journal: Any) -> None:
    source = """
import sys, threading, peephole
def work(name):
    number = 0
    while True:
        with peephole.span(name, number=number):
            peephole.node(op=f"{name} {number}", src=range(number % 9))
        number += 1
peephole.record(sys.argv[1]).__enter__()
threading.Thread(target=work, args=("other",), daemon=True).start()
print("ready", flush=True)
work("main")
"""
    command = [sys.executable, "-c", source, str(tmp_path / "x.peep")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as it:
        assert it.stdout is not None
        it.stdout.readline()
        time.sleep(seconds)
        it.kill()
    journal = read_journal(tmp_path / "x.peep")
    for name in ("main", "other"):
        numbers = [json.loads(row["args"])["number"] for row in journal.slices if row["name"] == name]
        nodes = [row["op"] for row in journal.rows["nodes"] if row["op"].startswith(name)]
        assert numbers == list(range(len(numbers)))
        assert nodes == [f"{name} {number}" for number in range(len(nodes))]
        assert 0 <= len(nodes) - len(numbers) <= 1
    assert seconds < 0.1 or len(journal.slices) > 100


def test_spans_that_last_are_there_although_their_name_is_old(program: Any, tmp_path: Path, read_journal: Any) -> None:
    from peephole.store.capture import open_capture

    source = """
    peephole.record(sys.argv[1]).__enter__()
    with peephole.span("epoch"): pass
    with peephole.span("step"): pass
    with peephole.span("epoch"):
        for _ in range(5):
            with peephole.span("step"):
                time.sleep(0.1)
        os.kill(os.getpid(), 9)
    """
    program(source, tmp_path / "x.peep")
    journal = read_journal(tmp_path / "x.peep")
    assert [row["name"] for row in journal.left_open()] == ["epoch"]
    capture = open_capture(tmp_path / "x.peep")
    frame = capture.read("slices", ["name", "args", "dur"])
    rows = zip(frame.texts("name"), frame.texts("args"), frame["dur"].tolist(), strict=True)
    ((name, dur),) = [(name, dur) for name, args, dur in rows if args and "open" in args]
    assert name == "epoch" and dur > 400_000_000, "it lasted until the last that is known of the process"


FORKS = """
import multiprocessing
recorded = peephole.span("work")
def work(number):
    with peephole.span(f"work {number}"):
        peephole.counter("items", number)
if __name__ == "__main__":
    with peephole.record(sys.argv[1]):
        peephole.counter("items", 0)
        with peephole.span("parent"):
            if sys.argv[2] == "os.fork":
                for number in range(3):
                    if os.fork() == 0:
                        work(number)
                        sys.exit(0)
                for number in range(3):
                    os.wait()
            else:
                context = multiprocessing.get_context(sys.argv[2])
                with context.Pool(2) as pool:
                    pool.map(work, range(3), chunksize=1)
                    pool.close()
                    pool.join()
        with peephole.span("after"):
            pass
"""


@pytest.mark.parametrize("method", ["os.fork", "fork", "spawn", "forkserver"])
def test_child_processes_write_into_the_same_capture(method: str, program: Any, tmp_path: Path) -> None:
    from peephole.store.capture import open_capture

    done = program(FORKS, tmp_path / "x.peep", method)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    capture = open_capture(tmp_path / "x.peep")
    assert capture.manifest.problems == []
    frame = capture.read("slices", ["name", "track", "start"])
    names = [str(name) for name in frame.texts("name")]
    assert sorted(names) == ["after", "parent", "work 0", "work 1", "work 2"]
    processes = capture.manifest.processes
    assert len(processes) == len({facts["pid"] for facts in processes}) >= 2
    assert all(facts["clean"] for facts in processes), processes
    tracks = capture.read("tracks", ["id", "process", "kind"])
    pid_of = dict(zip(tracks["id"].tolist(), tracks["process"].tolist(), strict=True))
    pids = {name: pid_of[track] for name, track in zip(names, frame["track"].tolist(), strict=True)}
    assert pids["parent"] == pids["after"] != pids["work 0"]
    # on one clock: the children worked while the parent's span was open
    start = dict(zip(names, frame["start"].tolist(), strict=True))
    assert all(start["parent"] < start[f"work {number}"] < start["after"] for number in range(3))
    assert capture.count("counters") == 4


def test_a_forked_child_knows_the_track_that_its_own_is_under(program: Any, tmp_path: Path) -> None:
    from peephole.store.capture import open_capture

    source = """
    from peephole.record import active
    with peephole.record(sys.argv[1]):
        above = active.recorder.track("GPU", "device")
        if os.fork() == 0:
            active.recorder.slice(active.recorder.track("queue", "copy", above), 0, 10, "moved")
            active.stop()
            os._exit(0)
        os.wait()
    """
    done = program(source, tmp_path / "x.peep")
    assert done.returncode == 0, done.stderr
    capture = open_capture(tmp_path / "x.peep")
    assert capture.manifest.problems == []
    tracks = capture.read("tracks", ["id", "name", "parent"])
    names = dict(zip(tracks["id"].tolist(), tracks.texts("name"), strict=True))
    parents = {names[own]: names.get(above) for own, above in zip(names, tracks["parent"].tolist(), strict=True)}
    assert parents["queue"] == "GPU"


def test_the_number_of_a_killed_process_may_be_another_ones_by_now(tmp_path: Path) -> None:
    from peephole.record import place, process

    capture = tmp_path / "x.peep"
    process.start_capture(str(capture), "killed", ["killed"])
    folder = capture / "journal" / "p00000"
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (folder / "process.json").write_text(json.dumps(process.describe(0) | {"pid": other.pid}))
        assert not process.is_being_written(str(capture))
        place.make_way(str(capture), replace=True)
        other.communicate(b"\n")
    assert not capture.exists()


def test_a_started_interpreter_joins(program: Any, tmp_path: Path, read_journal: Any) -> None:
    source = """
    import subprocess
    with peephole.record(sys.argv[1]):
        code = "import peephole; peephole.span('child').__enter__(); import os; os.kill(os.getpid(), 9)"
        subprocess.run([sys.executable, "-c", code])
    assert "PEEPHOLE" not in os.environ
    code = "import peephole; peephole.span('not recorded').__enter__()"
    subprocess.run([sys.executable, "-c", code], check=True)
    """
    done = program(source, tmp_path / "x.peep")
    assert done.returncode == 0, done.stderr
    from peephole.store.capture import open_capture

    capture = open_capture(tmp_path / "x.peep")
    assert list(capture.read("slices", ["name"]).texts("name")) == ["child"]
    assert [facts["clean"] for facts in capture.manifest.processes] == [True, False]


def test_memory_stays_flat(program: Any, tmp_path: Path) -> None:
    source = """
    import resource
    def grow(count):
        for number in range(count):
            with peephole.span("a"), peephole.span("b"):
                pass
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    recording = peephole.record(sys.argv[1])
    recording.__enter__()
    before = grow(60_000)
    after = grow(100_000)
    print(after - before)
    os._exit(0)
    """
    done = program(source, tmp_path / "x.peep")
    assert int(done.stdout) < 4096, "kB more after 200,000 further spans"


def test_a_span_takes_32_bytes(program: Any, tmp_path: Path) -> None:
    source = """
    recording = peephole.record(sys.argv[1])
    recording.__enter__()
    for number in range(100_000):
        with peephole.span("a"):
            pass
    peephole.record.active.recorder.close()
    os._exit(0)
    """
    program(source, tmp_path / "x.peep")
    size = sum(path.stat().st_size for path in (tmp_path / "x.peep").rglob("*") if path.is_file())
    assert size / 100_000 < 33


FULL = """
import resource
def fill():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
def empty():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
if len(sys.argv) > 2:
    ballast = sys.argv[2] + "/ballast"
    def fill():
        with open(ballast, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)): pass
            except OSError: pass
    def empty():
        os.unlink(ballast)
recording = peephole.record(sys.argv[1])
recording.__enter__()
def steps(name, count):
    for number in range(count):
        with peephole.span(name):
            pass
steps("before", 1000)
fill()
steps("during", 20_000)
peephole.counter("late", 1)
empty()
time.sleep(0.3)
steps("after", 1000)
peephole.counter("late", 2)
print("done")
recording.__exit__(None, None, None)
"""


def check_full_disk(done: Any, capture_path: Path) -> None:
    from peephole.store.capture import open_capture

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1 and "events were lost" in lines[0]
    lost = int(lines[0].split()[1])
    capture = open_capture(capture_path)
    names = list(capture.read("slices", ["name"]).texts("name"))
    assert names.count("before") == 1000 and names.count("after") == 1000
    # one span is in part there: its name or its first row
    assert 0 <= names.count("during") + lost - 20_000 <= 4
    assert capture.manifest.dropped == lost
    # a track that did not fit is written when there is room again
    tracks = capture.read("tracks", ["name", "kind"])
    assert ("late", "counter") in set(zip(tracks.texts("name"), tracks.texts("kind"), strict=True))


def test_a_full_disk_loses_events_and_nothing_else(program: Any, tmp_path: Path) -> None:
    check_full_disk(program(FULL, tmp_path / "x.peep"), tmp_path / "x.peep")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "none", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine lets nobody mount: {done.stderr.decode().strip()}")
    yield folder
    for left in range(40, -1, -1):
        gc.collect()  # a capture that a test opened has files on it until it is collected
        if not subprocess.run(["umount", folder], capture_output=True, check=left == 0).returncode:
            break
        time.sleep(0.25)


def test_a_file_system_that_is_really_full(program: Any, small_disk: Path) -> None:
    check_full_disk(program(FULL, small_disk / "x.peep", small_disk), small_disk / "x.peep")


def test_what_filled_a_disk_opens_while_it_is_full(
    program: Any, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peephole.store.capture import open_capture

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = """
    with peephole.record(sys.argv[1]):
        for number in range(200_000):
            with peephole.span(f"number {number}"):
                pass
    """
    done = program(source, small_disk / "x.peep")
    assert done.returncode == 0 and "events were lost" in done.stderr, done.stderr
    capture = open_capture(small_disk / "x.peep")
    names = sorted(int(str(name).split()[1]) for name in capture.read("slices", ["name"]).texts("name"))
    assert len(names) > 10_000 and names == list(range(len(names)))
    assert capture.manifest.dropped > 0
    assert (small_disk / "x.peep" / "journal").is_dir()


def test_a_capture_that_is_taken_away_does_not_stop_the_program(program: Any, tmp_path: Path) -> None:
    source = """
    import shutil
    with peephole.record(sys.argv[1]):
        for number in range(5000):
            with peephole.span("a"): pass
        shutil.rmtree(sys.argv[1])
        for number in range(20_000):
            with peephole.span("a"): pass
    print("done")
    """
    done = program(source, tmp_path / "x.peep")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert not (tmp_path / "x.peep").exists()


def test_threads_that_write_until_the_very_end(program: Any, tmp_path: Path) -> None:
    source = """
    import threading
    def work():
        while True:
            for _ in range(100):
                with peephole.span("busy"): pass
            time.sleep(0.0005)  # the interpreter's lock is not theirs alone
    peephole.record(sys.argv[1]).__enter__()
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.05)
    """
    from peephole.store.capture import open_capture

    for _ in range(2):
        done = program(source, tmp_path / "x.peep")
        assert (done.returncode, done.stderr) == (0, "")
        capture = open_capture(tmp_path / "x.peep")
        assert capture.count("slices") > 100 and capture.manifest.clean


def test_events_of_a_signal_handler_get_in_between(program: Any, tmp_path: Path) -> None:
    source = """
    import signal
    peephole.span  # loaded now: a handler cannot load what is being loaded
    count = 0
    def handler(*_):
        global count
        count += 1
        with peephole.span("tick", count=count): pass
    signal.signal(signal.SIGALRM, handler)
    with peephole.record(sys.argv[1]):
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        end = time.monotonic() + 1
        steps = 0
        while time.monotonic() < end:
            steps += 1
            with peephole.span("a", step=steps): pass
            with peephole.span(f"name {steps}"): pass
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(count, steps)
    """
    from peephole.store.capture import open_capture

    done = program(source, tmp_path / "x.peep")
    assert done.returncode == 0, done.stderr
    ticks, steps = map(int, done.stdout.split())
    capture = open_capture(tmp_path / "x.peep")
    assert capture.manifest.problems == [] and ticks > 10
    frame = capture.read("slices", ["name", "args"])
    rows = list(zip(frame.texts("name"), frame.texts("args"), strict=True))
    seen = [json.loads(args or "")["count"] for name, args in rows if name == "tick"]
    assert sorted(seen) == list(range(1, ticks + 1))
    assert sorted(json.loads(args or "")["step"] for name, args in rows if name == "a") == list(range(1, steps + 1))


def test_lost_events_are_counted_once_and_blamed_on_what_was_short(program: Any, tmp_path: Path) -> None:
    from peephole.store.capture import open_capture

    source = """
    import resource
    recording = peephole.record(sys.argv[1])
    recording.__enter__()
    with peephole.span("before"): pass
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    for number in range(30_000):
        with peephole.span(f"during {number}", number=number): pass
    peephole.counter("late", 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    time.sleep(0.3)
    with peephole.span("after"): pass
    recording.__exit__(None, None, None)
    """
    done = program(source, tmp_path / "x.peep")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "events were lost: the process had no file descriptor left" in line
    lost = int(line.split()[1])
    capture = open_capture(tmp_path / "x.peep")
    names = [str(name) for name in capture.read("slices", ["name"]).texts("name")]
    assert {"before", "after"} <= set(names)
    assert sum(name.startswith("during") for name in names) + lost == 30_000 + 1, "each span, and the counter's value"
    assert capture.manifest.dropped == lost
    (problem,) = capture.manifest.problems
    assert problem["reason"] == "events that were lost: the process had no file descriptor left"
    assert problem["count"] == lost
