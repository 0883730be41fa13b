"""What put a value into a buffer of the program: a copy, an assignment, contiguous(), or that it was to be realized.

Such a buffer may be written by several kernels of one schedule, each for a reason of its own (a counter is copied in,
then counted up), so the question is about the kernel that writes. The STORE that it was split off from is followed back
through the passes: to the program's own graph, or to the match of `early transform tensor graph` that made it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from peephole.compilers.tinygrad import passes
from peephole.compilers.tinygrad.lineage import Lineage, Stage

_CALLIFIED = (passes.TRANSFORM, passes.FINALIZE, passes.REPLACE)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a STORE of the schedule came from. `match` is 0 for one of the program's own graph."""

    store: int
    """The STORE as it first stood in the graph."""
    match: int


class Stored:
    """The STOREs of one schedule by what they became before kernels are split."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._pool = lineage.pool

    def source(self, end: int) -> Source | None:
        """Where the END or STORE that a kernel was split off from came from; None when that cannot be followed."""
        return self._ends.get(self._store_of(end))

    def copies(self, end: int) -> bool:
        """Whether that is a copy between devices: its STORE was made of a COPY."""
        return self._store_of(end) in self._copied

    def copy_match(self, end: int) -> tuple[Stage | None, int]:
        """The pass and match that made that copy a STORE."""
        return self._lineage.stage(passes.COPY), self._copied[self._store_of(end)]

    def _store_of(self, end: int) -> int:
        return self._pool.src[end][0] if self._pool.op(end) == "END" else end

    @cached_property
    def _ends(self) -> dict[int, Source]:
        found: dict[int, Source] = {}
        for source, nodes in self._first():
            for node in self._followed(nodes, _CALLIFIED + passes.SCHEDULE_PASSES):
                found.setdefault(node, source)
        return found

    def _first(self) -> Iterable[tuple[Source, set[int]]]:
        """Every STORE where it first appears, the program's own before those of matches."""
        pool, lineage = self._pool, self._lineage
        root, number = lineage.root(passes.TENSORS), lineage.stage(passes.NUMBER)
        for node in pool.walk(root) if root is not None else ():
            if pool.op(node) == "STORE":
                yield Source(node, 0), self._stores(number.images([node])) if number is not None else {node}
        transform = lineage.stage(passes.TRANSFORM)
        for match, after in enumerate(transform.after if transform is not None else (), 1):
            for node in self._new_stores(after):
                yield Source(node, match), {node}

    def _new_stores(self, after: int) -> list[int]:
        """The STOREs of a replacement `AFTER(buffer, STORE)`, below movements."""
        pool = self._pool
        while pool.op(after) not in ("AFTER", "TUPLE") and pool.src[after]:
            after = pool.src[after][0]
        afters = pool.src[after] if pool.op(after) == "TUPLE" else (after,)
        return [s for one in afters if pool.op(one) == "AFTER" for s in pool.src[one][1:] if pool.op(s) == "STORE"]

    def _followed(self, nodes: set[int], names: tuple[str, ...]) -> set[int]:
        for name in names:
            stage = self._lineage.stage(name)
            if stage is not None:
                nodes = self._stores(stage.images(nodes)) or nodes
        return nodes

    def _stores(self, nodes: Iterable[int]) -> set[int]:
        return {node for node in nodes if self._pool.op(node) == "STORE"}

    @cached_property
    def _copied(self) -> dict[int, int]:
        """What `convert copy to store` made of copies, as it stands before kernels are split: the match of each."""
        pool = self._pool
        stage = self._lineage.stage(passes.COPY)
        found: dict[int, int] = {}
        later = passes.SCHEDULE_PASSES[passes.SCHEDULE_PASSES.index(passes.COPY) :]
        sides = zip(stage.before, stage.after, strict=True) if stage is not None else ()
        for match, (before, after) in enumerate(sides, 1):
            if pool.op(before) == "COPY" or (pool.op(before) == "STORE" and pool.op(pool.src[before][1]) == "COPY"):
                made = [after] if pool.op(after) == "STORE" else self._new_stores(after)
                for node in self._followed(set(made), later):
                    found.setdefault(node, match)
        return found

    def stage(self, source: Source) -> Stage | None:
        """The pass whose match made that STORE; None for one of the program's own graph."""
        return self._lineage.stage(passes.TRANSFORM) if source.match else None
