"""Whether two sets of durations differ by more than chance: rank tests, corrected for how many are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXACT: Final = 400
"""Products of both numbers of runs up to which the distribution of U is counted out."""


def mann_whitney(a: Floats, b: Floats) -> float:
    """The two-sided p of the Mann–Whitney test: how often chance alone orders two sets of runs so unevenly."""
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    rank, ties = _ranks(np.concatenate([a, b]))
    u = float(rank[:n].sum()) - n * (n + 1) / 2
    dependence = _dependence(a, b)
    if not ties and n * m <= _EXACT and dependence == 1.0:
        return _exact(n, m, round(min(u, n * m - u)))
    total = n + m
    spread = n * m / 12 * (total + 1 - ties / (total * (total - 1))) if total > 1 else 0.0
    if spread <= 0:
        return 1.0
    away = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(spread * dependence)
    p = math.erfc(away / math.sqrt(2))
    # ranks do not tell how far apart two sides are; that they drift by little says something then
    return p if dependence == 1.0 else min(p, _far_apart(a, b, dependence))


def _far_apart(a: Floats, b: Floats, dependence: float) -> float:
    """The p of Student's test on logarithms with as many runs as dependent ones are worth."""
    if min(a.min(), b.min()) <= 0:
        return 1.0
    x, y = np.log(a), np.log(b)
    spread = (((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()) / (len(x) + len(y) - 2)
    if spread <= 0:
        return 1.0
    t = abs(float(x.mean() - y.mean())) / math.sqrt(spread * (1 / len(x) + 1 / len(y)) * dependence)
    return _student(t, max(1, round((len(x) + len(y)) / dependence) - 2))


def _ranks(values: Floats) -> tuple[Floats, float]:
    """Ranks, equal values sharing theirs, and the sum of t³ - t over groups of t equal ones."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    first = np.append(np.flatnonzero(new), len(values))
    size = np.diff(first).astype(np.float64)
    shared = (first[:-1] + first[1:] + 1) / 2
    rank = np.empty(len(values))
    rank[order] = shared[np.cumsum(new) - 1]
    return rank, float((size**3 - size).sum())


@lru_cache(maxsize=4096)
def _exact(n: int, m: int, u: int) -> float:
    """Twice the share of all orders of n and m runs whose U is at most u."""
    ways = _ways(n, m)
    return min(1.0, 2 * sum(ways[: u + 1]) / math.comb(n + m, n))


@lru_cache(maxsize=256)
def _ways(n: int, m: int) -> tuple[int, ...]:
    """How many orders have each U, from 0 on: the coefficients of a Gaussian binomial."""
    size = n * m + 1
    ways = [1] + [0] * (size - 1)
    for i in range(1, n + 1):
        for at in range(size - 1, m + i - 1, -1):
            ways[at] -= ways[at - m - i]
        for at in range(i, size):
            ways[at] += ways[at - i]
    return tuple(ways)


def _dependence(a: Floats, b: Floats) -> float:
    """By how much runs that follow each other are alike: 1 when they are not, more when each says less.

    Clock, caches and neighbours move for a while together, so that a hundred runs may be worth ten.
    """
    inside = [_neighbours(side) for side in (a, b) if len(side) >= 8]
    if not inside:
        return 1.0
    alike = sum(alike * size for alike, size in inside) / sum(size for _, size in inside)
    if alike <= 2 / math.sqrt(sum(size for _, size in inside)):
        return 1.0  # as much comes about by chance
    alike = min(alike, 0.95)
    return (1 + alike) / (1 - alike)


def _neighbours(side: Floats) -> tuple[float, int]:
    """The correlation of ranks of runs and those before them, and the number of runs."""
    rank, _ = _ranks(side)
    rank -= rank.mean()
    whole = float((rank * rank).sum())
    return (float((rank[1:] * rank[:-1]).sum()) / whole if whole else 0.0), len(side)


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Each p as large as it has to be when as many were looked at: of all claims a share of p at most is false."""
    if not p:
        return []
    values = np.array(p)
    order = np.argsort(values)[::-1]
    scaled = values[order] * len(values) / np.arange(len(values), 0, -1)
    result = np.empty(len(values))
    result[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return [float(value) for value in result]


def median_interval(values: Floats) -> tuple[float, float] | None:
    """Between which two runs the median lies with 95 %; None when there are fewer than six."""
    n = len(values)
    if n < 6:
        return None
    ordered = np.sort(values)
    if n > 1000:
        low = math.floor(n / 2 - 0.98 * math.sqrt(n))
    else:
        low, below = 0, 0.5**n
        while below + math.comb(n, low + 1) * 0.5**n <= 0.025:
            low += 1
            below += math.comb(n, low) * 0.5**n
    return float(ordered[max(low, 0)]), float(ordered[min(n - 1 - low, n - 1)])


def t_test(a: Floats, b: Floats) -> float:
    """The two-sided p of Student's test with one spread for both, on logarithms: for a few medians of captures."""
    n, m = len(a), len(b)
    free = n + m - 2
    if free < 1 or min(n, m) < 1 or min(a.min(), b.min()) <= 0:
        return 1.0
    x, y = np.log(a), np.log(b)
    spread = (((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()) / free
    away = abs(float(x.mean() - y.mean()))
    if spread <= 0:
        return 0.0 if away > 0 else 1.0
    t = away / math.sqrt(spread * (1 / n + 1 / m))
    return _student(t, free)


def _student(t: float, free: int) -> float:
    """Two-sided p of t with so many degrees of freedom, summed up in closed form."""
    angle = math.atan(t / math.sqrt(free))
    cosine = math.cos(angle)
    if free % 2:
        term, total = cosine, 0.0
        for k in range(1, free - 1, 2):
            total += term
            term *= cosine * cosine * (k + 1) / (k + 2)
        inside = 2 / math.pi * (angle + math.sin(angle) * total)
    else:
        term, total = 1.0, 0.0
        for k in range(0, free - 1, 2):
            total += term
            term *= cosine * cosine * (k + 1) / (k + 2)
        inside = math.sin(angle) * total
    return max(0.0, 1 - inside)
