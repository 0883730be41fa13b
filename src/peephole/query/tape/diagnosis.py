"""What is wrong or surprising with a tape, in sentences that say what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peephole.query.tape.stats import LaneStats, balance
from peephole.query.tape.tape import NO_EVENTS, Tape


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding: `kind` for programs, `words` for people."""

    kind: str
    severity: str
    """`error`, `warning` or `note`."""
    words: str
    seq: int = 0
    """An event that shows it, 0 for none."""


def diagnoses(tape: Tape, lanes: Sequence[LaneStats] | None = None) -> list[Diagnosis]:
    """Everything worth saying, errors first. `lanes` is what `lane_stats` gave, when it is known."""
    if not len(tape):
        return [Diagnosis("no-events", "error", f"No events: {NO_EVENTS}")]
    found = [*_workers(tape), *_failures(tape), *_balance(tape, lanes), *_limits(tape)]
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _workers(tape: Tape) -> list[Diagnosis]:
    found = []
    workers = [tape.lanes[i].name for i in tape.of_kind("worker")]
    registers = _commands(tape, "RegisterWorker") & tape.is_event("RECV")
    names: Counter[str] = Counter()
    nameless = 0
    for row in np.flatnonzero(registers).tolist():
        lane = tape.lanes[int(tape.lane[row])]
        if lane.kind == "worker":
            names[lane.name] += 1
        else:
            nameless += 1
    shared = [name for name, count in names.items() if count > 1]
    if not workers:
        found.append(
            Diagnosis(
                "no-workers", "error", "No workers: nobody registered, so every command fails. Start workers first."
            )
        )
    elif len(workers) == 1 and tape.engine == "gt" and not shared and nameless < 2:
        found.append(
            Diagnosis(
                "one-worker", "note",
                f"One worker only: {workers[0]}. The auto-server starts a single one; to see several, start the server "
                "and the workers yourself.",
            )
        )  # fmt: skip
    if shared:
        found.append(
            Diagnosis(
                "shared-name", "warning",
                f"Workers share one name: {names[shared[0]]} registered as {shared[0]!r}, and their lanes cannot "
                "be told apart. Give each worker a name of its own.",
            )
        )  # fmt: skip
    if nameless:
        found.append(
            Diagnosis(
                "nameless", "note",
                f"{nameless} workers registered without telling their name (older GT): only those that were sent "
                f"something have a lane ({len(workers)}).",
            )
        )  # fmt: skip
    return found


def _failures(tape: Tape) -> list[Diagnosis]:
    found = []
    failed = np.flatnonzero(tape.failed)
    if len(failed):
        by = Counter(tape.lanes[i].name for i in tape.lane[failed].tolist())
        where = ", ".join(f"{count} on {name}" for name, count in by.most_common(4))
        first = int(failed[0])
        found.append(
            Diagnosis(
                "failures", "error",
                f"{_plural(len(failed), 'answer')} of failure ({where}), first #{int(tape.seq[first])} "
                f"{tape.ops[int(tape.op[first])]}.",
                int(tape.seq[first]),
            )
        )  # fmt: skip
    errors = np.flatnonzero(tape.is_event("ERROR"))
    if len(errors):
        text = tape.details[int(errors[0])].splitlines()
        words = (
            f"{_plural(len(errors), 'error')}, first: {text[0][:120] if text else tape.ops[int(tape.op[errors[0]])]}"
        )
        found.append(Diagnosis("errors", "error", words, int(tape.seq[errors[0]])))
    lost = np.flatnonzero(tape.is_event("DISCONNECT"))
    lost = lost[[tape.lanes[i].kind == "worker" for i in tape.lane[lost].tolist()]] if len(lost) else lost
    busy = np.flatnonzero(~tape.is_event("CONNECT", "DISCONNECT", "RELEASE"))
    # at the end of a run every worker leaves: only one that left before the work was done was lost
    lost = lost[lost < busy[-1]] if len(busy) else lost
    if len(lost):
        names = ", ".join(dict.fromkeys(tape.lanes[i].name for i in tape.lane[lost].tolist()))
        found.append(
            Diagnosis(
                "worker-lost", "warning", f"Workers left before the work was done: {names}.", int(tape.seq[lost[0]])
            )
        )
    if tape.engine == "gt":
        found += _unanswered(tape)
    return found


def _unanswered(tape: Tape) -> list[Diagnosis]:
    asks = np.flatnonzero(tape.is_event("RECV") & (tape.pair < 0))
    asks = asks[[tape.lanes[i].kind == "client" for i in tape.lane[asks].tolist()]] if len(asks) else asks
    if not len(asks):
        return []
    last = int(asks[-1])
    name = tape.lanes[int(tape.lane[last])].name
    others = bool((tape.seq > tape.seq[last] + 20).any())
    why = "the client went away" if others else "the tape ends before the answer: the server was stopped or killed"
    words = f"{_plural(len(asks), 'command')} without an answer; the last is #{int(tape.seq[last])} of {name}: {why}."
    return [Diagnosis("unanswered", "warning", words, int(tape.seq[last]))]


def _balance(tape: Tape, lanes: Sequence[LaneStats] | None) -> list[Diagnosis]:
    found = balance(tape, lanes)
    if found is None or len(tape.of_kind("worker")) < 2:
        return []
    if found.even < 0.7:
        return [Diagnosis("unbalanced", "warning", f"The work is uneven: {found.words}.")]
    return []


def _limits(tape: Tape) -> list[Diagnosis]:
    """What the tape cannot tell."""
    found = []
    if tape.resolution >= 1_000_000:
        _, count = np.unique(tape.time // tape.resolution, return_counts=True)
        together = int(count[count > 1].sum())
        if together:
            found.append(
                Diagnosis(
                    "one-millisecond", "note",
                    f"{together:,} of {len(tape):,} events share their millisecond with others "
                    f"(up to {int(count.max())}): their order is known, their time is not.",
                )
            )  # fmt: skip
    if tape.reply_first.any():
        batches = int(tape.reply_first.sum()) // 2
        words = (
            "1 batch was logged after it was" if batches == 1 else f"{batches:,} batches were logged after they were"
        )
        found.append(
            Diagnosis(
                "reply-first", "note",
                f"{words} done, answer first: how long each took is not known, only within which time.",
            )
        )  # fmt: skip
    gathers = int(_commands(tape, "GatherShards").sum())
    if gathers and tape.engine == "gt":
        found.append(
            Diagnosis(
                "unlogged", "note",
                f"Gathers between workers are not logged by GT: the data that {gathers:,} injected "
                "GatherShards moved is not on the tape.",
            )
        )  # fmt: skip
    found += [
        Diagnosis("problem", "warning", f"{count:,} × {reason}" + (f", such as {example[:80]!r}." if example else "."))
        for reason, count, example in tape.problems
    ]
    return found


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _commands(tape: Tape, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.array([command == name for command in tape.commands], np.bool_)[tape.command]
