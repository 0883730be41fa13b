"""What one compiler means stands in its folder: no general room, and nothing of the page, has its names or its ops."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from peephole.compilers import COMPILERS
from peephole.model.tables import GRAPH

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("model", "store", "replay", "query", "fleet", "server", "render", "share", "cli", "notebook")
OPS = ("CONST", "SINK", "CALL", "RANGE", "PARAM", "BUFFER", "RESHAPE", "REDUCE", "PERMUTE", "EXPAND", "CMPLT", "STAGE")
"""Some of tinygrad's ops, of those that are no words of SQL, tapes or hardware."""
TRACKS = ("TINY",)
"""Its tracks that nobody else has."""
TELLS_USERS = {"tables.py", "main.py", "import_.py", "run.py", "demo.py", "app.ts"}
"""Files in whose help and column docs a name stands as an example."""


def words(path: Path) -> Iterator[str]:
    """Names and texts of a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_every_compiler_is_behind_the_wall() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    wall = next(one for one in contracts if one["name"].startswith("a compiler is found in the table"))
    folders = {
        f"peephole.compilers.{path.parent.name}" for path in (ROOT / "src/peephole/compilers").glob("*/compiler.py")
    }
    assert folders == {module.removesuffix(".compiler") for module in COMPILERS.values()}
    assert folders <= set(wall["forbidden_modules"])
    assert {f"peephole.{room}" for room in ROOMS} <= set(wall["source_modules"])


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_knows_a_compiler(room: str) -> None:
    for path in sorted((ROOT / "src" / "peephole" / room).rglob("*.py")):
        for word in words(path):
            named = [name for name in COMPILERS if name in word.lower()]
            assert not named or path.name in TELLS_USERS, f"{path} names {named}"
            assert word not in OPS + TRACKS or path.parent.name == "hardware", f"{path} knows {word}"


def test_the_page_knows_no_op() -> None:
    # not even the one of the tables, GRAPH: a bit says which nodes are lists
    quoted = re.compile(rf"[\"'/|(^]({'|'.join((*OPS, GRAPH))})[\"'/|)$]")
    for path in sorted((ROOT / "web" / "src").rglob("*.ts")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.strip()
            if code.startswith(("//", "*", "/*")):
                continue
            found = quoted.search(code)
            assert found is None, f"{path}:{number} knows {found[1]}"
            named = [name for name in COMPILERS if name in code.lower()]
            assert not named or path.name in TELLS_USERS, f"{path}:{number} names {named}"
