"""One clock for all ranks, out of what collectives prove: none ends anywhere before the last rank has begun it.

For hosts i and j and every such collective, offset_i - offset_j is at most end_i - start_j as read off their files.
Those are half-planes in (offset, drift): what is left of the plane holds the truth, and its extent is the stated bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.matching import MISSING, Matched

_DRIFT: Final = 500e-6
"""The most that a clock may run fast or slow: what a time daemon allows itself."""
_ODD: Final = 60_000_000_000
"""ns that clocks of one cluster are never apart by, and that are worth a word."""
_FAR: Final = float(1 << 62)


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
        return np.where(times == MISSING, MISSING, moved)


def align(hosts: Sequence[str], matched: Matched, problem: Callable[[str, int, str], None]) -> list[Clock]:
    """A clock for each rank. Ranks of one host share theirs; the first rank's host has the run's."""
    if len(set(hosts)) < 2:
        return [Clock()] * len(hosts)
    chosen = matched.all_wait
    start, end = matched.start[chosen], matched.end[chosen]
    first, last = np.ma.masked_equal(start, MISSING), np.ma.masked_equal(end, MISSING)
    columns = {host: [i for i, one in enumerate(hosts) if one == host] for host in dict.fromkeys(hosts)}
    reference = hosts[0]
    clocks = {reference: Clock()}
    for host, own in columns.items():
        if host == reference:
            continue
        other = columns[reference]
        # of all ranks of a host, the one that ends first and the one that begins last say most
        up = last[:, own].min(axis=1) - first[:, other].max(axis=1)
        down = first[:, own].max(axis=1) - last[:, other].min(axis=1)
        when = first[:, own].max(axis=1)
        known = ~(np.ma.getmaskarray(up) | np.ma.getmaskarray(down))
        clocks[host] = _fit(host, when.data[known], down.data[known], up.data[known], problem)
        if abs(clocks[host].offset) > _ODD:
            problem("hosts whose clocks are more than a minute off, or whose files are of another run", 1, host)
    return [clocks[host] for host in hosts]


def _fit(host: str, when: Ints, low: Ints, high: Ints, problem: Callable[[str, int, str], None]) -> Clock:
    """The line between the bounds, in the middle of all lines that keep to them."""
    if not len(when):
        problem("hosts that share no collective with the first one: their clocks are as they were", 1, host)
        return Clock(bound=-1)
    begin, end = int(when.min()), int(when.max())
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
    span = float(end - begin)
    least, most = corners[:, 0].min(), corners[:, 0].max()
    ends = corners[:, 0] + corners[:, 1] * span
    first, last = (least + most) / 2, (ends.min() + ends.max()) / 2
    bound = max(most - least, ends.max() - ends.min()) / 2
    drift = (last - first) / span if span else 0.0
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
