"""Nothing is undocumented: columns, commands, options, environment variables, the links between the pages."""

from __future__ import annotations

import argparse
import ast
import pkgutil
import re
from pathlib import Path

import pytest
from reference_pages import PAGES

from peephole.cli.main import COMMANDS, Command, load, parser_of
from peephole.model.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["format.md", "commands.md", "peephole.1"])
def test_the_reference_pages_are_those_of_this_code(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name]().rstrip() + "\n", f"docs/{name} is stale: run `make format`"


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_documented(table: str) -> None:
    section = (DOCS / "format.md").read_text(encoding="utf-8").split(f"### {table}\n")[1].split("\n### ")[0]
    for column in TABLES[table].columns:
        assert f"| {column.name} | {column.type} |" in section
        assert column.doc


def options(command: Command) -> list[str]:
    parser = parser_of(command, load(command))
    found = [name for action in parser._actions for name in action.option_strings]
    return [name for name in found if name not in ("-h", "--help")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_and_option_is_documented(command: Command) -> None:
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert f"## peephole {command.name}\n" in text
    section = text.split(f"## peephole {command.name}\n")[1].split("\n## ")[0]
    for option in options(command):
        assert f"`{option}`" in section, f"{command.name} {option} is undocumented: run `make format`"
    for action in parser_of(command, load(command))._actions:
        assert action.help and action.help is not argparse.SUPPRESS, f"{command.name} {action.dest} has no help text"


def printed_keys(path: Path) -> set[str]:
    """The keys of the JSON objects that a command spells out where it prints them."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    records = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "record"]
    objects = [node for call in records for node in ast.walk(call) if isinstance(node, ast.Dict)]
    return {str(key.value) for one in objects for key in one.keys if isinstance(key, ast.Constant)}


def test_every_key_of_the_json_that_commands_print_is_documented() -> None:
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in ("cli.md", "hardware.md", "tape.md"))
    known = set(re.findall(r"\w+", text))
    commands = ROOT / "src" / "peephole" / "cli"
    tape = commands / "views" / "tape.py"  # whose objects are the tape's own, see tape.md
    found = {str(path): printed_keys(path) for path in commands.rglob("*.py") if path != tape}
    assert "realized_at" in set.union(*found.values())
    assert {name: keys - known for name, keys in found.items() if keys - known} == {}


def environment_variables() -> set[str]:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "packaging").glob("*.p*")]
    return {name for path in sources for name in re.findall(r"\bPEEPHOLE(?:_[A-Z_]+)?\b", path.read_text("utf-8"))}


def test_every_environment_variable_is_documented() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    found = environment_variables()
    assert {"PEEPHOLE", "PEEPHOLE_DIR"} <= found
    assert [name for name in sorted(found) if not re.search(rf"\| (\w+, )*{name}(, \w+)* \|", text)] == []


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *DOCS.rglob("*.md")], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_links_between_the_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_linked_from_another() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    linked = {
        (page.parent / target).resolve()
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if (page.parent / target).resolve() != page
    }
    assert [page.name for page in DOCS.rglob("*.md") if page not in linked] == [], "nobody finds these pages"


NAMED = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", NAMED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_names_that_a_page_mentions_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    roots = [ROOT, ROOT / "src" / "peephole", ROOT / "web", ROOT / "web" / "src", ROOT / "packaging"]
    files = set(re.findall(r"`([\w./-]+\.(?:py|ts|mjs|md|pth))`", text))
    # a name in capitals stands for any, as in `server/routes_NAME.py`
    lost = {name for name in files if name == name.lower() and not any((root / name).exists() for root in roots)}
    unknown = {name for name in re.findall(r"\bpeephole(?:\.[a-z_]\w*)+", text) if not is_there(name)}
    assert (lost, unknown) == (set(), set())


def test_files_that_comments_mention_exist() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "web" / "src").rglob("*.ts")]
    roots = [ROOT, ROOT / "src" / "peephole", ROOT / "web", ROOT / "web" / "src"]
    named = re.compile(r"`([a-z_]+(?:/\w+)+\.(?:py|ts|mjs|md))`")
    found = {(path, name) for path in sources for name in named.findall(path.read_text("utf-8"))}
    assert found
    assert [(path.name, name) for path, name in found if not any((root / name).exists() for root in roots)] == []


def is_there(dotted: str) -> bool:
    """Whether a dotted name is a module of ours, or something in one."""
    try:
        pkgutil.resolve_name(dotted)
    except (ImportError, AttributeError):
        return False
    return True


def test_the_readme_names_only_commands_that_exist() -> None:
    names = {command.name for command in COMMANDS}
    text = (ROOT / "README.md").read_text(encoding="utf-8") + (DOCS / "cli.md").read_text(encoding="utf-8")
    used = set(re.findall(r"^\s*peephole ([a-z]+)", text, re.MULTILINE))
    assert used
    assert used <= names
