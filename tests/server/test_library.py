"""What a server keeps about a capture."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from tests import event_loop

from peephole.server.app import create_app
from peephole.server.library import Library, ask_once, quick
from peephole.store.capture import Capture
from peephole.store.writer import CaptureWriter

from .conftest import BASE, write_capture


def test_what_many_ask_for_at_once_is_made_once(capture_path: Path) -> None:
    shelf = Library([capture_path]).shelves()[0]
    capture = shelf.open()
    made: list[int] = []

    def make(_: Capture) -> int:
        made.append(1)
        time.sleep(0.05)
        return 7

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(shelf.once(capture, "x", make))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [7] * 6
    assert made == [1]


def test_a_quick_question_does_not_wait_for_a_slow_one(capture_path: Path) -> None:
    shelf = Library([capture_path]).shelves()[0]
    shelf.open()
    assert not shelf.asked
    answered = threading.Event()

    async def both() -> tuple[bool, int]:
        slow = asyncio.create_task(ask_once(shelf, "slow", lambda _: answered.wait(10)))
        count = await quick(shelf, lambda capture: capture.count("slices"))
        answered.set()
        return await slow, count

    waited, count = event_loop.run(both())
    assert waited
    assert count >= 0
    assert shelf.asked


def test_a_capture_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "one.peep")
    shelf = Library([path]).shelves()[0]
    assert shelf.open().count("slices") == 4
    assert shelf.open() is shelf.open()
    with CaptureWriter(tmp_path / "new.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        writer.append("slices", {"track": [0], "start": [0], "dur": [9], "name": ["only"]})
    shelf.once(shelf.open(), "kept", lambda _: "of the old one")
    shutil.rmtree(path)
    assert event_loop.run(quick(shelf, lambda capture: capture.manifest.program)) == "prog.py"  # gone is not replaced
    (tmp_path / "new.peep").rename(path)
    assert event_loop.run(quick(shelf, lambda capture: capture.count("slices"))) == 1
    assert shelf.once(shelf.open(), "kept", lambda _: "new") == "new"


ENDS = """
import sys
from peephole.record import active, process
process.start_capture(sys.argv[1], "live.py", ["live.py"])
recorder = active.start(sys.argv[1])
track = recorder.track("CPU", kind="device")
for line in sys.stdin:
    recorder.slice(track, int(line), 8, "k")
    print("done", flush=True)
"""


class Interrupted(dict[str, Any]):
    """What was derived; while it is cleared somebody else asks."""

    def __init__(self, known: dict[str, Any], meanwhile: Callable[[], None]) -> None:
        super().__init__(known)
        self._meanwhile = meanwhile

    def clear(self) -> None:
        asking = threading.Thread(target=self._meanwhile)
        asking.start()
        asking.join(0.3)  # it has its answer by then, or waits for us
        super().clear()
        self.asking = asking


def test_what_a_growing_capture_gave_is_nobodys_answer_once_it_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "x.peep"
    command = [sys.executable, "-c", ENDS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None and program.stdout is not None

        def write(start: int) -> None:
            assert program.stdin is not None and program.stdout is not None
            program.stdin.write(f"{start}\n")
            program.stdin.flush()
            program.stdout.readline()

        write(0)
        shelf = Library([path]).shelves()[0]

        def rows() -> int:
            def answer(capture: Capture) -> int:
                return shelf.once(capture, "rows", lambda capture: capture.count("slices"))

            return event_loop.run(quick(shelf, answer))

        assert rows() == 1
        write(10)
        program.stdin.close()
    found: list[int] = []
    shelf.derived = derived = Interrupted(shelf.derived, lambda: found.append(rows()))
    deadline = time.monotonic() + 90
    while not shelf.settled and time.monotonic() < deadline:
        with shelf.lock:
            shelf.open()
        time.sleep(0.02)
    derived.asking.join()
    assert found == [2] and rows() == 2


def test_a_capture_that_was_deleted_says_so_where_it_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "run.peep"
    write_capture(path)
    client = TestClient(create_app(Library([path])), base_url=BASE, raise_server_exceptions=False)
    assert client.get("/api/v1/captures/run").status_code == 200
    shutil.rmtree(path)
    assert client.get("/api/v1/captures/run").json()["name"] == "by hand"
    assert client.get("/api/v1/captures").json()["captures"][0]["stamp"] == ""
    answer = client.get("/api/v1/captures/run/top")
    assert answer.status_code == 410
    assert answer.json()["error"] == "run.peep is no longer on disk: it was deleted or moved since."
