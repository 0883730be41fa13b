"""A client of a scheduler that nobody records: gives it and its workers plugins, and writes what they hear."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from time import time
from typing import TYPE_CHECKING, Any, Final

from peephole.sources.dask import remote
from peephole.sources.dask.rows import Event, TapeRows

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

EVERY: Final = 0.5
"""Seconds between two visits to the scheduler."""

_TAPES: Final[dict[tuple[int, str], list[ClientTape]]] = {}
"""The tapes of each scheduler by process and id, in the order of their clients: the first one records, or it would be
written as often as there are clients."""


class ClientTape:
    """Records a running cluster through its plugin interface; does nothing when the scheduler is recorded itself, or
    another client's tape does it."""

    def __init__(self, client: Any, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        self._name = f"peephole-{client.id}"
        self._rows: TapeRows | None = None
        self._visits: asyncio.Task[None] | None = None
        self._tapes: list[ClientTape] = []
        self._ahead = 0.0
        """Seconds that the scheduler's clock is ahead of ours."""

    async def begin(self) -> None:
        """Sends the plugins and goes to ask now and then."""
        local = getattr(getattr(self._client, "cluster", None), "scheduler", None)
        if local is not None and hasattr(local, "_peephole"):
            return
        import distributed
        from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

        try:
            scheduler, recorded = await self._ask(remote.look)
            self._tapes = _TAPES.setdefault((os.getpid(), scheduler), [])
            self._tapes.append(self)
            if recorded or self._tapes[0] is not self:
                return
            self._rows = TapeRows(self._recorder, distributed.__version__)
            with _by_value():
                ear = type("PeepholeSchedulerEar", (remote.SchedulerEar, SchedulerPlugin), {})
                await self._client._register_scheduler_plugin(ear(self._name, self._client.id), self._name, True)
                ear = type("PeepholeWorkerEar", (remote.WorkerEar, WorkerPlugin), {})
                await self._client._register_worker_plugin(ear(self._name), self._name, True)
            await self._measure()
        except Exception as error:  # a cluster may refuse foreign code: the program runs on without a tape
            self._recorder.problem(f"the Dask scheduler takes no plugins, so its tape is not recorded ({error})"[:300])
            self._rows = None
            return
        self._begin_visits()

    def _begin_visits(self) -> None:
        self._visits = asyncio.create_task(self._visit())

    async def _measure(self) -> None:
        """How far the scheduler's clock is ahead: the quickest of some questions tells best."""
        heard: list[tuple[list[list[Any]], int]] = []
        found = []
        for _ in range(5):
            before = time()
            there, *more = await self._ask(remote.take, self._name)
            after = time()
            found.append((after - before, there - (before + after) / 2))
            heard.append((more[0], more[1]))
        self._ahead = min(found)[1]
        # not earlier: what is written is on our clock
        for items, dropped in heard:
            self._write(items, dropped)

    async def _visit(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self._take()
            except OSError:
                pass  # the scheduler cannot be reached: perhaps the next time
            except Exception as error:  # whatever it told: asyncio would print it into the program's output
                self._not_understood(error)

    async def _take(self) -> None:
        _, items, dropped = await self._ask(remote.take, self._name)
        self._write(items, dropped)

    async def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a function of `remote` in the scheduler."""
        with _by_value():
            return await self._client._run_on_scheduler(function, *args)

    async def end(self) -> None:
        """Takes the rest and the plugins back, or leaves them to another client's tape."""
        if self in self._tapes:
            self._tapes.remove(self)
        if self._rows is None:
            return
        if self._visits is not None:
            self._visits.cancel()
        try:
            if self._tapes:
                await self._hand_over(self._tapes[0])
            else:
                self._rows.cluster.close()
                await self._client.scheduler.unregister_worker_plugin(name=self._name)
                await self._take()
                await self._client.scheduler.unregister_scheduler_plugin(name=self._name)
        except (OSError, ValueError):
            pass  # the scheduler may be gone; then there is nothing to take
        except Exception as error:  # as in _visit
            self._not_understood(error)
        self._rows = None

    async def _hand_over(self, heir: ClientTape) -> None:
        await self._ask(remote.hand_over, self._name, heir._client.id)
        heir._name, heir._rows, heir._ahead = self._name, self._rows, self._ahead
        heir._client.loop.add_callback(heir._begin_visits)

    def _not_understood(self, error: Exception) -> None:
        self._recorder.problem(f"Dask told what is not understood ({type(error).__name__})")

    def _write(self, items: list[list[Any]], dropped: int) -> None:
        if self._rows is None or self._recorder.closed:
            return
        if dropped:
            self._recorder.problem("events that a Dask scheduler had no room for", dropped)
        rows, cluster = self._rows, self._rows.cluster
        tasks: list[Event] = []
        """Events of tasks in turn; whatever else happens is written behind what happened before it."""
        for kind, when, *facts in items:
            now = cluster.clock(when - self._ahead)
            if kind == "dispatched":
                tasks.append((facts[0], now, facts[1], None, 0, None, (), ()))
            elif kind == "released":
                tasks.append((facts[0], now, None, None, 0, None, (), ()))
            elif kind == "done":
                key, op, address, name, threads, size, thread, spans, wanted = facts
                moments = tuple([moment - self._ahead for span in spans for moment in span])
                lane = cluster.worker(address, name, threads)
                tasks.append((key, now, op, lane, size, thread, moments, tuple(wanted)))
            else:
                rows.write(tasks)
                tasks.clear()
                self._write_rare(kind, now, facts)
        rows.write(tasks)

    def _write_rare(self, kind: str, now: int, facts: list[Any]) -> None:
        assert self._rows is not None
        rows, cluster = self._rows, self._rows.cluster
        if kind == "failed":
            key, op, address, name, threads, words = facts
            rows.failed(key, now, op, cluster.worker(address, name, threads), words)
        elif kind == "gone":
            rows.gone(facts[0])
        elif kind == "graph":
            rows.submitted(now, *facts)
        elif kind == "worker":
            address, name, threads, event, words = facts
            lane = cluster.worker(address, name, threads)
            if event:
                rows.worker_event(lane, now, event, words)
        elif kind == "transfer":
            target, source, entry = cluster.worker(*facts[:3]), cluster.worker(*facts[3:6]), facts[6]
            entry = {**entry, "start": entry["start"] - self._ahead, "stop": entry["stop"] - self._ahead}
            cluster.transfer(now, entry, source, target)


@contextlib.contextmanager
def _by_value() -> Iterator[None]:
    """Has the plugins travel as they are, not as names of modules that the cluster may not have."""
    import cloudpickle  # type: ignore[import-untyped]

    cloudpickle.register_pickle_by_value(remote)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(remote)
