"""Replays on behalf of a page: when the page does not wait any more, the replay ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from starlette.requests import Request

from peephole.server.library import Shelf, ask
from peephole.store.capture import Capture

Result = TypeVar("Result")

LOOK_EVERY: Final = 0.2
"""Seconds between two looks whether the page is still there."""


async def ask_while_wanted(
    request: Request, shelf: Shelf, question: Callable[[Capture, Callable[[], bool]], Result]
) -> Result:
    """As `ask`; the question is given a function that says whether the one who asked has gone."""
    gone = threading.Event()

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(LOOK_EVERY)
        gone.set()

    watcher = asyncio.create_task(watch())
    try:
        return await ask(shelf, lambda capture: question(capture, gone.is_set))
    finally:
        gone.set()
        watcher.cancel()
