"""What the scheduler's plugin records. Standard library only."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from peephole.model.tables import NONE
from peephole.sources.dask.lanes import Cluster, Lane

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

TOPIC: Final = "peephole-transfers"


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
        recorder.row("flows", **{"from": said, "to": heard}, kind="message")

    def transition(self, key: Any, start: str, finish: str, *_args: Any, **facts: Any) -> None:
        """A task changed its state."""
        if finish == "processing":
            state = self._scheduler.tasks.get(key)
            if state is not None:
                number = self._sent[key] = self._recorder.new_correlation()
                self._slice(self._dispatcher, perf_counter_ns(), 0, state.prefix.name, 0, -1, number)
        elif start == "processing":
            if finish == "memory":
                self._done(key, facts)
            elif finish == "erred":
                self._failed(key, facts)
            else:
                self._sent.pop(key, None)
        elif start == "memory" and finish != "memory":
            held = self._held.pop(key, None)
            if held is not None:
                lane, op = held
                self._slice(lane.track, perf_counter_ns(), 0, op, lane.release_row)

    def _done(self, key: Any, facts: dict[str, Any]) -> None:
        now = perf_counter_ns()
        recorder, cluster = self._recorder, self._cluster
        state = self._scheduler.tasks.get(key)
        if state is None:
            return
        op = state.prefix.name
        lane = self._lane(facts.get("worker") or "")
        for span in facts.get("startstops") or ():
            if span["action"] != "compute":
                continue
            start, end = cluster.clock(span["start"]), cluster.clock(span["stop"])
            # by hand, since this happens once per task: twice as quick as a dictionary that is made and dumped
            text = (
                f'{{"event":"COMPUTE","command":"task","op":{quoted(op)},"size":{facts.get("nbytes") or 0},'
                f'"report":{max(0, now - end)},"details":{quoted(str(key))}}}'
            )
            number = recorder.new_correlation()
            row = lane.thread_row(facts.get("thread"))
            if not recorder.closed:
                writer = recorder.slot().writer
                writer.slice_with_args(lane.track, start, max(0, end - start), op, row, number, NONE, text)
            sent = self._sent.pop(key, 0)
            if sent:
                recorder.row("flows", **{"from": sent, "to": number}, kind="launch")
        self._held[key] = (lane, op)
        for client in state.who_wants or ():
            self._slice(cluster.client(client.client_key), now, 0, op, 1)

    def _failed(self, key: Any, facts: dict[str, Any]) -> None:
        state = self._scheduler.tasks.get(key)
        op = state.prefix.name if state is not None else "task"
        lane = self._lane(facts.get("worker") or facts.get("erred_on") or "")
        args = {"event": "ERROR", "command": "task", "op": op, "success": False,
                "details": f"{key}: {facts.get('exception_text') or 'failed'}"[:2000]}  # fmt: skip
        sent, number = self._sent.pop(key, 0), self._recorder.new_correlation()
        self._slice(lane.track, perf_counter_ns(), 0, op, lane.release_row, correlation=number, args=args)
        if sent:
            self._recorder.row("flows", **{"from": sent, "to": number}, kind="launch")

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
        self._recorder.row("flows", **{"from": number, "to": other}, kind="message")

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
