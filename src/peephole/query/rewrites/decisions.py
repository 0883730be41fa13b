"""What passes decided about nodes: fused, refused, broken off, compiled again. `why` answers from these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from peephole.compilers import compiler_of
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.query.rewrites.step_graphs import step_name
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision; `a` and `b` are ids of nodes, -1 for none, and their names, or ops where they have none."""

    step: int
    ordinal: int
    kind: str
    a: int
    b: int
    a_name: str | None
    b_name: str | None
    a_identity: int
    b_identity: int
    """The boxes that they are in the step's graphs, -1 where names do not tell."""
    reason: str
    file: str | None
    line: int
    words: str = ""
    """The reason in words of somebody who does not know the compiler; empty where there are none."""


@dataclass(frozen=True, slots=True)
class Word:
    """A decision with where it was made."""

    decision: Decision
    context: int
    context_name: str
    step_name: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided about two nodes, in order: the last word counts."""

    first: str
    second: str
    words: list[Word]

    @property
    def last(self) -> Word:
        """The decision that counts."""
        return self.words[-1]


def decisions(capture: Capture, step: int) -> list[Decision]:
    """What a step decided, in order; PeepholeError when there is no such step."""
    trace = trace_of(capture)
    trace.step_row(step)
    return _decisions(capture, trace, [step])


def decided(capture: Capture, first: str, second: str, context: str | None = None) -> Verdict | None:
    """What was decided about two nodes that go by these names; None when the capture has no decision on either.

    PeepholeError when there are decisions about both, but none about the two of them.
    """
    if not capture.count("decisions"):
        return None
    trace = trace_of(capture)
    frame = capture.read("decisions", ["a", "b"])
    names = {word: set(_ids_named(trace, word)) for word in (first, second)}
    own = {word: np.isin(frame["a"], list(ids)) | np.isin(frame["b"], list(ids)) for word, ids in names.items()}
    if not all(rows.any() for rows in own.values()):
        return None
    both = np.flatnonzero(own[first] & own[second])
    if first == second or not len(both):
        near = _others(capture, trace, np.flatnonzero(own[first]), names[first])
        what = f"{first} was decided on with {', '.join(near[:3])}" if near else f"{first} was decided on alone"
        raise PeepholeError(f"This capture has no decision about {first} and {second}; {what}.")
    words = []
    for decision in _decisions(capture, trace, _steps_of(capture, both), both):
        row = trace.step_row(decision.step)
        number = trace.number("context", row)
        name = trace.numbered_names.get(number, "")
        if context is None or context in (name, str(number)):
            words.append(Word(decision, number, name, step_name(trace, decision.step)))
    if not words:
        raise PeepholeError(f"There is no decision about {first} and {second} in {context}.")
    return Verdict(first, second, words)


def _steps_of(capture: Capture, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    return list(dict.fromkeys(capture.read("decisions", ["step"])["step"][rows].tolist()))


def _ids_named(trace: RewriteTrace, name: str) -> list[int]:
    """The nodes of that name."""
    rows = trace.instructions().rows_named(name)
    return trace.table.ids[rows].tolist() if rows else []


def _others(
    capture: Capture, trace: RewriteTrace, rows: np.ndarray[tuple[int], np.dtype[np.int64]], own: set[int]
) -> list[str]:
    """Names of what these decisions are about beside those nodes, each once, the latest first."""
    frame = capture.read("decisions", ["a", "b"])
    found = []
    for row in rows.tolist()[::-1]:
        for id in (int(frame["a"][row]), int(frame["b"][row])):
            if id >= 0 and id not in own:
                found.append(_name(trace, id)[0] or "?")
    return list(dict.fromkeys(found))


def _decisions(
    capture: Capture, trace: RewriteTrace, steps: Iterable[int], only: Iterable[int] | None = None
) -> list[Decision]:
    """The decisions of these steps, in the order of the steps; `only` names rows of the table."""
    if not capture.count("decisions"):
        return []
    owners = capture.read("decisions", ["step"])["step"]
    wanted = None if only is None else set(np.asarray(list(only)).tolist())
    order = {step: trace.step_row(step) for step in steps}
    found = []
    for step in sorted(order, key=lambda step: order[step]):
        compiler = compiler_of(capture, trace.number("context", order[step]))
        first, last = (int(np.searchsorted(owners, step, side)) for side in ("left", "right"))
        frame = capture.read("decisions", rows=slice(first, last))
        texts = [frame.texts(name) for name in ("kind", "reason", "file")]
        for i in range(last - first):
            if wanted is not None and first + i not in wanted:
                continue
            a, b = int(frame["a"][i]), int(frame["b"][i])
            (a_name, a_box), (b_name, b_box) = _name(trace, a), _name(trace, b)
            kind, reason, file = (text[i] for text in texts)
            ordinal, line = int(frame["ordinal"][i]), int(frame["line"][i])
            found.append(
                Decision(
                    step,
                    ordinal,
                    kind or "",
                    a,
                    b,
                    a_name,
                    b_name,
                    a_box,
                    b_box,
                    reason or "",
                    file or None,
                    line,
                    compiler.in_words(reason or "") if a >= 0 else "",
                )
            )
    return found


def _name(trace: RewriteTrace, id: int) -> tuple[str | None, int]:
    """What a node is called, and the box that it is by that name."""
    row = int(trace.table.rows([id])[0]) if id >= 0 else -1
    if row < 0:
        return None, -1
    name = trace.instructions().name(row)
    return name or trace.table.texts(trace.table.own(row))[0], trace.instructions().first_box(row) if name else -1
