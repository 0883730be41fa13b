"""Replays on behalf of a page: when the page does not wait any more, the replay ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from starlette.requests import Request

from peephole.server.library import Shelf, ask, quick
from peephole.store.capture import Capture

Result = TypeVar("Result")

LOOK_EVERY: Final = 0.2
"""Seconds between two looks whether the page is still there."""


Question = Callable[[Capture, Callable[[], bool]], Result]


async def ask_while_wanted(request: Request, shelf: Shelf, question: Question[Result]) -> Result:
    """As `ask`; the question is given a function that says whether the one who asked has gone."""
    return await _while_wanted(request, lambda gone: ask(shelf, lambda capture: question(capture, gone)))


async def quick_while_wanted(request: Request, shelf: Shelf, question: Question[Result]) -> Result:
    """As `quick`, with the same function: nobody waits for this question either."""
    return await _while_wanted(request, lambda gone: quick(shelf, lambda capture: question(capture, gone), fresh=True))


async def _while_wanted(request: Request, work: Callable[[Callable[[], bool]], Awaitable[Result]]) -> Result:
    gone = threading.Event()

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(LOOK_EVERY)
        gone.set()

    watcher = asyncio.create_task(watch())
    try:
        return await work(gone.is_set)
    finally:
        gone.set()
        watcher.cancel()
