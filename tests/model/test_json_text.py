"""JSON in a capture: what everybody can be handed, whoever wrote it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peephole.model.json_text import json_list, json_object, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def refuse(text: str) -> None:
    raise AssertionError(f"{text} is no JSON")


@given(VALUES)
def test_what_is_read_can_be_written_for_any_reader(value: object) -> None:
    text = json.dumps(parse(json.dumps(value)))
    assert json.loads(text, parse_constant=refuse) == parse(json.dumps(value))


def test_numbers_that_json_lacks_stay_texts() -> None:
    assert parse('{"loss": NaN, "a": -Infinity, "b": 1e999, "c": 1.5}') == {
        "loss": "NaN",
        "a": "-Infinity",
        "b": "1e999",
        "c": 1.5,
    }


@pytest.mark.parametrize("text", [None, "", "no JSON", "[" * 100_000, '{"a":' * 501 + "1" + "}" * 501, "1" * 5000])
def test_what_is_none_is_nothing(text: str | None) -> None:
    assert json_object(text) is None
    assert json_list(text) == []


def test_many_brackets_next_to_each_other_are_not_deep() -> None:
    assert json_list(json.dumps([[1]] * 2000)) == [[1]] * 2000
    assert json_object(json.dumps({"text": '\\"' + "[" * 2000})) == {"text": '\\"' + "[" * 2000}
