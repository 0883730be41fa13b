"""Numbers of more digits than Python is willing to read: refused in a sentence, or text like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from peephole.cli.main import main
from peephole.store.writer import CaptureWriter

DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ["show", "-i", DIGITS],
        ["show", "-s", "gemm", "-i", DIGITS],
        ["show", "-i", "gemm", DIGITS],
        ["show", "-s", DIGITS],
        ["show", "-t", DIGITS],
        ["show", "--interval", DIGITS, "5"],
        ["top", "-n", DIGITS],
    ],
)
def test_options(words: list[str], small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main([*words, str(small)]) == 2
    except SystemExit as ended:
        assert ended.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_graph_of_such_numbers(capture_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture_dir / "digits.peep"
    with CaptureWriter(path) as writer:
        writer.append("contexts", {"id": [0], "name": ["k"], "kind": ["kernel"]})
        writer.append("steps", {"id": [0], "context": [0], "ordinal": [0], "name": ["s"], "root": [3], "matches": [0]})
        writer.append(
            "nodes",
            {
                "id": [0, 1, 2, 3],
                "op": ["CONST", "RANGE", "PERMUTE", "RESHAPE"],
                "dtype": ["dtypes.int"] * 4,
                "arg": [DIGITS, f"({DIGITS}, 1)", f"({DIGITS}, 0)", f"({DIGITS},)"],
                "src": [[], [0], [1], [2, 0]],
            },
        )
    assert main(["show", "-i", "k", "s", str(path)]) == 0
    out = capsys.readouterr()
    assert "RESHAPE" in out.out and not out.err
