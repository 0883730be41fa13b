"""What the scheduler's plugin records. Standard library only."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from peephole.model.tables import NONE
from peephole.sources.dask.lanes import Cluster, Lane

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder
    from peephole.record.writer import Writer

TOPIC: Final = "peephole-transfers"

DELAY: Final = 0.1
"""Seconds after which what happened is written at the latest."""
MOST_WAITING: Final = 512


class SchedulerTape:
    """A mixin for Dask's SchedulerPlugin. Every method is on the scheduler's hot path: nothing here may wait."""

    def __init__(self, scheduler: Any, recorder: Recorder, version: str) -> None:
        self._scheduler = scheduler
        self._recorder = recorder
        self._slice = recorder.slice
        self._cluster = Cluster(recorder, version)
        self._dispatcher = self._cluster.dispatcher
        self._sent: dict[Any, int] = {}
        self._held: dict[Any, tuple[Lane, str]] = {}
        self._waiting: list[tuple[Any, ...]] = []
        recorder.on_exit(self._write)
        for address, worker in scheduler.workers.items():
            self._lane(address, worker)

    def _lane(self, address: str, worker: Any = None) -> Lane:
        worker = worker if worker is not None else self._scheduler.workers.get(address)
        if worker is None:
            return self._cluster.worker(address)
        return self._cluster.worker(address, worker.name, worker.nthreads)

    def update_graph(self, scheduler: Any, *, client: str, tasks: Any, **_more: Any) -> None:
        """A client submitted work: one event per graph."""
        now = perf_counter_ns()
        recorder = self._recorder
        tasks = list(tasks)
        first = scheduler.tasks.get(tasks[0]) if tasks else None
        op = first.prefix.name if first is not None else "graph"
        facts = {"event": "RECV", "command": "update-graph", "op": op, "client": client,
                 "details": f"{len(tasks)} tasks" if len(tasks) != 1 else str(tasks[0])}  # fmt: skip
        said, heard = recorder.new_correlation(), recorder.new_correlation()
        self._slice(self._cluster.client(client), now, 0, op, correlation=said, args=facts)
        self._slice(self._dispatcher, now, 0, op, correlation=heard, args={"message": "update-graph"})
        self._cluster.flow(said, heard, "message")

    def transition(self, key: Any, start: str, finish: str, *_args: Any, **facts: Any) -> None:
        """A task changed its state."""
        if finish == "processing":
            state = self._scheduler.tasks.get(key)
            if state is not None:
                self._later((key, perf_counter_ns(), state.prefix.name, None, None, None))
        elif start == "processing":
            if finish == "memory":
                state = self._scheduler.tasks.get(key)
                if state is not None:
                    now, lane = perf_counter_ns(), self._lane(facts.get("worker") or "")
                    wanted = [client.client_key for client in state.who_wants or ()]
                    self._later((key, now, state.prefix.name, lane, facts, wanted))
            elif finish == "erred":
                self._write()
                self._failed(key, facts)
        elif start == "memory" and finish != "memory":
            self._later((key, perf_counter_ns(), None, None, None, None))

    def _later(self, item: tuple[Any, ...]) -> None:
        """Keeps what happened for a moment: written together, rows cost a fifth of what they cost one by one between
        everything else that a scheduler does."""
        self._waiting.append(item)
        if len(self._waiting) == 1:
            self._scheduler.loop.call_later(DELAY, self._write)
        elif len(self._waiting) >= MOST_WAITING:
            self._write()

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        recorder = self._recorder
        if not waiting or recorder.closed:
            return
        sent, held, dispatcher, new = self._sent, self._held, self._dispatcher, recorder.new_correlation
        # straight to this thread's writer: what is written here is known to fit
        writer = recorder.slot().writer
        write = writer.slice
        for key, now, op, lane, facts, wanted in waiting:
            if op is None:
                if key in held:
                    lane, op = held.pop(key)
                    write(lane.track, now, 0, op, lane.release_row, 0)
            elif facts is None:
                number = sent[key] = new()
                write(dispatcher, now, 0, op, 0, number)
            else:
                self._done(writer, key, now, op, lane, facts)
                held[key] = (lane, op)
                for client in wanted:
                    write(self._cluster.client(client), now, 0, op, 1, 0)

    def _done(self, writer: Writer, key: Any, now: int, op: str, lane: Lane, facts: dict[str, Any]) -> None:
        cluster = self._cluster
        for span in facts.get("startstops") or ():
            if span["action"] != "compute":
                continue
            start, end = cluster.clock(span["start"]), cluster.clock(span["stop"])
            # by hand, since this happens once per task: twice as quick as a dictionary that is made and dumped
            text = (
                f'{{"event":"COMPUTE","command":"task","op":{quoted(op)},"size":{facts.get("nbytes") or 0},'
                f'"report":{max(0, now - end)},"details":{quoted(str(key))}}}'
            )
            number = self._recorder.new_correlation()
            row = lane.thread_row(facts.get("thread"))
            writer.slice_with_args(lane.track, start, max(0, end - start), op, row, number, NONE, text)
            sent = self._sent.pop(key, 0)
            if sent:
                cluster.flow(sent, number, "launch")

    def _failed(self, key: Any, facts: dict[str, Any]) -> None:
        state = self._scheduler.tasks.get(key)
        op = state.prefix.name if state is not None else "task"
        lane = self._lane(facts.get("worker") or facts.get("erred_on") or "")
        args = {"event": "ERROR", "command": "task", "op": op, "success": False,
                "details": f"{key}: {facts.get('exception_text') or 'failed'}"[:2000]}  # fmt: skip
        sent, number = self._sent.pop(key, 0), self._recorder.new_correlation()
        self._slice(lane.track, perf_counter_ns(), 0, op, lane.release_row, correlation=number, args=args)
        if sent:
            self._cluster.flow(sent, number, "launch")

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """A worker joined."""
        self._worker_event(worker, "CONNECT", scheduler.workers.get(worker))

    def remove_worker(self, scheduler: Any, worker: str, **more: Any) -> None:
        """A worker left or was lost."""
        self._worker_event(worker, "DISCONNECT", None, str(more.get("stimulus_id") or ""))

    def _worker_event(self, address: str, event: str, worker: Any, details: str = "") -> None:
        lane = self._lane(address, worker)
        facts = {"event": event, "command": "WORKER", "op": event.lower(), "worker": lane.name,
                 "details": f"{address} {details}".rstrip()}  # fmt: skip
        number, other = self._recorder.new_correlation(), self._recorder.new_correlation()
        now = perf_counter_ns()
        self._slice(lane.track, now, 0, event.lower(), lane.release_row, correlation=number, args=facts)
        self._slice(self._dispatcher, now, 0, event.lower(), correlation=other, args={"message": event})
        self._cluster.flow(number, other, "message")

    async def close(self) -> None:
        """The scheduler closes: nothing may be left."""
        self._write()

    def log_event(self, topic: str, message: Any) -> None:
        """A worker tells what it fetched from others."""
        if topic != TOPIC or not isinstance(message, dict):
            return
        target = self._lane(str(message.get("worker")))
        for entry in message.get("transfers") or ():
            keys = entry.get("keys") or ()
            state = self._scheduler.tasks.get(keys[0]) if keys else None
            entry = {**entry, "op": state.prefix.name if state is not None else None}
            self._cluster.transfer(entry, self._lane(str(entry["who"])), target)
