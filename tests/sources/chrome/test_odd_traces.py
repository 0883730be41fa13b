"""Odd but legal traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sources.chrome.test_chrome import PARSERS, read

DIGITS = "9" * 5000
"""More than Python turns into a number."""
LAST = '{"ph":"X","ts":9,"dur":1,"pid":1,"tid":2,"name":"last"}'


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize("key", ["ts", "dur", "pid", "tid", "name", "id", "a"])
@pytest.mark.parametrize("form", ["{}", "-{}", "{}.5", '"{}"'])
def test_a_number_of_many_digits_costs_nothing_else(
    key: str, form: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"ts": "1", "dur": "2", "pid": "1", "tid": "2", "name": '"n"', "id": "3", "a": "4"}
    values[key] = form.format(DIGITS)
    own = '{{"ph":"X","ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"name":{name},"id":{id},"args":{{"a":{a},"b":5}}}}'
    rows = read(f"[{own.format(**values)},{LAST}]", tmp_path, small, monkeypatch)
    assert rows.problems == {
        "ts": {"event without a usable time": 1},
        "dur": {"X event without a duration, shown with none": 1},
    }.get(key, {})
    found = {row["start"]: row for row in rows.tables["slices"]}
    assert found[9000]["name"] == "last" and len(found) == (1 if key == "ts" else 2)
    if key != "ts":
        args = json.loads(found[1000]["args"])
        assert args["b"] == 5
        assert args["a"] == (4 if key != "a" else DIGITS if form[0] == '"' else None)
        assert key != "name" or found[1000]["name"] == form.format(DIGITS).strip('"')


@pytest.mark.parametrize("small", PARSERS)
def test_facts_and_metadata_of_many_digits(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        f'{{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{{"sort_index":{DIGITS}}}}}',
        f'{{"ph":"i","name":"[memory]","ts":1,"pid":1,"tid":2,"args":{{"Bytes":{DIGITS},"Addr":{DIGITS}}}}}',
        f'{{"ph":"b","cat":"q","id2":{{"local":{DIGITS}}},"ts":1,"pid":1,"tid":2,"name":"async"}}',
        f'{{"ph":"e","cat":"q","id2":{{"local":{DIGITS}}},"ts":3,"pid":1,"tid":2,"name":"async"}}',
        f'{{"ph":"C","name":"c","ts":3,"pid":1,"args":{{"v":{DIGITS},"w":2}}}}',
        LAST,
    ]
    text = f'{{"baseTimeNanoseconds":{DIGITS},"other":[{DIGITS}],"traceEvents":[{",".join(events)}]}}'
    rows = read(text, tmp_path, small, monkeypatch)
    assert rows.slices() == [("async", 1000, 2000), ("last", 9000, 1000)]
    assert [row["value"] for row in rows.tables["counters"]] == [2.0]
    assert rows.problems == {"metadata that is not used": 1}


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize("stray", ["null", "17", '"text, \\" with }, { in it"', "-1.5e3", "true", DIGITS])
def test_what_is_no_event_costs_no_event(
    stray: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (f"[{stray}, {LAST}]", f"[{LAST}, {stray}\n]", f"[{LAST},{stray},{LAST},{stray},{LAST}]"):
        rows = read(text, tmp_path, small, monkeypatch)
        assert len(rows.slices()) == text.count("last")
        assert rows.problems == {"not an event object": text.count(stray)}
