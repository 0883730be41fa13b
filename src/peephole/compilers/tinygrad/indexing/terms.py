"""Terms: the small expressions that buffers are indexed with, each a value that is there once; their bounds and order.

tinygrad's symbolic rules need four things of an expression: whether two are the same, which of two comes first, the
least and the greatest value, and a factor that is in all of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

Value = int | float | bool | str
"""Of a constant; the text of what is neither a number nor a truth value, such as `Invalid`."""

WEAK: Final = "weakint"
BOOL: Final = "bool"
INVALID: Final = "Invalid"
COMPARISONS: Final = frozenset(("CMPLT", "CMPNE", "CMPEQ"))
COMMUTATIVE: Final = frozenset(("ADD", "MUL", "MAX", "CMPNE", "CMPEQ", "XOR", "AND", "OR"))
BINARY: Final = frozenset(
    (*COMMUTATIVE, "CMPLT", "SHL", "SHR", "SUB", "CDIV", "CMOD", "FLOORDIV", "FLOORMOD", "IDIV", "MOD")
)
IRREDUCIBLE: Final = frozenset(("CONST", "SPECIAL", "RANGE", "PARAM", "DEFINE_VAR"))
_ORDER: Final = {
    op: at
    for at, op in enumerate((
        "SPECIAL", "BUFFER", "PARAM", "DEFINE_VAR", "AFTER", "STACK", "INDEX", "SHRINK", "LOAD", "CAST", "BITCAST",
        "NEG", "ADD", "MUL", "SHL", "SHR", "CDIV", "MAX", "CMOD", "CMPLT", "CMPNE", "CMPEQ", "XOR", "OR", "AND", "SUB",
        "FLOORDIV", "FLOORMOD", "WHERE", "RANGE", "CONST", "STAGE", "RESHAPE", "PERMUTE", "EXPAND",
    ))
}  # fmt: skip
"""Which op comes first, as tinygrad's list of ops has them."""
_NUMBERS: Final = re.compile(r"-?\d+(?![^<]*>)")
_BOUNDS: Final = re.compile(r"vmin_vmax=\((-?\d+), (-?\d+)\)")
_MULTIPLE: Final = re.compile(r"multiple_of=(\d+)")
_NAME: Final = re.compile(r"name='([^']*)'")
_NAMED: Final = ("PARAM", "BUFFER")
"""Ops that a variable is, with its bounds in the argument: outside kernels a BUFFER."""
_FAR: Final = 1 << 31

Key = tuple[object, ...]


class Term:
    """One expression. Two that are equal are one object, as long as one `Terms` made them."""

    __slots__ = ("_bounds", "_key", "arg", "dtype", "op", "src")

    def __init__(self, op: str, src: tuple[Term, ...], arg: Value, dtype: str) -> None:
        self.op, self.src, self.arg, self.dtype = op, src, arg, dtype
        self._bounds: tuple[int, int] | None = None
        self._key: Key | None = None

    @property
    def number(self) -> int | None:
        """The value of a whole constant."""
        return int(self.arg) if self.op == "CONST" and isinstance(self.arg, int) else None

    @property
    def low(self) -> int:
        """The least value that it can have."""
        return self.bounds[0]

    @property
    def high(self) -> int:
        """The greatest."""
        return self.bounds[1]

    @property
    def bounds(self) -> tuple[int, int]:
        """Both, worked out once."""
        if self._bounds is None:
            self._bounds = _bounds_of(self)
        return self._bounds

    @property
    def key(self) -> Key:
        """What terms are ordered by: the op, its argument, then the sources."""
        if self._key is None:
            arg: object = self.arg
            if self.op == "RANGE":
                arg = tuple(map(int, _NUMBERS.findall(str(arg))))
            elif self.op in _NAMED:
                text = str(arg)
                name = _NAME.search(text)
                numbers = _NUMBERS.findall(text)
                low, high = _given(text) or (0, 0)
                arg = (int(numbers[0]) if numbers else 0, low, high, name[1] if name else "")
            elif self.op != "CONST":
                arg = str(arg)
            self._key = (_ORDER.get(self.op, 99), arg, self.dtype, *(s.key for s in self.src))
        return self._key

    def before(self, other: Term) -> bool:
        """Whether it comes first; of what cannot be compared, none does."""
        try:
            return self.key < other.key
        except TypeError:
            return False

    def parts(self, op: str) -> Iterator[Term]:
        """What an op is done on, however it was put in parentheses."""
        if self.op == op:
            for s in self.src:
                yield from s.parts(op)
        else:
            yield self

    def factor(self) -> int:
        """A number that divides it, the largest that is seen at once."""
        if self.number is not None:
            return self.number
        if self.op == "STACK":
            return math.gcd(*(s.factor() for s in self.src))
        if self.op == "ADD":
            return math.gcd(*(s.factor() for s in self.src))
        if self.op == "MUL":
            numbers = [s.number for s in self.src if s.number is not None]
            return numbers[0] if numbers else 1
        if self.op in _NAMED and (found := _MULTIPLE.search(str(self.arg))):
            return int(found[1])
        return 1

    def without(self, op: str) -> tuple[Term, int]:
        """The term and the number at the end that an op puts to it: 0 or 1 where there is none."""
        if self.op == op and (last := self.src[1].number) is not None:
            return self.src[0], last
        return self, int(op == "MUL")

    def holds(self, op: str) -> bool:
        """Whether an op is anywhere in it."""
        return self.op == op or any(s.holds(op) for s in self.src)


def _given(arg: str) -> tuple[int, int] | None:
    """The bounds that a variable was declared with."""
    found = _BOUNDS.search(arg)
    return (int(found[1]), int(found[2])) if found else None


def _bounds_of(term: Term) -> tuple[int, int]:
    op, src = term.op, term.src
    if op in BINARY and len(src) == 2 and term.dtype != "float":
        found = _of_binary(op, term.dtype, *src[0].bounds, *src[1].bounds)
        if found is not None:
            return found
    if op == "WHERE":
        return min(src[1].low, src[2].low), max(src[1].high, src[2].high)
    if op in _NAMED and (given := _given(str(term.arg))):
        return given
    if op == "DEFINE_VAR" and len(numbers := _NUMBERS.findall(str(term.arg).rpartition("'")[2])) >= 2:
        return int(numbers[0]), int(numbers[1])
    if op in ("RANGE", "SPECIAL") and src:
        return 0, src[0].high - 1
    if op in ("AFTER", "EXPAND", "RESHAPE", "PERMUTE", "INDEX") and src:
        return src[0].bounds
    if op == "STACK" and src:
        return min(s.low for s in src), max(s.high for s in src)
    if op == "CONST":
        number = term.number
        return (-_FAR, _FAR) if number is None else (number, number)
    if op == "CAST" and "int" in term.dtype:
        low, high = src[0].bounds
        return max(low, -_FAR), min(high, _FAR)
    return (0, 1) if term.dtype == BOOL else (-_FAR, _FAR)


def _of_binary(op: str, dtype: str, a: int, b: int, c: int, d: int) -> tuple[int, int] | None:
    """Of a..b and c..d under an op."""
    match op:
        case "ADD":
            return a + c, b + d
        case "SUB":
            return a - d, b - c
        case "MUL":
            ends = (a * c, a * d, b * c, b * d)
            return min(ends), max(ends)
        case "SHL" if c == d and 0 <= c < 64:
            return a << c, b << c
        case "SHR" if c == d and 0 <= c < 64:
            return a >> c, b >> c
        case "MAX":
            return max(a, c), max(b, d)
        case "CMPLT":
            return int(b < c), int(a < d)
        case "CMPNE":
            return int(b < c or d < a), int(not a == b == c == d)
        case "AND" if dtype == BOOL:
            return a and c, b and d
        case "OR" if dtype == BOOL:
            return a or c, b or d
        case "AND" if c == d >= 0:
            return 0, c if a < 0 else min(b, c)
        case "FLOORDIV" if a > b:
            return 0, 0
        case "FLOORDIV" if c * d > 0:
            ends = (a // c, a // d, b // c, b // d)
            return min(ends), max(ends)
        case "FLOORMOD":
            return _of_modulo(a, b, c, d)
    return None


def _of_modulo(a: int, b: int, c: int, d: int) -> tuple[int, int] | None:
    if a > b:
        return 0, 0
    if c == d != 0 and a // c == b // c:
        return a % c, b % c
    if c > 0:
        return 0, d - 1
    return (c + 1, 0) if d < 0 else None


class Terms:
    """Makes terms; the same one for the same parts."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Term] = {}

    def make(self, op: str, src: tuple[Term, ...], arg: Value = "", dtype: str = "") -> Term:
        """A term; its type follows from its sources where none is given."""
        dtype = dtype or _dtype(op, src)
        key = (op, src, type(arg), arg, dtype)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Term(op, src, arg, dtype)
        return known

    def const(self, value: Value, dtype: str = "") -> Term:
        """A constant."""
        if value == INVALID:
            dtype = WEAK
        elif dtype == BOOL:
            value = bool(value)
        elif isinstance(value, bool) and dtype:
            value = int(value)
        return self.make("CONST", (), value, dtype or (BOOL if isinstance(value, bool) else WEAK))

    def add(self, a: Term, b: Term | int) -> Term:
        """Their sum."""
        return self.make("ADD", (a, self._term(b)))

    def mul(self, a: Term, b: Term | int) -> Term:
        """Their product."""
        return self.make("MUL", (a, self._term(b)))

    def div(self, a: Term, b: Term | int) -> Term:
        """What is left whole of the one divided by the other."""
        return self.make("FLOORDIV", (a, self._term(b)))

    def mod(self, a: Term, b: Term | int) -> Term:
        """And the rest."""
        return self.make("FLOORMOD", (a, self._term(b)))

    def less(self, a: Term, b: Term | int) -> Term:
        """Whether the first is less."""
        return self.make("CMPLT", (a, self._term(b)))

    def no(self, a: Term) -> Term:
        """The opposite."""
        return self.make("CMPNE", (a, self.const(value=True)))

    def where(self, condition: Term, yes: Term, no: Term) -> Term:
        """One or the other."""
        return self.make("WHERE", (condition, yes, no), dtype=_joined(yes.dtype, no.dtype))

    def sum(self, first: Term, *rest: Term) -> Term:
        """All of them, from the left; of truth values, whether one holds."""
        for one in rest:
            first = self.make("OR" if first.dtype == BOOL else "ADD", (first, one))
        return first

    def divided(self, term: Term, number: int) -> Term | None:
        """The term divided by a number that it is known to be a multiple of."""
        if number == 1:
            return term
        if term.number is not None:
            return None if number == 0 or term.number % number else self.const(term.number // number, term.dtype)
        if term.op == "STACK":
            parts = [self.divided(s, number) for s in term.src]
            found = tuple(part for part in parts if part is not None)
            return self.make("STACK", found) if len(found) == len(parts) else None
        if term.op == "ADD":
            one, other = self.divided(term.src[0], number), self.divided(term.src[1], number)
            return None if one is None or other is None else self.add(one, other)
        if term.op == "MUL":
            if (one := self.divided(term.src[0], number)) is not None:
                return self.mul(one, term.src[1])
            if (other := self.divided(term.src[1], number)) is not None:
                return self.mul(term.src[0], other)
        if term.op in _NAMED and (found_ := _MULTIPLE.search(str(term.arg))) and number:
            return self.div(term, number) if int(found_[1]) % number == 0 else None
        return None

    def _term(self, value: Term | int) -> Term:
        return self.const(value) if isinstance(value, int) else value


def _dtype(op: str, src: tuple[Term, ...]) -> str:
    if op in COMPARISONS:
        return BOOL
    if op == "WHERE":
        return _joined(src[1].dtype, src[2].dtype)
    if op in BINARY:
        return _joined(src[0].dtype, src[1].dtype)
    return src[0].dtype if src else WEAK


def _joined(one: str, other: str) -> str:
    """A weak type becomes the other's."""
    return other if one in (WEAK, BOOL) and other != BOOL else one
