"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from peephole.cli.compare.words import SIGNS, median_words, p_words, percent, side_words, verdict_words, where
from peephole.cli.format import duration, size
from peephole.query.compare.gate import Gate
from peephole.query.compare.results import Comparison, CountRow, PassRow
from peephole.query.compare.times import TimeRow

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
    if "kernels" in only and found.counts:
        lines += _table(("", "A", "B"), [_count(row) for row in found.counts])
    if only & {"code", "rules"}:
        lines += _parting(found)
    if "memory" in only and any(row.peak_a != row.peak_b for row in found.memory):
        lines += _table(
            ("peak memory", "A", "B", "change"),
            [
                (row.device, size(row.peak_a), size(row.peak_b), percent(row.peak_a, row.peak_b))
                for row in found.memory
                if row.peak_a != row.peak_b
            ],
        )
        held = [(row, one) for row in found.memory for one in row.held if one.count_a != one.count_b]
        if held:
            cells = [
                (row.device, f"{one.count_a:,}", f"{one.count_b:,}", one.name, one.dtype, size(one.bytes))
                for row, one in held[:_MOST]
            ]
            lines += _folded("What held the peaks", _table(("device", "A", "B", "buffer", "dtype", "size"), cells))
    if "time" in only:
        lines += _host(found)
    rules = [row for row in found.rules if row.a != row.b]
    if "rules" in only and rules:
        lines += _folded(
            f"{len(rules):,} rules fired more or less often",
            _table(
                ("A", "B", "rule", "source"),
                [(f"{row.a:,}", f"{row.b:,}", row.rule, row.text_a or row.text_b) for row in rules[:50]],
            ),
        )
    if "compile" in only and found.a.compile_ns and found.b.compile_ns:
        total = f"{duration(found.a.compile_ns)} → {duration(found.b.compile_ns)}"
        title = f"Compile time {total} {percent(found.a.compile_ns, found.b.compile_ns)}, not tested"
        passes = [row for row in found.passes if row.ns_a or row.ns_b][:_MOST]
        head = ("pass", "A", "B", "change", "steps A, B", "matches A, B")
        lines += _folded(title, _table(head, [_pass(row) for row in passes]))
    if found.normalised:
        lines += [f"<sub>Not counted as differences: {_text('; '.join(found.normalised))}</sub>"]
    return "\n".join(lines).rstrip()


def _parting(found: Comparison) -> list[str]:
    """Where they part: one context of each difference, its rules, and what follows."""
    begins = found.begins()
    if not begins:
        return []
    lines = ["**Where they part**", ""]
    for row, more in begins[:_MOST]:
        others = f" (and {more:,} more in the same way)" if more else ""
        lines.append(f"- `{_code(where(row))}`: {_text(row.what)}{others}")
        parts = row.parting
        for which, rule in (("A", parts.rule_a), ("B", parts.rule_b)) if parts else ():
            if rule is not None and rule.text:
                lines.append(f"  - {which} `{_code(rule.text)}`")
    left = len(begins) - _MOST
    lines += [f"- {left:,} more differences"] if left > 0 else []
    follows = sum(bool(row.follows) for row in found.divergence)
    return [*lines, *([f"- {follows:,} contexts follow from these"] if follows else []), ""]


def _kernels(found: Comparison) -> list[str]:
    rows = [
        row
        for row in found.kernels
        if row.state != "same" or (row.time is not None and row.time.verdict in ("slower", "faster"))
    ]
    if not rows and not any(row.verdict in ("slower", "faster") for row in found.totals):
        return []
    table = []
    for row in rows[:_MOST]:
        name = (
            row.name if row.name_a == row.name_b or not (row.name_a and row.name_b) else f"{row.name_a} → {row.name_b}"
        )
        table.append((SIGNS[row.state], name, *(_time(row.time) if row.time else ("", "", "", "", ""))))
    table += [("", row.name, *_time(row)) for row in found.totals]
    lines = _table(("", "kernel", "A", "B", "change", "runs", "verdict"), table)
    return [*lines[:-1], f"… {len(rows) - _MOST:,} more", ""] if len(rows) > _MOST else lines


def _count(row: CountRow) -> tuple[str, str, str]:
    a, b = (size(value) if row.name == "bytes" else f"{round(value):,}" for value in (row.a, row.b))
    return row.name, a, "the same" if not row.differs else b if row.a != row.b else "as many others"


def _pass(row: PassRow) -> tuple[str, ...]:
    return (
        row.name, duration(row.ns_a), duration(row.ns_b), percent(row.ns_a, row.ns_b),
        f"{row.steps_a:,}, {row.steps_b:,}", f"{row.matches_a:,}, {row.matches_b:,}",
    )  # fmt: skip


def _host(found: Comparison) -> list[str]:
    """The phases of the host, those that are shown to differ first."""
    rows = [row for row in found.times if row.group == "host"]
    if not rows:
        return []
    claims = [row for row in rows if row.verdict in ("slower", "faster")]
    shown = [*claims, *(row for row in rows if row not in claims)][:_MOST]
    title = f"{len(claims):,} of {len(rows):,} host phases shown to differ"
    return _folded(
        title, _table(("phase", "A", "B", "change", "runs", "verdict"), [(row.name, *_time(row)) for row in shown])
    )


def _time(time: TimeRow) -> tuple[str, str, str, str, str]:
    change = percent(time.median_a, time.median_b) if time.n_a and time.n_b else ""
    runs = f"{time.n_a:,}, {time.n_b:,}{', p ' + p_words(time) if time.tested else ''}"
    medians = median_words(time.median_a, time.n_a), median_words(time.median_b, time.n_b)
    return *medians, change, runs, verdict_words(time)


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
    return " ".join(text.replace("`", "'").split())
