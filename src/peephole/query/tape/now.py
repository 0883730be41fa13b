"""A cluster at a glance: what `peephole top` shows, from a tape or from what a Dask scheduler answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from peephole.query.tape.stats import lane_stats, setup
from peephole.query.tape.tape import Tape, advice
from peephole.query.timeline.top import top
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """One worker: what it runs, how busy it was, what it moved."""

    name: str
    running: tuple[str, ...]
    busy: float
    """Part of the time."""
    bound: bool
    """`busy` is what it can have been at most."""
    events: int
    bytes_in: int
    """-1 when unknown."""
    bytes_out: int
    failures: int


@dataclass(frozen=True, slots=True)
class Now:
    """The cluster."""

    name: str
    words: str
    workers: tuple[WorkerNow, ...]
    busiest: tuple[tuple[str, int, int], ...]
    """Operations with their events and known ns, most first."""
    ended: bool
    counted: str = "events"
    """What `WorkerNow.events` counts."""
    share: str = "busy"
    """What `WorkerNow.busy` is a part of: time, or what the processor can do."""


def now_of(tape: Tape, live: bool) -> Now:
    """The state at the end of a tape; `live` when its program still runs."""
    workers = []
    for i, stats in enumerate(lane_stats(tape)):
        if stats.kind != "worker":
            continue
        bound = stats.busy_most > stats.busy
        workers.append(
            WorkerNow(
                stats.name, _last(tape, i), stats.busy_share_most if bound else stats.busy_share, bound, stats.events,
                stats.bytes_in, stats.bytes_out, stats.failures,
            )
        )  # fmt: skip
    end = int((tape.time + tape.dur).max()) / 1e9 if len(tape) else 0.0
    state = "live" if live else "ended"
    words = f"{len(tape):,} events, {plural(len(workers), 'worker')}, {end:,.3f} s, {state}"
    # a GT tape grows without telling: only a sealed recording is known to have ended
    return Now(tape.name, words, tuple(workers), _operations(tape), ended=not live and tape.engine != "gt")


def now_of_names(capture: Capture) -> Now:
    """The same for a program without a tape: where its time went so far."""
    found = top(capture, 20)
    busiest = tuple((row.name, row.count, row.total) for row in found.rows)
    state = "live" if capture.live else "ended"
    words = f"{found.count:,} slices, {state}"
    if what_to_do := advice(capture):
        words = f"no events. {what_to_do}"
    return Now(capture.name, words, (), busiest, ended=not capture.live)


def _last(tape: Tape, lane: int) -> tuple[str, ...]:
    """The operation of the last event on a lane that is work."""
    joining = setup(tape)
    mine = np.flatnonzero((tape.lane == lane) & ~joining & ~tape.is_event("RELEASE", "DISCONNECT"))
    return (tape.ops[int(tape.op[mine[-1]])],) if len(mine) else ()


def _operations(tape: Tape, most: int = 8) -> tuple[tuple[str, int, int], ...]:
    workers = np.array([lane.kind == "worker" for lane in tape.lanes], np.bool_)
    joining = setup(tape)
    mine = np.flatnonzero(workers[tape.lane] & ~joining) if len(tape) else np.zeros(0, np.int64)
    events = np.bincount(tape.op[mine], minlength=len(tape.ops))
    spent = np.bincount(tape.op[mine], tape.dur[mine], minlength=len(tape.ops))
    order = np.lexsort((-events, -spent))[:most]
    return tuple((tape.ops[i], int(events[i]), int(spent[i])) for i in order.tolist() if events[i])


def now_of_dask(address: str, info: Mapping[str, Any], processing: Mapping[str, Any], stacks: Mapping[str, Any]) -> Now:
    """The state that a Dask scheduler tells: its workers' metrics and the tasks that they hold."""
    workers = []
    for worker, facts in sorted(info.get("workers", {}).items(), key=lambda item: str(item[1].get("name"))):
        metrics = facts.get("metrics", {})
        name = facts.get("name")
        running = tuple(str(key).partition("-")[0].strip("('\"") for key in (stacks.get(worker) or {}))
        transfer = metrics.get("transfer", {})
        workers.append(
            WorkerNow(
                f"worker-{name}" if isinstance(name, int) else str(name or worker),
                running,
                min(1.0, float(metrics.get("cpu", 0.0)) / 100 / max(1, int(facts.get("nthreads") or 1))),
                False,
                len(processing.get(worker) or ()),
                int(transfer.get("incoming_bytes", -1)),
                int(transfer.get("outgoing_bytes", -1)),
                0,
            )
        )
    waiting = sum(worker.events for worker in workers)
    words = f"{plural(len(workers), 'worker')}, {plural(waiting, 'task')} on them"
    return Now(address, words, tuple(workers), (), ended=False, counted="tasks", share="cpu")


def plural(count: int, word: str) -> str:
    """1 worker, 2 workers."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")
