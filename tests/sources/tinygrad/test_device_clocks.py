"""Kernels on devices with a clock of their own, whose offset tinygrad tells at the end: there while the program runs.

No such device is needed: the program appends the events that tinygrad's runtimes for them append.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.sources.tinygrad.runs import environment, under_peephole

from peephole.store.capture import Capture, open_capture

LAG = 50
"""Microseconds from a kernel's submission to its beginning: an estimate cannot know them."""
OFFSETS = {"AMD": 5_000_000_000, "AMD:1": -7_000_000_000}
PROGRAM = f"""
import json, sys
from decimal import Decimal
from tinygrad.device import Compiled, ProfileDeviceEvent, ProfileGraphEntry, ProfileGraphEvent
from tinygrad.helpers import ProfilePointEvent, ProfileRangeEvent, cpu_events, perf_counter_us

OFFSETS = {OFFSETS}

def submitted(device, name):
    at = perf_counter_us() - 1000
    cpu_events.append(ProfilePointEvent(device, "exec", None, {{"name": name, "bufs": ()}}, at))
    return at - OFFSETS[device] + {LAG}

def kernels(device, count):
    for number in range(count):
        begin = submitted(device, f"kernel{{number}}")
        Compiled.profile_events.append(ProfileRangeEvent(device, f"kernel{{number}}", begin, begin + 20))
        print(json.dumps([device, f"kernel{{number}}", str(begin + OFFSETS[device])]))

def batch(device):
    begin = submitted(device, "batched 2")
    entries = [ProfileGraphEntry(device, "first", 0, 1), ProfileGraphEntry(device, "second", 1, 2)]
    Compiled.profile_events.append(ProfileGraphEvent(entries, [[], [0]], [begin, begin + 10, begin + 30]))
    for name, at in ((f"{{device}} Graph", begin), ("first", begin), ("second", begin + 10)):
        track, name = (name, "batched 2") if name.endswith("Graph") else (device, name)
        print(json.dumps([track, name, str(at + OFFSETS[device])]))

def known(device):
    Compiled.profile_events.append(ProfileDeviceEvent(device, Decimal(OFFSETS[device])))

for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""

Rows = list[tuple[str, str, int]]


class Program:
    """The program above, told line by line what to do."""

    def __init__(self, folder: Path) -> None:
        script = folder / "program.py"
        script.write_text(PROGRAM)
        self.capture = folder / "clocks.peep"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "peephole", "run", "-o", str(self.capture), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(folder, "PYTHON"),
            start_new_session=True,
        )

    def do(self, line: str) -> Rows:
        """What it ran: track, name and begin on the host's clock."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        rows = []
        while (said := self.process.stdout.readline().strip()) != "done":
            assert said, "the program has ended"
            track, name, begin = json.loads(said)
            rows.append((track, name, int(Decimal(begin) * 1000)))
        return rows

    def end(self) -> None:
        """Lets it end in order."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(120) == 0


@contextmanager
def running(folder: Path) -> Iterator[Program]:
    """The program, killed afterwards when it still runs."""
    program = Program(folder)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()
        for stream in (program.process.stdin, program.process.stdout):
            if stream is not None:
                stream.close()


def kernels(capture: Capture) -> Rows:
    """The slices on the device's tracks."""
    tracks, slices = capture.read("tracks"), capture.read("slices")
    names = dict(zip(tracks["id"].tolist(), tracks.texts("name"), strict=True))
    found = [
        (str(names[int(slices["track"][i])]), str(slices.texts("name")[i]), int(slices["start"][i]))
        for i in range(len(slices))
    ]
    return sorted(row for row in found if row[0].startswith("AMD"))


def estimated(rows: Rows) -> Rows:
    """Where kernels are while only their submission tells."""
    return sorted((track, name, begin - LAG * 1000) for track, name, begin in rows)


def problems(capture: Capture) -> dict[str, Any]:
    """Count by reason."""
    return {problem["reason"]: problem["count"] for problem in capture.manifest.problems}


def see(program: Program, rows: Rows) -> Capture:
    """The live view once it has these rows."""
    deadline = time.monotonic() + 60
    while not program.capture.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    live = open_capture(program.capture)
    assert live.live
    follow(live, rows)
    return live


def follow(live: Capture, rows: Rows) -> None:
    """Waits until the live view has exactly these rows."""
    deadline = time.monotonic() + 60
    while kernels(live) != rows and time.monotonic() < deadline:
        live.refresh()
        time.sleep(0.02)
    assert kernels(live) == rows


def test_seen_live_and_there_after_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        ran = program.do("kernels('AMD', 5); kernels('AMD:1', 3); batch('AMD')")
        live = see(program, estimated(ran))
        ran += program.do("kernels('AMD', 2)")
        follow(live, estimated(ran))
        live.close()
        os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()
        killed = open_capture(program.capture)
        assert not killed.manifest.clean
        assert kernels(killed) == estimated(ran)
        assert problems(killed) == {
            "kernels of AMD on an estimated clock": 9,
            "kernels of AMD:1 on an estimated clock": 3,
            "kernels of AMD Graph on an estimated clock": 1,
        }
        killed.close()


def test_replaced_at_an_orderly_end(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        ran = program.do("kernels('AMD', 5); kernels('AMD:1', 3); batch('AMD')")
        see(program, estimated(ran)).close()
        ran += program.do("kernels('AMD', 2); known('AMD'); known('AMD:1')")
        program.end()
        capture = open_capture(program.capture)
        assert capture.manifest.clean
        assert kernels(capture) == sorted(ran)
        assert problems(capture) == {}
        assert capture.count("flows") == 1
        capture.close()


def test_replaced_in_the_live_view_and_after_a_kill(tmp_path: Path) -> None:
    """The device says its offset, the process goes on; another device's kernels are estimated meanwhile."""
    with running(tmp_path) as program:
        ran = program.do("kernels('AMD', 5)")
        live = see(program, estimated(ran))
        ran += program.do("kernels('AMD', 1); known('AMD')")
        follow(live, sorted(ran))
        assert problems(live) == {}
        later = program.do("kernels('AMD:1', 2)")
        follow(live, sorted(ran + estimated(later)))
        live.close()
        os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()
        killed = open_capture(program.capture)
        assert kernels(killed) == sorted(ran + estimated(later))
        assert problems(killed) == {"kernels of AMD:1 on an estimated clock": 2}
        killed.close()


def test_a_device_that_never_says_its_offset(tmp_path: Path) -> None:
    with running(tmp_path) as program:
        ran = program.do("kernels('AMD', 3)")
        program.end()
        capture = open_capture(program.capture)
        assert capture.manifest.clean
        assert kernels(capture) == estimated(ran)
        assert problems(capture) == {"kernels of AMD on an estimated clock": 3}
        capture.close()


def test_a_name_of_the_programs_own_is_on_the_hosts_clock(tmp_path: Path) -> None:
    """At once, so that it is there after SIGKILL too, and nobody is warned of an estimate."""
    program = """
import time
from tinygrad import Tensor
from tinygrad.helpers import cpu_profile
with cpu_profile("batch", "LOADER:1 N1"):
    with cpu_profile("decode", "LOADER"): (Tensor([1.0]) + 1).realize()
"""
    capture = under_peephole(tmp_path / "live", program, "PYTHON")
    assert capture.manifest.problems == []
    slices, tracks = capture.read("slices"), capture.read("tracks")
    lanes = {int(tracks["id"][i]): tracks.texts("name")[i] for i in range(len(tracks))}
    when = {
        lanes[int(slices["track"][i])]: (int(slices["start"][i]), int(slices["start"][i] + slices["dur"][i]))
        for i in range(len(slices))
        if slices.texts("name")[i] in ("batch", "decode")
    }
    (begin, end), (inner, ended) = when["LOADER:1 N1"], when["LOADER"]
    host = [i for i in range(len(slices)) if lanes[int(slices["track"][i])] == "TINY"]
    assert begin <= inner <= min(int(slices["start"][i]) for i in host) and ended <= end
