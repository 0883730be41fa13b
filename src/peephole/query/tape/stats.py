"""What a tape tells: who was busy, how even the work was, what moved, who waited, which patterns show.

Where the tape does not know, the result says so: a batch that was logged when it was done has no duration, only a
time within which it must have run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.tape.operations import REDUCING
from peephole.query.tape.rows import Flags, Ints
from peephole.query.tape.tape import Tape

SETUP: Final = ("RegisterWorker", "CLIENT", "WORKER")
"""Commands that belong to joining a cluster, not to its work."""
_JOINING: Final = ("RECV", "SEND", "CONNECT")
_BARELY: Final = 0.01
"""Part of the work's time that a worker may miss and still count as there throughout."""

_TOLD: Final = 100
"""Times the clock's step that workers must have worked for their work to be compared by time."""
_NOTABLE: Final = 0.05
"""Part of their time that they must have worked for it: of workers that hardly work, one slow start says nothing."""


@dataclass(frozen=True, slots=True)
class LaneStats:
    """One lane's figures."""

    name: str
    kind: str
    events: int
    bytes_in: int
    """Bytes of messages to it, where the tape tells a size."""
    bytes_out: int
    busy: int
    """ns in which it is known to have worked."""
    busy_most: int
    """ns in which it can have worked at most; more than `busy` where only the end of the work is logged."""
    window: int
    """ns of the work: from the first command to the last event, for a worker those of them in which it was there."""
    failures: int
    share: float
    """Its part of all workers' events; 0 for other lanes."""
    since: int | None = None
    """ns at which a worker came, when the work had begun by then."""
    until: int | None = None
    """ns at which a worker left, when the work went on without it."""

    @property
    def busy_share(self) -> float:
        """Known work as a part of the window."""
        return self.busy / self.window if self.window else 0.0

    @property
    def busy_share_most(self) -> float:
        """The most it can have been."""
        return self.busy_most / self.window if self.window else 0.0

    @property
    def idle_share(self) -> float:
        """What is certainly idle."""
        return max(0.0, 1.0 - self.busy_share_most)


@dataclass(frozen=True, slots=True)
class PairStats:
    """Messages from one lane to another."""

    source: str
    target: str
    messages: int
    bytes: int
    unknown: int
    """Messages whose size the tape does not tell."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A client's command and how long its answer took."""

    seq: int
    op: str
    client: str
    start: int
    dur: int
    reason: str


@dataclass(frozen=True, slots=True)
class Balance:
    """How even the workers' load is."""

    busiest: str
    share: float
    """Part that the busiest did: of the time in which they worked where the tape tells it, else of their events."""
    idle: tuple[str, ...]
    """Workers that did nothing."""
    even: float
    """1 when all did the same, 0 when one did everything."""
    words: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """Something that the cluster did together."""

    name: str
    """all-gather, all-reduce, reduce, broadcast, fan-out or unlogged."""
    seq: int
    op: str
    start: int
    dur: int
    words: str


def setup(tape: Tape) -> Flags:
    """Which events belong to joining and leaving the cluster."""
    return np.array([name in SETUP for name in tape.commands], np.bool_)[tape.command]


def window(tape: Tape) -> tuple[int, int]:
    """From the first command that is no registration to the last event, ns."""
    if not len(tape):
        return 0, 0
    work = np.flatnonzero(~setup(tape))
    rows = work if len(work) else np.arange(len(tape))
    return int(tape.time[rows].min()), int((tape.time[rows] + tape.dur[rows]).max())


@dataclass(frozen=True, slots=True)
class Stay:
    """When a worker came and left as far as its lane tells, ns; None where it does not."""

    came: int | None = None
    left: int | None = None

    def within(self, begin: int, end: int, busy: tuple[Ints, Ints]) -> tuple[int, int]:
        """The part of the work's time in which the worker was there; it was there whenever it worked."""
        starts, ends = busy
        came = begin if self.came is None else min([self.came, *starts[:1].tolist()])
        left = end if self.left is None else max([self.left, *ends[-1:].tolist()])
        # all that come before the first command or go after the last one, give or take a little, were there throughout
        slack = (end - begin) * _BARELY
        return (came if begin + slack < came <= end else begin), (left if begin <= left < end - slack else end)


def stay(tape: Tape, rows: Ints, before: Stay | None = None) -> Stay:
    """When the worker whose events these are came and left. `before` is what earlier events of it told, if any."""
    if not len(rows):
        return before or Stay()
    first = int(rows[0])
    joins = tape.commands[tape.command[first]] in SETUP and tape.events[tape.event[first]] in _JOINING
    came = before.came if before else int(tape.time[first]) if joins else None
    releases = np.array([name == "RELEASE" for name in tape.events], np.bool_)
    last = rows[~releases[tape.event[rows]]][-1:]
    gone = len(last) and tape.events[tape.event[last[0]]] == "DISCONNECT"
    return Stay(came, int(tape.time[last[0]]) if gone else None)


def lane_stats(tape: Tape) -> list[LaneStats]:
    """The figures of every lane, from top to bottom."""
    begin, end = window(tape)
    arrows = tape.arrows
    size = np.maximum(arrows.bytes, 0)
    lanes = len(tape.lanes)
    into = np.bincount(arrows.target, size, minlength=lanes)
    out = np.bincount(arrows.source, size, minlength=lanes)
    counts = np.bincount(tape.lane, minlength=lanes)
    joining = setup(tape)
    worker = np.array([lane.kind == "worker" for lane in tape.lanes], np.bool_)
    working = np.bincount(tape.lane[~joining], minlength=lanes) * worker
    total = max(1, int(working.sum()))
    failed = np.bincount(tape.lane[tape.failed], minlength=lanes)
    most_start = earliest_start(tape)
    found = []
    for i, lane in enumerate(tape.lanes):
        rows = np.flatnonzero(tape.lane == i)
        mine = rows[~joining[rows]]
        known = mine[tape.dur[mine] > 0]
        starts, ends = tape.time[known], tape.time[known] + tape.dur[known]
        busy = covered(starts, ends)
        late = mine[most_start[mine] >= 0]
        possible = joined(np.concatenate((starts, most_start[late])), np.concatenate((ends, tape.time[late])))
        came, left = stay(tape, rows).within(begin, end, possible) if worker[i] else (begin, end)
        found.append(
            LaneStats(
                lane.name, lane.kind, int(counts[i]), int(into[i]), int(out[i]), busy, max(busy, covered(*possible)),
                left - came, int(failed[i]), float(working[i] / total), came if came > begin else None,
                left if left < end else None,
            )
        )  # fmt: skip
    return found


def earliest_start(tape: Tape) -> Ints:
    """For the answer of a batch that was logged late: the event before it in the same command, when it cannot have
    begun earlier; -1 for all others."""
    found = np.full(len(tape), -1, np.int64)
    answers = np.flatnonzero(tape.reply_first & tape.is_event("WORKER_RECV") & (tape.of >= 0))
    if not len(answers):
        return found
    known = np.flatnonzero(tape.of >= 0)
    by = known[np.lexsort((known, tape.of[known]))]
    place = np.full(len(tape), -1, np.int64)
    place[by] = np.arange(len(by))
    before = by[np.maximum(place[answers] - 1, 0)]
    same = (place[answers] > 0) & (tape.of[before] == tape.of[answers])
    start = np.where(same, tape.time[before], tape.time[tape.of[answers]])
    found[answers] = np.minimum(start, tape.time[answers])
    return found


def covered(start: Ints, end: Ints) -> int:
    """ns that a set of spans covers, counted once where they overlap."""
    starts, ends = joined(start, end)
    return int((ends - starts).sum())


def joined(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Spans as few that do not touch each other, in the order of time."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    apart = np.flatnonzero(start[1:] > end[:-1])
    return start[np.append(0, apart + 1)], end[np.append(apart, len(end) - 1)]


def pair_stats(tape: Tape) -> list[PairStats]:
    """Messages and bytes per pair of lanes, from top to bottom."""
    arrows = tape.arrows
    key = arrows.source * len(tape.lanes) + arrows.target
    unique, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    total = np.bincount(inverse, np.maximum(arrows.bytes, 0), minlength=len(unique))
    unknown = np.bincount(inverse, arrows.bytes < 0, minlength=len(unique))
    names = [lane.name for lane in tape.lanes]
    return [
        PairStats(names[k // len(names)], names[k % len(names)], int(count[i]), int(total[i]), int(unknown[i]))
        for i, k in enumerate(unique.tolist())
    ]


def balance(tape: Tape, lanes: Sequence[LaneStats] | None = None) -> Balance | None:
    """How even the work was; None without workers or work. `lanes` is what `lane_stats` gave, when it is known."""
    workers = [stats for stats in (lane_stats(tape) if lanes is None else lanes) if stats.kind == "worker"]
    if not workers or not any(stats.share for stats in workers):
        return None
    n, shares, of = len(workers), [stats.share for stats in workers], "events"
    worked, window = sum(stats.busy for stats in workers), sum(stats.window for stats in workers)
    told = all(stats.busy == stats.busy_most for stats in workers)
    if told and worked >= max(_TOLD * tape.resolution, _NOTABLE * window):
        shares, of = [stats.busy / worked for stats in workers], "work by time"
    share, top = max(zip(shares, (stats.name for stats in workers), strict=True), key=lambda found: found[0])
    idle = tuple(stats.name for stats in workers if stats.share == 0)
    even = 1.0 if n == 1 else 1.0 - (share - 1 / n) / (1 - 1 / n)
    words = f"{top} does {share:.0%} of {n} workers' {of}" if n > 1 else f"{top} is the only worker"
    if idle:
        words += f"; {len(idle)} of them did nothing"
    return Balance(top, share, idle, even, words)


def waits(tape: Tape, most: int = 10) -> list[Wait]:
    """The commands whose answers took longest, and what was going on meanwhile as far as the tape tells."""
    of_client = np.array([lane.kind == "client" for lane in tape.lanes], np.bool_)
    asks = np.flatnonzero(tape.is_event("RECV") & (tape.dur > 0) & of_client[tape.lane])
    chosen = asks[np.argsort(-tape.dur[asks], kind="stable")][:most]
    return [
        Wait(
            int(tape.seq[row]), tape.ops[int(tape.op[row])], tape.lanes[int(tape.lane[row])].name,
            int(tape.time[row]), int(tape.dur[row]), _reason(tape, row),
        )
        for row in chosen.tolist()
    ]  # fmt: skip


def _reason(tape: Tape, row: int) -> str:
    if tape.failed[tape.pair[row]]:
        return "the answer says that it failed"
    others = [(i, tape.commands[int(tape.command[i])]) for i in np.flatnonzero(tape.of == row).tolist() if i != row]
    commands = {command for _, command in others}
    lanes = [tape.lanes[int(tape.lane[i])] for i, command in others if command not in SETUP]
    workers = [lane.name for lane in lanes if lane.kind == "worker"]
    if "GatherShards" in commands:
        return "shards gathered (GT does not log what moves)"
    if workers:
        different = len(set(workers))
        return f"waits for {workers[-1]}" + (f", the last of {different} workers" if different > 1 else "")
    if (tape.of[row + 1 : int(tape.pair[row])] != row).any():
        return "other clients' commands were open meanwhile: whose work it was is not logged"
    return "nothing logged meanwhile: a sharded operation or a move between workers"


def patterns(tape: Tape) -> list[Pattern]:
    """Collective operations that the tape shows, in the order of time; see `Pattern.name` for the kinds."""
    found = _gathers(tape) if tape.engine == "gt" else []
    found += _transfers(tape)
    return sorted(found, key=lambda pattern: pattern.start)


def _gathers(tape: Tape) -> list[Pattern]:
    """GT: GatherShards among the commands that the dispatcher injects, or an answer without any logged work."""
    gather = np.zeros(len(tape), np.int64)
    inject = np.flatnonzero(tape.is_event("MODIFIER_INJECT") & (tape.of >= 0))
    shards = np.array([name == "GatherShards" for name in tape.commands], np.bool_)[tape.command[inject]]
    np.add.at(gather, tape.of[inject[shards]], 1)
    workers = np.zeros(len(tape), np.bool_)
    workers[tape.of[tape.is_event("WORKER_SEND", "WORKER_RECV") & (tape.of >= 0)]] = True
    computing = ("BinaryOp", "UnaryOp", "GetData", "ReshapeOp", "SliceOp", "ConcatOp")
    computes = np.array([name in computing for name in tape.commands], np.bool_)[tape.command]
    asked = np.zeros(len(tape), np.bool_)
    asked[tape.of[inject]] = True
    silent = asked & ~workers & computes & (tape.dur > 0) & ~tape.failed & ~tape.failed[tape.pair]
    found = []
    for row in np.flatnonzero((gather > 0) | silent).tolist():
        op = tape.ops[int(tape.op[row])]
        if gather[row]:
            reduces = op in REDUCING
            what = "all-reduce" if reduces else "all-gather"
            how = f"{gather[row]} GatherShards, then {op}" + (" on the gathered shards" if reduces else "")
            words = f"{how}; what moved between the workers is not logged"
        else:
            what, words = "unlogged", "an answer without any logged work: sharded, gathered or moved between workers"
        found.append(Pattern(what, int(tape.seq[row]), op, int(tape.time[row]), int(tape.dur[row]), words))
    return found


def _transfers(tape: Tape) -> list[Pattern]:
    """Messages straight from worker to worker: into one (reduce), out of one (broadcast), or from each to each."""
    arrows = tape.arrows
    kinds = np.array([lane.kind == "worker" for lane in tape.lanes], np.bool_)
    rows = np.flatnonzero(kinds[arrows.source] & kinds[arrows.target] & (arrows.source != arrows.target))
    n = int(kinds.sum())
    if not len(rows) or n < 2:
        return []
    groups: dict[str, list[int]] = defaultdict(list)
    for row in rows.tolist():
        event = int(arrows.event[row])
        groups[tape.ops[int(tape.op[event])] if event >= 0 else ""].append(row)
    found: list[Pattern] = []
    for op, mine in groups.items():
        at = np.array(mine)
        sources, targets = set(arrows.source[at].tolist()), set(arrows.target[at].tolist())
        pairs = set(zip(arrows.source[at].tolist(), arrows.target[at].tolist(), strict=True))
        event = int(arrows.event[at[0]])
        seq = int(tape.seq[event]) if event >= 0 else 0
        start, end = int(arrows.start[at].min()), int(arrows.end[at].max())
        moved = f"{len(at)} transfers, {int(np.maximum(arrows.bytes[at], 0).sum()):,} bytes"
        if len(pairs) == n * (n - 1) and n > 2:  # two that exchange something need not do it together
            found.append(Pattern("all-gather", seq, op, start, end - start, f"from each worker to each: {moved}"))
        elif len(targets) == 1 and len(sources) == n - 1:
            name = tape.lanes[next(iter(targets))].name
            found.append(Pattern("reduce", seq, op, start, end - start, f"from all workers into {name}: {moved}"))
        elif len(sources) == 1 and len(targets) == n - 1:
            name = tape.lanes[next(iter(sources))].name
            found.append(Pattern("broadcast", seq, op, start, end - start, f"from {name} to all workers: {moved}"))
    return _all_reduces(sorted(found, key=lambda pattern: pattern.start))


def _all_reduces(found: list[Pattern]) -> list[Pattern]:
    """A reduce whose result is then broadcast is an all-reduce."""
    done: list[Pattern] = []
    for pattern in found:
        last = done[-1] if done else None
        if pattern.name == "broadcast" and last is not None and last.name == "reduce":
            end = pattern.start + pattern.dur
            words = f"{last.words}; then {pattern.words}"
            done[-1] = Pattern("all-reduce", last.seq, last.op, last.start, end - last.start, words)
        else:
            done.append(pattern)
    return done
