"""Programs that do unusual things run as they would without a recording."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from peephole.store.capture import open_capture


def names_of(capture: Path) -> list[str]:
    return [str(name) for name in open_capture(capture).read("slices", ["name"]).texts("name")]


def test_spans_in_finalizers_of_a_collection_inside_enter(program: Any, tmp_path: Path) -> None:
    source = """
    import contextvars, gc
    class Node:
        def __init__(self):
            self.me = self
        def __del__(self):
            global ended
            ended += 1
            with peephole.span("finalizer"), peephole.span("within"):
                pass
    ended = 0
    others = [contextvars.ContextVar(f"v{n}") for n in range(40)]
    with peephole.record(sys.argv[1]):
        for number in range(300):
            for other in others[: number % 40]:
                other.set(number)
            gc.set_threshold(number % 7 + 1)
            for _ in range(10):
                Node()
                with peephole.span("a"), peephole.span("b"):
                    others[0].set(object())
        gc.set_threshold(700)
        gc.collect()
    print(ended)
    """
    done = program(source, tmp_path / "x.peep")
    assert (done.returncode, done.stderr) == (0, "")
    names = names_of(tmp_path / "x.peep")
    ended = int(done.stdout)
    assert ended == 3000
    assert {name: names.count(name) for name in set(names)} == {
        "a": 3000,
        "b": 3000,
        "finalizer": ended,
        "within": ended,
    }
    assert open_capture(tmp_path / "x.peep").manifest.problems == []


def test_generators_that_the_collector_ends_inside_a_context_variable(program: Any, tmp_path: Path) -> None:
    source = """
    import contextvars, gc
    variable = contextvars.ContextVar("v")
    @peephole.span("generator")
    def generator(box):
        with peephole.span("in generator"):
            yield box
    gc.set_threshold(1)
    with peephole.record(sys.argv[1]):
        for number in range(2000):
            box = []
            box.append(generator(box))
            next(box[0])
            variable.set(object())
    """
    done = program(source, tmp_path / "x.peep")
    assert (done.returncode, done.stderr) == (0, "")
    names = names_of(tmp_path / "x.peep")
    assert (names.count("generator"), names.count("in generator")) == (2000, 2000)


def test_a_callback_of_the_collector_may_use_spans(program: Any, tmp_path: Path) -> None:
    source = """
    import gc
    count = 0
    def callback(phase, info):
        global count
        count += 1
        with peephole.span(phase):
            pass
    gc.callbacks.append(callback)
    with peephole.record(sys.argv[1]):
        gc.callbacks.append(callback)
        for threshold in (1, 2, 3):
            gc.set_threshold(threshold)
            for _ in range(500):
                with peephole.span("a", b=[[]]):
                    pass
        before = list(gc.callbacks)
    assert gc.callbacks == [callback, callback], gc.callbacks
    """
    done = program(source, tmp_path / "x.peep")
    assert (done.returncode, done.stderr) == (0, "")
    names = names_of(tmp_path / "x.peep")
    assert names.count("a") == 1500 and names.count("start") > 100 and names.count("stop") > 100


CLOSES = """
import resource
def loop(count):
    for number in range(count):
        with peephole.span("a"):
            pass
recording = peephole.record(sys.argv[1])
recording.__enter__()
loop(1000)
os.closerange(3, 256)
files = [open(f"{sys.argv[2]}/{number}", "w") for number in range(40)]
loop(600_000)
recording.__exit__(None, None, None)
for file in files:
    file.write("whole")
    file.close()
print("done")
"""


def test_descriptors_that_the_program_opened_since_stay_open(program: Any, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    done = program(CLOSES, tmp_path / "x.peep", tmp_path / "files")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert {path.read_text() for path in (tmp_path / "files").iterdir()} == {"whole"}
    assert names_of(tmp_path / "x.peep").count("a") == 601_000


def test_descriptors_closed_at_every_step_of_a_roll(tmp_path: Path) -> None:
    source = """
    import os, signal, sys, threading
    import peephole
    from peephole.record import active, process, segment
    from tests.record.interrupts import Steps
    segment.FIRST_BYTES = segment.LARGEST_BYTES = 1024
    process.start_capture(sys.argv[1], "x", [])
    active.start(sys.argv[1])
    def interrupt():
        os.closerange(3, 64)
        files[:] = [os.open(f"{sys.argv[2]}/{number}", os.O_RDWR | os.O_CREAT) for number in range(12)]
        known[:] = [os.fstat(file).st_ino for file in files]
    files, known = [], []
    step = 0
    while True:
        step += 1
        steps = Steps(step, interrupt)
        del files[:], known[:]
        with steps:
            for _ in range(31):
                sys.settrace(None)
                place = active.recorder.slot().writer.place
                full = getattr(place, "size", 0) and place.size - place.tell() < 32
                sys.settrace(steps._trace if full else None)
                with peephole.span("a"):
                    pass
        if steps.seen < step:
            break
        for file, inode in zip(files, known, strict=True):
            assert os.fstat(file).st_ino == inode, (step, file)
            os.close(file)
        assert all(os.path.getsize(f"{sys.argv[2]}/{number}") == 0 for number in range(12)), step
    print(step)
    """
    (tmp_path / "files").mkdir()
    command = [sys.executable, "-c", textwrap.dedent(source), str(tmp_path / "x.peep"), str(tmp_path / "files")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 400


def test_thousands_of_tasks_cost_little_each(program: Any, tmp_path: Path) -> None:
    source = """
    import asyncio
    async def task(number):
        with peephole.span("task"):
            await asyncio.sleep(0)
            with peephole.span("part"):
                await asyncio.sleep(0)
    async def main(count):
        await asyncio.gather(*(task(number) for number in range(count)))
    def cost(count):
        begin = time.process_time()
        asyncio.run(main(count))
        return time.process_time() - begin
    with peephole.record(sys.argv[1]):
        print(cost(1000), cost(20_000))
    """
    done = program(source, tmp_path / "x.peep")
    assert (done.returncode, done.stderr) == (0, "")
    few, many = map(float, done.stdout.split())
    assert many < 20 * few * 3, "the cost of a task does not grow with their number"
    names = names_of(tmp_path / "x.peep")
    assert (names.count("task"), names.count("part")) == (21_000, 21_000)


HANGS = {
    "sleep": "time.sleep(60)",
    "busy": "while True: pass",
    "under the lock": "int('9' * 4000) ** 200_000",
    "lock": "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "deep": "with peephole.span('step'):\n            with peephole.span('step'):\n                time.sleep(60)",
    "handler": "import signal; signal.signal(signal.SIGALRM, hang); signal.alarm(1); time.sleep(60)",
    "finalizer": "F(); time.sleep(60)",
}


@pytest.mark.parametrize("how", HANGS)
def test_the_span_in_which_a_program_hangs_is_there(how: str, tmp_path: Path) -> None:
    source = f"""
import sys, time, peephole
def hang(*_):
    with peephole.span("step"):
        time.sleep(60)
class F:
    def __del__(self):
        hang()
peephole.record(sys.argv[1]).__enter__()
def step(number):
    with peephole.span("step"):
        if number < 2000:
            return
        print("ready", flush=True)
        {HANGS[how]}
for number in range(2001):
    step(number)
"""
    command = [sys.executable, "-X", "int_max_str_digits=0", "-c", source, str(tmp_path / "x.peep")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as it:
        assert it.stdout is not None
        it.stdout.readline()
        time.sleep(1.5 if how == "handler" else 0.2)
        it.send_signal(signal.SIGKILL)
    frame = open_capture(tmp_path / "x.peep").read("slices", ["name", "args", "depth"])
    rows = zip(frame.texts("name"), frame.texts("args"), frame["depth"].tolist(), strict=True)
    left = sorted((depth, str(name)) for name, args, depth in rows if args and "open" in args)
    depths = {"deep": 3, "handler": 2, "finalizer": 2}.get(how, 1)
    assert left == [(depth, "step") for depth in range(depths)]
    assert names_of(tmp_path / "x.peep").count("step") == 2000 + depths


@pytest.mark.parametrize("tool", ["settrace", "setprofile", "both"])
def test_a_tracing_function_that_records_what_it_sees(tool: str, program: Any, tmp_path: Path) -> None:
    source = """
    calls = {"call": 0, "return": 0}
    open_spans = []
    def see(frame, event, arg):
        if event in ("call", "c_call"):
            open_spans.append(peephole.span(event).__enter__())
            calls["call"] += 1
        elif event in ("return", "c_return", "c_exception") and open_spans:
            open_spans.pop().__exit__(None, None, None)
            calls["return"] += 1
        return see
    def work():
        for number in range(300):
            with peephole.span("work", number=number), peephole.span(f"own {number}"):
                len([])
    with peephole.record(sys.argv[1]):
        if sys.argv[2] != "setprofile": sys.settrace(see)
        if sys.argv[2] != "settrace": sys.setprofile(see)
        work()
        sys.settrace(None)
        sys.setprofile(None)
        while open_spans:
            open_spans.pop().__exit__(None, None, None)
    print(calls["call"])
    """
    done = program(source, tmp_path / "x.peep", tool)
    assert (done.returncode, done.stderr) == (0, "")
    capture = open_capture(tmp_path / "x.peep")
    assert capture.manifest.problems == []
    names = names_of(tmp_path / "x.peep")
    assert names.count("work") == 300 and len([name for name in names if name.startswith("own ")]) == 300
    assert names.count("call") + names.count("c_call") == int(done.stdout)


@pytest.mark.parametrize("tool", ["coverage", "none"])
def test_under_coverage_with_signals_in_collections(tool: str, program: Any, tmp_path: Path) -> None:
    # a signal is often handled as the collector calls its first callback, in the middle of our ContextVar.set
    source = """
    import coverage, gc, signal
    seen = 0
    def handler(*_):
        global seen
        seen += 1
        with peephole.span("tick", seen=seen): pass
    signal.signal(signal.SIGALRM, handler)
    tool = coverage.Coverage(data_file=None, branch=True, source=["peephole.record", "__main__"])
    with peephole.record(sys.argv[1]):
        if sys.argv[2] == 'coverage': tool.start()
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        gc.set_threshold(5)
        for number in range(6000):
            with peephole.span("a", number=number), peephole.span(f"own {number}"):
                pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        if sys.argv[2] == 'coverage': tool.stop()
    print(seen)
    """
    done = program(source, tmp_path / "x.peep", tool)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    names = names_of(tmp_path / "x.peep")
    assert names.count("a") == 6000 and sum(name.startswith("own ") for name in names) == 6000
    assert names.count("tick") == int(done.stdout) > 5


@pytest.mark.parametrize("end", ["", "os._exit(0)"])
def test_spans_nested_deep_are_sealed_in_seconds(end: str, program: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from peephole.store.journal.seal import seal

    source = f"""
    from peephole.record import active, process
    process.start_capture(sys.argv[1], "x", [])
    active.start(sys.argv[1])
    spans = [peephole.span("deep", number=number).__enter__() for number in range(40_000)]
    {end}
    for span in reversed(spans):
        span.__exit__(None, None, None)
    active.stop()
    """
    done = program(source, tmp_path / "x.peep")
    assert (done.returncode, done.stderr) == (0, "")
    begin = time.process_time()
    seal(tmp_path / "x.peep")
    assert time.process_time() - begin < 5
    capture = open_capture(tmp_path / "x.peep")
    assert capture.count("slices") == 40_000
    assert pq.ParquetFile(tmp_path / "x.peep" / "slices.parquet").num_row_groups < 10
