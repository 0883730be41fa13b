"""The grammar of searches and filters; web/tests/grammar.test.ts reads the same cases."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from peephole.errors import PeepholeError
from peephole.query.capture.grammar import parse

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("grammar_cases.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['query']} in {case['name']}")
def test_what_holds(case: dict[str, Any]) -> None:
    facts = {field: [text] for field, text in case["facts"].items()}
    assert parse(case["query"]).mask([case["name"]], facts).tolist() == [case["holds"]]


def test_what_is_no_pattern_is_said() -> None:
    with pytest.raises(PeepholeError, match=r"/\(a/ is not a regular expression"):
        parse("/(a/").mask(["a"], {})


def test_no_pattern_takes_for_ever() -> None:
    begun = time.monotonic()
    assert parse("/(a*)*b/").mask(["a" * 50_000], {}).tolist() == [False]
    assert time.monotonic() - begun < 10


def test_names_that_are_no_utf_8_are_looked_at_too() -> None:
    assert parse("/x/").mask(["\ud800x", "y"], {}).tolist() == [True, False]
