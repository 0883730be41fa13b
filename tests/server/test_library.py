"""What a server keeps about a capture."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

from peephole.server.library import Library, ask_once, quick
from peephole.store.capture import Capture


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

    waited, count = asyncio.run(both())
    assert waited
    assert count >= 0
    assert shelf.asked
