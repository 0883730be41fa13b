"""A capture that is open while its program still writes."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from peephole.errors import PeepholeError
from peephole.store import capture as capture_module
from peephole.store.capture import open_capture
from peephole.store.journal.state import is_live

PROGRAM = """
import sys
from peephole.record import active, process
process.start_capture(sys.argv[1], "live.py", ["live.py"])
recorder = active.start(sys.argv[1])
track = recorder.track("CPU", kind="device")
count = 0
for line in sys.stdin:
    for _ in range(int(line)):
        recorder.slice(track, count * 10, 8, f"k{count % 3}")
        count += 1
    print("done", flush=True)
"""


def test_follows_a_living_process(tmp_path: Path) -> None:
    path = tmp_path / "live.peep"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def write(count: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{count}\n")
        process.stdin.flush()
        process.stdout.readline()

    write(100)
    capture = open_capture(path)
    assert capture.live
    assert capture.manifest.state == "recording"
    assert capture.count("slices") == 100
    total = 100
    for more in (1, 5000, 70_000):
        write(more)
        total += more
        deadline = time.monotonic() + 90
        while not capture.refresh() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert capture.count("slices") == total
        assert capture.lanes().count.tolist() == [total]
        assert capture.read("slices", ["start"])["start"].tolist() == [i * 10 for i in range(total)]
    time.sleep(0.5)
    assert not capture.refresh()
    assert (path / "journal").is_dir(), "nobody may take the journal from a living process"
    process.stdin.close()
    process.stdout.close()
    assert process.wait() == 0
    deadline = time.monotonic() + 90
    while capture.live and time.monotonic() < deadline:
        capture.refresh()
        time.sleep(0.02)
    assert not capture.live
    assert capture.manifest.clean
    assert capture.count("slices") == total
    assert not (path / "journal").exists()
    capture.close()


FORKS = """
import os, sys
from peephole.record import active, process
process.start_capture(sys.argv[1], "live.py", ["live.py"])
recorder = active.start(sys.argv[1])
recorder.slice(recorder.track("CPU", kind="device"), 0, 8, "parent")
print("written", flush=True)
sys.stdin.readline()
if os.fork() == 0:
    recorder.slice(recorder.track("CPU", kind="device"), 10, 8, "child")
    print("written", flush=True)
    sys.stdin.readline()
"""


def test_goes_on_with_a_child_that_outlives_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "live.peep"
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdout.readline()
    capture = open_capture(path)
    assert capture.count("slices") == 1
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()
    assert process.wait() == 0  # the child reads on from the same pipe
    deadline = time.monotonic() + 90
    while capture.count("slices") == 1 and time.monotonic() < deadline:
        capture.refresh()
        time.sleep(0.02)
    assert capture.live
    assert sorted(map(str, capture.read("slices", ["name"]).texts("name"))) == ["child", "parent"]
    process.stdin.close()
    while capture.live and time.monotonic() < deadline:
        capture.refresh()
        time.sleep(0.02)
    assert not capture.live
    assert capture.count("slices") == 2
    process.stdout.close()
    capture.close()


@contextmanager
def recorded(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has written one slice into a new capture and waits."""
    command = [sys.executable, "-c", PROGRAM, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("1\n")
        process.stdin.flush()
        process.stdout.readline()
        yield process
        process.stdin.close()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def tell(path: Path, **facts: object) -> None:
    """Puts facts into what the capture's first process said about itself; None removes one."""
    file = path / "journal" / "p00000" / "process.json"
    told = json.loads(file.read_text()) | facts
    file.write_text(json.dumps({name: value for name, value in told.items() if value is not None}))


def test_a_recorded_program_with_a_reused_number_is_not_the_writer(tmp_path: Path) -> None:
    killed, other = tmp_path / "a" / "x.peep", tmp_path / "b" / "x.peep"
    with recorded(killed) as first:
        kill(first)
    with recorded(other) as second:
        tell(killed, pid=second.pid)
        assert is_live(other) and not is_live(killed)
        capture = open_capture(killed)
        assert not capture.live and capture.manifest.state == "sealed"
        capture.close()


def test_a_capture_without_the_start_of_its_process_goes_by_its_number_and_journal(tmp_path: Path) -> None:
    path, twin = tmp_path / "x.peep", tmp_path / "y.peep"
    with recorded(path):
        tell(path, born=None)
        assert is_live(path)
        shutil.copytree(path, twin)
        assert not is_live(twin), "the program writes into the one that was copied"


def test_a_copy_of_the_same_name_is_not_live(tmp_path: Path) -> None:
    path, twin = tmp_path / "a" / "x.peep", tmp_path / "b" / "x.peep"
    with recorded(path) as process:
        shutil.copytree(path, twin)
        assert is_live(path) and not is_live(twin)
        more(process, 5000)
        assert is_live(path) and not is_live(twin), "what the program has begun since is not there"
        capture = open_capture(twin)
        assert not capture.live and capture.count("slices") == 1
        capture.close()
        shutil.copytree(path, tmp_path / "c" / "x.peep")
        shutil.rmtree(path)
        assert not is_live(tmp_path / "c" / "x.peep"), "nobody can see what the program writes now"


def test_a_capture_is_live_by_any_of_its_names(tmp_path: Path) -> None:
    path, link, moved = tmp_path / "x.peep", tmp_path / "link.peep", tmp_path / "into" / "new\nname.peep"
    moved.parent.mkdir()
    with recorded(path):
        link.symlink_to(path)
        assert is_live(link)
        path.rename(moved)
        assert is_live(moved)
    assert not is_live(moved)


def more(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{count}\n")
    process.stdin.flush()
    process.stdout.readline()


def refreshed(capture: capture_module.Capture) -> bool:
    """Whether something new was picked up; it may not be time for another look yet."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if capture.refresh():
            return True
        time.sleep(0.02)
    return False


def test_a_process_that_joins_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looked first saw nobody; by the time that it is to be sealed somebody writes."""
    looks = iter([False])
    monkeypatch.setattr(capture_module, "is_live", lambda folder: next(looks, True))
    with recorded(tmp_path / "x.peep") as process:
        capture = open_capture(tmp_path / "x.peep")
        assert capture.live and capture.count("slices") == 1
        journal = capture._journal
        assert journal is not None
        monkeypatch.setattr(journal, "alive", lambda: False)
        more(process, 5)
        assert refreshed(capture) and capture.live and capture.count("slices") == 6
        capture.close()


def test_no_room_for_the_next_look_leaves_the_last_one(tmp_path: Path) -> None:
    with recorded(tmp_path / "x.peep") as process:
        capture = open_capture(tmp_path / "x.peep")
        more(process, 5)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
        try:
            with pytest.raises(PeepholeError, match="cannot be written"):
                refreshed(capture)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert capture.read("slices", ["start"])["start"].tolist() == [0]
        assert list(capture.read("tracks", ["name"]).texts("name")) == ["CPU"]
        assert refreshed(capture) and capture.count("slices") == 6
        capture.close()
