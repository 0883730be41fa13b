"""A capture that is open while its program still writes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from peephole.store.capture import open_capture

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
        deadline = time.monotonic() + 30
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
    deadline = time.monotonic() + 30
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
    deadline = time.monotonic() + 30
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
