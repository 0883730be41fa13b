"""In which passes of their context nodes live, change and die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.query.rewrites.step_graphs import check_match
from peephole.replay.lineage import Flow, Lineage, lineage_of

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Living:
    """A box in one pass."""

    step: int
    identity: int
    """What it is known by in the graphs of that step."""
    went_in: bool
    came_out: bool
    changed: bool
    """Went in and came out, with other fields or other sources."""
    created: int
    """The match that made it; 0 when it went in, or that is not known."""


def lives(
    capture: Capture, step: int, match: int, identities: Sequence[int], stop: Callable[[], bool] | None = None
) -> list[list[Living]]:
    """For each of these boxes of the graph after a match, the passes of the context that it is in, in their order.

    It is followed through the passes before and after this one, until one made it and one removed it.
    """
    trace = trace_of(capture)
    check_match(trace, step, match)
    with trace.lock:
        lineage = lineage_of(trace, trace.number("context", trace.step_row(step)))
        here = lineage.within(step, match, identities, stop)
        at = lineage.place(step)
        found = [
            [Living(step, one.identity, one.went_in >= 0, one.came_out >= 0, one.changed, one.created)] for one in here
        ]
        forth = {one.came_out: found[i] for i, one in enumerate(here) if one.came_out >= 0}
        back = {one.went_in: found[i] for i, one in enumerate(here) if one.went_in >= 0}
        for other in lineage.between(at, len(lineage.steps)):
            if not forth:
                break
            forth = _onwards(other, lineage.flow(other, stop), forth)
        for other in reversed(lineage.between(NONE, at)):
            if not back:
                break
            back = _backwards(other, lineage.flow(other, stop), back)
        order = _order(lineage)
        return [sorted(one, key=lambda living: order[living.step]) for one in found]


def _order(lineage: Lineage) -> dict[int, int]:
    return {step: place for place, step in enumerate(lineage.steps)}


def _onwards(step: int, flow: Flow, alive: dict[int, list[Living]]) -> dict[int, list[Living]]:
    """What is alive after a pass, by what it is there; each gets its part of it."""
    result: dict[int, list[Living]] = {}
    for content, living in alive.items():
        box = flow.box(content)
        stays = content not in flow.gone
        if box >= 0:
            living.append(Living(step, box, True, stays, content in flow.changed, 0))
        if stays:
            result[flow.moved.get(content, content)] = living
    return result


def _backwards(step: int, flow: Flow, alive: dict[int, list[Living]]) -> dict[int, list[Living]]:
    """What was there before a pass."""
    result: dict[int, list[Living]] = {}
    was = flow.back()
    for content, living in alive.items():
        made = flow.born.get(content)
        if made is not None:
            living.append(Living(step, made[1], False, True, False, made[0]))
            continue
        old = was.get(content, content)
        box = flow.box(old)
        if box >= 0:
            living.append(Living(step, box, True, True, old in flow.changed, 0))
        result[old] = living
    return result
