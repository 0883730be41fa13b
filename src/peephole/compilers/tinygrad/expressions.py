"""What the graph around a node of tinygrad says about it, as VIZ shows it: the expression that an INDEX or STAGE is
indexed with, the ranges that are open at it, the memory that it is about.

All of it depends on what is below a node and nothing else, so that it is worked out once for each different node: the
graphs of a pass have most of theirs in common. An expression of many nodes is left out, as in VIZ: it would fill the
screen, and shared parts make its text grow without bound. It is printed simplified, as tinygrad does (`indexing`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Final

from peephole.compilers.labels import Facts, NodeText
from peephole.compilers.tinygrad.indexing.simplifying import Simplifier, TooLong
from peephole.compilers.tinygrad.indexing.term_text import SIGNS, bare, range_name, term_text
from peephole.compilers.tinygrad.indexing.terms import WEAK, Term, Terms, Value
from peephole.compilers.tinygrad.ops import MOVEMENT

MOST: Final = 30
"""Nodes of an expression, from which on it is left out."""
KEPT: Final = 400_000
"""Different nodes whose facts are kept at hand."""
_INDEXED: Final = ("INDEX", "STAGE", "BUFFERIZE")
_DTYPES: Final = {"index": WEAK}
"""Names that older releases have for a type."""
_ENDS: Final = {"STAGE": 1, "REDUCE": 1, "WMMA": 3, "END": 1, "CALL": 1, "FUNCTION": 1, "LINEAR": 0, "UNSHARD": 1}
"""Ops that close ranges, and their first source that is one."""
_OF_SOURCE: Final = frozenset(
    ("INDEX", "CAST", "AFTER", "REDUCE", "STORE", "MSTACK", "MSELECT", "END", "UNSHARD", *MOVEMENT)
)
_ALU: Final = frozenset(("SPECIAL", "RANGE", "LOAD"))
_COMMON: Final = frozenset(
    (*SIGNS, "STACK", "WMMA", "GROUP", "MAX", "WHERE", "MULACC", "CDIV", "CMOD", "FDIV", "POW", "EXP2", "LOG2", "SIN",
     "SQRT", "RECIPROCAL", "NEG", "TRUNC", "BITCAST", "THREEFRY")
)  # fmt: skip
_NUMBERS: Final = re.compile(r"-?\d+(?![^<]*>)")
_SPACE: Final = re.compile(r"AddrSpace\.(\w+)")

Open = frozenset[int]


class KnownFacts:
    """The facts of nodes that were asked about, by what they are. Several threads may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._texts: dict[NodeText, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._walk = _Walk()
        self._ranges: list[str] = []
        self._indexed: list[str] = []
        self._named: dict[Open, str] = {}

    def of(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]]) -> Facts:
        """The facts of all nodes of a graph; sources stand before users."""
        with self._lock:
            if len(self._numbers) > KEPT:
                self._forget()
            numbers = self._numbered(texts, src)
            spaces, ranges, indexed = self._walk.spaces, self._ranges, self._indexed
            expressions = {v: indexed[number] for v, number in enumerate(numbers) if indexed[number]}
            return Facts(list(map(spaces.__getitem__, numbers)), list(map(ranges.__getitem__, numbers)), expressions)

    def _numbered(self, texts: Sequence[NodeText], src: Sequence[Sequence[int]]) -> list[int]:
        """A number for each node, the same for those of the same text and sources."""
        known = self._numbers.get
        text_numbers: dict[int, int] = {}  # by identity: equal texts of a graph are mostly one object
        numbers: list[int] = []
        for text, sources in zip(texts, src, strict=True):
            own = text_numbers.get(id(text))
            if own is None:
                own = text_numbers[id(text)] = self._texts.setdefault(text, len(self._texts))
            key = (own, *map(numbers.__getitem__, sources))
            number = known(key)
            if number is None:
                number = self._numbers[key] = self._learn(text, key[1:])
            numbers.append(number)
        return numbers

    def _learn(self, text: NodeText, sources: tuple[int, ...]) -> int:
        walk = self._walk
        number = walk.take(text, sources)
        ranges = walk.open[number]
        if ranges not in self._named:
            self._named[ranges] = walk.named(ranges)
        self._ranges.append(self._named[ranges])
        self._indexed.append(walk.indexed(number) if text.op in _INDEXED else "")
        return number


class _Walk:
    """What is known of the nodes so far."""

    def __init__(self) -> None:
        self._texts: list[NodeText] = []
        self._src: list[tuple[int, ...]] = []
        self.spaces: list[str] = []
        self.open: list[Open] = []
        self._ended: dict[int, tuple[int, ...]] = {}
        self._terms = Terms()
        self._simplifier = Simplifier(self._terms)
        self._known: dict[int, Term] = {}

    def take(self, text: NodeText, src: tuple[int, ...]) -> int:
        """The place of one more node, whose sources are there."""
        node = len(self._texts)
        self._texts.append(text)
        self._src.append(src)
        self.spaces.append(self._space(node))
        self.open.append(self._ranges(node))
        return node

    def _space(self, node: int) -> str:
        text, src = self._texts[node], self._src[node]
        op = text.op
        if op in ("PARAM", "BUFFER") or op.startswith("DEFINE_"):
            found = _SPACE.search(f"{text.arg} {text.dtype}")
            return found[1] if found else {"DEFINE_LOCAL": "LOCAL", "DEFINE_REG": "REG"}.get(op, "GLOBAL")
        if op in _ALU:
            return "ALU"
        if op in _OF_SOURCE:
            return self.spaces[src[0]] if src else ""
        if op in _COMMON:
            known = {self.spaces[s] for s in src} - {""}
            return known.pop() if len(known) == 1 else ""
        return ""

    def _ranges(self, node: int) -> Open:
        op, src = self._texts[node].op, self._src[node]
        sets = {self.open[s] for s in src}
        found = sets.pop() if len(sets) == 1 else frozenset[int]().union(*sets)
        ended = tuple(src[_ENDS[op] :]) if op in _ENDS else ()
        if op == "AFTER":
            ended = tuple(range_ for s in src[1:] for range_ in self._ended.get(s, ()))
        if ended:
            self._ended[node] = ended
            closed: set[int] = set()
            for one in ended:
                closed |= {one} if self._texts[one].op == "RANGE" else self.open[one]
            found -= closed
        return found | {node} if op == "RANGE" else found

    def named(self, ranges: Open) -> str:
        """`0,1`: the numbers of ranges, in their order."""
        keys = ((tuple(map(int, _NUMBERS.findall(self._texts[v].arg))), self._texts[v].arg) for v in ranges)
        return ",".join(range_name(arg) for _, arg in sorted(keys))

    def indexed(self, node: int) -> str:
        """`[r1*8+r0]`, a bracket for each place; empty when it is too long."""
        places = self._src[node][1:]
        if sum(self._size(place) for place in places) >= MOST:
            return ""
        return "".join(f"[{bare(term_text(self._simple(place)))}]" for place in places)

    def _size(self, node: int) -> int:
        """How many nodes an expression has, counted no further than needed."""
        done, stack = {node}, [node]
        while stack and len(done) < MOST:
            for s in self._src[stack.pop()]:
                if s not in done:
                    done.add(s)
                    stack.append(s)
        return len(done)

    def _simple(self, place: int) -> Term:
        """What a place is, as simple as tinygrad makes it."""
        term = self._term(place)
        try:
            return self._simplifier.simplify(term)
        except (TooLong, RecursionError):
            return term

    def _term(self, node: int) -> Term:
        known = self._known.get(node)
        if known is None:
            text = self._texts[node]
            dtype = _DTYPES.get(name := text.dtype.removeprefix("dtypes."), name)
            src = tuple(self._term(s) for s in self._src[node])
            arg = _value(text.arg) if text.op == "CONST" else text.arg
            known = self._known[node] = self._terms.make(text.op, src, arg, dtype)
        return known


def _value(text: str) -> Value:
    """A constant's value: a number, a truth value, else its text."""
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        return text
