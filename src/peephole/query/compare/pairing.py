"""Which context of one recording is which of the other: by content first, by name last."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from peephole.query.compare.compiled import Unit

Key = Callable[[Unit], Hashable]
"""What has to be equal; None for what cannot be paired that way."""

_HOW: Final[tuple[tuple[str, tuple[Key, ...]], ...]] = (
    (
        "code",
        (
            lambda u: u.code and (u.code, u.input, _line(u), u.plain),
            lambda u: u.code and (u.code, u.input, _line(u)),
            lambda u: u.code and (u.code, u.input, u.plain),
            lambda u: u.code and (u.code, u.input),
            lambda u: u.code and (u.code, _line(u)),
            lambda u: u.code and (u.code, u.plain),
            lambda u: u.code,
        ),
    ),
    (
        "input",
        (
            lambda u: u.input and (u.input, _line(u), u.plain),
            lambda u: u.input and (u.input, _line(u)),
            lambda u: u.input and (u.input, u.plain),
            lambda u: u.input,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A context of either side, by its place in `Compiled.units`; -1 where only one side has it."""

    a: int
    b: int
    how: str
    """code, input, line, name, neighbours, or hand; empty for one that has no partner."""


def paired(
    a: Sequence[Unit],
    b: Sequence[Unit],
    by_hand: Iterable[tuple[str, str]] = (),
    ran: tuple[Mapping[int, int], Mapping[int, int]] = ({}, {}),
) -> list[Pair]:
    """Pairs of contexts of one kind, in A's order, those that only B has where they stood among B's.

    `ran` says how often each ran, by its number: of those that are alike in all that is compared, the ones that ran
    equally often are one, since several processes compile in another order each time.
    """
    found: dict[int, tuple[int, str]] = {}
    left_a, left_b = list(range(len(a))), list(range(len(b)))

    def take(pairs: Iterable[tuple[int, int]], how: str) -> None:
        nonlocal left_a, left_b
        for i, j in pairs:
            found[i] = j, how
        taken = {j for j, _ in found.values()}
        left_a = [i for i in left_a if i not in found]
        left_b = [j for j in left_b if j not in taken]

    names_a, names_b = ({unit.name: at for at, unit in enumerate(side)} for side in (a, b))
    take(((names_a[x], names_b[y]) for x, y in by_hand if x in names_a and y in names_b), "hand")
    for how, keys in _HOW:
        for key in keys:
            if any(ran):
                take(_equal(a, b, left_a, left_b, _and_runs(key, *ran)), how)
            take(_equal(a, b, left_a, left_b, key), how)
    take(_on_lines(a, b, left_a, left_b), "line")
    take(_equal(a, b, left_a, left_b, lambda u: (u.kind, u.plain) if u.plain else None, together=True), "name")
    take(_between(a, b, left_a, left_b, found), "neighbours")
    take(_equal(a, b, left_a, left_b, lambda u: u.plain), "name")
    pairs = [Pair(i, found[i][0], found[i][1]) if i in found else Pair(i, -1, "") for i in range(len(a))]
    place = {pair.b: at for at, pair in enumerate(pairs) if pair.b >= 0}
    alone: list[tuple[float, Pair]] = []
    known = sorted(place)
    for j in left_b:
        at = bisect_left(known, j)
        alone.append((place[known[at - 1]] + 0.5 if at else -0.5, Pair(-1, j, "")))
    ranked = [(float(at), pair) for at, pair in enumerate(pairs)] + alone
    return [pair for _, pair in sorted(ranked, key=lambda item: item[0])]


def _and_runs(key: Key, a: Mapping[int, int], b: Mapping[int, int]) -> tuple[Key, Key]:
    """The key of either side with how often it ran."""

    def of(ran: Mapping[int, int]) -> Key:
        return lambda unit: (found, ran.get(unit.id, 0)) if (found := key(unit)) else None

    return of(a), of(b)


def _line(unit: Unit) -> str:
    return unit.place.replace("\\", "/").rpartition("/")[2]


def _equal(
    a: Sequence[Unit],
    b: Sequence[Unit],
    left_a: list[int],
    left_b: list[int],
    key: Key | tuple[Key, Key],
    together: bool = False,
) -> list[tuple[int, int]]:
    """Pairs of equal keys in order. With `together` only where both sides have as many of a key."""
    groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    keys = key if isinstance(key, tuple) else (key, key)
    for side, units, left in ((0, a, left_a), (1, b, left_b)):
        for at in left:
            if found := keys[side](units[at]):
                groups[found][side].append(at)
    return [
        pair
        for own, other in groups.values()
        if not together or len(own) == len(other)
        for pair in zip(own, other, strict=False)
    ]


def _on_lines(a: Sequence[Unit], b: Sequence[Unit], left_a: list[int], left_b: list[int]) -> list[tuple[int, int]]:
    """Those of one line of the program, where as many are left of it on both sides: by their order, names first."""
    groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, units, left in ((0, a, left_a), (1, b, left_b)):
        for at in left:
            if units[at].place:
                groups[units[at].kind, _line(units[at])][side].append(at)
    found: list[tuple[int, int]] = []
    for own, other in groups.values():
        named = _equal(a, b, own, other, lambda unit: unit.plain, together=True)
        used_a, used_b = {i for i, _ in named}, {j for _, j in named}
        rest_a, rest_b = [i for i in own if i not in used_a], [j for j in other if j not in used_b]
        found += named
        if len(rest_a) == len(rest_b):
            found += zip(rest_a, rest_b, strict=True)
    return found


def _between(
    a: Sequence[Unit], b: Sequence[Unit], left_a: list[int], left_b: list[int], found: dict[int, tuple[int, str]]
) -> list[tuple[int, int]]:
    """Those that stand alone between the same two neighbours (of the longest chain in one order) on both sides."""
    known = sorted((i, j) for i, (j, _) in found.items())
    chain = _increasing([j for _, j in known])
    fixed = [known[at] for at in chain]
    bounds = [(-1, -1), *fixed, (len(a), len(b))]
    pairs = []
    for (low_a, low_b), (high_a, high_b) in pairwise(bounds):
        own = left_a[bisect_left(left_a, low_a + 1) : bisect_left(left_a, high_a)]
        other = left_b[bisect_left(left_b, low_b + 1) : bisect_left(left_b, high_b)]
        if len(own) == len(other):
            pairs += [(i, j) for i, j in zip(own, other, strict=True) if a[i].kind == b[j].kind]
    return pairs


def _increasing(values: Sequence[int]) -> list[int]:
    """The places of a longest increasing subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    previous = [-1] * len(values)
    for at, value in enumerate(values):
        place = bisect_left(tails, value)
        previous[at] = ends[place - 1] if place else -1
        if place == len(tails):
            tails.append(value)
            ends.append(at)
        else:
            tails[place], ends[place] = value, at
    chain: list[int] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(at)
        at = previous[at]
    return chain[::-1]
