"""The simplest form of an index expression, as tinygrad's symbolic rules find it before VIZ prints one.

The order of rules is part of the result: which of two equal forms is printed depends on it, so they are tried in
tinygrad's order. Sources are simplified before what reads them, and what a rule made is simplified again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from peephole.compilers.tinygrad.indexing.divisions import Divisions
from peephole.compilers.tinygrad.indexing.terms import (
    BINARY,
    BOOL,
    COMMUTATIVE,
    COMPARISONS,
    INVALID,
    IRREDUCIBLE,
    WEAK,
    Term,
    Terms,
)

MOST_STEPS: Final = 3000
"""Rules that are applied to one expression; one that wants more is printed as it is."""
_ASSOCIATIVE: Final = ("ADD", "MUL", "AND", "OR", "MAX")
_FOLDED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "FLOORDIV": lambda a, b: a // b if b else 0,
    "FLOORMOD": lambda a, b: a % b if b else 0,
    "MAX": max,
    "CMPLT": lambda a, b: a < b,
    "CMPNE": lambda a, b: a != b,
    "CMPEQ": lambda a, b: a == b,
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
    "SHL": lambda a, b: a << b if 0 <= b < 64 else a,
    "SHR": lambda a, b: a >> b if 0 <= b < 64 else a,
}


class TooLong(Exception):
    """An expression takes more steps than it is worth."""


class Simplifier:
    """Simplifies terms that its `terms` made, each once."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._known: dict[Term, Term] = {}
        self._divisions = Divisions(terms, self.simplify)
        self._left = 0
        self._deep = 0

    def simplify(self, term: Term) -> Term:
        """The simplest form; `TooLong` when that takes too many steps."""
        if not self._deep:
            self._left = MOST_STEPS
        self._deep += 1
        try:
            return self._simplify(term)
        finally:
            self._deep -= 1

    def _simplify(self, term: Term) -> Term:
        known = self._known.get(term)
        if known is not None:
            return known
        now = term
        while True:
            src = tuple(self._simplify(s) for s in now.src)
            if src != now.src:
                kept = now.dtype if now.op not in BINARY and now.op != "WHERE" else ""
                now = self._terms.make(now.op, src, now.arg, kept)
            found = self._known.get(now) or self._rule(now)
            if found is None or found is now:
                break
            self._left -= 1
            if self._left < 0:
                raise TooLong
            now = found
        self._known[term] = self._known[now] = now
        return now

    def _rule(self, term: Term) -> Term | None:
        """What the first rule that fits makes of a term."""
        op = term.op
        if op in BINARY and len(term.src) == 2:
            return (
                self._gated(term)
                or self._plain(term)
                or self._flipped(term)
                or self._combined(term)
                or self._constant(term)
                or self._associated(term)
                or self._compared(term)
                or self._own_range(term)
                or self._divisions.rule(term)
            )
        if op == "WHERE":
            return self._gate(term) or self._choice(term)
        if op == "CAST":
            return self._cast(term)
        if op in ("RANGE", "PARAM", "SPECIAL", "DEFINE_VAR"):
            plain = op != "RANGE" or (bool(term.src) and term.src[0].op == "CONST")
            return self._constant(term) if plain and term.dtype != "void" else None
        if op == "AFTER" and len(term.src) == 1:
            return term.src[0]
        return None

    def _gated(self, term: Term) -> Term | None:
        """An op on what may be invalid is done where it is valid."""
        terms, (a, b) = self._terms, term.src
        for at, one in enumerate((a, b)):
            if one.op == "WHERE" and one.src[2].arg == INVALID:
                condition, value, no = one.src
                return terms.where(condition, terms.make(term.op, (value, b) if at == 0 else (a, value)), no)
        if term.op not in COMPARISONS:
            return next((one for one in (a, b) if one.op == "CONST" and one.arg == INVALID), None)
        return None

    def _gate(self, term: Term) -> Term | None:
        """A choice of which one side is invalid has it as its last."""
        terms, (condition, yes, no) = self._terms, term.src
        if condition.arg == INVALID:
            return condition
        if condition.op == "WHERE" and condition.src[2].arg == INVALID:
            inner, value, invalid = condition.src
            return terms.where(inner, terms.where(value, yes, no), invalid)
        if yes.arg == INVALID:
            return yes if no.arg == INVALID else terms.where(terms.no(condition), no, yes)
        if yes.op == "WHERE" and yes.src[2].arg == INVALID and no.arg != INVALID:
            either = terms.make("OR", (terms.no(condition), yes.src[0]))
            return terms.where(either, terms.where(condition, yes.src[1], no), yes.src[2])
        if no.op == "WHERE" and no.src[2].arg == INVALID:
            either = terms.make("OR", (condition, no.src[0]))
            return terms.where(either, terms.where(condition, yes, no.src[1]), no.src[2])
        return None

    def _plain(self, term: Term) -> Term | None:
        """What changes nothing goes, and constants are worked out."""
        terms, op, (a, b) = self._terms, term.op, term.src
        if op in ("ADD", "XOR", "OR", "SHL", "SHR", "MUL", "FLOORDIV"):
            idle = int(op in ("MUL", "FLOORDIV"))
            for one, other in ((a, b), (b, a)) if op in COMMUTATIVE else ((a, b),):
                if other.number == idle and other.arg is not True and one.dtype != BOOL:
                    return one
        if op == "FLOORDIV" and a is b:
            return terms.const(1, term.dtype)
        if op == "FLOORDIV" and b.number == -1:
            return terms.mul(a, -1)
        if op == "FLOORMOD" and a.op == "FLOORMOD" and a.src[1] is b:
            return a
        if op == "ADD" and term.dtype == WEAK and (found := self._divisions.recombined(term)) is not None:
            return found
        if a.dtype == BOOL and (found := self._truth(term)) is not None:
            return found
        if op in ("OR", "AND", "MAX") and a is b:
            return a
        if a is b and op in ("CMPLT", "CMPNE", "FLOORMOD", "XOR"):
            return terms.const(value=False) if op in COMPARISONS else terms.const(0, term.dtype)
        if op in _FOLDED and _values(a) and _values(b):
            return self._folded(term)
        if op in ("MUL", "AND") and term.dtype != BOOL and 0 in (a.number, b.number):
            return terms.const(0, term.dtype)
        return None

    def _truth(self, term: Term) -> Term | None:
        """Of truth values: with a constant beside it, or said twice that it is not so."""
        op, (a, b) = term.op, term.src
        for one, other in ((a, b), (b, a)) if op in COMMUTATIVE else ((a, b),):
            if not isinstance(other.arg, bool) or other.op != "CONST":
                continue
            if op in ("AND", "MUL"):
                return one if other.arg else other
            if op in ("OR", "ADD", "MAX"):
                return other if other.arg else one
            if op == "CMPNE" and not other.arg:
                return one
            if op == "CMPNE" and one.op == "CMPNE" and one.src[1] is other and one.src[0].dtype == BOOL:
                return one.src[0]
        if b.dtype == BOOL and op in ("MUL", "ADD", "MAX"):
            return self._terms.make("AND" if op == "MUL" else "OR", (a, b))
        return None

    def _folded(self, term: Term) -> Term:
        """An op on constants, or on each part of vectors of them."""
        terms, work = self._terms, _FOLDED[term.op]
        dtype = BOOL if term.op in COMPARISONS else term.dtype
        pairs = _side_by_side([_constants(s) for s in term.src])
        parts = tuple(terms.const(work(one.number, other.number), dtype) for one, other in pairs)
        return terms.make("STACK", parts) if any(s.op == "STACK" for s in term.src) else parts[0]

    def _flipped(self, term: Term) -> Term | None:
        """Of two that may change places, the one that comes first."""
        if term.op not in COMMUTATIVE or term.dtype != WEAK:
            return None
        a, b = term.src
        return self._terms.make(term.op, (b, a)) if b.before(a) and not a.before(b) else None

    def _combined(self, term: Term) -> Term | None:
        """Terms that differ by a factor are one; a number is multiplied into a sum with a number."""
        terms = self._terms
        if term.op == "ADD":
            for one, other in (term.src, term.src[::-1]):
                (x, c), (y, d) = _scaled(one), _scaled(other)
                if x is y and x.op != "CONST":
                    return terms.mul(x, c + d)
                if one.op == "ADD":
                    for left, right in (one.src, one.src[::-1]):
                        z, e = _scaled(right)
                        if z is y and y.op != "CONST":
                            return terms.add(left, terms.mul(y, e + d))
        if term.op == "MUL" and term.dtype == WEAK:
            for one, other in (term.src, term.src[::-1]):
                if one.number is not None and other.op == "ADD" and (c_ := other.src[1].number) is not None:
                    return terms.add(terms.mul(other.src[0], one), terms.const(one.number * c_, term.dtype))
        if term.op == "OR" and term.dtype == BOOL and any(b is terms.no(a) for a, b in (term.src, term.src[::-1])):
            return terms.const(value=True)
        return None

    def _constant(self, term: Term) -> Term | None:
        """What has but one value is a constant."""
        once = ("CMPLT", "CMPNE", "FLOORDIV", "FLOORMOD", "PARAM", "AFTER", "SPECIAL", "RANGE", "DEFINE_VAR")
        if term.op in once and term.low == term.high:
            return self._terms.const(bool(term.low) if term.dtype == BOOL else term.low, term.dtype)
        if term.op == "MAX":
            a, b = term.src
            return a if a.low >= b.high else b if a.high <= b.low else None
        return None

    def _associated(self, term: Term) -> Term | None:
        """Numbers go to the end and are put together there."""
        terms, op = self._terms, term.op
        pairs = (term.src, term.src[::-1]) if op in COMMUTATIVE else (term.src,)
        if op in _ASSOCIATIVE:
            for inner, last in pairs:
                if inner.op == op and last.op == "CONST":
                    for one, other in (inner.src, inner.src[::-1]):
                        if other.op == "CONST":
                            return terms.make(op, (one, terms.make(op, (other, last))))
        if op == "FLOORDIV" and term.src[0].op == "FLOORDIV":
            c, d = term.src[0].src[1].number, term.src[1].number
            if c is not None and d is not None and d > 0:
                return terms.div(term.src[0].src[0], c * d)
        return None

    def _compared(self, term: Term) -> Term | None:
        """A comparison with a number has nothing but what varies on its left; and numbers go to the end of sums."""
        terms, op, (a, b) = self._terms, term.op, term.src
        limit = b.number
        if op == "CMPLT" and limit is not None and "int" in a.dtype:
            for one, other in (a.src, a.src[::-1]) if a.op in ("ADD", "MUL") else ():
                c = one.number
                if c is not None and a.op == "ADD":
                    return terms.less(other, limit - c)
                if c is not None and abs(c) > 1 and a.dtype == WEAK:
                    return terms.less(other if c > 0 else terms.mul(other, -1), -(-limit // abs(c)))
            if a.op == "FLOORDIV" and a.dtype == WEAK and (c := a.src[1].number):
                x, at = a.src[0], terms.const(limit * c)
                return terms.less(x, at) if c > 0 else terms.less(at, x)
        if op in ("ADD", "MUL"):
            for inner, last in (term.src, term.src[::-1]):
                if inner.op != op or last.op == "CONST":
                    continue
                for one, other in (inner.src, inner.src[::-1]):
                    if other.op == "CONST":
                        return terms.make(op, (terms.make(op, (one, last)), other))
        if op == "CMPLT" and limit is not None and limit > 0 and a.dtype == WEAK:
            return self._lower(a, limit)
        if op == "CMPLT" and a.dtype == WEAK and a.without("MUL")[1] == -1 and b.without("MUL")[1] == -1:
            return terms.less(b.src[0], a.src[0])
        if op == "CMPNE" and b.arg is True and a.op == "CMPLT" and a.src[1].number == 1 and a.src[0].dtype == WEAK:
            found = self._simplex(a.src[0])
            return None if found is None else terms.no(terms.less(found, 1))
        return None

    def _lower(self, term: Term, limit: int) -> Term | None:
        """Divided by what all large parts have in common, when the small ones cannot reach it."""
        parts = list(term.parts("ADD"))
        small = [part for part in parts if part.factor() == 1]
        large = [part for part in parts if part.factor() != 1]
        common = math.gcd(*(part.factor() for part in large), limit) if large else 1
        if common > 1 and sum(part.low for part in small) >= 0 and sum(part.high for part in small) < common:
            whole = self._terms.divided(self._terms.sum(*large), common)
            return None if whole is None else self._terms.less(whole, limit // common)
        return None

    def _simplex(self, term: Term) -> Term | None:
        """Without the factors of a sum that is only asked whether it is above 0."""
        found, changed = [], False
        for part in term.parts("ADD"):
            if part.op == "MUL" and (part.src[1].number or 0) > 0:
                part, changed = part.src[0], True
            if part.op not in IRREDUCIBLE or part.low < 0:
                return None
            found.append(part)
        return self._terms.sum(*found) if changed else None

    def _own_range(self, term: Term) -> Term | None:
        """A range divided by its own end."""
        a, b = term.src
        if a.op == "RANGE" and a.src and a.src[0] is b:
            return a if term.op == "FLOORMOD" else self._terms.const(0, a.dtype) if term.op == "FLOORDIV" else None
        return None

    def _choice(self, term: Term) -> Term | None:
        """A choice that is none, or one inside another."""
        terms, (condition, yes, no) = self._terms, term.src
        if condition.dtype == BOOL and yes.op == no.op == "CONST" and isinstance(yes.arg, bool):
            if yes.arg is True and no.arg is False:
                return condition
            if yes.arg is False and no.arg is True:
                return terms.no(condition)
        if yes is no:
            return yes
        if condition.op == "CONST":
            return yes if condition.arg else no
        if condition.op == "STACK" and (each := [_constants(s) for s in term.src]) and all(each):
            return terms.make("STACK", tuple(y if c.arg else n for c, y, n in _side_by_side(each)))
        if yes.op == "WHERE" and yes.src[2] is no:
            return terms.where(terms.make("AND", (condition, yes.src[0])), yes.src[1], no)
        if no.op == "WHERE" and no.src[1] is yes:
            return terms.where(terms.make("OR", (condition, no.src[0])), yes, no.src[2])
        if condition.op == "CMPNE" and condition.src[1].arg is True and no.arg != INVALID:
            return terms.where(condition.src[0], no, yes)
        return None

    def _cast(self, term: Term) -> Term | None:
        """A constant takes the type; what has it already stays."""
        terms, inner = self._terms, term.src[0]
        if inner.op == "CONST" and inner.arg == INVALID:
            return inner
        if inner.op == "WHERE" and inner.src[2].arg == INVALID:
            condition, value, no = inner.src
            return terms.where(condition, terms.make("CAST", (value,), term.arg, term.dtype), no)
        if inner.op == "CONST" and term.dtype != WEAK and isinstance(inner.arg, int) and "float" not in term.dtype:
            return terms.const(inner.arg, term.dtype)
        if inner.dtype == term.dtype:
            return inner
        if term.dtype == BOOL:
            return terms.make("CMPNE", (inner, terms.const(0)))
        if inner.op == "CAST" and inner.src[0].dtype == term.dtype == WEAK:
            return inner.src[0]
        if inner.op == "ADD" and inner.dtype == WEAK and term.dtype in ("char", "short", "int", "long"):
            for one, other in (inner.src, inner.src[::-1]):
                if other.number is not None:
                    cast = terms.make("CAST", (one,), term.arg, term.dtype)
                    return terms.add(cast, terms.const(other.number, term.dtype))
        return None


def _scaled(term: Term) -> tuple[Term, int]:
    """A term without its factor, and that."""
    if term.op == "MUL":
        for one, other in (term.src, term.src[::-1]):
            if other.number is not None:
                return one, other.number
    return term, 1


def _constants(term: Term) -> tuple[Term, ...]:
    """The constants of a vector, or the one; none when a part is no constant."""
    parts = term.src if term.op == "STACK" else (term,)
    return parts if all(part.op == "CONST" for part in parts) else ()


def _values(term: Term) -> list[int]:
    """Their numbers; none when one is not a number."""
    parts = _constants(term)
    found = [part.arg for part in parts if isinstance(part.arg, int)]
    return found if len(found) == len(parts) else []


def _side_by_side(vectors: list[tuple[Term, ...]]) -> Iterable[tuple[Term, ...]]:
    """Part by part; one constant stands beside all parts of the others."""
    length = max(map(len, vectors))
    return zip(*(vector * length if len(vector) == 1 else vector for vector in vectors), strict=False)
