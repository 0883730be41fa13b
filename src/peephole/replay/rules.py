"""What the engine has to know about a graph's IR. A compiler fills it in; on its own it is right for any graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    from peephole.replay.pool import Pool

LONGEST_ARG: Final = 80
"""Characters of an argument in a line of text."""


class Refused(Exception):
    """The compiler would refuse to build this node; a replay ends in an error node there."""


class Shapes(Protocol):
    """The shapes of a pool's nodes, good until the pool is reset."""

    def of(self, nodes: Sequence[int]) -> list[str | None]:
        """The shapes of these nodes as texts; None where there is none or it is not known."""
        ...


class Rules:
    """What an IR means to a replay. These are the rules of an engine that nothing is known about."""

    call_ops: ClassVar[frozenset[str]] = frozenset()
    """Ops whose first source may be the body that they call."""
    error_node: ClassVar[tuple[str, str]] = ("REWRITE_ERROR", "")
    """Op and dtype of the node that stands where a replay ends in an error."""
    derives: bool = False
    """Whether a node that is built over sources of other dtypes may get another one itself: `rebuilt` says which."""

    def same_args(self, args: Sequence[str | None]) -> dict[int, int]:
        """Args, by their place, that the compiler takes for an earlier one: their place to that one's."""
        return {}

    def leaves_body(self, pool: Pool, call: int) -> bool:
        """Whether a pass that does not enter calls leaves the first source of this node alone."""
        return False

    def rebuilt(self, pool: Pool, own: int, src: tuple[int, ...]) -> int:
        """What a node is (`NodeTable.own`) over sources of other dtypes. Refused when it may not be built."""
        return own

    def shapes(self, pool: Pool) -> Shapes:
        """The shapes of a pool's nodes."""
        return _Recorded(pool)

    def written(self, op: str, dtype: str, arg: str | None, tag: str | None, sources: list[str]) -> str:
        """A node as text, in the names of its sources."""
        text = f"{op}({', '.join([*sources, *([] if arg is None else [short_arg(arg)])])})"
        return text if tag is None else f"{text}  # tag {tag}"

    def own_line(self, op: str) -> bool:
        """Whether a node of that op always has a line of its own."""
        return False

    def in_place(self, op: str) -> bool:
        """Whether a node of that op is written where it is used, by however many."""
        return False


def short_arg(arg: str) -> str:
    """An argument on one line, cut where it is long."""
    short = arg if len(arg) <= LONGEST_ARG else arg[:LONGEST_ARG] + "…"
    return " ".join(short.split()) if "\n" in short else short


class _Recorded:
    """The shapes that were recorded with the nodes; what a replay built anew has that of the node it was."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def of(self, nodes: Sequence[int]) -> list[str | None]:
        pool, shapes = self._pool, self._pool.table.recorded_shapes
        rows = pool.table.rows([pool.ids[pool.model[node]] for node in nodes]).tolist()
        return [None if row < 0 else shapes[row] for row in rows]
