"""Which differences follow from others: a kernel whose input another context had already made different."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from peephole.query.compare.by_content.lineage import Lineage, least, only_in
from peephole.query.compare.pairing import Pair
from peephole.query.compare.parting import Parting

_MOST: Final = 4096
"""Nodes where a difference begins that are followed."""


class Consequences:
    """Finds out what each difference follows from. A side whose capture is not at hand is None.

    Pairs hold places in the two lists of units; `changed` says which pairs differ.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        partings: Mapping[int, Parting],
        changed: set[int],
        a: Lineage | None,
        b: Lineage | None,
    ) -> None:
        self._pairs = pairs
        self._partings = partings
        self._changed = changed
        self._sides = [(side, which) for side, which in ((a, "a"), (b, "b")) if side is not None]
        self._both = (a, b) if a is not None and b is not None else None
        self._pair_of = {
            which: {getattr(pair, which): at for at, pair in enumerate(pairs) if getattr(pair, which) >= 0}
            for which in ("a", "b")
        }

    def follows(self, at: int) -> list[int]:
        """The pairs that this one's difference follows from; empty when it begins here."""
        pair, found = self._pairs[at], self._partings.get(at)
        if found is None or (found.what == "input" and found.ordinal == 0):
            return self._from_parent(at, pair) or self._made_elsewhere(at, pair) or self._from_line(at, pair)
        if self._both is None or found.what in ("pass", "decision", "missing"):
            return []
        return self._handed_over(at, pair, found)

    def _from_parent(self, at: int, pair: Pair) -> list[int]:
        """The pair that this one was compiled in, when that differs."""
        for side, which in self._sides:
            place = getattr(pair, which)
            parent = side.place_of.get(side.compiled.units[place].parent, -1) if place >= 0 else -1
            found = self._pair_of[which].get(parent, -1)
            if found != at and found in self._changed:
                return [found]
        return []

    def _made_elsewhere(self, at: int, pair: Pair) -> list[int]:
        """The pair that made the graph which went into the first step, or a part of it that only one side has."""
        graphs = {}
        for side, which in self._sides:
            place = getattr(pair, which)
            unit = side.compiled.units[place] if place >= 0 else None
            row = side.root(unit.first) if unit is not None and unit.past > unit.first else -1
            graphs[which] = side.graph(place, row) if row >= 0 else None
        makers: dict[int, int] = {}
        for side, which in self._sides:
            own, other = graphs[which], graphs.get("b" if which == "a" else "a")
            if own is None:
                continue
            nodes = own[0] if other is None else only_in(*own, other[1])
            for row in nodes[-_MOST:].tolist():
                if side.content.offsets[row] == side.content.offsets[row + 1]:
                    continue  # a constant may come from anywhere
                maker, time = side.maker(row)
                found = self._pair_of[which].get(maker, -1)
                if found == at or found not in self._changed or not self._earlier(side, maker, getattr(pair, which)):
                    continue
                if time > side.begin(side.compiled.units[maker].first):  # not what went into that one itself
                    makers[found] = max(makers.get(found, 0), side.compiled.units[maker].start)
        return [max(makers, key=lambda found: makers[found])] if makers else []

    @staticmethod
    def _earlier(side: Lineage, maker: int, place: int) -> bool:
        """Whether a context was opened before another: only then can it have made what went into that one."""
        units = side.compiled.units
        return units[maker].start < 0 or units[place].start < 0 or units[maker].start < units[place].start

    def _handed_over(self, at: int, pair: Pair, found: Parting) -> list[int]:
        """The pairs that made what the graphs differ by, after they parted themselves; empty when this one did.

        What a match left holds the kernels that were compiled while its pass ran.
        """
        assert self._both is not None
        a, b = self._both
        if found.what == "match":
            rows = a.result(found.step_a, found.match), b.result(found.step_b, found.match)
        elif found.what == "output":
            rows = a.came_out(found.step_a), b.came_out(found.step_b)
        else:
            rows = a.root(found.step_a), b.root(found.step_b)
        if rows[0] < 0 or rows[1] < 0:
            return []
        graph_a, graph_b = a.graph(pair.a, rows[0]), b.graph(pair.b, rows[1])
        only = only_in(*graph_a, graph_b[1]), only_in(*graph_b, graph_a[1])
        makers: set[int] = set()
        late = self._is_late(pair, found)
        for (side, which), nodes in zip(self._sides, only, strict=True):
            begins = least(side.content.offsets, side.content.sources, nodes)
            if len(begins) > _MOST:
                return []
            for row in begins.tolist():
                maker, time = side.maker(row)
                other = self._pair_of[which].get(maker, -1)
                if other == at:
                    return []
                units = side.compiled.units
                # two of a kind may make the same by themselves, while they are compiled
                alike = found.what == "match" and units[maker].kind == units[getattr(pair, which)].kind
                alike = alike and not late
                if not alike and other in self._changed and self._after_parting(side, which, time, other):
                    makers.add(other)
                elif side.content.offsets[row] != side.content.offsets[row + 1]:
                    return []  # else it is a constant, which may come from anywhere
        return sorted(makers)

    def _is_late(self, pair: Pair, found: Parting) -> bool:
        """Whether they part in what is no part of a kernel's compilation any more, whose code is the same.

        A pass that runs between two contexts stands in the one before it.
        """
        a, b = (side.compiled.units[getattr(pair, which)] for side, which in self._sides)
        if not a.code or a.code != b.code:
            return False
        return all(
            unit.dur >= 0 and not 0 <= int(side.compiled.step_start[step]) < unit.start + unit.dur
            for (side, _), unit, step in zip(self._sides, (a, b), (found.step_a, found.step_b), strict=True)
            if step >= 0
        )

    def _after_parting(self, side: Lineage, which: str, time: int, pair: int) -> bool:
        """Whether that pair made something of that time after it had parted: in the step in which it did, or later.

        What came with that step before they parted is on both sides.
        """
        found = self._partings.get(pair)
        if found is None:
            return True  # only one side has it
        return time >= side.begin(getattr(found, f"step_{which}"))

    def _from_line(self, at: int, pair: Pair) -> list[int]:
        """The last pair of another kind that was opened from the same line of the program and parted before this one.

        A kernel's graph is put together anew between a schedule and its compilation, so that content does not tell.
        """
        best: dict[int, int] = {}
        for side, which in self._sides:
            place = getattr(pair, which)
            if place < 0 or not side.compiled.units[place].place:
                continue
            own = side.compiled.units[place]
            for other in self._changed - {at}:
                there = getattr(self._pairs[other], which)
                unit = side.compiled.units[there] if there >= 0 else None
                if unit is None or unit.kind == own.kind or unit.place != own.place or unit.start < 0:
                    continue
                found = self._partings.get(other)
                parted = side.begin(getattr(found, f"step_{which}")) if found is not None else unit.start
                if (
                    unit.start < own.start
                    and parted < own.start
                    and (found is None or self._in_time(found, side, which))
                ):
                    best[other] = max(best.get(other, 0), unit.start)
        return [max(best, key=lambda found: best[found])] if best else []

    @staticmethod
    def _in_time(found: Parting, side: Lineage, which: str) -> bool:
        """Whether it is known when the step ran in which a pair parted."""
        return bool(side.compiled.step_start[getattr(found, f"step_{which}")] >= 0)
