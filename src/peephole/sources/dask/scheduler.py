"""What the scheduler's plugin records. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from peephole.sources.dask.rows import FIELDS, Event, TapeRows
from peephole.sources.dask.worker_lanes import Lane

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

TOPIC: Final = "peephole-transfers"

DELAY: Final = 0.1
"""Seconds after which what happened is written at the latest."""
MOST_WAITING: Final = 512 * FIELDS


def _careful(method: Callable[..., None]) -> Callable[..., None]:
    """A method whose exceptions are problems of the capture: Dask would print them into the program's output."""

    @wraps(method)
    def call(self: SchedulerTape, *args: Any, **facts: Any) -> None:
        try:
            method(self, *args, **facts)
        except Exception as error:  # a version of Dask may differ in any way
            self._not_understood(error)

    return call


class SchedulerTape:
    """A mixin for Dask's SchedulerPlugin. Every method is on the scheduler's hot path: nothing here may wait."""

    def __init__(self, scheduler: Any, recorder: Recorder, version: str) -> None:
        self._scheduler = scheduler
        self._recorder = recorder
        self._rows = TapeRows(recorder, version)
        self._lanes = self._rows.cluster.workers
        self._waiting: list[Any] = []
        """The fields of each event in turn: no object per event is kept, which Python's collector would look at again
        and again."""
        self._failed: set[Any] = set()
        """Tasks whose failure a worker told, until the scheduler does."""
        recorder.on_exit(self._write)
        recorder.on_fork(self._waiting_is_the_parent_s)
        for address, worker in scheduler.workers.items():
            self._lane(address, worker)

    def _not_understood(self, error: Exception) -> None:
        self._recorder.problem(f"Dask told what is not understood ({type(error).__name__})")

    def _lane(self, address: str, worker: Any = None) -> Lane:
        worker = worker if worker is not None else self._scheduler.workers.get(address)
        if worker is None:
            return self._rows.cluster.worker(address)
        return self._rows.cluster.worker(address, worker.name, worker.nthreads)

    @_careful
    def update_graph(self, scheduler: Any, *, client: str, tasks: Any, **_more: Any) -> None:
        """A client submitted work: one event per graph."""
        tasks = list(tasks)
        first = scheduler.tasks.get(tasks[0]) if tasks else None
        op = first.prefix.name if first is not None else "graph"
        details = f"{len(tasks)} tasks" if len(tasks) != 1 else str(tasks[0])
        self._rows.submitted(perf_counter_ns(), client, op, details)

    def transition(self, key: Any, start: str, finish: str, *_args: Any, **facts: Any) -> None:
        """A task changed its state."""
        try:
            if finish == "processing":
                state = self._scheduler.tasks.get(key)
                if state is not None:
                    self._later((key, perf_counter_ns(), state.prefix.name, None, 0, None, (), ()))
            elif start == "processing":
                if finish == "memory":
                    state = self._scheduler.tasks.get(key)
                    if state is not None:
                        now, address = perf_counter_ns(), facts.get("worker") or ""
                        lane = self._lanes.get(address) or self._lane(address)
                        spans: tuple[Any, ...] = ()
                        for span in facts.get("startstops") or ():
                            if span["action"] == "compute":
                                spans += (span["start"], span["stop"])
                        wanted: tuple[str, ...] = ()
                        for client in state.who_wants or ():
                            wanted += (client.client_key,)
                        size, thread = facts.get("nbytes") or 0, facts.get("thread")
                        self._later((key, now, state.prefix.name, lane, size, thread, spans, wanted))
                else:
                    self._not_done(key, finish, facts)
            elif start == "memory" and finish != "memory":
                self._later((key, perf_counter_ns(), None, None, 0, None, (), ()))
        except Exception as error:  # as _careful has it, without a call more for each of these
            self._not_understood(error)

    def _not_done(self, key: Any, finish: str, facts: dict[str, Any]) -> None:
        """What was dispatched did not become a result. A task that is tried again has failed all the same: its worker
        told so before."""
        self._write()
        if finish == "erred" and key not in self._failed:
            address = facts.get("worker") or facts.get("erred_on") or ""
            words = facts.get("exception_text") or ("failed" if address in self._scheduler.workers else "worker lost")
            self._fail(key, address, words)
        self._failed.discard(key)
        self._rows.gone(key)

    def _fail(self, key: Any, address: str, words: str) -> None:
        state = self._scheduler.tasks.get(key)
        op = state.prefix.name if state is not None else "task"
        self._rows.failed(key, perf_counter_ns(), op, self._lane(address), words)

    def _later(self, event: Event) -> None:
        """Keeps what happened for a moment: written together, rows cost a fifth of what they cost one by one between
        everything else that a scheduler does."""
        waiting = self._waiting
        if not waiting:
            self._scheduler.loop.call_later(DELAY, self._write)
        waiting += event
        if len(waiting) >= MOST_WAITING:
            self._write()

    def _waiting_is_the_parent_s(self) -> None:
        self._waiting = []

    @_careful
    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not self._recorder.closed:
            each = iter(waiting)
            self._rows.write(zip(*[each] * FIELDS, strict=True))

    @_careful
    def add_worker(self, scheduler: Any, worker: str) -> None:
        """A worker joined."""
        self._rows.worker_event(self._lane(worker, scheduler.workers.get(worker)), perf_counter_ns(), "CONNECT", worker)

    @_careful
    def remove_worker(self, scheduler: Any, worker: str, **more: Any) -> None:
        """A worker left or was lost."""
        words = f"{worker} {more.get('stimulus_id') or ''}".rstrip()
        self._rows.worker_event(self._lane(worker), perf_counter_ns(), "DISCONNECT", words)

    async def close(self) -> None:
        """The scheduler closes: nothing may be left."""
        self._write()
        self._rows.cluster.close()

    @_careful
    def log_event(self, topic: str, message: Any) -> None:
        """A worker tells what it fetched from others, or which task failed."""
        if topic != TOPIC or not isinstance(message, dict):
            return
        address = str(message.get("worker"))
        if "failed" in message:
            self._write()
            key, words = message["failed"]
            self._fail(key, address, words)
            self._failed.add(key)
        for entry in message.get("transfers") or ():
            keys = entry.get("keys") or ()
            state = self._scheduler.tasks.get(keys[0]) if keys else None
            entry = {**entry, "op": state.prefix.name if state is not None else None}
            self._rows.cluster.transfer(perf_counter_ns(), entry, self._lane(str(entry["who"])), self._lane(address))
