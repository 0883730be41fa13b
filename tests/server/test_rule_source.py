"""Rules as they are written: where one ends, which function it calls."""

from __future__ import annotations

from pathlib import Path

from peephole.server.rule_source import rule_handler, rule_lines
from peephole.store.capture import open_capture

RULES = """\
pm = PatternMatcher([
  # a comment
  (UPat(Ops.ADD, src=(UPat(), UPat()), name="x"), fold_add),
  (UPat(Ops.MUL,
        name="x"),
   lambda x: x.src[0]),
  (UPat(Ops.A), one), (UPat(Ops.B), two),
])
"""


def test_a_rule_ends_where_its_brackets_close(capture_path: Path, tmp_path: Path) -> None:
    capture = open_capture(capture_path)
    file = tmp_path / "rules.py"
    file.write_text(RULES)
    lines = rule_lines(capture, str(file), 4)
    assert [line["number"] for line in lines if line["hit"]] == [4, 5, 6]
    assert lines[0]["number"] == 1
    assert rule_handler(capture, str(file), 3) == "fold_add"
    assert rule_handler(capture, str(file), 4) == "lambda x.src[0]"
    assert rule_handler(capture, str(file), 7) is None  # two rules on one line


def test_files_that_are_no_python_or_not_there_are_not_read(capture_path: Path, tmp_path: Path) -> None:
    capture = open_capture(capture_path)
    secret = tmp_path / "secret.txt"
    secret.write_text("a\nb\n")
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n  x\n")
    for file, line in ((str(secret), 1), ("/nowhere/x.py", 1), (None, 1), (str(broken), 99), (str(tmp_path), 1)):
        assert rule_lines(capture, file, line) == []
        assert rule_handler(capture, file, line) is None
    assert [line["text"] for line in rule_lines(capture, str(broken), 1)] == ["def (:", "  x"]
