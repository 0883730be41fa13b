"""One clock for all ranks, out of what collectives prove: none ends anywhere before the last rank has begun it.

For hosts i and j and every such collective, offset_i - offset_j is at most end_i - start_j as read off their files.
Those are half-planes in (offset, drift): what is left of the plane holds the truth, and its extent is the stated bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.matching import Matched
from peephole.query.ranks.summary import RankSummary

_DRIFT: Final = 500e-6
"""The most that a clock may run fast or slow: what a time daemon allows itself."""
_ODD: Final = 60_000_000_000
"""ns that clocks of one cluster are never apart by, and that are worth a word."""
_FAR: Final = float(1 << 62)
_AT_ONCE: Final = 1 << 14
"""Collectives that hosts are compared in at once."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a rank's clock is ahead of the run's: `offset` at `at`, changing by `drift` ns per ns."""

    offset: int = 0
    bound: int = 0
    """How far off the offset can be, ns; -1 where nothing bounds it."""
    drift: float = 0.0
    at: int = 0

    def to_run(self, times: Ints) -> Ints:
        """Times of the rank on the run's clock."""
        moved: Ints = times - self.offset
        if self.drift:
            moved = moved - np.rint((times - self.at) * self.drift).astype(np.int64)
        return moved

    def through(self, other: Clock) -> Clock:
        """This clock, which is one against another host's, against the run's, which the other host's is known by."""
        if min(self.bound, other.bound) < 0:
            return Clock(self.offset + other.offset, -1, 0.0, self.at)
        ahead = round((self.at - self.offset - other.at) * other.drift)
        drift = self.drift + other.drift - self.drift * other.drift
        return Clock(self.offset + other.offset + ahead, self.bound + other.bound, drift, self.at)


def align(summaries: Sequence[RankSummary], matched: Matched, problem: Callable[[str, int, str], None]) -> list[Clock]:
    """A clock for each rank. Ranks of one host share theirs; the first rank's host has the run's."""
    hosts = [summary.host for summary in summaries]
    if len(set(hosts)) < 2:
        return [Clock()] * len(hosts)
    seen = _seen_by_hosts(hosts, matched)
    reference = hosts[0]
    clocks = {reference: Clock()}
    spans = np.array([summary.span for summary in summaries], np.int64)
    for host, through in _linked(seen):
        own, other = seen[host], seen[through]
        _, here, there = np.intersect1d(own.which, other.which, assume_unique=True, return_indices=True)
        # of all ranks of a host, the one that ends first and the one that begins last say most
        when = own.came[here]
        down, up = when - other.done[there], own.done[here] - other.came[there]
        columns = [column for column, one in enumerate(hosts) if one == host]
        span = int(spans[columns, 0].min()), int(spans[columns, 1].max())
        fitted = _fit(host, when, down, up, span, problem)
        clocks[host] = fitted.through(clocks[through])
        if abs(clocks[host].offset) > _ODD:
            problem("hosts whose clocks are more than a minute off, or whose files are of another run", 1, host)
    for host in seen:
        if host not in clocks:
            problem("hosts that share no collective with the first one, nor with one that does: their clocks are as "
                    "they were", 1, host)  # fmt: skip
    return [clocks.get(host, Clock(bound=-1)) for host in hosts]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a host saw of collectives that other hosts took part in too and that all wait for, in their order."""

    which: Ints
    came: Ints
    """When the last of its ranks came."""
    done: Ints
    """When the first of its ranks was done."""


def _seen_by_hosts(hosts: Sequence[str], matched: Matched) -> dict[str, _Seen]:
    """For each host, by the first of its ranks."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
    number_of = np.array([numbers[host] for host in hosts], np.int64)
    which, host = matched.collective(), number_of[matched.column]
    low, high = (part.reduceat(host, matched.bounds[:-1]) if len(host) else host for part in (np.minimum, np.maximum))
    rows = np.flatnonzero((matched.all_wait & (low < high))[which])
    key = host[rows] * len(matched) + which[rows]
    order = np.argsort(key, kind="stable")
    key, rows = key[order], rows[order]
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    came = np.maximum.reduceat(matched.start[rows], begins) if len(rows) else key
    done = np.minimum.reduceat(matched.end[rows], begins) if len(rows) else key
    bounds = np.searchsorted(key[begins], np.arange(len(numbers) + 1) * len(matched)).tolist()
    return {
        one: _Seen(which[rows[begins[first:past]]], came[first:past], done[first:past])
        for one, first, past in zip(numbers, bounds, bounds[1:], strict=False)
    }


def _linked(seen: Mapping[str, _Seen]) -> Iterator[tuple[str, str]]:
    """The hosts that collectives link to the first one, each with the one nearer to it that it is compared with: that
    with which it shares most collectives."""
    near, *rest = seen
    reached = [near]
    while reached and rest:
        shared = _shared([seen[host].which for host in reached], [seen[host].which for host in rest])
        found = {host: reached[int(shared[:, at].argmax())] for at, host in enumerate(rest) if shared[:, at].any()}
        yield from found.items()
        reached, rest = list(found), [host for host in rest if host not in found]


def _shared(some: Sequence[Ints], others: Sequence[Ints]) -> Ints:
    """How many collectives each of these hosts shares with each of the others."""
    found = np.zeros((len(some), len(others)), np.int64)
    known = np.unique(np.concatenate(some))
    for begin in range(0, len(known), _AT_ONCE):
        part = known[begin : begin + _AT_ONCE]
        left, right = (np.zeros((len(side), len(part)), np.float32) for side in (some, others))
        for marks, side in ((left, some), (right, others)):
            for row, which in zip(marks, side, strict=True):
                row[np.searchsorted(part, np.intersect1d(part, which, assume_unique=True))] = 1
        found += (left @ right.T).astype(np.int64)
    return found


def _fit(
    host: str, when: Ints, low: Ints, high: Ints, span: tuple[int, int], problem: Callable[[str, int, str], None]
) -> Clock:
    """The line between the bounds, in the middle of all lines that keep to them; its bound holds in all of the span."""
    begin, end = min(span[0], int(when.min())), max(span[1], int(when.max()))
    middle = (int(low.max()) + int(high.min())) // 2
    at, lower, upper = (
        (when - begin).astype(np.float64),
        (low - middle).astype(np.float64),
        (high - middle).astype(np.float64),
    )
    corners = np.array([[-_FAR, -_DRIFT], [_FAR, -_DRIFT], [_FAR, _DRIFT], [-_FAR, _DRIFT]])
    for which in _hull(at, upper, below=True):
        corners = _cut(corners, 1.0, at[which], upper[which])
    for which in _hull(at, lower, below=False):
        corners = _cut(corners, -1.0, -at[which], -lower[which])
    if not len(corners):
        problem("hosts whose clock no line fits: it jumped, or collectives were matched wrongly", 1, host)
        return Clock(int(np.median((low + high) // 2)), -1, 0.0, begin)
    length = float(end - begin)
    least, most = corners[:, 0].min(), corners[:, 0].max()
    ends = corners[:, 0] + corners[:, 1] * length
    first, last = (least + most) / 2, (ends.min() + ends.max()) / 2
    bound = max(most - least, ends.max() - ends.min()) / 2
    drift = (last - first) / length if length else 0.0
    return Clock(middle + round(first), int(np.ceil(bound)) + 1, drift, begin)


def _hull(x: NDArray[np.float64], y: NDArray[np.float64], below: bool) -> list[int]:
    """The points that bound all others from below, or from above: the only ones that can bind a line."""
    sign = 1.0 if below else -1.0
    order = np.lexsort((sign * y, x)).tolist()
    kept: list[int] = []
    for i in order:
        if kept and x[kept[-1]] == x[i]:
            continue
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            turn = (x[b] - x[a]) * (y[i] - y[a]) - (y[b] - y[a]) * (x[i] - x[a])
            if sign * turn > 0:
                break
            kept.pop()
        kept.append(i)
    return kept


def _cut(corners: NDArray[np.float64], a: float, b: float, most: float) -> NDArray[np.float64]:
    """The part of a convex polygon in which a * x + b * y is at most `most`."""
    if not len(corners):
        return corners
    side = a * corners[:, 0] + b * corners[:, 1] - most
    found = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if side[i] <= 0:
            found.append(corners[i])
        if (side[i] < 0 < side[j]) or (side[j] < 0 < side[i]):
            found.append(corners[i] + (corners[j] - corners[i]) * (side[i] / (side[i] - side[j])))
    return np.array(found).reshape(-1, 2)
