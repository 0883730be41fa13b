"""What the graph around a node of tinygrad says about it, as VIZ shows it: the expression that an INDEX or STAGE is
indexed with, the ranges that are open at it, the memory that it is about.

All of it depends on what is below a node and nothing else, so that it is worked out once for each different node: the
graphs of a pass have most of theirs in common. An expression of many nodes is left out, as in VIZ: it would fill the
screen, and shared parts make its text grow without bound. tinygrad simplifies an expression before it prints it; here
it is printed as it stands in the graph.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Final

from peephole.compilers.labels import Facts, NodeText
from peephole.compilers.tinygrad.ops import MOVEMENT

MOST: Final = 30
"""Nodes of an expression, from which on it is left out."""
KEPT: Final = 400_000
"""Different nodes whose facts are kept at hand."""
_INDEXED: Final = ("INDEX", "STAGE", "BUFFERIZE")
_SIGNS: Final = {
    "ADD": "+", "SUB": "-", "FLOORDIV": "//", "FLOORMOD": "%", "IDIV": "//", "MOD": "%", "SHL": "<<", "SHR": ">>",
    "MUL": "*", "CMPLT": "<", "CMPNE": "!=", "CMPEQ": "==", "AND": "&", "OR": "|", "XOR": "^",
}  # fmt: skip
_BINDS: Final = {
    "MUL": 1, "FLOORDIV": 1, "FLOORMOD": 1, "IDIV": 1, "MOD": 1, "ADD": 2, "SUB": 2, "SHL": 3, "SHR": 3, "AND": 4,
    "XOR": 5, "OR": 6,
}  # fmt: skip
_LOOSE: Final = 99
_ENDS: Final = {"STAGE": 1, "REDUCE": 1, "WMMA": 3, "END": 1, "CALL": 1, "FUNCTION": 1, "LINEAR": 0, "UNSHARD": 1}
"""Ops that close ranges, and their first source that is one."""
_OF_SOURCE: Final = frozenset(
    ("INDEX", "CAST", "AFTER", "REDUCE", "STORE", "MSTACK", "MSELECT", "END", "UNSHARD", *MOVEMENT)
)
_ALU: Final = frozenset(("SPECIAL", "RANGE", "LOAD"))
_COMMON: Final = frozenset(
    (*_SIGNS, "STACK", "WMMA", "GROUP", "MAX", "WHERE", "MULACC", "CDIV", "CMOD", "FDIV", "POW", "EXP2", "LOG2", "SIN",
     "SQRT", "RECIPROCAL", "NEG", "TRUNC", "BITCAST", "THREEFRY")
)  # fmt: skip
_NUMBERS: Final = re.compile(r"-?\d+(?![^<]*>)")
_SPACE: Final = re.compile(r"AddrSpace\.(\w+)")
_NAME: Final = re.compile(r"name='([^']+)'")
_SLOT: Final = re.compile(r"(?:ParamArg\()?(?:slot=)?(-?\d+)")
_WEAK: Final = re.compile(r"(?:dtypes\.)?(?:weak\w+|index|bool)\Z")

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


def range_name(arg: str) -> str:
    """`0_1` for the number of a range; `m1` for one below 0."""
    return "_".join(f"m{number[1:]}" if number.startswith("-") else number for number in _NUMBERS.findall(arg))


class _Walk:
    """What is known of the nodes so far."""

    def __init__(self) -> None:
        self._texts: list[NodeText] = []
        self._src: list[tuple[int, ...]] = []
        self.spaces: list[str] = []
        self.open: list[Open] = []
        self._ended: dict[int, tuple[int, ...]] = {}
        self._expressions: dict[int, str] = {}

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
        return "".join(f"[{_bare(self._expression(place))}]" for place in places)

    def _size(self, node: int) -> int:
        """How many nodes an expression has, counted no further than needed."""
        done, stack = {node}, [node]
        while stack and len(done) < MOST:
            for s in self._src[stack.pop()]:
                if s not in done:
                    done.add(s)
                    stack.append(s)
        return len(done)

    def _expression(self, node: int) -> str:
        known = self._expressions.get(node)
        if known is None:
            known = self._expressions[node] = self._write(node)
        return known

    def _write(self, node: int) -> str:
        text, src = self._texts[node], self._src[node]
        op, arg = text.op, text.arg
        if op in ("PARAM", "BUFFER", "DEFINE_VAR", "DEFINE_GLOBAL"):
            name, slot = _NAME.search(arg), _SLOT.match(arg)
            return name[1] if name else f"{'b' if op == 'BUFFER' else 'p'}{slot[1]}" if slot else op.lower()
        if op == "RANGE":
            return f"{'loop' if text.dtype.endswith('void') else 'r'}{range_name(arg)}"
        if op == "SPECIAL":
            return arg.strip("'\"")
        if op == "CONST":
            return arg
        parts = [self._expression(s) for s in src]
        if op == "AFTER":
            return parts[0]
        if op == "CAST":
            inner = self._texts[src[0]]
            weak = inner.op == "CONST" and _WEAK.match(inner.dtype)
            return parts[0] if weak else f"({text.dtype.removeprefix('dtypes.')})({parts[0]})"
        if op in _SIGNS and len(parts) == 2:
            return self._infix(op, src, parts)
        if op == "PERMUTE":
            return f"{parts[0]}.permute({arg})"
        if op in ("RESHAPE", "EXPAND") and len(src) == 2:
            sizes = [self._expression(s) for s in (self._src[src[1]] if self._texts[src[1]].op == "STACK" else src[1:])]
            return f"{parts[0]}.{op.lower()}(({','.join(sizes)}{',' * (len(sizes) == 1)}))"
        return _called(op, parts)

    def _infix(self, op: str, src: Sequence[int], parts: list[str]) -> str:
        left, right = parts
        if op in _BINDS:
            binds = [_BINDS.get(self._texts[s].op, _LOOSE) for s in src]
            left = _bare(left) if binds[0] <= _BINDS[op] else left
            right = _bare(right) if binds[1] < _BINDS[op] else right
        return f"({left}{_SIGNS[op]}{right})"


def _called(op: str, parts: list[str]) -> str:
    """An op that is not written between its sources."""
    match op, parts:
        case "NEG", [value]:
            return f"(-{value})"
        case "RECIPROCAL", [value]:
            return f"(1/{value})"
        case "MULACC", [one, other, added]:
            return f"({one}*{other}+{added})"
        case "WHERE", [condition, yes, no]:
            return f"({yes} if {condition} else {no})"
        case "STACK", _:
            return "{" + ",".join(parts) + "}"
        case (("INDEX" | "STAGE"), [_, *places]):
            return "".join(f"[{_bare(place)}]" for place in places)
    return f"{op.lower()}({', '.join(parts)})"


def _bare(text: str) -> str:
    """Without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and at < len(text) - 1:
            return text
    return text[1:-1]
