"""One substitution over a whole graph, in the order in which a compiler visits it.

A key is replaced by its value again and again until that is no key; then come its sources; a node whose sources
changed is built anew and looked at again. With `walk` each place is replaced once and what was put there is left
alone. The body of a call stays as it is unless the pass enters calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from peephole.replay.pool import Pool

ENTER: Final = 0
BUILD: Final = 1


class Endless(Exception):
    """The substitution does not end; the text says in what way."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a substitution made of a graph."""

    root: int
    value: dict[int, int]
    """What became of each node that was visited."""
    visited: Collection[int]
    """Nodes of the graph and of replacements: keys of `value`."""
    chased: list[tuple[int, int]]
    """Replacements that stand in for a node: (replacement, the key of `value` that tells what became of it)."""


def substitute(
    pool: Pool, root: int, replacements: Mapping[int, int], *, walk: bool, touched: Sequence[int] = (), match: int = 0
) -> Outcome:
    """The graph under that root with the replacements made. Endless or Refused where a compiler would raise.

    `touched` tells for the first nodes of the pool which match is the first to touch them or something below; what is
    only touched after `match` need not be looked at.
    """
    if walk:
        return _walk(pool, root, replacements)
    return _settle(pool, root, replacements, touched, match)


def _walk(pool: Pool, root: int, replacements: Mapping[int, int]) -> Outcome:
    value: dict[int, int] = {}
    stack = [(root, ENTER)]
    while stack:
        node, stage = stack.pop()
        if node in value:
            continue
        src = pool.src[node]
        if stage == ENTER:
            if node in replacements:
                value[node] = replacements[node]
                continue
            stack.append((node, BUILD))
            if pool.body(node):
                value[src[0]] = src[0]
            stack.extend([(s, ENTER) for s in reversed(src) if s not in value])
        else:
            new = tuple([value[s] for s in src])
            value[node] = node if new == src else pool.rebuild(node, new)
    return Outcome(value[root], value, value, [])


def _settle(pool: Pool, root: int, replacements: Mapping[int, int], touched: Sequence[int], match: int) -> Outcome:
    value: dict[int, int] = {}
    visited = {root}
    chased: list[tuple[int, int]] = []
    stands_for: dict[int, int] = {}
    """What a key is replaced by in the end."""
    links: dict[int, int] = {}
    """Nodes that become whatever this one becomes: what they were built as is to be replaced in turn."""
    waiting: dict[int, list[int]] = {}
    # ~node is its second visit, when its sources are settled
    stack = [root]
    source, calls, known, rebuild = pool.src, pool.calls, len(touched), pool.rebuild
    while stack:
        node = stack.pop()
        if node >= 0:
            if node in value:
                continue
            now = node
            if node in replacements:
                now = stands_for[node] = _chase(node, replacements, chased)
            src = source[now]
            stack.append(~node)
            if now in calls and pool.body(now):
                value[src[0]] = src[0]
                # a compiler that forgets these dies of it
                stack.extend(waiting.pop(src[0], ()))
            for s in reversed(src):
                if s not in visited:
                    visited.add(s)
                    if s < known and touched[s] > match:
                        value[s] = s
                    else:
                        stack.append(s)
            continue
        node = ~node
        if node in value:
            continue
        if node in links:
            now = links[node]
            if now not in value:
                waiting.setdefault(now, []).append(~node)
                continue
            now = value[now]
        else:
            now = stands_for.get(node, node)
            src = source[now]
            try:
                new = tuple([value[s] for s in src])
            except KeyError as missing:
                # goes on when that one is settled
                waiting.setdefault(missing.args[0], []).append(~node)
                continue
            if new != src:
                built = rebuild(now, new)
                if built in value:
                    now = value[built]
                elif built in replacements or built in waiting:
                    links[node] = built
                    stack.append(~node)
                    stack.append(built)
                    continue
                else:
                    # its sources are settled, so it is what it becomes
                    now = value[built] = built
        value[node] = now
        if node in waiting:
            stack.extend(waiting.pop(node))
    if root not in value:
        raise Endless("a replacement contains what it replaces, so that the graph has no end")
    return Outcome(value[root], value, visited, chased)


def _chase(node: int, replacements: Mapping[int, int], chased: list[tuple[int, int]]) -> int:
    """What a key is replaced by in the end."""
    first = node
    seen = {node}
    while node in replacements:
        node = replacements[node]
        if node in seen:
            raise Endless("infinite loop: a node is replaced by itself after some steps")
        seen.add(node)
        chased.append((node, first))
    return node
