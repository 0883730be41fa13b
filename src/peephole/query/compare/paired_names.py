"""Names of phases that hold the name of a kernel: those of both sides meet where the kernel is called otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from peephole.query.compare.compiled import Compiled
from peephole.query.compare.pairing import Pair


@dataclass(frozen=True, slots=True)
class PairedNames:
    """What a name of one side is called on the other."""

    a_of_b: Mapping[str, str] = field(default_factory=dict)
    """Names of kernels, where the sides call them otherwise and each is of one alone."""
    b_of_a: Mapping[str, str] = field(default_factory=dict)

    def in_a(self, text: str) -> str:
        """A phase of B as A would call it: `compile r_8` where A's kernel is r_4 becomes `compile r_4`."""
        return _said(text, self.a_of_b)

    def in_b(self, text: str) -> str:
        """A phase of A as B would call it."""
        return _said(text, self.b_of_a)


def paired_names(a: Compiled, b: Compiled, pairs: Sequence[Pair]) -> PairedNames:
    """The names of kernels in pairs; those that stand for several of the other side are left out."""
    own: dict[str, set[str]] = defaultdict(set)
    other: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if pair.a >= 0 and pair.b >= 0 and a.units[pair.a].is_kernel:
            x, y = (unit.name.partition("#")[0] for unit in (a.units[pair.a], b.units[pair.b]))
            own[x].add(y)
            other[y].add(x)
    found = {x: next(iter(names)) for x, names in own.items() if len(names) == 1}
    found = {x: y for x, y in found.items() if x != y and len(other[y]) == 1 and x not in other and y not in own}
    return PairedNames({y: x for x, y in found.items()}, found)


def _said(text: str, names: Mapping[str, str]) -> str:
    return " ".join(names.get(word, word) for word in text.split(" ")) if names else text
