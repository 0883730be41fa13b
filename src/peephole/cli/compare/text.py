"""A comparison in the terminal: verdict first, then what it is made of."""

from __future__ import annotations

from peephole.cli.compare.words import (
    SIGNS,
    count_words,
    interval_words,
    median_words,
    p_words,
    percent,
    portion_words,
    side_words,
    state_counts,
    verdict_words,
    where,
)
from peephole.cli.format import Column, Printer, count, duration, size
from peephole.query.compare.gate import Gate
from peephole.query.compare.results import Comparison
from peephole.query.compare.times import TimeRow
from peephole.query.compare.verdict import counted

_MOST = 20
"""Rows of a part."""
_MOST_EQUAL = 4
"""Peaks that are equal and named all the same."""
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "same": "dim"}


def print_comparison(printer: Printer, found: Comparison, gate: Gate | None, only: frozenset[str]) -> None:
    """Prints the parts that were asked for."""
    printer.line((found.verdict, "bold"))
    printer.line(("A  ", "dim"), side_words(found.a))
    printer.line(("B  ", "dim"), side_words(found.b))
    for note in found.notes:
        printer.line(("   " + note, "yellow"))
    if only & {"kernels", "code"}:
        _kernels(printer, found)
    if only & {"code", "rules"}:
        _parting(printer, found)
    if "time" in only:
        _times(printer, found)
    if "memory" in only:
        _memory(printer, found)
    if "rules" in only:
        _rules(printer, found)
    if "compile" in only:
        _compile(printer, found)
    _messages(printer, found)
    if found.normalised:
        printer.line()
        printer.line((f"not counted as differences: {'; '.join(found.normalised)}", "dim"))
    if gate is not None:
        _gate(printer, gate)


def _title(printer: Printer, text: str) -> None:
    printer.line()
    printer.line((text, "bold cyan"))


def _kernels(printer: Printer, found: Comparison) -> None:
    rows = [row for row in found.kernels if row.state != "same"]
    uneven = [row for row in found.kernels if row.state == "same" and row.uneven]
    if not found.kernels:
        return
    _title(printer, f"Kernels: {state_counts(found)}")
    shown = [*rows, *uneven][:_MOST]
    table = []
    for row in shown:
        name = (
            row.name_a
            if row.name_a == row.name_b or not row.name_b
            else row.name_b
            if not row.name_a
            else (f"{row.name_a} → {row.name_b}")
        )
        runs = count(row.launches_a) if row.launches_a == row.launches_b else f"{row.launches_a:,} → {row.launches_b:,}"
        work = "" if row.flops_a == row.flops_b else percent(row.flops_a, row.flops_b)
        moved = "" if row.bytes_a == row.bytes_b else percent(row.bytes_a, row.bytes_b)
        kind = "" if row.is_kernel else row.kind
        table.append((SIGNS[row.state], name, kind, runs, work, moved, row.how, row.place.rpartition("/")[2]))
    if table:
        printer.table(
            [
                Column(""), Column("kernel", flexible=True), Column(""), Column("runs", right=True),
                Column("flops", right=True), Column("bytes", right=True), Column("matched by"), Column("line"),
            ],
            table,
        )  # fmt: skip
    if len(rows) + len(uneven) > len(shown):
        printer.line((f"… {len(rows) + len(uneven) - len(shown):,} more; --json has all", "dim"))
    if found.counts:
        printer.line(("counts  ", "dim"), ", ".join(count_words(row) for row in found.counts))


def _parting(printer: Printer, found: Comparison) -> None:
    if not found.divergence:
        return
    begins = found.begins()
    follows = [row for row in found.divergence if row.follows]
    alone = len(found.divergence) - len(follows)
    _title(printer, f"Where they part: {alone:,} of their own, {len(follows):,} that follow from others")
    for row, more in begins[:_MOST]:
        printer.line("  ", (where(row), "yellow"), "  ", row.what)
        parts = row.parting
        for which, rule in (("A", parts.rule_a), ("B", parts.rule_b)) if parts else ():
            if rule is not None:
                text = f"  {rule.text}" if rule.text else ""
                printer.line((f"      {which}  {_short(rule.file)}:{rule.line}{text}", "dim"))
        if parts and parts.inner:
            inner = parts.inner
            rule = inner.rule_a or inner.rule_b
            place = f", {_short(rule.file)}:{rule.line}" if rule else ""
            at = f" match {inner.match}" if inner.match else ""
            printer.line(
                (f"      which comes from a pass inside it: step {inner.ordinal}{at} ({inner.what}{place})", "dim")
            )
        if more:
            printer.line((f"      and {counted(more, 'context')} more in the same way", "dim"))
    if len(begins) > _MOST:
        printer.line((f"  … {len(begins) - _MOST:,} more; --json has all", "dim"))
    for row in follows[:8]:
        names = ", ".join(row.follows[:2]) + (f" and {len(row.follows) - 2:,} more" if len(row.follows) > 2 else "")
        printer.line((f"  {where(row)}  follows from {names}", "dim"))
    if len(follows) > 8:
        printer.line((f"  … {len(follows) - 8:,} more follow", "dim"))


def _times(printer: Printer, found: Comparison) -> None:
    if not found.times:
        return
    for group, title in (
        ("kernels", "kernels"),
        ("copies", "copies"),
        ("host", "host phases"),
        ("messages", "messages"),
    ):
        rows = [row for row in found.times if row.group == group]
        if not rows:
            continue
        together = [row for row in found.totals if row.group == group]
        claims = [row for row in rows if row.verdict in ("slower", "faster")]
        others = [row for row in rows if row not in claims]
        shown = [*claims, *others][: max(_MOST if group == "kernels" else 10, min(len(claims), 40))]
        tested = sum(row.tested for row in rows)
        _title(printer, f"Time of {title}: {len(claims):,} of {len(rows):,} shown to differ, {tested:,} tested")
        printer.table(
            [
                Column("name", flexible=True), Column("A", right=True), Column("", right=True), Column("B", right=True),
                Column("", right=True), Column("change", right=True), Column("runs", right=True),
                Column("p", right=True), Column("verdict"),
            ],
            [_time(row) for row in (*together, *shown)],
        )  # fmt: skip
        if len(rows) > len(shown):
            printer.line((f"… {len(rows) - len(shown):,} more; --json has all", "dim"))
        if group == "kernels" and found.portions:
            printer.line(("all runs  ", "dim"), portion_words(found))


def _time(row: TimeRow) -> tuple[str, ...]:
    change = percent(row.median_a, row.median_b) if row.n_a and row.n_b else ""
    return (
        row.name, median_words(row.median_a, row.n_a), interval_words(row, "a"), median_words(row.median_b, row.n_b),
        interval_words(row, "b"), change, f"{row.n_a:,}, {row.n_b:,}", p_words(row), verdict_words(row),
    )  # fmt: skip


def _memory(printer: Printer, found: Comparison) -> None:
    if not found.memory:
        return
    _title(printer, "Peak memory")
    equal = [row for row in found.memory if row.peak_a == row.peak_b]
    if len(equal) > _MOST_EQUAL:
        printer.line((f"  equal on {len(equal):,} devices or modules", "dim"))
    for row in found.memory:
        if row.peak_a == row.peak_b and len(equal) > _MOST_EQUAL:
            continue
        change = percent(row.peak_a, row.peak_b) if row.peak_a != row.peak_b else "equal"
        printer.line(f"  {row.device or 'device'}  {size(row.peak_a)} → {size(row.peak_b)}  {change}")
        if row.peak_a == row.peak_b:
            continue
        for held in [one for one in row.held if one.count_a != one.count_b][:6]:
            name = " ".join(part for part in (held.name, held.dtype, size(held.bytes)) if part)
            printer.line((f"      {held.count_a:,} → {held.count_b:,} of {name}", "dim"))


def _rules(printer: Printer, found: Comparison) -> None:
    rows = [row for row in found.rules if row.a != row.b]
    edited = [row for row in found.rules if row.edited]
    if edited:
        _title(printer, f"Edited rules: {len(edited):,}")
        for row in edited[:_MOST]:
            printer.line(f"  {row.rule}")
            printer.line((f"    - {row.text_a}", "red"))
            printer.line((f"    + {row.text_b}", "green"))
    if not rows:
        return
    _title(printer, f"Rules: {len(rows):,} fired more or less often")
    printer.table(
        [
            Column("A", right=True),
            Column("B", right=True),
            Column("rule", style="bold"),
            Column("source", flexible=True),
        ],
        [(count(row.a), count(row.b), row.rule, row.text_a or row.text_b) for row in rows[:_MOST]],
    )
    if len(rows) > _MOST:
        printer.line((f"… {len(rows) - _MOST:,} more; --json has all", "dim"))


def _compile(printer: Printer, found: Comparison) -> None:
    rows = [row for row in found.passes if row.ns_a or row.ns_b]
    if not rows or "compile" in found.missing:
        return
    change = percent(found.a.compile_ns, found.b.compile_ns)
    total = f"{duration(found.a.compile_ns)} → {duration(found.b.compile_ns)} {change}"
    _title(printer, f"Compile time by pass: {total}, not tested")
    printer.table(
        [
            Column("pass", flexible=True), Column("A", right=True), Column("B", right=True),
            Column("change", right=True), Column("steps", right=True), Column("matches", right=True),
        ],
        [
            (
                row.name, duration(row.ns_a), duration(row.ns_b), percent(row.ns_a, row.ns_b),
                _both(row.steps_a, row.steps_b), _both(row.matches_a, row.matches_b),
            )
            for row in rows[:12]
        ],
    )  # fmt: skip


def _both(a: int, b: int) -> str:
    return count(a) if a == b else f"{a:,} → {b:,}"


def _messages(printer: Printer, found: Comparison) -> None:
    rows = [row for row in found.messages if row.differs]
    if not rows:
        return
    _title(printer, f"Messages: {len(rows):,} kinds more or less often")
    printer.table(
        [Column("A", right=True), Column("B", right=True), Column("message", flexible=True)],
        [(count(int(row.a)), count(int(row.b)), row.name) for row in rows[:_MOST]],
    )


def _gate(printer: Printer, gate: Gate) -> None:
    printer.line()
    for one in gate.failures:
        printer.line(("FAILED  ", "bold red"), f"{one.term}: {one.why}")
    for one in gate.unknown:
        printer.line(("UNKNOWN ", "bold yellow"), f"{one.term}: {one.why}")
    if not gate.failures and not gate.unknown:
        printer.line(("passed", "bold green"))


def _short(file: str) -> str:
    return "/".join(file.replace("\\", "/").split("/")[-2:])
