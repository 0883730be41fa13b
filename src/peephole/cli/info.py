"""`peephole info`: what a capture holds and whether anything was lost."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Column, Printer, count, duration, size
from peephole.cli.target import add_json, add_target, open_target

if TYPE_CHECKING:
    from peephole.query.capture.info import Info

HELP = "What a capture holds: rows and bytes per table, the time it spans, how it ended, and everything that was lost."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the facts."""
    from peephole.query.capture.info import info

    facts = info(open_target(args.capture))
    printer = Printer(args.json)
    if args.json:
        printer.record(as_json(facts))
        return 0
    printer.line((facts.name, "bold"), f"  {facts.path}")
    ended = "still running" if facts.live else "clean" if facts.clean else "broken off: what was flushed is here"
    lines = {
        "program": shlex.join(facts.argv) or facts.program,
        "source": facts.source,
        "made": f"{facts.created}{f' on {facts.host}' if facts.host else ''}".strip(),
        "with": ", ".join(f"{name} {version}" for name, version in facts.frameworks.items()),
        "end": f"{ended} ({facts.state})",
        "span": duration(facts.span_ns[1] - facts.span_ns[0]) if facts.span_ns else "",
        "processes": count(len(facts.processes)) if len(facts.processes) > 1 else "",
        "size": size(facts.bytes["total"]),
        "notes": f"{count(facts.notes)}; peephole notes lists them" if facts.notes else "",
        "sampled": "; ".join(facts.sampled),
        "dropped": f"{count(facts.dropped)} events" if facts.dropped and not _is_told(facts) else "",
    }
    for name, text in lines.items():
        if text:
            printer.line((f"{name:<10} ", "dim"), text)
    printer.line()
    rows = [
        (name, count(rows), size(facts.bytes[name]) if name in facts.bytes else "")
        for name, rows in facts.tables.items()
        if rows
    ]
    printer.table((Column("table"), Column("rows", right=True), Column("bytes", right=True)), rows)
    if facts.problems:
        printer.line()
        printer.line(("problems", "bold yellow"))
        for problem in facts.problems:
            example = f"  e.g. {problem.example}" if problem.example else ""
            printer.line((f"{count(problem.count):>8}  ", "yellow"), problem.reason, (example, "dim"))
    return 0


def _is_told(facts: Info) -> bool:
    """Whether the problems say how many events were lost, and for want of what."""
    return any(problem.reason.startswith("events that were lost") for problem in facts.problems)


def as_json(facts: Info) -> dict[str, Any]:
    """The documented object."""
    return {
        "name": facts.name,
        "path": str(facts.path),
        "state": facts.state,
        "clean": facts.clean,
        "live": facts.live,
        "tables": facts.tables,
        "notes": facts.notes,
        "bytes": facts.bytes,
        "span_ns": list(facts.span_ns) if facts.span_ns else None,
        "sampled": list(facts.sampled),
        "problems": [{"reason": p.reason, "count": p.count, "example": p.example} for p in facts.problems],
        "dropped": facts.dropped,
        "source": facts.source,
        "program": facts.program,
        "argv": list(facts.argv),
        "host": facts.host,
        "frameworks": facts.frameworks,
        "created": facts.created,
        "processes": list(facts.processes),
        "clocks": facts.clocks,
    }
