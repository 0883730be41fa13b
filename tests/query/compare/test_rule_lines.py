"""Which rule of one recording is which of the other, as far as texts and lines tell."""

from __future__ import annotations

from peephole.query.compare.compiled import RuleLine
from peephole.query.compare.rule_lines import rule_pairs

ADD, MUL, DIV = (
    "(UPat.var('x') + 0, lambda x: x),",
    "(UPat.var('x') * 1, lambda x: x),",
    "(UPat.var('x') // 1, lambda x: x),",
)


def rules(*texts: str, file: str = "symbolic.py") -> list[RuleLine]:
    return [RuleLine(file, line, text, 1) for line, text in enumerate(texts, 10)]


def paired(a: list[RuleLine], b: list[RuleLine]) -> list[int]:
    lines = [[""] * 9 + [rule.text or "" for rule in side] for side in (a, b)]
    return list(map(int, rule_pairs(a, b, lambda _: lines[0], lambda _: lines[1]).b_of_a))


def test_a_rule_that_stands_before_another_now_is_the_same() -> None:
    assert paired(rules(ADD, MUL, DIV), rules(MUL, DIV, ADD)) == [2, 0, 1]


def test_a_rule_in_another_file_is_the_same() -> None:
    assert paired(rules(ADD, MUL), [*rules(MUL), *rules(ADD, file="other.py")]) == [1, 0]


def test_what_is_gone_or_stands_more_often_is_nothing() -> None:
    assert paired(rules(ADD, MUL, DIV), rules(MUL, DIV)) == [-1, 0, 1]
    assert paired(rules(ADD, MUL), [*rules(MUL), *rules(ADD, ADD, file="other.py")]) == [-1, 0]
    assert paired(rules("),", MUL), [*rules(MUL), *rules("),", file="other.py")]) == [-1, 0]
