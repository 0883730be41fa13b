"""From a kernel to the user's lines and back, on a program that Peephole recorded itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from peephole.cli.main import main

PROGRAM = """\
from tinygrad import Tensor
a, b = Tensor.empty(8, 4), Tensor.empty(4, 6)
hidden = (a @ b).relu()
total = hidden.sum()
total.realize()
other = Tensor.empty(7)
(other.exp() + 1).realize()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("origin")
    program = folder / "prog.py"
    program.write_text(PROGRAM)
    path = folder / "prog.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(path), str(program)]
    subprocess.run(command, env={**os.environ, "DEV": "NULL", "CACHELEVEL": "0"}, check=True, capture_output=True)
    return path


def records(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert main(["origin", *words, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_from_a_line_to_kernels_and_back(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = records(capsys, "prog.py:3", str(recorded))
    assert found, "no kernel came from the product"
    folder = recorded.parent
    for record in found:
        operations = record["operations"]
        assert isinstance(operations, list)
        assert {made["name"] for made in operations} <= {"__matmul__", "relu"}
        assert {made["line"] for made in operations} == {f"{folder}/prog.py:3"}
        assert {made["source"] for made in operations} == {"hidden = (a @ b).relu()"}
        assert record["realized_at"] == f"{folder}/prog.py:5"
        [back] = records(capsys, str(record["kernel"]), str(recorded))
        everything = back["operations"]
        assert isinstance(everything, list)
        assert all(made in everything for made in operations)
        assert any(made["line"] == f"{folder}/prog.py:4" for made in everything), "the sum is in it"
    [alone] = records(capsys, "prog.py:7", str(recorded))
    assert alone["kernel"] not in {record["kernel"] for record in found}
    # the line that realizes leads to its kernels too
    assert {r["kernel"] for r in records(capsys, "prog.py:5", str(recorded))} == {r["kernel"] for r in found}


def test_what_is_printed(recorded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    [alone] = records(capsys, "prog.py:7", str(recorded))
    assert main(["origin", str(alone["kernel"]), str(recorded)]) == 0
    text = capsys.readouterr().out
    assert "exp" in text and "(other.exp() + 1).realize()" in text and "#0 of Schedule" in text
    assert main(["origin", str(alone["kernel"]), "--lines", str(recorded)]) == 0
    lines = capsys.readouterr().out.splitlines()
    [store] = [line for line in lines if "*(data0_7" in line]
    assert " STORE " in store and "__add__ prog.py:7" in store
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["origin", str(alone["kernel"]), str(recorded)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines()[1:])) <= 40
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["origin", str(alone["kernel"]), "--lines", str(recorded)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if "*(data0_7+Lidx0) = (exp2(" in line], "the source gives way last"


def test_lines_as_json(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [alone] = records(capsys, "prog.py:7", str(recorded))
    found = records(capsys, str(alone["kernel"]), "--lines", str(recorded))
    assert [record["line"] for record in found] == list(range(1, len(found) + 1))
    assert set(found[0]) == {"kernel", "line", "text", "kind", "ops", "node", "step", "match", "rule", "operations"}
    assert any(record["kind"] == "signature" and record["node"] is None for record in found)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["prog.py:99"], "No kernel of this capture came from prog.py:99; lines that kernels came from: prog.py:3"),
        (["nobody"], "There is no context 'nobody'"),
        (["prog.py:3", "--lines"], "name the kernel"),
    ],
)
def test_mistakes(recorded: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert main(["origin", *words, str(recorded)]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
