"""A tape that grows: its state from part to part, each part looked at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from peephole.model.natural import natural
from peephole.query.tape.now import Now, WorkerNow, plural
from peephole.query.tape.rows import Flags, Ints
from peephole.query.tape.stats import Stay, covered, earliest_start, joined, setup, stay
from peephole.query.tape.tape import Tape

_OPERATIONS = 8


@dataclass(slots=True)
class _Worker:
    """What a worker did so far."""

    events: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    failures: int = 0
    last: str = ""
    stay: Stay | None = None
    busy: tuple[Ints, Ints] = field(default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    """Begins and ends of the time in which it is known to have worked."""
    most: tuple[Ints, Ints] = field(default_factory=lambda: (np.zeros(0, np.int64), np.zeros(0, np.int64)))
    """The same for the time in which it can have worked."""


class Following:
    """Adds the parts of one run up. A part may begin with events that were there before: they explain the new ones."""

    def __init__(self) -> None:
        self._seen = -1
        self._events = 0
        self._window: tuple[int, int] | None = None
        self._end = 0
        self._workers: dict[str, _Worker] = {}
        self._counts: Counter[str] = Counter()
        self._alone: dict[int, str] = {}
        """Numbers of recent events whose other half had not come, and the operation as which each was counted."""
        self._spent: Counter[str] = Counter()

    @property
    def seen(self) -> int:
        """The highest number so far, -1 before the first."""
        return self._seen

    def add(self, tape: Tape) -> None:
        """Takes the events above the highest number so far."""
        new = tape.seq > self._seen
        for lane in tape.of_kind("worker"):
            self._workers.setdefault(tape.lanes[lane].name, _Worker())
        if not new.any():
            return
        self._events += int(new.sum())
        self._end = max(self._end, int((tape.time + tape.dur)[new].max()))
        joining = setup(tape)
        if (work := new & ~joining).any():
            begin, end = int(tape.time[work].min()), int((tape.time + tape.dur)[work].max())
            self._window = (min(begin, self._window[0]), max(end, self._window[1])) if self._window else (begin, end)
        # a length belongs to the first of a pair, and is known once the second is there
        done = (tape.dur > 0) & (new | new[tape.pair]) & ~joining
        arrows = tape.arrows
        fresh = np.append(new, False)[arrows.event]
        size = np.maximum(arrows.bytes, 0) * fresh
        into = np.bincount(arrows.target, size, minlength=len(tape.lanes))
        out = np.bincount(arrows.source, size, minlength=len(tape.lanes))
        early = earliest_start(tape)
        answered = (tape.pair >= 0) & np.isin(tape.seq, list(self._alone))
        for row in np.flatnonzero(answered).tolist():
            # an answer that was logged before its batch: only now it is known what it answers
            self._counts[self._alone.pop(int(tape.seq[row]))] -= 1
            self._counts[tape.ops[int(tape.op[row])]] += 1
        for lane in tape.of_kind("worker"):
            self._take(tape, lane, new, done, np.where(new | answered, early, -1))
            self._workers[tape.lanes[lane].name].bytes_in += int(into[lane])
            self._workers[tape.lanes[lane].name].bytes_out += int(out[lane])
        here = np.isin(list(self._alone), tape.seq).tolist()
        self._alone = {seq: op for (seq, op), known in zip(self._alone.items(), here, strict=True) if known}
        self._seen = int(tape.seq.max())

    def _take(self, tape: Tape, lane: int, new: Flags, done: Flags, early: Ints) -> None:
        worker = self._workers[tape.lanes[lane].name]
        mine = tape.lane == lane
        joining = setup(tape)
        rows = np.flatnonzero(mine & new)
        worker.stay = stay(tape, rows, worker.stay) if len(rows) else worker.stay
        worker.events += len(rows)
        worker.failures += int(tape.failed[rows].sum())
        acts = rows[~joining[rows] & ~tape.is_event("RELEASE", "DISCONNECT")[rows]]
        if len(acts):
            worker.last = tape.ops[int(tape.op[acts[-1]])]
        work = rows[~joining[rows]]
        for i, n in enumerate(np.bincount(tape.op[work], minlength=len(tape.ops)).tolist()):
            self._counts[tape.ops[i]] += n
        for row in work[tape.pair[work] < 0].tolist():
            self._alone[int(tape.seq[row])] = tape.ops[int(tape.op[row])]
        spans = np.flatnonzero(mine & done)
        for row in spans.tolist():
            self._spent[tape.ops[int(tape.op[row])]] += int(tape.dur[row])
        late = np.flatnonzero(mine & (early >= 0))
        begins, ends = tape.time[spans], tape.time[spans] + tape.dur[spans]
        worker.busy = joined(np.concatenate((worker.busy[0], begins)), np.concatenate((worker.busy[1], ends)))
        worker.most = joined(
            np.concatenate((worker.most[0], begins, early[late])),
            np.concatenate((worker.most[1], ends, tape.time[late])),
        )

    def now(self, name: str, state: str) -> Now:
        """The cluster as it is after the last part."""
        begin, end = self._window or (0, 0)
        workers = []
        for title, worker in sorted(self._workers.items(), key=lambda item: natural(item[0])):
            busy, most = covered(*worker.busy), covered(*worker.most)
            bound = most > busy
            came, left = (worker.stay or Stay()).within(begin, end, worker.most)
            there = max(1, left - came)
            workers.append(
                WorkerNow(
                    title, (worker.last,) if worker.last else (), (most if bound else busy) / there,
                    bound, worker.events, worker.bytes_in, worker.bytes_out, worker.failures,
                )
            )  # fmt: skip
        words = f"{self._events:,} events, {plural(len(workers), 'worker')}, {self._end / 1e9:,.3f} s, {state}"
        order = sorted(
            (op for op in self._counts if self._counts[op]), key=lambda op: (-self._spent[op], -self._counts[op])
        )
        busiest = tuple((op, self._counts[op], self._spent[op]) for op in order[:_OPERATIONS])
        return Now(name, words, tuple(workers), busiest, ended=False)
