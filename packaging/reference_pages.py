"""Writes what comes out of the code: docs/format.md, docs/commands.md, docs/peephole.1. `make format` runs it."""

from __future__ import annotations

import argparse
from pathlib import Path

from man_page import argument_name, man_page

from peephole.cli.main import COMMANDS, load, parser_of
from peephole.model.tables import FORMAT_VERSION, TABLES, Table

DOCS = Path(__file__).resolve().parent.parent / "docs"

FORMAT_HEAD = f"""\
# The capture format

<!-- Written by packaging/reference_pages.py out of src/peephole/model/tables.py; `make format` writes it anew. -->

A capture is a folder `NAME.peep/`. This page describes version {FORMAT_VERSION}.

```
NAME.peep/
  manifest.json        what was recorded, by whom, how it ended, what was lost
  tracks.parquet       one Parquet file per table below; anything that reads Parquet reads them
  slices.parquet       …
  notes.json           what readers have pinned to it, if anything
  index/               what can be made again out of the tables: lanes, and the pyramid of the zoomed-out view
  journal/             only until the capture is sealed: what the recorded processes append to
```

`peephole pack` makes one file of it, `NAME.peep.zip`: the same files in a zip archive.

A capture is complete without its `index`. One that was never sealed, because its program was killed or still runs,
has a `journal` and no tables; `peephole` opens it all the same, and seals it once the program has ended.
The journal's layout is described in `src/peephole/model/journal.py`.

## Versions

An older capture, and an older journal, is read as it is: a column that came later has its default in every row (a text
is null, a list empty), a table that came later is empty. A newer one is refused.

| version | brought |
| --- | --- |
| 1 | the first |
| 2 | passes with a graph after them: `steps.after`, `nodes.name`, `matches.removed`, `matches.added`, `decisions` |

## Conventions

- Times are integer nanoseconds on the capture's own clock. `manifest.json` says under `clocks` how that relates to the
  time of day.
- -1 stands for "there is none" in integer columns, unless the column says otherwise. Texts may be null.
- Tables point at each other by number; the *unit* column of the lists below says at what. Slices are named by their
  `correlation`, a number that only those slices have that something points to.
- Rows of a sealed table are sorted as its heading says. Slices of one lane (one track and depth) never overlap.
- What could not be understood or was lost is counted by reason under `problems` in `manifest.json`.

| type | means | in Parquet |
| --- | --- | --- |
| bool | true or false | BOOLEAN |
| i16, i32, i64 | whole number | INT32 or INT64 |
| f64 | floating-point number | DOUBLE |
| str | text that repeats | dictionary-coded BYTE_ARRAY (UTF-8) |
| text | text that does not | BYTE_ARRAY (UTF-8) |
| bytes | bytes | BYTE_ARRAY |
| ids | list of numbers | LIST of INT64 |

In SQL (`peephole query`) the tables have these names. `from`, `to` and `order` are words of SQL: write `"from"`.

## manifest.json

| key | is |
| --- | --- |
| format | version of this format; a capture with a larger one is refused |
| name | what the user calls the capture |
| state | `recording` while only the journal is complete, `sealed` once the tables are |
| clean | whether the program, its first process or what that became with exec, ended its recording itself |
| program, argv, host | what ran, with which arguments, where |
| frameworks | versions: `{{"tinygrad": "0.14.0", "python": "3.12.1"}}` |
| source | who produced the rows: `record`, `tinygrad`, `gt`, `chrome`, … |
| clocks | offsets between the clocks that took part |
| created | when it was made, ISO 8601 |
| processes | the processes that took part |
| problems | `[{{"reason", "count", "example"}}]`: what was not understood or was lost |
| dropped | events that were lost while recording, because the disk was full for example |
| tables | rows per table |
| extra | whatever else a source had to say |

## notes.json

What readers have pinned to the capture in the page; `peephole notes` lists it. Nobody else writes it, sealing leaves it
alone, and it is replaced as a whole, so that it is never half-written.

| key | is |
| --- | --- |
| format | version of this file: 1; one with a larger one is refused |
| notes | a list of notes, oldest first |

A note has an `id` (`n1`, `n2`, …, none given twice while the last one stands), a `text` (1 to 10,000 characters),
`created` (ISO 8601), `label` (what it is pinned to was called), a `kind`, and under `at` the numbers that say where
that is:

| kind | at |
| --- | --- |
| slice | `track`, `depth`, `start` and `dur`: not its row, since rows of a live capture change |
| range | `start`, `end` |
| match | `step`, `match` (0: the graph that went in) |
| node | `step`, `match`, `node` (its identity in the step) |

## Tables
"""

COMMANDS_HEAD = """\
# Commands and options

<!-- Written by packaging/reference_pages.py out of the commands themselves; `make format` writes it anew. -->

[cli.md](cli.md) explains how they are used, what they print as JSON, and the environment variables.
"""


def format_page() -> str:
    """The page about the tables."""
    return "\n".join([FORMAT_HEAD, *(_table(table) for table in TABLES.values())])


def _table(table: Table) -> str:
    since = f" Since version {table.since}." if table.since > 1 else ""
    lines = [
        f"### {table.name}",
        "",
        f"A row is {table.row}. Sorted by {', '.join(table.order)}.{since}",
        "",
        "| column | type | unit | is | default |",
        "| --- | --- | --- | --- | --- |",
    ]
    for column in table.columns:
        later = f"; since version {column.since}" if column.since > table.since else ""
        default = "" if column.default is None else f"{column.default}".lower()
        lines.append(f"| {column.name} | {column.type} | {column.unit} | {_cell(column.doc)}{later} | {default} |")
    return "\n".join([*lines, ""])


def commands_page() -> str:
    """The page about the commands."""
    parts = [COMMANDS_HEAD]
    for command in COMMANDS:
        module = load(command)
        parser = parser_of(command, module)
        lines = [f"## peephole {command.name}", "", _prose(module.HELP), ""]
        lines += ["| argument | is |", "| --- | --- |"]
        lines += [_action(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
        parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


def _prose(help_text: str) -> str:
    """A command's help; what is indented in it is an example."""
    lines: list[str] = []
    inside = False
    for line in help_text.strip().splitlines():
        example = line.startswith("  ") or (inside and not line.strip())
        if example != inside:
            while inside and lines and not lines[-1]:
                lines.pop()
            lines += ["```", ""] if inside else ["```"]
            inside = example
        lines.append(line.strip() if example else line)
    return "\n".join([*lines, *(["```"] if inside else [])])


def _action(action: argparse.Action) -> str:
    _, value = argument_name(action)
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    name = f"{names} {value}".strip() if names else value
    return f"| {_cell(name)} | {_cell((action.help or '') % {'default': action.default})} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES = {"format.md": format_page, "commands.md": commands_page, "peephole.1": man_page}


def main() -> None:
    """Writes the pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
