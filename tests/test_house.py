"""The house's own rules: outputs only format (none of them reads a capture's rows), files are small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from peephole.store.capture import Capture

SOURCE = Path(__file__).resolve().parent.parent / "src" / "peephole"
OUTPUTS = sorted(path for room in ("server", "cli", "render", "share") for path in (SOURCE / room).rglob("*.py"))
ALLOWED = {"name", "path", "manifest", "live", "refresh", "close"}
"""What is known of a capture without its rows: what it is called, where it is, how it ended, whether it grows."""
READS = {name for name in vars(Capture) if not name.startswith("_")} - ALLOWED
ASKS = {"ask", "ask_once", "ask_while_wanted", "quick", "once"}
"""Functions of the server that hand an open capture to a function."""
OPENS = {"open_capture", "open_target"}


LONGEST = 500
"""Lines of a file. Let one that has a reason to be longer be named here, with it."""


@pytest.mark.parametrize("room", ["src", "web/src", "web/tests", "tests", "bench", "packaging"])
def test_files_are_small(room: str) -> None:
    kinds = (".py", ".ts", ".css")
    sources = [path for path in (SOURCE.parent.parent / room).rglob("*") if path.suffix in kinds]
    lengths = {path.name: path.read_text("utf-8").count("\n") for path in sources if "static" not in path.parts}
    assert lengths and {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def called(node: ast.expr) -> str:
    """The last name of what is called, or of an attribute: `open_target` of `target.open_target`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def captures(tree: ast.Module) -> set[str]:
    """The names that stand for a capture: by annotation, by what was assigned, or as what a question is asked of."""
    found = {"capture", "_capture"}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None and "Capture" in ast.unparse(node.annotation):
            found.add(node.arg)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value.func) in OPENS:
            found.update(called(target) for target in node.targets)
        if isinstance(node, ast.Call) and called(node.func) in ASKS:
            lambdas = [one for one in node.args if isinstance(one, ast.Lambda)]
            found.update(one.args.args[0].arg for one in lambdas if one.args.args)
    return found - {""}


def reads(text: str) -> list[str]:
    """Where a capture's rows are read: `line: expression`."""
    tree = ast.parse(text)
    known = captures(tree)
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in READS and is_capture(node.value, known)
    ]


def is_capture(node: ast.expr, known: set[str]) -> bool:
    return called(node.func) in OPENS if isinstance(node, ast.Call) else called(node) in known


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_outputs_only_format(path: Path) -> None:
    assert reads(path.read_text("utf-8")) == [], "ask query/ for it: a question with a typed result"


@pytest.mark.parametrize(
    "text",
    [
        "def answer(capture): return capture.read('slices')",
        "def answer(self): return self._capture.count('slices')",
        "def answer(opened: Capture) -> int: return opened.count('slices')",
        "shelf.once(capture, 'span', lambda c: c.lanes())",
        "found = open_target(args.capture)\nfor frame in found.scan('slices'): pass",
        "names = open_capture(path).names()",
        "series = [*map(capture.counter, counters)]",
    ],
)
def test_every_way_to_read_is_seen(text: str) -> None:
    assert len(reads(text)) == 1
    assert reads("def answer(capture): return capture.name, file.read(), text.count('x'), capture.live") == []
