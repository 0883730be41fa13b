"""Numbers read out of args a column at a time against JSON, text by text."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from peephole.store.tables.args_numbers import numbers_in

KEYS = ("flops", "bytes_per_s")
VALUES = st.one_of(
    st.integers(-(10**400), 10**400), st.floats(), st.booleans(), st.none(), st.text(max_size=4),
    st.sampled_from(['"flops":1', '{"flops": 2}', "a\\b"]), st.dictionaries(st.sampled_from(KEYS), st.integers()),
)  # fmt: skip
OBJECTS = st.dictionaries(st.sampled_from([*KEYS, "bytes", "lds_flops"]), VALUES, max_size=4)
TEXTS = st.one_of(st.none(), st.just("not json"), st.just("[1]"), OBJECTS.map(json.dumps),
                  OBJECTS.map(lambda value: json.dumps(value, separators=(",", ":"))))  # fmt: skip


@given(st.lists(TEXTS, max_size=12))
def test_numbers_are_those_of_the_json(texts: list[str | None]) -> None:
    found = numbers_in(pa.chunked_array([pa.array(texts, pa.string())]), KEYS)
    for row, text in enumerate(texts):
        try:
            facts = json.loads(text) if text else {}
        except ValueError:
            facts = {}
        for key in KEYS:
            value: Any = facts.get(key) if isinstance(facts, dict) else None
            number = type(value) is int or type(value) is float
            if number and abs(value) < 1e308 and math.isfinite(value):
                assert found[key][row] == float(value)
            else:
                assert math.isnan(found[key][row]) or abs(value) >= 1e308
