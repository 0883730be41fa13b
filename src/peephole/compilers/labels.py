"""What a box of a graph shows: its two lines, its colour, what of it may be folded away. Made for the page.

A compiler says how one node looks (`Look`); what a graph adds, constants that stand in their users' labels, is worked
out here for all of its nodes. Looks are made once for each different node text, not for every node.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from peephole.model.tables import GRAPH

if TYPE_CHECKING:
    from peephole.compilers.protocol import Compiler

CONSTANT: Final = 1
"""Bits of a fold: a value that goes into the labels of its users,"""
INDEXING: Final = 2
"""counts or addresses,"""
SINK: Final = 4
"""only holds the graph together,"""
LISTS: Final = 8
"""lists a graph's instructions in order: what no compiler needs to say."""

LONGEST: Final = 34
"""Characters of a box's name or argument; the line of its type may have ten more."""
KEPT: Final = 200_000
"""Looks of a compiler that are kept at hand."""


class Family(IntEnum):
    """Which of the page's twelve colours an operation has (`web/src/draw/theme.ts`)."""

    MEMORY = 1
    ARITHMETIC = 2
    READ = 3
    WRITE = 4
    LOOP = 5
    CONSTANT = 6
    MOVEMENT = 7
    REDUCTION = 8
    COPY = 9
    ORDER = 10
    CALL = 11
    OTHER = 12


class NodeText(NamedTuple):
    """A node's own fields as texts; empty where it has none."""

    op: str
    dtype: str = ""
    arg: str = ""
    shape: str = ""


Row = tuple[str, str, str | None, str | None]
"""Op, dtype, arg and shape of a node, as a graph's columns hold them."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a node looks by itself: name and argument on the first line of its box, type on the second."""

    name: str
    arg: str
    type: str
    family: int = Family.OTHER
    fold: int = 0
    """CONSTANT, INDEXING, SINK and LISTS as far as its own fields tell."""
    bodies: int = 0
    """How many of its first sources are the body of what it calls; not 0 for what was compiled by itself."""
    space: str = ""
    """Where its memory is: `GLOBAL`, `LOCAL`, `REG`; empty when it has none or that is not known."""
    whole: tuple[str, str, str] = ("", "", "")
    """Name, argument and type without any cut, for the tooltip."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the graph around its nodes says about them, an entry a node but for `indexed`."""

    space: list[str]
    """The memory that it is about: `GLOBAL`, `LOCAL`, `REG`, `ALU`; empty for none."""
    ranges: list[str]
    """The loops that are open at it: `0,1`."""
    indexed: dict[int, str]
    """The expression that it is indexed with, `[r1*8+r0]`, by its place."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The looks of a graph's nodes, one entry a node but for `looks`."""

    looks: list[Look]
    look: list[int]
    """Place in `looks`."""
    inside: list[str | None]
    """The argument with the values of the constants in it; None where the look's own is right."""
    fold: list[int]
    """CONSTANT, INDEXING, SINK and LISTS, with what the graph around a node tells."""
    facts: Facts | None = None


def labels_of(compiler: Compiler, rows: Iterable[Row], src: Sequence[Sequence[int]], root: int) -> Labels:
    """The labels of a graph, given as the fields of its nodes; `src` are places, sources stand before users."""
    places: dict[Row, int] = {}
    look = [places.setdefault(row, len(places)) for row in rows]
    own_texts = [NodeText(op, dtype, arg or "", shape or "") for op, dtype, arg, shape in places]
    looks = [look_of(compiler, text) for text in own_texts]
    texts = list(map(own_texts.__getitem__, look))
    values = compiler.constants(texts, src, root)
    folded = {v for v, value in enumerate(values) if value is not None}
    own = [one.fold & ~CONSTANT for one in looks]
    fold = list(map(own.__getitem__, look))
    for v in folded:
        fold[v] |= CONSTANT
    inside: list[str | None] = [None] * len(look)
    for v, sources in enumerate(src) if folded else ():
        if not folded.isdisjoint(sources):
            inside[v] = _inside(compiler, texts[v], tuple([values[s] for s in sources]))
    facts = compiler.facts(texts, src)
    for v, expression in (facts.indexed if facts is not None else {}).items():
        assert facts is not None
        inside[v] = cut(f"({facts.ranges[v]}) {expression}" if facts.ranges[v] else expression)
    return Labels(looks, look, inside, fold, facts)


def _inside(compiler: Compiler, text: NodeText, constants: tuple[str | None, ...]) -> str:
    kept, key = compiler.insides, (text, constants)
    found = kept.get(key)
    if found is None:
        if len(kept) >= KEPT:
            kept.clear()
        found = kept[key] = compiler.argument(text, constants)
    return found


def look_of(compiler: Compiler, text: NodeText) -> Look:
    """The look of a node, made when it is first asked for."""
    kept = compiler.looks
    found = kept.get(text)
    if found is None:
        if len(kept) >= KEPT:
            kept.clear()
        found = compiler.look(text)
        if text.op == GRAPH:
            found = replace(found, fold=found.fold | LISTS)
        kept[text] = found
    return found


def plain_look(text: NodeText) -> Look:
    """How a node of an IR that nothing is known about looks."""
    arg = "" if text.arg == "None" else " ".join(text.arg.split())
    kind = " ".join(part for part in (text.dtype, text.shape) if part)
    whole = (text.op, arg, kind)
    return Look(cut(text.op), short_number(arg) or cut(arg), cut(kind, LONGEST + 10), whole=whole)


def cut(text: str, most: int = LONGEST) -> str:
    """Text of bounded length."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut_kernel(name: str, most: int = LONGEST) -> str:
    """The name of a kernel of bounded length: many share their start, so both ends of it stay."""
    if len(name) <= most:
        return name
    return f"{name[: math.ceil(most * 0.6)]}…{name[len(name) - math.floor(most * 0.4) + 1 :]}"


_NUMBER: Final = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_DIGITS: Final = 12
_SIX: Final = Context(prec=6, rounding=ROUND_HALF_UP)


def short_number(text: str) -> str:
    """A number in at most twelve characters, with ≈ where that is not all of it; empty for what is none.

    A number is never cut.
    """
    if not text or not _NUMBER.fullmatch(text):
        return ""
    if len(text) <= _DIGITS:
        return text
    value = float(text)
    if value in (math.inf, -math.inf):
        return f"≈{value}"
    short = _SIX.plus(Decimal(value))
    power = short.adjusted() if value else 0
    if -7 < power < 6:
        return f"≈{_plain(f'{short:f}')}"
    return f"≈{_plain(f'{short.scaleb(-power):f}')}e{power:+d}"


def _plain(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
