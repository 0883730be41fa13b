"""The tracks of a cluster, and how its slices are written: the rows that a tape consists of. Standard library only."""

from __future__ import annotations

import re
from itertools import count
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from peephole.model.tables import NONE
from peephole.record.clocks import same_moment
from peephole.record.rows import FORMATS

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

PLAIN: Final = {"client": "SEND", "dispatcher": "DISPATCH", "worker": "RELEASE"}
"""What a slice without facts is, by the kind of its track: the most frequent events are written in the short form."""

_UUID_TAIL: Final = re.compile(r"(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_RESYNC: Final = 1_000_000_000
_FLOW, _encode_flow = FORMATS["flows"]

_OPEN: Final[WeakSet[Cluster]] = WeakSet()
"""The clusters that are recorded at this time."""


class Lane:
    """A worker's track with rows for its threads, what it freed, and its transfers."""

    __slots__ = ("_busy", "_ends", "_releases", "_threads", "_width", "name", "track")

    def __init__(self, track: int, name: str, threads: int) -> None:
        self.track = track
        self.name = name
        self._width = max(1, threads)
        self._threads: dict[Any, int] = {}
        self._busy = [0] * self._width
        """When each of the threads' rows is free again."""
        self._ends: list[int] = []
        self._releases: dict[str, tuple[int, int, str]] = {}

    def thread_row(self, thread: Any, start: int, end: int) -> int:
        """The row of one of its threads; another one when something else is there at that time."""
        row = self._threads.get(thread)
        if row is None:
            row = self._threads[thread] = min(len(self._threads), self._width - 1)
        if self._busy[row] > start:
            # a task that waits for others leaves its thread, and a new thread takes its place
            return self.free_row(start, end)
        self._busy[row] = end
        return row

    @property
    def release_row(self) -> int:
        """The row of what it freed."""
        return self._width

    def release(self, op: str) -> tuple[int, int, str]:
        """Track, row and name of a release; one object for all of them, so that results in memory cost no more."""
        return self._releases.get(op) or self._releases.setdefault(op, (self.track, self._width, op))

    def free_row(self, start: int, end: int) -> int:
        """A row in which nothing else is at that time."""
        for i, busy in enumerate(self._ends):
            if busy <= start:
                self._ends[i] = end
                return self._width + 1 + i
        self._ends.append(end)
        return self._width + len(self._ends)


class Cluster:
    """The lanes of a cluster by the addresses that Dask uses."""

    def __init__(self, recorder: Recorder, version: str) -> None:
        self.recorder = recorder
        others = {other.number for other in _OPEN if other.recorder is recorder}
        self.number: int = next(i for i in count(1) if i not in others)
        _OPEN.add(self)
        self._parent = recorder.track(f"cluster {self.number}") if self.number > 1 else NONE
        """Clusters one after another share their lanes; those at the same time are runs of their own."""
        self.dispatcher = recorder.track("Dispatcher", "dispatcher", self._parent, order=100)
        self._clients: dict[str, int] = {}
        self.workers: dict[str, Lane] = {}
        """By address."""
        self._synced, wall = same_moment()
        self._offset = self._synced - wall
        recorder.facts(
            frameworks={"distributed": version},
            tape={"engine": "dask", "resolution": 1000, "plain": PLAIN},
        )

    def close(self) -> None:
        """Leaves its lanes to the next cluster."""
        _OPEN.discard(self)

    def client(self, identity: str) -> int:
        """The track of a client."""
        track = self._clients.get(identity)
        if track is None:
            # Client-worker-d77d6fe8-… is a task's own, Client-trainer-d77d6fe8-… has a name
            own = _UUID_TAIL.sub("", identity.removeprefix("Client-"))
            name = f"Client {own}" if self._clients else "Client"
            track = self._clients[identity] = self.recorder.track(name, "client", self._parent, len(self._clients))
        return track

    def worker(self, address: str, name: Any = None, threads: int = 1) -> Lane:
        """The lane of a worker; its name is kept, a bare number is called a worker."""
        lane = self.workers.get(address)
        if lane is None:
            text = address if name is None else f"worker-{name}" if isinstance(name, int) else str(name)
            track = self.recorder.track(text, "worker", self._parent, 200 + len(self.workers))
            lane = self.workers[address] = Lane(track, text, threads)
        return lane

    def clock(self, seconds: float) -> int:
        """A moment of Dask's wall clock on the capture's clock."""
        return round(seconds * 1e9) + self.offset()

    def offset(self) -> int:
        """How far the capture's clock is ahead of Dask's wall clock, in ns."""
        if perf_counter_ns() - self._synced > _RESYNC:
            # the wall clock is slewed by the system now and then
            self._synced, wall = same_moment()
            self._offset = self._synced - wall
        return self._offset

    def flow(self, source: int, target: int, kind: str, size: int = NONE) -> None:
        """An arrow between two slices."""
        recorder = self.recorder
        if recorder.closed:
            return
        writer = recorder.slot().writer
        payload = _encode_flow(writer.texts, writer.intern, from_=source, to=target, bytes=size, kind=kind)
        if payload is not None:
            writer.record(_FLOW, payload)

    def transfer(self, now: int, entry: dict[str, Any], source: Lane, target: Lane) -> None:
        """Data that a worker fetched from another: a slice on its lane and an arrow from the other's."""
        recorder = self.recorder
        start, end = self.clock(entry["start"]), self.clock(entry["stop"])
        ahead = max(0, end - now)  # Dask's guess of the worker's clock: it ended before it was told
        start, end = start - ahead, end - ahead
        size = int(entry.get("total") or 0)
        keys = list(entry.get("keys") or ())
        op = entry.get("op") or "transfer"
        sent, got = recorder.new_correlation(), recorder.new_correlation()
        facts = {"event": "TRANSFER", "command": "get_data", "op": op, "size": size, "source": source.name,
                 "worker": target.name, "details": ", ".join(map(str, keys[:8]))}  # fmt: skip
        row = target.free_row(start, max(end, start))
        recorder.slice(target.track, start, max(0, end - start), op, row, correlation=got, args=facts)
        recorder.slice(source.track, start, 0, op, source.release_row, correlation=sent, args={"message": "get_data"})
        self.flow(sent, got, "transfer", size)
