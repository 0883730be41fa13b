"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from peephole.cli.compare.words import SIGNS, median_words, p_words, percent, side_words, verdict_words, where
from peephole.cli.format import duration, size
from peephole.query.compare.gate import Gate
from peephole.query.compare.results import Comparison

_MOST = 15


def markdown(found: Comparison, gate: Gate | None, only: frozenset[str]) -> str:
    """The verdict, then a table for each part that differs; long ones are folded."""
    lines = [
        f"### {_text(found.verdict)}",
        "",
        f"A: {_text(side_words(found.a))}  ",
        f"B: {_text(side_words(found.b))}",
        "",
    ]
    if gate is not None:
        lines += [f"- **failed** `{_code(one.term)}`: {_text(one.why)}" for one in gate.failures]
        lines += [f"- **unknown** `{_code(one.term)}`: {_text(one.why)}" for one in gate.unknown]
        lines += [] if gate.failures or gate.unknown else ["- all rules passed"]
        lines.append("")
    lines += [f"> {_text(note)}  " for note in found.notes] + ([""] if found.notes else [])
    if only & {"kernels", "code", "time"}:
        lines += _kernels(found)
    if only & {"code", "rules"}:
        begins = [row for row in found.divergence if not row.follows]
        if begins:
            lines += ["**Where they part**", ""]
            lines += [f"- `{_code(where(row))}`: {_text(row.what)}" for row in begins[:_MOST]]
            more = len(found.divergence) - len(begins[:_MOST])
            lines += [f"- {more:,} more, most of which follow from these" if more else "", ""]
    if "memory" in only and any(row.peak_a != row.peak_b for row in found.memory):
        lines += _table(
            ("peak memory", "A", "B", "change"),
            [(row.device, size(row.peak_a), size(row.peak_b), percent(row.peak_a, row.peak_b)) for row in found.memory],
        )
    rules = [row for row in found.rules if row.a != row.b]
    if "rules" in only and rules:
        lines += _folded(
            f"{len(rules):,} rules fired more or less often",
            _table(
                ("A", "B", "rule", "source"),
                [(f"{row.a:,}", f"{row.b:,}", row.rule, row.text_a or row.text_b) for row in rules[:50]],
            ),
        )
    if "compile" in only and (found.a.compile_ns or found.b.compile_ns):
        total = f"{duration(found.a.compile_ns)} → {duration(found.b.compile_ns)}"
        lines += [f"Compile time {total} {percent(found.a.compile_ns, found.b.compile_ns)}, not tested.", ""]
    if found.normalised:
        lines += [f"<sub>Not counted as differences: {_text('; '.join(found.normalised))}</sub>"]
    return "\n".join(lines).rstrip()


def _kernels(found: Comparison) -> list[str]:
    rows = [
        row
        for row in found.kernels
        if row.state != "same" or (row.time is not None and row.time.verdict in ("slower", "faster"))
    ]
    if not rows:
        return []
    table = []
    for row in rows[:_MOST]:
        name = (
            row.name if row.name_a == row.name_b or not (row.name_a and row.name_b) else f"{row.name_a} → {row.name_b}"
        )
        time = row.time
        cells = ("", "", "", "", "")
        if time is not None:
            change = percent(time.median_a, time.median_b) if time.n_a and time.n_b else ""
            cells = (
                median_words(time.median_a, time.n_a), median_words(time.median_b, time.n_b), change,
                f"{time.n_a:,}, {time.n_b:,}{', p ' + p_words(time) if time.tested else ''}", verdict_words(time),
            )  # fmt: skip
        table.append((SIGNS[row.state], name, *cells))
    lines = _table(("", "kernel", "A", "B", "change", "runs", "verdict"), table)
    return [*lines[:-1], f"… {len(rows) - _MOST:,} more", ""] if len(rows) > _MOST else lines


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(_text(cell) for cell in row) + " |" for row in rows), ""]


def _folded(title: str, lines: list[str]) -> list[str]:
    return ["<details>", f"<summary>{_text(title)}</summary>", "", *lines, "</details>", ""]


def _text(text: str) -> str:
    """A text as data: nothing in it is Markdown or HTML."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~@!])", r"\\\1", text)


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").replace("|", "/").split())
