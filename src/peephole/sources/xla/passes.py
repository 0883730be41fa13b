"""Passes and the pipelines that they are nested in, out of the names of the dumps.

    0007.simplification.after_pipeline-start.before_algsimp     a pipeline begins
    0008.simplification.after_algsimp.before_simplify-sorts     a pass of it
    0024.HLO_passes.after_simplification.before_expander        it ends: it is a pass of the outer one

Only passes that changed something are dumped, and a pipeline's end is only known by what comes later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

START: Final = "pipeline-start"
END: Final = "pipeline-end"


class PassName(NamedTuple):
    """What the name of a dump says: the pipeline, the pass that ran, the one that comes next (empty: not said)."""

    pipeline: str
    ran: str
    next: str

    @classmethod
    def of(cls, text: str) -> PassName:
        """Out of `simplification.after_algsimp.before_simplify-sorts`."""
        pipeline, after, rest = text.partition(".after_")
        if not after:
            return cls("", text, "")
        ran, _, following = rest.partition(".before_")
        return cls(pipeline, ran, following)


@dataclass(slots=True)
class PassStep:
    """A step: a pass, or a pipeline with what it ran; `root` and `after` are graphs."""

    name: str
    depth: int
    root: int
    after: int


def tree(dumps: list[tuple[PassName, int]], before: int) -> list[PassStep]:
    """The steps of a module, outer ones before inner ones, of its dumps and their graphs in order.

    `before` is the graph before the first of them; that of the first dump when it is negative.
    """
    steps: list[PassStep] = []
    open_steps: list[PassStep] = []
    state = before
    for place, (name, graph) in enumerate(dumps):
        if state < 0:
            state = graph
        if name.ran == START:
            _close_ended(open_steps, name.pipeline, dumps, place)
            if graph != state:
                # something that is no pass, as the scheduler, worked before it began
                steps.append(PassStep(f"before {name.pipeline}", len(open_steps), state, graph))
                state = graph
            _open(steps, open_steps, name.pipeline, state)
        else:
            while any(one.name == name.pipeline for one in open_steps) and open_steps[-1].name != name.pipeline:
                open_steps.pop()
            if name.pipeline and (not open_steps or open_steps[-1].name != name.pipeline):
                _close_ended(open_steps, name.pipeline, dumps, place)
                _open(steps, open_steps, name.pipeline, state)
            pipeline = _ended(steps, len(open_steps), name.ran)
            if pipeline is None:
                steps.append(PassStep(name.ran, len(open_steps), state, graph))
            else:
                if graph != state:  # what it did after the last piece that was dumped
                    steps.append(PassStep(f"end of {name.ran}", len(open_steps) + 1, state, graph))
                pipeline.after = graph
        state = graph
        for one in open_steps:
            one.after = graph
    return steps


def _open(steps: list[PassStep], open_steps: list[PassStep], name: str, state: int) -> None:
    step = PassStep(name, len(open_steps), state, state)
    steps.append(step)
    open_steps.append(step)


def _ended(steps: list[PassStep], depth: int, ran: str) -> PassStep | None:
    """The step of a pipeline that has just ended as a pass of the one around it; None for a pass that is none."""
    last = next((one for one in reversed(steps) if one.depth <= depth), None)
    return last if last is not None and last.name == ran and last.depth == depth else None


def _close_ended(open_steps: list[PassStep], begins: str, dumps: list[tuple[PassName, int]], place: int) -> None:
    while open_steps and not _goes_on(open_steps[-1].name, begins, dumps, place):
        open_steps.pop()


def _goes_on(outer: str, inner: str, dumps: list[tuple[PassName, int]], place: int) -> bool:
    """Whether a pipeline is still running when another one begins: what comes later tells, or what came before."""
    if outer == inner:
        return False
    for name, _ in dumps[place + 1 :]:
        if name.pipeline == outer:
            return name.ran != START
    said = next((name.next for name, _ in reversed(dumps[:place]) if name.pipeline == outer), "")
    return said == inner
