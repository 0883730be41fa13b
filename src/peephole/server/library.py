"""The captures that a server shows: opened when first asked for, each behind a lock of its own."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.concurrency import run_in_threadpool

from peephole.errors import PeepholeError
from peephole.server.arriving import Arriving
from peephole.server.replies import Refusal
from peephole.store.manifest import FILE as MANIFEST

if TYPE_CHECKING:
    from peephole.store.capture import Capture

Result = TypeVar("Result")
_NOTHING: Any = object()


@dataclass
class Shelf:
    """One capture of the library: where it is, its handle in URLs, and what was derived from it so far."""

    handle: str
    path: Path
    bring: Callable[[], Path] | None = None
    capture: Capture | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    derived: dict[str, Any] = field(default_factory=dict)
    asked: bool = False
    """Somebody has asked about it."""
    settled: bool = False
    """It is open and grows no more: neither it nor what was derived from it will change."""
    opened: str = ""
    """The stamp of what was opened, while it grows no more."""
    _making: dict[str, threading.Lock] = field(default_factory=dict)

    def open(self) -> Capture:
        """The capture, opened once. Call it with the lock held."""
        if self.bring is not None:
            self.path = self.bring()
            self.bring = None
        if self.replaced:
            self.settled = False  # who reads past the lock keeps what he has: its files are open
            self.capture = None
            self.derived.clear()
        if self.capture is None:
            from peephole.store.capture import open_capture  # large: the page itself is there before

            self.capture = open_capture(self.path)
        elif self.capture.live and self.capture.refresh():
            self.derived.clear()
        if not self.capture.live and not self.settled:
            self.opened = stamp(self.path)
            self.settled = True
        return self.capture

    @property
    def replaced(self) -> bool:
        """Whether something else stands on disk by now than what was opened; what was taken away is not replaced."""
        return self.settled and stamp(self.path) not in ("", self.opened)

    def once(self, capture: Capture, name: str, make: Callable[[Capture], Result]) -> Result:
        """What `make` returns for this capture, made once until it grows; who comes meanwhile waits for it."""
        found = self.derived.get(name, _NOTHING)
        if found is _NOTHING:
            with self._making.setdefault(name, threading.Lock()):
                found = self.derived.get(name, _NOTHING)
                if found is _NOTHING:
                    found = self.derived[name] = make(capture)
        result: Result = found
        return result


def stamp(path: Path) -> str:
    """What tells a capture on disk from another of its name, for the price of a look; empty when there is none."""
    try:
        folder = path.stat()
        file = (path / MANIFEST).stat() if S_ISDIR(folder.st_mode) else folder
    except OSError:
        return ""
    return f"{folder.st_ino:x}-{file.st_ino:x}-{file.st_mtime_ns:x}"


class Library:
    """The captures of one server, by handle."""

    def __init__(self, paths: Iterable[Path | Arriving] = (), named: int = 0) -> None:
        self._shelves: dict[str, Shelf] = {}
        self.named = named
        """How many of them the user named, the first ones; the others merely lie beside them."""
        for path in paths:
            if isinstance(path, Arriving):
                self._shelve(Path(path.name)).bring = path.bring
            else:
                self.add(Path(path))

    def add(self, path: Path) -> Shelf:
        """Puts a capture on a shelf; its handle is its name without the ending, made unique."""
        whole = path.resolve()
        for shelf in self._shelves.values():
            if shelf.path == path or shelf.path.resolve() == whole:
                return shelf
        return self._shelve(path)

    def _shelve(self, path: Path) -> Shelf:
        name = re.sub(r"\.peep(\.zip)?$", "", path.name)
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "capture"
        handle, count = base, 2
        while handle in self._shelves:
            handle, count = f"{base}-{count}", count + 1
        self._shelves[handle] = Shelf(handle, path)
        return self._shelves[handle]

    def shelves(self) -> list[Shelf]:
        """All captures, in the order in which they were given."""
        return list(self._shelves.values())

    def shelf(self, handle: str) -> Shelf:
        """The capture of that handle, or a Refusal."""
        try:
            return self._shelves[handle]
        except KeyError:
            raise Refusal(
                404, f"No capture is called {handle[:80]!r} here; choose one from the list at the top left."
            ) from None


def _or_gone(shelf: Shelf, work: Callable[[], Result]) -> Result:
    """What `work` gives; when that fails for want of a capture that is no longer there, a Refusal that says so."""
    try:
        return work()
    except (PeepholeError, OSError):
        if shelf.settled and not shelf.path.exists():
            raise Refusal(410, f"{shelf.path.name} is no longer on disk: it was deleted or moved since.") from None
        raise


async def ask(shelf: Shelf, question: Callable[[Capture], Result]) -> Result:
    """The answer of a query, computed in a worker thread while no other thread uses this capture."""

    def work() -> Result:
        with shelf.lock:
            return question(shelf.open())

    shelf.asked = True
    return await run_in_threadpool(_or_gone, shelf, work)


async def ask_once(shelf: Shelf, name: str, question: Callable[[Capture], Result]) -> Result:
    """As `ask`, and kept until the capture grows."""

    def work() -> Result:
        with shelf.lock:
            return shelf.once(shelf.open(), name, question)

    shelf.asked = True
    return await run_in_threadpool(_or_gone, shelf, work)


async def quick(shelf: Shelf, question: Callable[[Capture], Result], fresh: bool = False) -> Result:
    """The answer of a question that must not wait for a slow one.

    A sealed capture never changes and guards its own files, so that many threads may read it. One that grows is read
    behind its lock, and looks for news only when asked to: what the page has drawn stays one picture.
    """

    def work() -> Result:
        known = shelf.capture
        if shelf.settled and known is not None and not shelf.replaced:
            return question(known)
        with shelf.lock:
            capture = shelf.open() if fresh or shelf.capture is None or shelf.settled else shelf.capture
            return question(capture)

    shelf.asked = True
    return await run_in_threadpool(_or_gone, shelf, work)


def problem_sentence(error: Exception) -> str:
    """One sentence for the page. What we did not foresee is named, and says where to look."""
    if isinstance(error, PeepholeError):
        return str(error)
    return f"{type(error).__name__}: {error}. This is a fault in Peephole; the server's terminal has the details."
