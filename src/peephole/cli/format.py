"""How things look in the terminal: colours, widths, units, JSON lines. Names are data here, never markup."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TextIO

from peephole.model import amounts

Part = str | tuple[str, str]
"""A text, or a text and its rich style."""

size, duration = amounts.size, amounts.duration
_LONG = 1_000_000
"""The width of something that is no terminal: nothing is cut in a file or a pipe."""


def escape(text: str) -> str:
    """A text with its control characters made visible, so that it is only ever data to a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def escape_block(text: str) -> str:
    """The same for a text of several lines, such as source code: line ends and tabs stay."""
    return "\n".join(escape(line.expandtabs()) for line in text.splitlines())


def cells(text: str) -> int:
    """How many columns of the terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, width: int) -> str:
    """A text cut to a width, with an ellipsis where something is missing."""
    if len(text) <= width and cells(text) <= width:
        return text
    text = text[: max(width - 1, 0)]
    while cells(text) > max(width - 1, 0):
        text = text[:-1]
    return text + "…" if width > 0 else ""


def pad(text: str, width: int, right: bool = False) -> str:
    """A text cut or filled to exactly a width."""
    text = fit(text, width)
    blank = " " * (width - cells(text))
    return blank + text if right else text + blank


def moment(ns: int) -> str:
    """A time since the first event, as the page writes it: `4.980 s`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:,.3f} {unit}"
    return f"{ns} ns"


def rate(value: float, unit: str) -> str:
    """A rate for people: `12.3 GFLOPS`."""
    for prefix, step in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= step:
            return f"{amounts.digits(value / step)} {prefix}{unit}"
    return f"{amounts.digits(value)} {unit}"


def count(number: int) -> str:
    """A count for people: `12,345`."""
    return f"{number:,}"


class Column(NamedTuple):
    """A column of a table: its title, whether it is set to the right, its style, whether it gives way."""

    title: str
    right: bool = False
    style: str = ""
    flexible: bool = False


class Printer:
    """Writes lines to the terminal, coloured when it has colours, or JSON objects, one a line."""

    def __init__(self, as_json: bool = False, stream: TextIO | None = None, as_csv: bool = False) -> None:
        self.json = as_json or as_csv
        self.csv = as_csv
        """A view with objects inside objects makes flat rows of them."""
        self._csv_columns: list[str] | None = [] if as_csv else None
        self.stream = stream or sys.stdout
        terminal = self._terminal = self.stream.isatty()
        self.width = shutil.get_terminal_size((80, 24)).columns if terminal or "COLUMNS" in os.environ else _LONG
        self._paint = _painter(self.stream, terminal) if not self.json else _plain

    def line(self, *parts: Part) -> None:
        """Writes one line; the parts follow each other, their control characters escaped."""
        self.stream.write("".join(self.styled(part) for part in parts).rstrip() + "\n")

    def block(self, text: str, style: str = "") -> None:
        """Writes a text of several lines."""
        for line in escape_block(text).splitlines():
            self.stream.write((self._paint(line, style) if style else line) + "\n")

    def styled(self, part: Part) -> str:
        """A part as it is written."""
        if isinstance(part, str):
            return escape(part)
        return self._paint(escape(part[0]), part[1]) if part[1] else escape(part[0])

    def record(self, facts: dict[str, Any]) -> None:
        """Writes one JSON object, or a line of CSV under the columns of the first one."""
        if self._csv_columns is not None:
            self._csv(facts)
            return
        try:
            line = json.dumps(facts, separators=(",", ":"), allow_nan=False)
        except ValueError:  # JSON has no NaN and no infinities: they become texts
            line = json.dumps(_finite(facts), separators=(",", ":"), allow_nan=False)
        self.stream.write(line + "\n")

    def _csv(self, facts: dict[str, Any]) -> None:
        import csv

        writer = csv.writer(self.stream, lineterminator="\n")
        if not self._csv_columns:
            self._csv_columns = list(facts)
            writer.writerow(self._csv_columns)
        values = (facts.get(name) for name in self._csv_columns)
        texts = (json.dumps(value) if isinstance(value, dict | list) else value for value in values)
        # in a file a name is as it was recorded; a terminal would obey what it holds
        writer.writerow(escape(text) if self._terminal and isinstance(text, str) else text for text in texts)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], header: bool = True) -> None:
        """Writes a table; the flexible column is cut when the terminal is too narrow."""
        body = [[escape(cell) for cell in row] for row in rows]
        widths, _ = self._widths(columns, body)
        if header:
            self.line((_row([c.title for c in columns], columns, widths), "dim"))
        for row in body:
            texts = [pad(cell, width, c.right) for cell, width, c in zip(row, widths, columns, strict=True)]
            painted = [self._paint(text, c.style) if c.style else text for text, c in zip(texts, columns, strict=True)]
            self.stream.write("  ".join(painted).rstrip() + "\n")

    def fits(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> bool:
        """Whether a table is not wider than the terminal, its flexible columns cut."""
        return self._widths(columns, [[escape(cell) for cell in row] for row in rows])[1] <= 0

    def upright(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], first: int = 1) -> None:
        """Writes a table that is too wide for the terminal: a line for each value, the rows one below the other."""
        title = max((cells(escape(column.title)) for column in columns), default=0)
        for number, row in enumerate(rows, first):
            self.line((f"row {number}", "dim"))
            for column, value in zip(columns, row, strict=True):
                name = pad(escape(column.title), min(title, max(self.width - 12, 8)))
                self.line("  ", (name, "dim"), "  ", fit(escape(value), max(self.width - cells(name) - 4, 8)))

    def _widths(self, columns: Sequence[Column], body: Sequence[Sequence[str]]) -> tuple[list[int], int]:
        """How wide each column is, and by how much all of them are still too wide."""
        widths = [
            max([cells(column.title), *(cells(row[i]) for row in body)], default=0) for i, column in enumerate(columns)
        ]
        excess = sum(widths) + 2 * (len(columns) - 1) - self.width
        for i, column in reversed(list(enumerate(columns))):
            if column.flexible and excess > 0:
                cut = min(excess, max(widths[i] - 8, 0))
                widths[i] -= cut
                excess -= cut
        return widths, excess


def problem_lines(printer: Printer, problems: Iterable[tuple[str, int, str]]) -> None:
    """What could not be understood or was left out: how many, why, an example."""
    for reason, number, example in problems:
        printer.line((f"{number:,} × ", "yellow"), reason, (f" ({example})" if example else "", "dim"))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def _row(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    return "  ".join(pad(cell, width, c.right) for cell, width, c in zip(row, widths, columns, strict=True))


def _plain(text: str, _style: str) -> str:
    return text


def _painter(stream: TextIO, terminal: bool) -> Callable[[str, str], str]:
    if os.environ.get("NO_COLOR") or not (terminal or os.environ.get("FORCE_COLOR")):
        return _plain
    from rich.console import Console
    from rich.style import Style

    system = Console(file=stream)._color_system
    if system is None:
        return _plain

    def paint(text: str, style: str) -> str:
        return Style.parse(style).render(text, color_system=system)

    return paint
