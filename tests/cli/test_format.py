"""What is printed is always printable, fits, and is valid JSON, whatever it is made of."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peephole.cli.args_text import describe_args, parse_args
from peephole.cli.format import Column, Printer, cells, duration, escape, fit, pad, rate, size
from peephole.store.writer import CaptureWriter


@given(st.text(alphabet=st.characters()))
def test_escaped_text_cannot_steer_a_terminal(text: str) -> None:
    shown = escape(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])), st.integers(0, 40))
def test_fitting_and_padding(text: str, width: int) -> None:
    assert cells(fit(text, width)) <= width
    assert cells(pad(text, width)) == width
    if len(text) <= width and cells(text) <= width:
        assert fit(text, width) == text


def test_a_very_long_name_is_cut_at_once() -> None:
    assert fit("é" * 5_000_000, 10) == "é" * 9 + "…"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FACTS = st.dictionaries(
    st.sampled_from(["flops", "bytes_per_s", "bytes", "location", "x"]) | st.text(), VALUES, max_size=5
)


@given(FACTS)
def test_any_facts_can_be_shown(facts: dict[str, Any]) -> None:
    found = parse_args(json.dumps(facts))
    describe_args(found)
    out = io.StringIO()
    Printer(as_json=True, stream=out).record({"args": found, "raw": facts})
    assert set(json.loads(out.getvalue())["args"]) == set(facts)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 3000, "{", "nonsense", "[1]", "NaN", '{"a": NaN}', "1" * 9999]
)
def test_strange_args_are_kept_as_they_are(text: str) -> None:
    found = parse_args(text)
    assert found in ({"text": text}, {"a": "NaN"})


def test_units() -> None:
    assert [duration(ns) for ns in (0, 999, 1_500, 12_345_678, 3_600_000_000_000)] == [
        "0 ns",
        "999 ns",
        "1.50 µs",
        "12.35 ms",
        "3600 s",
    ]
    assert [size(n) for n in (0, 999, 1_000, 123_456_789)] == ["0 B", "999 B", "1.00 kB", "123.5 MB"]
    assert rate(2.5e12, "FLOPS") == "2.50 TFLOPS"


@given(
    st.lists(st.tuples(st.text(max_size=60), st.text(max_size=60), st.integers(0, 10**9)), max_size=8),
    st.integers(80, 200),
)
def test_tables_keep_to_the_width(rows: list[tuple[str, str, int]], width: int) -> None:
    out = io.StringIO()
    printer = Printer(stream=out)
    printer.width = width
    columns = (Column("one", flexible=True), Column("two", flexible=True), Column("n", right=True))
    printer.table(columns, [(a, b, str(n)) for a, b, n in rows])
    lines = out.getvalue().splitlines()
    assert len(lines) == len(rows) + 1
    assert max(cells(line) for line in lines) <= width


@pytest.mark.parametrize("option", ["--csv", "--json"])
def test_escape_codes_reach_no_terminal(tmp_path: Path, option: str) -> None:
    """CSV is data: in a pipe or a file it is as it was recorded, on a terminal it cannot steer it."""
    with CaptureWriter(tmp_path / "c.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU\x1b]0;title\x07"], "kind": ["device"]})
        names = ["\x1b[31mred\x1b[0m", 'a,"b"\r\nc', "\x9b2J", "plain"]
        writer.append("slices", {"track": [0] * 4, "start": [0, 10, 20, 30], "dur": [5] * 4, "name": names})
    command = [sys.executable, "-m", "peephole", "show", option, str(tmp_path / "c.peep")]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(theirs)
        seen = b""
        try:
            while some := os.read(ours, 65536):
                seen += some
        except OSError:
            pass
    os.close(ours)
    assert process.returncode == 0
    assert b"plain" in seen and b"red" in seen
    shown = seen.decode()
    assert not [letter for letter in shown if not letter.isprintable() and letter not in "\r\n"]
    if option == "--csv":
        piped = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        rows = list(csv.DictReader(io.StringIO(piped)))
        assert [row["name"] for row in rows][-1] == "plain"
        assert len(rows) == 4
