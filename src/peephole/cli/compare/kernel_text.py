"""One kernel of a comparison in the terminal."""

from __future__ import annotations

from peephole.cli.compare.words import SIGNS, median_words, p_words, percent, verdict_words, where
from peephole.cli.format import Column, Printer, count
from peephole.query.compare.code_lines import unified
from peephole.query.compare.one_kernel import OneKernel
from peephole.query.compare.results import Divergence


def print_kernel(printer: Printer, one: OneKernel) -> None:
    """Prints what is known of one pair: state, times, passes, where it parts, code."""
    row = one.row
    names = (
        one.context_a if one.context_a == one.context_b else " → ".join(filter(None, (one.context_a, one.context_b)))
    )
    state = row.state if row else "changed" if one.divergence else "same"
    printer.line(
        (f"{SIGNS[state]} {names}", "bold"), f"  {state}", *((f", matched by {row.how}",) if row and row.how else ())
    )
    if row and row.place:
        printer.line(("line    ", "dim"), row.place)
    if row and row.time:
        time = row.time
        printer.line(
            ("time    ", "dim"),
            f"{median_words(time.median_a, time.n_a)} → {median_words(time.median_b, time.n_b)}  "
            f"{percent(time.median_a, time.median_b) if time.n_a and time.n_b else ''}  {verdict_words(time)}",
            f"  ({time.n_a:,} and {time.n_b:,} runs{', p ' + p_words(time) if time.tested else ''})",
        )
    found = one.divergence
    if found is not None:
        printer.line(("parts   ", "dim"), (where(found), "yellow"), f"  {found.what}")
        _rules(printer, found)
        for cause in one.causes:
            printer.line(("follows ", "dim"), "from ", (where(cause), "yellow"), f"  {cause.what}")
            _rules(printer, cause)
        for name in found.follows[1:4]:
            printer.line(("        ", "dim"), f"and from {name}")
    elif one.passes:
        matches = sum(step.matches_a for step in one.passes)
        printer.line(("passes  ", "dim"), f"all {len(one.passes):,} are equal, with {matches:,} matches")
    _passes(printer, one)
    lines = unified(one.code)
    if lines:
        printer.line()
        printer.line((f"Code: {one.code.removed} line(s) of A, {one.code.added} of B", "bold cyan"))
        for sign, text in lines:
            style = {"-": "red", "+": "green", "@": "dim"}.get(sign, "")
            printer.line((f"{sign} {text.expandtabs()}", style))
    elif one.code.lines:
        printer.line()
        printer.line((f"Code: {len(one.code.lines):,} equal lines", "bold cyan"))


def _rules(printer: Printer, found: Divergence) -> None:
    """The rule of each side, with its line."""
    parts = found.parting
    for which, rule in (("A", parts.rule_a), ("B", parts.rule_b)) if parts else ():
        if rule:
            printer.line((f"      {which} ", "dim"), f"{rule.file}:{rule.line}")
            if rule.text:
                printer.line(f"          {rule.text}")


def _passes(printer: Printer, one: OneKernel) -> None:
    at = next((i for i, step in enumerate(one.passes) if step.state == "parts"), None)
    if at is None:
        return
    equal = one.passes[:at]
    printer.line()
    matches = sum(step.matches_a for step in equal)
    printer.line((f"Passes: {len(equal):,} equal, with {matches:,} matches", "bold cyan"))
    rows = []
    for step in one.passes[max(at - 3, 0) : at + 8]:
        sign = {"equal": "=", "parts": "≠", "follows": ""}[step.state]
        a, b = (
            count(n) if there >= 0 else "–"
            for n, there in ((step.matches_a, step.step_a), (step.matches_b, step.step_b))
        )
        rows.append((sign, "  " * step.depth + step.name, a, b, "follows" if step.state == "follows" else ""))
    printer.table(
        [Column(""), Column("pass", flexible=True), Column("A", right=True), Column("B", right=True), Column("")], rows
    )
