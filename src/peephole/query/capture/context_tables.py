"""All contexts and all steps of a capture, a column each: what a tree of thousands of them is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.replay.work import work_of_contexts
from peephole.store.capture import Capture

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ContextColumns:
    """One entry per context, in the order of the table."""

    id: list[int]
    name: list[str]
    kind: list[str]
    parent: Ints
    start: Ints
    dur: Ints
    steps: list[int]
    matches: list[int]
    has_artifacts: list[bool]
    """Whether it left code or anything else behind."""


@dataclass(frozen=True, slots=True)
class StepColumns:
    """One entry per step, in the order of the table."""

    id: Ints
    context: Ints
    depth: Ints
    name: list[str]
    file: list[str]
    line: Ints
    root: Ints
    after: Ints
    """Root of the graph that came out, -1 where it is replayed."""
    dur: Ints
    matches: Ints
    bottom_up: NDArray[np.bool_]
    walk: NDArray[np.bool_]
    enter_calls: NDArray[np.bool_]
    raised: NDArray[np.bool_]
    """Whether it ended in an error."""


def context_columns(capture: Capture) -> ContextColumns:
    """The contexts, and how much was done in each."""
    frame = capture.read("contexts", ["id", "name", "kind", "parent", "start", "dur"])
    ids = frame["id"].tolist()
    work = work_of_contexts(capture.read("steps", ["context", "matches"]))
    done = [work.get(context, (0, 0)) for context in ids]
    owners = set(capture.read("artifacts", ["context"])["context"].tolist())
    return ContextColumns(
        ids,
        [name or "" for name in frame.texts("name")],
        [kind or "" for kind in frame.texts("kind")],
        frame["parent"],
        frame["start"],
        frame["dur"],
        [steps for steps, _ in done],
        [matches for _, matches in done],
        [context in owners for context in ids],
    )


def step_columns(capture: Capture) -> StepColumns:
    """The steps of all contexts."""
    numbers = ["id", "context", "depth", "line", "root", "after", "dur", "matches", "bottom_up", "walk", "enter_calls"]
    frame = capture.read("steps", [*numbers, "name", "file", "error"])
    columns: dict[str, NDArray[Any]] = {name: frame[name] for name in numbers}
    return StepColumns(
        **columns,
        name=[name or "" for name in frame.texts("name")],
        file=[file or "" for file in frame.texts("file")],
        raised=frame.texts("error").codes >= 0,
    )
