"""Divisions and remainders in index expressions: what tinygrad makes of them when it simplifies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Final

from peephole.compilers.tinygrad.indexing.terms import WEAK, Term, Terms

_MOST_WAYS: Final = 256
"""Choices of signs that are tried for one division."""


class Divisions:
    """The rules for FLOORDIV and FLOORMOD."""

    def __init__(self, terms: Terms, simplify: Callable[[Term], Term]) -> None:
        self._terms = terms
        self._simplify = simplify

    def rule(self, term: Term) -> Term | None:
        """What a division becomes."""
        if term.op not in ("FLOORDIV", "FLOORMOD"):
            return None
        terms, (a, b) = self._terms, term.src
        divisor = b.number
        if divisor is not None and a.op == "ADD":
            rest, added = a.without("ADD")
            if added and term.op == "FLOORDIV" and divisor > 0 and rest.op == "FLOORDIV":
                inner = rest.src[1].number
                if inner is not None:
                    return terms.div(terms.add(rest.src[0], added * inner), inner * divisor)
            if added and divisor and added % divisor != added and rest.dtype == WEAK:
                small = terms.make(term.op, (terms.add(rest, added % divisor), b))
                return terms.add(small, added // divisor) if term.op == "FLOORDIV" else small
        return self._general(term) if term.dtype == WEAK else None

    def _general(self, term: Term) -> Term | None:
        terms, (x, y) = self._terms, term.src
        modulo = term.op == "FLOORMOD"
        if y.low == y.high == 0:
            return None
        whole = terms.div(x, y)
        if whole.low == whole.high:
            return terms.add(x, terms.mul(y, -whole.low)) if modulo else terms.const(whole.low, term.dtype)
        c = y.number
        if x.op == "PARAM" and c and x.factor() != 1 and x.factor() % c == 0:
            return terms.const(0, term.dtype) if modulo else None
        if c is not None and c > 0:
            found = self._by_number(term, c)
            if found is not None:
                return found
        return self._by_common(term)

    def _by_number(self, term: Term, c: int) -> Term | None:
        terms, (x, y) = self._terms, term.src
        modulo = term.op == "FLOORMOD"
        if not modulo and x.op == "FLOORMOD":
            inner = terms.divided(x.src[1], c)
            if inner is not None and (inner.number or 0) > 0:
                return terms.mod(terms.div(x.src[0], y), inner)
        peeled, added = x.without("ADD")
        parts = list(peeled.parts("ADD"))
        if modulo:
            plain = [
                part.src[0] if part.op == "FLOORMOD" and terms.divided(part.src[1], c) is not None else part
                for part in parts
            ]
            if plain != parts:
                return terms.mod(terms.add(terms.sum(*plain), added), y)
        factors = [part.factor() for part in parts]
        bare = [terms.divided(part, factor) for part, factor in zip(parts, factors, strict=True)]
        values = [value for value in bare if value is not None]
        if len(values) != len(bare):
            return None
        found = self._congruent(term, c, values, factors, added)
        if found is not None:
            return found
        common = math.gcd(*factors, c)
        if common > 1 and (divided := terms.divided(peeled, common)) is not None:
            smaller = terms.add(self._simplify(divided), (added // common) % (c // common))
            if smaller.low >= 0:
                if modulo:
                    rest = terms.mul(terms.mod(smaller, c // common), common)
                    return terms.add(rest, added % common)
                return terms.add(terms.div(smaller, c // common), added // c)
        return self._nested(term, c, parts, values, factors, added)

    def _congruent(self, term: Term, c: int, values: list[Term], factors: list[int], added: int) -> Term | None:
        """Each factor may be taken modulo c; when what is left stays within one period, nothing is to be divided."""
        terms = self._terms
        choices: list[tuple[int, ...]] = []
        for factor in factors:
            rest = factor % c
            both = rest * 2 == c or len(values) == 1
            choices.append((rest, rest - c) if both else (min(rest, rest - c, key=abs),))
        for rests in itertools.islice(itertools.product(*choices), _MOST_WAYS):
            left = terms.const(0)
            for rest, value in zip(rests, values, strict=True):
                left = terms.add(left, terms.mul(value, rest))
            left = terms.add(left, added % c)
            if left.low // c != left.high // c:
                continue
            if term.op == "FLOORMOD":
                return terms.add(left, -(left.low // c * c))
            found = terms.const(0)
            for factor, rest, value in zip(factors, rests, values, strict=True):
                found = terms.add(found, terms.mul(value, (factor - rest) // c))
            return terms.add(terms.add(found, added // c), left.low // c)
        return None

    def _nested(
        self, term: Term, c: int, parts: list[Term], values: list[Term], factors: list[int], added: int
    ) -> Term | None:
        """Divided by a factor of one part first, where that makes it shorter."""
        terms, x = self._terms, term.src[0]
        ways: list[tuple[int, Term]] = []
        for step in {abs(f) for part, f in zip(parts, factors, strict=True)
                     if part.op != "CONST" and 1 < abs(f) < c and c % f == 0}:  # fmt: skip
            first = self._general(terms.div(x, step))
            if first is None:
                continue
            if term.op == "FLOORDIV":
                ways.append((_size(first), terms.div(first, c // step)))
            elif x.low >= 0 and first.low >= 0:
                rests = [terms.mul(value, f % step) for f, value in zip(factors, values, strict=True) if f % step]
                if added % step:
                    rests.append(terms.const(added % step))
                rest = terms.sum(*rests) if rests else terms.const(0)
                if rest.low >= 0 and rest.high < step:
                    made = terms.add(terms.mul(terms.mod(first, c // step), step), rest)
                    ways.append((_size(made), made))
        return min(ways, key=lambda way: way[0])[1] if ways else None

    def _by_common(self, term: Term) -> Term | None:
        """What numerator and divisor have in common goes; multiples of the divisor come out."""
        terms, (x, y) = self._terms, term.src
        parts = list(x.parts("ADD"))
        modulo = term.op == "FLOORMOD"
        common = math.gcd(*(part.factor() for part in parts), y.factor())
        if common > 1:
            one, other = terms.divided(x, common), terms.divided(y, common)
            if one is not None and other is not None:
                smaller = terms.make(term.op, (one, other))
                return terms.mul(smaller, common) if modulo else smaller
        c = y.number
        if y.low < 0 or x.low < 0 or c is None:
            return None
        whole: list[Term] = []
        rest: list[Term] = []
        for part in parts:
            factor = part.factor()
            exact = terms.divided(part, c)
            bare = terms.divided(part, factor)
            if exact is not None:
                whole.append(exact)
            elif factor % c != factor and bare is not None:
                rest.append(terms.mul(bare, factor % c))
                whole.append(terms.const(0) if modulo else terms.mul(bare, factor // c))
            else:
                rest.append(part)
        if not whole:
            return None
        left = terms.const(0)
        for part in rest:
            left = terms.add(left, part)
        if left.low < 0:
            return None
        if modulo:
            return terms.mod(left, y)
        found = terms.const(0)
        for part in whole:
            found = terms.add(found, part)
        return terms.add(terms.div(left, y), found)

    def recombined(self, term: Term) -> Term | None:
        """A remainder and the multiple that belongs to it are the number itself."""
        terms = self._terms
        parts = list(term.parts("ADD"))
        for i, one in enumerate(parts):
            modulo, scale = one.without("MUL")
            if modulo.op != "FLOORMOD" or (divisor := modulo.src[1].number) is None:
                continue
            for j, other in enumerate(parts):
                quotient, by = other.without("MUL")
                if i == j or by != divisor * scale:
                    continue
                rest = [part for k, part in enumerate(parts) if k not in (i, j)]
                base = self._base(quotient, modulo.src[0], divisor)
                if base is not None:
                    return terms.sum(terms.mul(base, scale), *rest)
                wider = quotient.src[1].number if quotient.op == "FLOORMOD" else None
                if wider is not None and wider > 0:
                    base = self._base(quotient.src[0], modulo.src[0], divisor)
                    if base is not None:
                        return terms.sum(terms.mul(terms.mod(base, divisor * wider), scale), *rest)
        return None

    def _base(self, quotient: Term, base: Term, divisor: int) -> Term | None:
        """The number whose quotient and remainder these are; constants may have been moved between them."""
        (quotient, shift), (number, added) = quotient.without("ADD"), base.without("ADD")
        if quotient.op != "FLOORDIV" or (by := quotient.src[1].number) is None:
            return None
        inner = number.src[1].number if number.op == "FLOORDIV" else None
        if divisor > 0 and inner is not None and by == inner * divisor:
            number, added, period = number.src[0], added * inner, by
        elif by == divisor:
            period = divisor
        else:
            return None
        (one, one_added), (other, other_added) = number.without("ADD"), quotient.src[0].without("ADD")
        apart = one_added + added - other_added
        if one is not other or period == 0 or apart % period:
            return None
        count = apart // period - shift
        return self._terms.add(base, -count * divisor) if count else base


def _size(term: Term) -> int:
    """How many different terms it is made of."""
    found, stack = {term}, [term]
    while stack:
        for s in stack.pop().src:
            if s not in found:
                found.add(s)
                stack.append(s)
    return len(found)
