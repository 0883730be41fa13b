"""`peephole doctor`: what this machine can record and show, and what to install for the rest."""

from __future__ import annotations

import argparse
from typing import Final

from peephole.cli.format import Printer
from peephole.cli.target import add_json

HELP = """Says what this machine can record and show: which frameworks are installed next to this Peephole, in which
version, which compilers and tools they need, and the command that installs what is missing. Programs are recorded with
what is installed in the environment that they run in: ask the doctor there."""

_HEADS: Final = {"record": "Recording", "show": "Looking", "tool": "Tools"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints a line for each part; an absent one is no failure."""
    from peephole.machine import parts

    printer = Printer(args.json)
    found = list(parts())
    if args.json:
        for part in found:
            printer.record(
                {
                    "group": part.group,
                    "name": part.name,
                    "version": part.version,
                    "works": part.works,
                    "gives": part.gives,
                    "get": part.get,
                    "problem": part.problem,
                }
            )
        return 0
    wide = max(len(part.version or "absent") for part in found)
    for group, head in _HEADS.items():
        printer.line((head, "bold"))
        for part in (part for part in found if part.group == group):
            mark = ("✓", "green") if part.works else ("!", "yellow") if part.problem else ("–", "dim")
            printer.line("  ", mark, f" {part.name:<12} {part.version or 'absent':<{wide}}  ", (part.gives, "dim"))
            if part.problem or part.get:
                printer.line(" " * (wide + 19), part.problem or part.get)
    missing = sum(not part.works for part in found)
    printer.line()
    printer.line("Everything is there." if not missing else f"{len(found) - missing} of {len(found)} are there.")
    return 0
