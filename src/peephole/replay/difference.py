"""What a match did: to the graph (boxes that came, went, changed) and to the node that it matched (lines)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from peephole.replay.listing import Listing, uses
from peephole.replay.pool import Pool
from peephole.replay.replay import Graph

DiffLine = tuple[str, str]
"""` `, `-` or `+`, and the text."""
MOST_LINES: Final = 400


@dataclass(frozen=True, slots=True)
class Changes:
    """Nodes of the new graph that are new boxes, that are old boxes with other contents; nodes of the old that went."""

    added: list[int]
    changed: list[int]
    removed: list[int]


def changes(pool: Pool, old: Graph, new: Graph) -> Changes:
    """A box has changed when its own fields or the boxes that it reads have; a new name further down is no change."""
    before = {identity: node for node, identity in old.identity.items()}
    after = set(new.identity.values())
    added, changed = [], []
    for node in new.nodes:
        was = before.get(new.identity[node])
        if was is None:
            added.append(node)
        elif was != node and (
            pool.own[was] != pool.own[node]
            or [old.identity[s] for s in pool.src[was]] != [new.identity[s] for s in pool.src[node]]
        ):
            changed.append(node)
    removed = [node for node in old.nodes if old.identity[node] not in after]
    return Changes(sorted(added), sorted(changed), sorted(removed))


def difference(pool: Pool, before: int, after: int, most: int = MOST_LINES) -> list[DiffLine]:
    """The node before and after as lines: what only one of them has, and the shared nodes that this refers to."""
    old_set, new_set = pool.reach(before), pool.reach(after)
    # numbers are given to sources before users
    gone, came = sorted(old_set - new_set), sorted(new_set - old_set)
    shared = {s for node in (*gone, *came) for s in pool.src[node] if s in old_set and s in new_set}
    shared.update(root for root in (before, after) if root in old_set and root in new_set)
    writer = Listing(pool, uses(pool, (*gone, *came)))
    context = sorted(shared)
    for node in context:
        _prepare(pool, writer, node)
    lines: list[DiffLine] = []
    for kind, nodes in ((" ", context), ("-", gone), ("+", came)):
        for node in nodes:
            if node in (before, after) and kind != " ":
                lines.append((kind, f"ast = {writer.text(node)}"))
            elif (text := writer.line(node)) is not None:
                lines.append((kind, text))
    if after in old_set:
        lines.append(("+", f"ast = {writer.name(after)}"))
    if len(lines) > most:
        rest = len(lines) - most
        lines = [*lines[:most], (" ", f"… {rest} more lines")]
    return lines


def _prepare(pool: Pool, writer: Listing, node: int) -> None:
    """Has the constants that a shared node reads written in place; what else it reads is only named."""
    for s in pool.src[node]:
        if pool.rules.in_place(pool.op(s)):
            writer.line(s)
