"""Decisions in the terminal: those of a step, and the last word about two nodes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from peephole.cli.format import Printer

if TYPE_CHECKING:
    from peephole.query.rewrites.decisions import Decision, Verdict

_STYLES = {"fused": "bold green", "refused": "bold red", "break": "bold yellow", "recompile": "bold yellow"}


MOST: Final = 12
"""Decisions of a step that are printed one by one among the steps of a context."""


def show_decisions(decisions: list[Decision], printer: Printer, indent: str = "  ", most: int | None = None) -> None:
    """Prints each decision on a line; where there are more than `most`, how many there are of each kind and reason."""
    if most is not None and len(decisions) > most and not printer.json:
        counts = Counter((decision.kind, decision.reason) for decision in decisions)
        for (kind, reason), times in counts.most_common(most):
            printer.line(indent, (kind, _STYLES.get(kind, "bold")), f"  ×{times}", f"  {_first_line(reason)}")
        return
    for decision in decisions:
        if printer.json:
            printer.record({"kind": "decision", **decision_record(decision)})
            continue
        names = " + ".join(name for name in (decision.a_name, decision.b_name) if name)
        reason = f"  {_first_line(decision.reason)}" if decision.reason else ""
        printer.line(indent, (decision.kind, _style(decision)), f"  {names}", reason, (_place(decision), "dim"))


def show_verdict(verdict: Verdict, printer: Printer) -> None:
    """Prints what was decided about two nodes: the last word first, then what was said before."""
    last = verdict.last
    if printer.json:
        words = [
            {"context": word.context_name, "step_name": word.step_name, **decision_record(word.decision)}
            for word in verdict.words
        ]
        printer.record({"relation": last.decision.kind, "text": last.decision.reason, "decisions": words})
        return
    where = (f"   {last.context_name}", "dim")
    printer.line((verdict.first, "bold"), ("  →  ", "dim"), (verdict.second, "bold"), where)
    reason = f": {last.decision.reason}" if last.decision.reason else ""
    printer.line((last.decision.kind, _style(last.decision)), reason)
    if last.decision.words:
        printer.line(("  that is     ", "dim"), last.decision.words)
    printer.line(("  decided in  ", "dim"), last.step_name, (_place(last.decision), "dim"))
    for word in reversed(verdict.words[:-1]):
        reason = f": {word.decision.reason}" if word.decision.reason else ""
        printer.line(("  before      ", "dim"), (word.decision.kind, _style(word.decision)), reason)
        printer.line(("              ", "dim"), (f"{word.step_name}{_place(word.decision)}", "dim"))


def decision_record(decision: Decision) -> dict[str, Any]:
    """A decision as the JSON that scripts read."""
    return {
        "step": decision.step,
        "ordinal": decision.ordinal,
        "decision": decision.kind,
        "a": None if decision.a < 0 else {"id": decision.a, "name": decision.a_name},
        "b": None if decision.b < 0 else {"id": decision.b, "name": decision.b_name},
        "reason": decision.reason,
        "words": decision.words,
        "file": decision.file,
        "line": None if decision.line < 0 else decision.line,
    }


def _first_line(reason: str) -> str:
    """The first two lines of a reason that has many: what, and why."""
    lines = [line.strip() for line in reason.strip().splitlines()[:2]]
    return " · ".join(lines)


def _place(decision: Decision) -> str:
    from peephole.cli.views.rewrites import short

    return f"  {short(decision.file)}:{decision.line}" if decision.file else ""


def _style(decision: Decision) -> str:
    return _STYLES.get(decision.kind, "bold")
