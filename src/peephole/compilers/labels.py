"""What a box of a graph shows: its two lines, its colour, what of it may be folded away. Made for the page.

A compiler says how one node looks (`Look`); what a graph adds, constants that stand in their users' labels, is worked
out here for all of its nodes. Looks are made once for each different node text, not for every node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from peephole.compilers.protocol import Compiler

CONSTANT: Final = 1
"""Bits of a fold: a value that goes into the labels of its users,"""
INDEXING: Final = 2
"""counts or addresses,"""
SINK: Final = 4
"""only holds the graph together."""

LONGEST: Final = 34
"""Characters of a box's name or argument; the line of its type may have ten more."""
KEPT: Final = 200_000
"""Looks of a compiler that are kept at hand."""


class Family(IntEnum):
    """Which of the page's twelve colours an operation has (`web/src/draw/families.ts`)."""

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


@dataclass(frozen=True, slots=True)
class Look:
    """How a node looks by itself: name and argument on the first line of its box, type on the second."""

    name: str
    arg: str
    type: str
    family: int = Family.OTHER
    fold: int = 0
    """CONSTANT, INDEXING and SINK as far as its own fields tell."""
    bodies: int = 0
    """How many of its first sources are the body of what it calls; not 0 for what was compiled by itself."""
    space: str = ""
    """Where its memory is: `GLOBAL`, `LOCAL`, `REG`; empty when it has none or that is not known."""
    whole: tuple[str, str, str] = ("", "", "")
    """Name, argument and type without any cut, for the tooltip."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The looks of a graph's nodes, one entry a node but for `looks`."""

    looks: list[Look]
    look: list[int]
    """Place in `looks`."""
    inside: list[str | None]
    """The argument with the values of the constants in it; None where the look's own is right."""
    fold: list[int]
    """CONSTANT, INDEXING and SINK, with what the graph around a node tells."""


def labels_of(compiler: Compiler, texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> Labels:
    """The labels of a graph; `src` are places, sources stand before users."""
    looks: list[Look] = []
    places: dict[NodeText, int] = {}
    look: list[int] = []
    for text in texts:
        place = places.get(text)
        if place is None:
            place = places[text] = len(looks)
            looks.append(look_of(compiler, text))
        look.append(place)
    values = compiler.constants(texts, src, root)
    own = [one.fold & ~CONSTANT for one in looks]
    fold = [own[at] if values[v] is None else own[at] | CONSTANT for v, at in enumerate(look)]
    inside: list[str | None] = [None] * len(texts)
    known: dict[tuple[int, tuple[str | None, ...]], str] = {}
    for v, sources in enumerate(src):
        constants = tuple([values[s] for s in sources])
        if any(value is not None for value in constants):
            key = (look[v], constants)
            if key not in known:
                known[key] = compiler.argument(texts[v], constants)
            inside[v] = known[key]
    return Labels(looks, look, inside, fold)


def look_of(compiler: Compiler, text: NodeText) -> Look:
    """The look of a node, made when it is first asked for."""
    kept = compiler.looks
    found = kept.get(text)
    if found is None:
        if len(kept) >= KEPT:
            kept.clear()
        found = kept[text] = compiler.look(text)
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


_NUMBER: Final = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_DIGITS: Final = 12


def short_number(text: str) -> str:
    """A number in at most twelve characters, with ≈ where that is not all of it; empty for what is none.

    A number is never cut.
    """
    if not text or not _NUMBER.fullmatch(text):
        return ""
    if len(text) <= _DIGITS:
        return text
    mantissa, _, exponent = f"{float(text):.5e}".partition("e")
    power = int(exponent) if exponent else 0
    if -7 < power < 6:
        digits = f"{float(text):.{5 - power}f}"
        return f"≈{digits.rstrip('0').rstrip('.') if '.' in digits else digits}"
    return f"≈{mantissa.rstrip('0').rstrip('.')}e{power:+d}" if exponent else f"≈{float(text)}"
