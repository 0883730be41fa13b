"""The events of a trace parsed ahead, block by block, on all cores, and given in the order of the file.

    file    |.......chunk 0.......|.......chunk 1.......|.......chunk 2.......|
    events  [  ][  ][  ][  ][  ][   ][  ][  ][  ][  ][  ][  ][  ][  ][  ][  ]
    blocks  |---------0---------|-----------1-----------|----------2----------

A block begins with the event that the chunk before it left incomplete, and only parsing that chunk tells where that
is. So the place is guessed from the last bytes of the chunk, and the block is parsed at once; when the block before it
turns out to end elsewhere, or is not JSON all the way, what came of the guess is thrown away. The result is that of one
parser that goes through the file from its beginning.
"""

from __future__ import annotations

import queue
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from peephole.sources.chrome import json_scan
from peephole.sources.chrome.batch import MAX_EVENT, EventBatch, Interner
from peephole.sources.chrome.raw import Block, BlockParser, Translator

WORKERS: Final = 2
"""More do not pay: sorting and writing what they parse takes the rest of the time."""
AHEAD: Final = 4
"""Blocks that are in the making; each takes its bytes and about as much again."""
_LONGEST: Final = 64
"""Blocks without a guess after guesses that were wrong."""
_BEGIN: Final = re.compile(rb'\}\s*,\s*(?=\{\s*("[^"]{0,40}")\s*:)')
_KEY: Final = re.compile(rb'[\s,]*\{\s*("[^"]{0,40}")\s*:')
_WINDOWS: Final = (1 << 14, 1 << 20)
"""Last bytes of a chunk in which the beginning of an event is looked for."""


@dataclass(slots=True)
class _Pending:
    """A block in the making: its bytes, how many of them the file gave last, and where the next one may begin."""

    data: bytes
    fresh: int
    guess: int
    future: Future[Block]


class Blocks:
    """Parses events from the bytes in hand on.

    `read(size)` gives the next bytes of the file; what was read too far is handed to `unread`.
    """

    def __init__(
        self, intern: Interner, read: Callable[[int], bytes], unread: Callable[[bytes], None], chunk: int
    ) -> None:
        self._read, self._unread, self._chunk = read, unread, chunk
        self._translator = Translator(intern)
        self._parsers: queue.SimpleQueue[BlockParser] = queue.SimpleQueue()
        for _ in range(WORKERS):
            self._parsers.put(BlockParser())
        self._pool = ThreadPoolExecutor(WORKERS, "peephole-parse")
        self._pending: deque[_Pending] = deque()
        self._keys: set[bytes] = set()
        self._cautious = 0
        self._caution = 0
        self.rest = b""
        """After `events`: the bytes that were not taken, from the first event that is not whole or not JSON on."""
        self.state = json_scan.MORE
        """After `events`: why it ended. MORE: the file has no more bytes, or none that the rest ends in."""

    def events(self, data: bytes) -> Iterator[EventBatch]:
        """All events until one is not JSON, the array ends, or the bytes do."""
        self._submit(data, 0)
        while True:
            self._look_ahead()
            pending = self._pending.popleft()
            block = pending.future.result()
            for raw in block.batches:
                yield self._translator.batch(block.table, raw)
            rest = pending.data[block.at :]
            if block.state == json_scan.MORE and self._pending and block.at == pending.guess:
                self._caution = 0
                continue
            if self._pending:
                # the blocks that were begun do not go on from here
                self._caution = min(_LONGEST, 2 * self._caution + 1)
                self._cautious = self._caution
                self._take_back()
            if block.state != json_scan.MORE or len(rest) > MAX_EVENT:
                break
            more = self._read(max(self._chunk, len(rest)))
            if not more:
                break
            self._cautious = max(0, self._cautious - 1)
            if known := _KEY.match(rest):
                self._keys.add(known[1])
            self._submit(rest + more, len(more))
        self.rest, self.state = rest, block.state

    def _submit(self, data: bytes, fresh: int) -> None:
        guess = -1 if self._cautious else self._guess(data)
        self._pending.append(_Pending(data, fresh, guess, self._pool.submit(self._parse, data)))

    def _parse(self, data: bytes) -> Block:
        parser = self._parsers.get()
        try:
            return parser.parse(data)
        finally:
            self._parsers.put(parser)

    def _look_ahead(self) -> None:
        while len(self._pending) < AHEAD:
            last = self._pending[-1]
            if last.guess < 0 or len(last.data) - last.guess > self._chunk:
                return
            more = self._read(self._chunk)
            if not more:
                return
            self._submit(last.data[last.guess :] + more, len(more))

    def _guess(self, data: bytes) -> int:
        """Where the last event of these bytes may begin, -1 when nothing looks like it."""
        if not self._keys:
            if not (known := _KEY.match(data)):
                return -1
            self._keys.add(known[1])
        for window in _WINDOWS:
            likely = found = -1
            for match in _BEGIN.finditer(data, max(0, len(data) - window)):
                found = match.end()
                if match[1] in self._keys:
                    likely = found
            if likely >= 0 or found >= 0:
                return likely if likely >= 0 else found
        return -1

    def _take_back(self) -> None:
        """Gives the bytes that were read ahead back."""
        ahead = [pending.data[len(pending.data) - pending.fresh :] for pending in self._pending]
        for pending in self._pending:
            pending.future.cancel()
        self._pending.clear()
        self._unread(b"".join(ahead))

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown(cancel_futures=True)
