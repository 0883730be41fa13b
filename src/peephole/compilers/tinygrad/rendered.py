"""Which op of a linear program wrote which line of its C-style source.

tinygrad's C renderers go through the ops in order. An op is written where it is used (a constant, an index, a value
with one user) or gets a line; lines are named by a counter for each kind (`alu3`, `val0`). Going through the ops in the
same way, each line has to be the one that is expected next. At the first that is not, the rest is left open.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from peephole.compilers.tinygrad.ops import INFIX
from peephole.compilers.tinygrad.shapes import Shapes
from peephole.replay.pool import Pool

_SILENT: Final = frozenset(("NOOP", "GROUP", "CONST", "AFTER", "SINK", "PARAM"))
_INLINE: Final = frozenset(("INDEX", "SHRINK", "CUSTOMI"))
_PREFIX: Final = {"WMMA": "wmma", "BUFFER": "buf", "CAST": "cast", "BITCAST": "cast", "STACK": "cast", "LOAD": "val"}
_ALU: Final = frozenset(
    (*INFIX, "MAX", "NEG", "EXP2", "LOG2", "SIN", "SQRT", "RECIPROCAL", "TRUNC", "POW", "MULACC", "THREEFRY")
)
_HEAD: Final = re.compile(r"\S.*\) \{\Z")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_NUMBERS: Final = re.compile(r"-?\d+")
_SIGNS: Final = {"ADD": "+", "MUL": "*", "SUB": "-", "CMPLT": "<", "CMPNE": "!=", "WHERE": "?", "XOR": "^"}
"""Signs that stand in a line of these ops in every C dialect."""

_AXES: Final = {
    "DEVICE": "d", "GLOBAL": "g", "THREAD": "t", "LOCAL": "l", "WARP": "w", "WEAK": "L", "LOOP": "L", "UPCAST": "u",
    "GROUP_REDUCE": "G", "REDUCE": "R", "UNROLL": "r",
}  # fmt: skip
"""The first letter of a loop's variable by the kind of its axis."""


@dataclass(slots=True)
class Line:
    """What a line was written from: nodes of the pool, the one that it is the line of first. Empty for no node."""

    kind: str = "none"
    """`op`, `signature`, `brace` or `none`."""
    nodes: list[int] = field(default_factory=list)


def rendered(pool: Pool, linear: tuple[int, ...], source: list[str], function: str) -> tuple[list[Line], str | None]:
    """A Line for every line of the source, and a sentence when not all of it could be followed."""
    lines = [Line() for _ in source]
    head = _head(source, function)
    if head is None:
        return lines, "This source is not in the form that tinygrad's C renderers write, so its lines are not traced."
    lines[head] = Line("signature", [node for node in linear if pool.op(node) == "PARAM"])
    writer = _Writer(pool, linear)
    at = head + 1
    for node in linear:
        for expected in writer.lines(node):
            while at < len(source) and not source[at].startswith(" ") and source[at] != "}":
                at += 1  # a declaration that a dialect puts first
            text = source[at].strip() if at < len(source) else ""
            if not expected.fits(text):
                return lines, f"From line {at + 1} on the source does not follow the list of ops, so it is not traced."
            lines[at] = Line("brace" if text == "}" else "op", writer.inside(node))
            at += 1
    if at < len(source) and source[at].strip() == "}":
        lines[at] = Line("brace")
    return lines, None


def _head(source: list[str], function: str) -> int | None:
    heads = [i for i, text in enumerate(source) if _HEAD.match(text)]
    named = [i for i in heads if re.search(rf"\b{re.escape(function)}\(", source[i])]
    found = named or heads
    return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class _Expected:
    """How a line has to begin or what has to be declared in it."""

    start: str = ""
    declares: str = ""
    sign: str = ""

    def fits(self, text: str) -> bool:
        if not text.startswith(self.start) or self.sign not in text:
            return False
        left, equals, _ = text.partition("=")
        if self.declares:
            return self.declares in _WORD.findall(left)
        return bool(self.start) or (text != "}" and not text.startswith(("for (", "if (")) and _plain(left, equals))


def _plain(left: str, equals: str) -> bool:
    """Whether a line declares nothing of the counted names."""
    names = _WORD.findall(left) if equals and not left.startswith(("*", "(")) else []
    return not any(re.fullmatch(r"(?:alu|val|cast|wmma|bidx)\d+", name) for name in names[1:2])


class _Writer:
    """Goes through the ops as the renderer does."""

    def __init__(self, pool: Pool, linear: tuple[int, ...]) -> None:
        self._pool = pool
        self._users = Counter(s for node in linear for s in pool.src[node])
        self._count: Counter[str] = Counter()
        self._shapes = Shapes(pool)
        self._inline: set[int] = set()

    def lines(self, node: int) -> list[_Expected]:
        """The lines that an op gets; none when it is written where it is used."""
        pool = self._pool
        op, dtype, arg, _ = pool.texts(node)
        src = pool.src[node]
        if op in _SILENT or (op == "STACK" and not src):
            return []
        if self._written_in_place(node, op):
            self._inline.add(node)
            return []
        if op == "SPECIAL":
            return [_Expected(declares=(arg or "").strip("'\""))]
        if op == "RANGE":
            return [_Expected("for (", "" if dtype.endswith("void") else self._range(arg))]
        # every other line counts, whether its name is written or not
        prefix = _PREFIX.get(op, "alu")
        name = f"{prefix}{self._count[prefix]}"
        self._count[prefix] += 1
        if op == "END":
            with_condition = len(src) == 3 and pool.texts(src[2])[1].endswith("bool")
            return [_Expected("if (!("), _Expected("}")] if with_condition else [_Expected("}")]
        if op in ("IF", "ENDIF"):
            return [_Expected("if (" if op == "IF" else "}")]
        if op == "BUFFER":
            return [_Expected(declares=name)]
        if op == "STORE":
            return [_Expected(sign="=")]
        if op == "CUSTOM":
            return [_Expected()] * ((arg or "").count("\\n") + 1)
        if dtype.endswith("void"):
            return [_Expected()]
        return [_Expected(declares=name, sign=_SIGNS.get(op, ""))]

    def inside(self, node: int) -> list[int]:
        """The node and what is written inside its line, outermost first; the ops of other lines only give a name."""
        found = [node]
        if self._pool.op(node) in ("END", "ENDIF", "RANGE", "BUFFER"):
            return found
        for here in found:
            for s in self._pool.src[here]:
                while self._pool.op(s) == "AFTER":
                    s = self._pool.src[s][0]
                if s in self._inline and s not in found and not self._constant(s):
                    found.append(s)
        return found

    def _constant(self, node: int) -> bool:
        src = self._pool.src[node]
        return self._pool.op(node) == "CAST" and bool(src) and self._pool.op(src[0]) == "CONST"

    def _written_in_place(self, node: int, op: str) -> bool:
        pool = self._pool
        src = pool.src[node]
        if op == "CAST" and not self._scalar(node):
            return False
        if op in _INLINE or self._constant(node):
            return True
        single = self._users[node] == 1
        if op == "LOAD":
            return single and self._space(src[0]) == "REG"
        if op in ("CAST", "BITCAST"):
            return single or self._space(node) in ("GLOBAL", "LOCAL")
        return single and (op in _ALU or op == "STACK")

    def _scalar(self, node: int) -> bool:
        shape = self._shapes.shape(node)
        return not any(size != 1 for size in shape or ())

    def _space(self, node: int) -> str:
        """The memory that a pointer points to; empty for a value."""
        pool = self._pool
        while pool.op(node) in ("INDEX", "SHRINK", "CAST", "BITCAST", "AFTER") and pool.src[node]:
            node = pool.src[node][0]
        op, _, arg, _ = pool.texts(node)
        if op not in ("BUFFER", "PARAM"):
            return ""
        found = re.search(r"AddrSpace\.(\w+)", arg or "")
        return found[1] if found else "GLOBAL"

    def _range(self, arg: str | None) -> str:
        """What a loop's variable is called; its first letter tells the kind of axis."""
        numbers, _, kind = (arg or "").strip("()").rpartition(", ")
        letter = _AXES.get(kind.rpartition(".")[2], "")
        return f"{letter}idx" + "_".join(n.replace("-", "m") for n in _NUMBERS.findall(numbers))
