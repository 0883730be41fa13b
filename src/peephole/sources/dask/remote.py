"""Plugins that a client gives to a scheduler and workers that nobody records. Standard library only.

They are sent by value: the cluster need not have Peephole, so nothing here may use any other module of it. What they
hear is kept in the scheduler until the client takes it, and they go when the client goes.
"""

from __future__ import annotations

import time
from typing import Any

MOST = 1_000_000
"""Items that wait for a client that does not come; more are counted and dropped."""


class SchedulerEar:
    """A mixin for Dask's SchedulerPlugin: what happens as plain lists, the kind first, then the wall clock."""

    def __init__(self, name: str, client: str) -> None:
        self.name = name
        self.client = client
        self.news: list[list[Any]] = []
        self.dropped = 0
        self.failed: set[Any] = set()
        self.scheduler: Any = None

    async def start(self, scheduler: Any) -> None:
        """The scheduler took it."""
        self.scheduler = scheduler
        for address in list(scheduler.workers):
            self._say(["worker", time.time(), *self._worker(address), "", ""])

    def _say(self, item: list[Any]) -> None:
        if len(self.news) < MOST:
            self.news.append(item)
        else:
            self.dropped += 1

    def _worker(self, address: str) -> tuple[str, Any, int]:
        worker = self.scheduler.workers.get(address)
        return (address, None, 1) if worker is None else (address, worker.name, worker.nthreads)

    def update_graph(self, scheduler: Any, *, client: str, tasks: Any, **_more: Any) -> None:
        """A client submitted work."""
        tasks = list(tasks)
        first = scheduler.tasks.get(tasks[0]) if tasks else None
        op = first.prefix.name if first is not None else "graph"
        self._say(["graph", time.time(), client, op, f"{len(tasks)} tasks" if len(tasks) != 1 else str(tasks[0])])

    def transition(self, key: Any, start: str, finish: str, *_args: Any, **facts: Any) -> None:
        """A task changed its state."""
        if start == "memory" and finish != "memory":
            self._say(["released", time.time(), str(key)])
            return
        state = self.scheduler.tasks.get(key)
        if state is None:
            return
        if finish == "processing":
            self._say(["dispatched", time.time(), str(key), state.prefix.name])
        elif start == "processing" and finish == "memory":
            spans = [(s["start"], s["stop"]) for s in facts.get("startstops") or () if s["action"] == "compute"]
            wanted = [client.client_key for client in state.who_wants or ()]
            where = self._worker(facts.get("worker") or "")
            known = [facts.get("nbytes") or 0, facts.get("thread"), spans, wanted]
            self._say(["done", time.time(), str(key), state.prefix.name, *where, *known])
        elif start == "processing":
            # a task that is tried again has failed all the same: its worker told so before
            if finish == "erred" and key not in self.failed:
                address = facts.get("worker") or facts.get("erred_on") or ""
                lost = "failed" if address in self.scheduler.workers else "worker lost"
                self._fail(key, address, str(facts.get("exception_text") or lost))
            self.failed.discard(key)
            self._say(["gone", time.time(), str(key)])

    def _fail(self, key: Any, address: str, words: str) -> None:
        state = self.scheduler.tasks.get(key)
        op = state.prefix.name if state is not None else "task"
        self._say(["failed", time.time(), str(key), op, *self._worker(address), words])

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """A worker joined."""
        self._say(["worker", time.time(), *self._worker(worker), "CONNECT", worker])

    def remove_worker(self, scheduler: Any, worker: str, **more: Any) -> None:
        """A worker left or was lost."""
        words = f"{worker} {more.get('stimulus_id') or ''}".rstrip()
        self._say(["worker", time.time(), *self._worker(worker), "DISCONNECT", words])

    def log_event(self, topic: str, message: Any) -> None:
        """A worker's ear tells what it fetched from others, or which task failed."""
        if topic != self.name or not isinstance(message, dict):
            return
        if "failed" in message:
            key, words = message["failed"]
            self._fail(key, str(message.get("worker")), words)
            self.failed.add(key)
        for entry in message.get("transfers") or ():
            state = self.scheduler.tasks.get(entry["keys"][0]) if entry["keys"] else None
            facts = {**entry, "op": state.prefix.name if state is not None else None}
            target, source = self._worker(str(message.get("worker"))), self._worker(str(entry["who"]))
            self._say(["transfer", time.time(), *target, *source, facts])

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Its client went away: nobody will take what it hears."""
        if client == self.client and self.name in scheduler.plugins:
            scheduler.loop.add_callback(scheduler.remove_plugin, self.name)


class WorkerEar:
    """A mixin for Dask's WorkerPlugin: hands the worker's own log of transfers and failures to the scheduler's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.worker: Any = None
        self.last: Any = None

    def setup(self, worker: Any) -> None:
        """The worker took it."""
        self.worker = worker
        log = worker.transfer_incoming_log
        self.last = log[-1] if log else None

    def transition(self, key: Any, start: str, finish: str, **_more: Any) -> None:
        """A task changed its state: what came from elsewhere is in memory now, or it failed."""
        if finish == "error":
            words = str(self.worker.state.tasks[key].exception_text or "failed")[:2000]
            self.worker.log_event(self.name, {"worker": self.worker.address, "failed": (key, words)})
        if start != "flight" or finish != "memory":
            return
        new: list[Any] = []
        for entry in reversed(self.worker.transfer_incoming_log):
            if entry is self.last:
                break
            new.append(entry)
        if new:
            self.last = new[0]
            names = ("start", "stop", "who", "total")
            told = [{**{n: entry[n] for n in names}, "keys": list(entry["keys"])[:64]} for entry in reversed(new)]
            self.worker.log_event(self.name, {"worker": self.worker.address, "transfers": told})


def take(name: str, dask_scheduler: Any = None) -> tuple[float, list[list[Any]], int]:
    """The scheduler's wall clock, what its ear heard since the last time, and how much it had to drop."""
    ear = dask_scheduler.plugins.get(name)
    if ear is None:
        return time.time(), [], 0
    news, ear.news = ear.news, []
    dropped, ear.dropped = ear.dropped, 0
    return time.time(), news, dropped


def look(dask_scheduler: Any = None) -> tuple[str, bool]:
    """The scheduler's id, and whether it lives in a recorded process and so records itself."""
    return dask_scheduler.id, "peephole" in dask_scheduler.plugins


def hand_over(name: str, client: str, dask_scheduler: Any = None) -> None:
    """Has the ear go with another client."""
    dask_scheduler.plugins[name].client = client
