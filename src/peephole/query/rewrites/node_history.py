"""When a node came, which matches touched it, when it went; and its way through the passes of a context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.query.rewrites.lives import lives
from peephole.query.rewrites.step_graphs import check_match, step_name
from peephole.replay.named import named_step
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from peephole.replay.named import NamedStep
    from peephole.replay.replay import Replay

ONE_BY_ONE = 256
"""Up to so many matches each is looked at. Of more, those between which the node differs, while it is there: one that
goes and comes again later has its other times left out."""
MOST_TOUCHED = 200


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """Match that made a node (0: it was in the graph that went in) and the one that removed it; -1 for neither."""

    created: int
    deleted: int
    touched: list[int] = field(default_factory=list)
    """Every match that made, changed or removed it, in order; 200 at most."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A node on its way through another pass of the same context."""

    step: int
    name: str
    identity: int
    created: int
    deleted: int
    touched: list[int]


def node_history(
    capture: Capture, step: int, identity: int, match: int, stop: Callable[[], bool] | None = None
) -> NodeHistory:
    """The history of a node that is there at a match, or goes with it. It is there without a break between its ends,
    which are found by halving: a dozen graphs out of a thousand."""
    trace = trace_of(capture)
    with trace.lock:
        named = named_step(trace, step)
        if named is not None:
            check_match(trace, step, match)
            return _named_life(named, identity, match)
    with trace.replaying(step, stop) as replay:
        check_match(trace, step, match)
        return _life(replay, identity, match)


def node_passages(
    capture: Capture, step: int, identity: int, match: int, stop: Callable[[], bool] | None = None
) -> list[Passage]:
    """The other passes of the context that the node goes through, in their order: as long as it was there before this
    pass, and is there after it. Passes over other graphs are left out."""
    trace = trace_of(capture)
    (living,) = lives(capture, step, match, [identity], stop)
    found = []
    for one in living:
        if one.step == step:
            continue
        history = NodeHistory(0, NONE)
        if one.changed or not one.went_in or not one.came_out:
            history = node_history(capture, one.step, one.identity, one.created, stop)
        name = step_name(trace, one.step)
        found.append(Passage(one.step, name, one.identity, history.created, history.deleted, history.touched))
    return found


def _life(replay: Replay, identity: int, match: int) -> NodeHistory:
    """The history of a node in one pass, from a match at which it is there or goes."""

    def there(number: int) -> bool:
        return identity in replay.graph(number).identity.values()

    last = min(replay.matches, replay.last)
    match = min(match, last)
    if not there(match):
        if match == 0 or not there(match - 1):
            return NodeHistory(NONE, NONE)
        created, deleted = _first(there, 0, match - 1), match
    else:
        created = _first(there, 0, match)
        deleted = NONE if there(last) else _first(lambda k: not there(k), match, last)
    look = _looks(replay, identity)
    if last <= ONE_BY_ONE:
        touched = [number for number in range(1, last + 1) if look(number - 1) != look(number)]
    else:
        touched = [*([created] if created else []), *_changes(look, created, last if deleted < 0 else deleted)]
    return NodeHistory(created, deleted, touched[:MOST_TOUCHED])


Look = tuple[int, tuple[int, ...]] | None


def _looks(replay: Replay, identity: int) -> Callable[[int], Look]:
    """What a box is after a match: its own fields and which boxes it reads; None when it is not there."""
    kept: dict[int, Look] = {}

    def look(match: int) -> Look:
        if match not in kept:
            graph = replay.graph(match)
            node = next((node for node, box in graph.identity.items() if box == identity), None)
            reads = () if node is None else tuple(graph.identity[source] for source in replay.pool.src[node])
            kept[match] = None if node is None else (replay.pool.own[node], reads)
        return kept[match]

    return look


def _changes(look: Callable[[int], Look], first: int, last: int) -> list[int]:
    """The matches after `first`, up to `last`, that changed or removed a box, by halving."""
    found: list[int] = []
    pending = [(first, last)]
    while pending and len(found) < MOST_TOUCHED:
        low, high = pending.pop()
        if low >= high or look(low) == look(high):
            continue
        if high - low == 1:
            found.append(high)
            continue
        middle = (low + high) // 2
        pending += [(middle, high), (low, middle)]
    return found


def _named_life(named: NamedStep, identity: int, match: int) -> NodeHistory:
    touched = [number for number, entry in enumerate(named.entries, 1) if identity in entry.delta]
    return NodeHistory(*named.life(identity, match), touched[:MOST_TOUCHED])


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number at which something holds that holds at `high` and, once it does, goes on to hold."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
