"""`peephole notes`: what readers have pinned to a capture."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.target import add_json, add_target, open_target

if TYPE_CHECKING:
    from peephole.query.capture.notes import PlacedNote

HELP = """Lists the notes of a capture, oldest first: texts that a reader of the page has pinned to a slice, a range, a
match or a node. They are kept in notes.json in the capture's folder, and in the file that `peephole pack` makes."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints a line for each note."""
    from peephole.query.capture.notes import notes

    found = notes(open_target(args.capture))
    printer = Printer(args.json)
    if args.json:
        for placed in found:
            note = placed.note
            printer.record(
                {
                    "id": note.id,
                    "kind": note.kind,
                    "label": note.label,
                    "text": note.text,
                    "created": note.created,
                    "at": note.at,
                    "view": placed.view,
                    "params": placed.params,
                }
            )
        return 0
    if not found:
        printer.line("There are no notes; the page pins them: choose something in it, then Notes in the bar.")
        return 0
    printer.table(
        [
            Column("id", style="dim"),
            Column("on", style="dim"),
            Column("what", style="bold", flexible=True),
            Column("where"),
            Column("note", flexible=True),
        ],
        [(one.note.id, one.note.kind, one.note.label, _where(one), one.note.text) for one in found],
    )
    return 0


def _where(placed: PlacedNote) -> str:
    at = placed.note.at
    if placed.note.kind == "range":
        return f"at {duration(int(placed.params['r0']))}, {duration(at['end'] - at['start'])} long"
    if placed.note.kind == "slice":
        return duration(at["dur"]) if placed.view else "gone"
    return f"step {at['step']}, match {count(at['match'])}"
