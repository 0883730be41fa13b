"""How people say what they look for, the same in every filter, search and command.

    mul r_16          both, anywhere in the name, in any order and case
    "two words"       with the blank in it
    /^r_\\d+$/         a regular expression
    -copy             without it
    kind: track: rule: op:    before any of these: in that fact and not in the name

`web/src/data/grammar.ts` reads it alike; tests/query/capture/grammar_cases.json holds both to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.regex import matching

Mask = NDArray[np.bool_]
FIELDS: Final = ("kind", "track", "rule", "op")
_TERM: Final = re.compile(
    r"(?P<no>-(?=\S))?(?:(?P<field>kind|track|rule|op):)?"
    r'(?:"(?P<quoted>[^"]*)"(?=\s|$)|/(?P<regex>(?:[^/\\]|\\.)+)/(?=\s|$)|(?P<word>\S*))',
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that must hold: a text, or a pattern, in the name or in a fact; or must not."""

    text: str
    field: str = ""
    regex: bool = False
    excluded: bool = False

    def mask(self, texts: Sequence[str]) -> Mask:
        """For which texts it holds, or would without its minus."""
        if self.regex:
            return matching(texts, self.text)
        text = self.text.lower()
        return np.fromiter((text in one.lower() for one in texts), bool, len(texts))


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody looks for: every term must hold."""

    terms: tuple[Term, ...]

    def of(self, field: str) -> tuple[Term, ...]:
        """The terms about a fact; about the name when the field is empty."""
        return tuple(term for term in self.terms if term.field == field)

    @property
    def words(self) -> str:
        """What is wanted in the name, without patterns and exclusions: what a name may be equal to."""
        return " ".join(term.text.lower() for term in self.of("") if not term.regex and not term.excluded)

    def mask(self, names: Sequence[str], facts: Mapping[str, Sequence[str]]) -> Mask:
        """For which things it holds, given their names and facts; what a thing has no fact for does not hold."""
        result = np.ones(len(names), bool)
        for term in self.terms:
            texts = facts.get(term.field) if term.field else names
            holds = np.zeros(len(names), bool) if texts is None else term.mask(texts)
            result &= ~holds if term.excluded else holds
        return result


def parse(text: str) -> Query:
    """The query that a text is."""
    terms = []
    for found in _TERM.finditer(text):
        value = next(v for v in (found["quoted"], found["regex"], found["word"], "") if v is not None)
        if value:
            field = (found["field"] or "").lower()
            terms.append(Term(value, field, found["regex"] is not None, found["no"] is not None))
    return Query(tuple(terms))
