"""When a node of a step's graphs came and went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.query.rewrites.step_graphs import check_match
from peephole.replay.named import named_step
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """Match that made a node (0: it was in the graph that went in) and the one that removed it; -1 for neither."""

    created: int
    deleted: int


def node_history(
    capture: Capture, step: int, identity: int, match: int, stop: Callable[[], bool] | None = None
) -> NodeHistory:
    """The history of a node that is there at a match, or goes with it. A node is there without a break, so each end
    is found by halving: a dozen graphs out of a thousand."""
    trace = trace_of(capture)
    with trace.lock:
        named = named_step(trace, step)
        if named is not None:
            check_match(trace, step, match)
            return NodeHistory(*named.life(identity, match))
    with trace.replaying(step, stop) as replay:
        check_match(trace, step, match)

        def there(number: int) -> bool:
            return identity in replay.graph(number).identity.values()

        last = min(replay.matches, replay.last)
        match = min(match, last)
        if not there(match):
            if match == 0 or not there(match - 1):
                return NodeHistory(NONE, NONE)
            return NodeHistory(_first(there, 0, match - 1), match)
        created = _first(there, 0, match)
        return NodeHistory(created, NONE if there(last) else _first(lambda k: not there(k), match, last))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number at which something holds that holds at `high` and, once it does, goes on to hold."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
