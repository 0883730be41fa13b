"""`peephole problems`: what went wrong, or took long, while the program was compiled."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any, Final

from peephole.cli.format import Printer, count, duration, size
from peephole.cli.target import add_json, add_target, open_target

if TYPE_CHECKING:
    from peephole.query.problems.problems import Problem, Problems

KINDS: Final = {
    "break": ("Graph breaks", "each splits the program in two graphs"),
    "recompile": ("Recompilations", "what was compiled did not fit, so it was compiled again"),
    "specialization": ("Specialisations", "a value that may vary was taken as a constant"),
    "fallback": ("Fallbacks", "what runs outside of the compiled code"),
    "copy": ("Copies", "which passes put in, of values in another layout or still needed"),
    "memory": ("Memory at the peak", "by line of the program"),
    "buffer": ("Largest buffers", "of each module"),
    "slow": ("Slow phases", "where compiling spent its time"),
}
"""Of each kind what it is called, and what it means."""

HELP = """Lists the problems of compiling: graph breaks, recompilations with the guard that failed or JAX's reason,
sizes that were taken as constants, what runs without being compiled, copies that passes put in, what holds the memory
at its peak, phases that took longer than half a second. Each with the line of the program, the reason and, where there
is one, a hint."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument(
        "--kind", choices=tuple(KINDS), metavar="KIND", help=f"problems of this kind alone: {', '.join(KINDS)}"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the problems, kind by kind."""
    from peephole.query.problems.problems import problems

    found = problems(open_target(args.capture))
    chosen = [one for one in found.problems if args.kind in (None, one.kind)]
    printer = Printer(args.json)
    if args.json:
        for problem in chosen:
            printer.record(_record(problem))
        return 0
    if not chosen:
        printer.line((_none(found, args.kind), "dim"))
        return 0
    for place, kind in enumerate(kind for kind in KINDS if any(one.kind == kind for one in chosen)):
        own = [one for one in chosen if one.kind == kind]
        if place:
            printer.line()
        title, meaning = KINDS[kind]
        printer.line((title, "bold"), f"  {len(own)}", (f"  {meaning}", "dim"))
        for problem in own:
            _print(problem, printer)
    printer.line()
    printer.line((_sum(found), "dim"))
    return 0


def _none(found: Problems, kind: str | None) -> str:
    what = "problems" if kind is None else KINDS[kind][0].lower()
    number = len(found.compilations)
    if not number:
        return f"No {what}: this capture has no compilation of a compiler that tells them."
    return f"No {what} in {_several(number, 'compilation')}."


def _several(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def _sum(found: Problems) -> str:
    text = f"{_several(len(found.problems), 'problem')} in {_several(len(found.compilations), 'compilation')}"
    return f"{text}, {duration(found.compiling)} of compiling" if found.compiling > 0 else text


def _print(problem: Problem, printer: Printer) -> None:
    from peephole.cli.views.rewrites import short

    where = f"{short(problem.file)}:{problem.line}" if problem.file else ""
    own = " ".join(filter(None, (problem.group, problem.context_name)))
    printer.line(
        "  ",
        (problem.title, "yellow"),
        f"  {where}" if where else "",
        (f"  {own}" if problem.kind != "recompile" or problem.group else "", "dim"),
        (f"  {duration(problem.cost)}" if problem.cost >= 0 else "", "bold"),
        (f"  {size(problem.bytes)}" if problem.bytes >= 0 else "", "bold"),
    )
    if problem.reason and problem.reason != problem.title:
        _wrapped(problem.reason, printer, "      ", "")
    for hint in problem.hint.splitlines():
        _wrapped(hint, printer, "      hint  ", "green")


def _wrapped(text: str, printer: Printer, indent: str, style: str) -> None:
    width = max(min(printer.width, 120), 40)
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=" " * len(indent)):
        printer.line((line, style))


def _record(problem: Problem) -> dict[str, Any]:
    return {
        "kind": problem.kind,
        "context": problem.context_name,
        "reason": problem.reason,
        "file": problem.file or None,
        "line": problem.line if problem.line >= 0 else None,
        "hint": problem.hint or None,
        "id": problem.id,
        "title": problem.title,
        "function": problem.function or None,
        "group": problem.group or None,
        "bytes": problem.bytes if problem.bytes >= 0 else None,
        "cost_ns": problem.cost if problem.cost >= 0 else None,
        "time_ns": problem.time if problem.time >= 0 else None,
        "wanted": problem.wanted or None,
        "got": problem.got or None,
        "missed": problem.missed or None,
        "others": list(problem.others),
        "stack": [f"{frame.file}:{frame.line} {frame.function}" for frame in problem.stack],
        "link": problem.link or None,
    }
