"""`peephole fleet`: what became of each file of a run of many ranks, and the same work once more."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.cli.format import Column, Printer, count, duration, problem_lines
from peephole.cli.rank_import import add_rank_options, import_ranks
from peephole.cli.target import add_json, add_target, open_target
from peephole.errors import PeepholeError
from peephole.model.urls import is_remote

if TYPE_CHECKING:
    from peephole.query.ranks.inputs import Input

HELP = """\
Says of a run of many ranks what became of each file that it was made of: its ranks, which machine read it, how long
that took and how often it was tried, and why a file is not part of the run.

  peephole fleet run                  each file
  peephole fleet run --retry          reads again what could not be read
  peephole fleet run --again          makes all of the run anew
  peephole fleet run --again --scheduler tcp://HOST:8786

The last is done on a Dask cluster, a task for each rank, tried again where a worker is lost; so is
`peephole import FILES… --scheduler ADDRESS`."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--retry", action="store_true", help="read what could not be read once more")
    which.add_argument("--again", action="store_true", help="read all files once more and make the run anew")
    add_rank_options(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the files, or works on them again."""
    from peephole.query.ranks.inputs import inputs_of
    from peephole.query.ranks.run import open_run

    capture = open_target(args.capture)
    found = open_run(capture)
    inputs = inputs_of(found)
    if args.scheduler and not (args.retry or args.again):
        raise PeepholeError(
            "--scheduler needs something to do: --retry for what could not be read, or --again for all."
        )
    if not (args.retry or args.again):
        _show(inputs, found.problems, Printer(args.json))
        return 0
    chosen = [one.path for one in inputs if args.again or one.state == "not read"]
    if not inputs:
        raise PeepholeError(f"{capture.name} is one capture of all its ranks: there is nothing to read again.")
    if not chosen:
        Printer(args.json).line("All files of the run were read; --again reads them once more.")
        return 0
    args.force = args.again
    word = str(args.capture[0]) if args.capture else ""
    return import_ranks(chosen, word if is_remote(word) else Path(capture.path), args)


def _show(inputs: list[Input], problems: tuple[tuple[str, int, str], ...], printer: Printer) -> None:
    if printer.json:
        for one in inputs:
            printer.record(
                {
                    "path": one.path,
                    "state": one.state,
                    "ranks": list(one.ranks),
                    "worker": one.worker,
                    "tries": one.tries,
                    "dur_ns": one.dur_ns,
                    "slices": one.slices,
                    "problem": one.problem,
                }
            )
        return
    workers = {one.worker for one in inputs if one.worker}
    spent = sum(one.dur_ns for one in inputs)
    bad = [one for one in inputs if one.state != "read"]
    printer.line(
        f"{_many(len(inputs), 'file')} by {_many(len(workers), 'worker')} in {duration(spent)} of their time, "
        f"{count(sum(one.tries > 1 for one in inputs))} tried again, {count(len(bad))} not part of the run"
    )
    printer.line()
    columns = (
        Column("ranks", right=True, style="bold"),
        Column("file", flexible=True),
        Column("slices", right=True),
        Column("took", right=True),
        Column("tries", right=True),
        Column("worker"),
        Column("", flexible=True),
    )
    rows = [
        (
            ", ".join(map(str, one.ranks[:4])) + (" …" if len(one.ranks) > 4 else ""),
            one.path.rstrip("/").rpartition("/")[2],
            count(one.slices),
            duration(one.dur_ns),
            str(one.tries),
            one.worker,
            one.problem if one.state == "read" else f"{one.state}: {one.problem}",
        )
        for one in inputs
    ]
    printer.table(columns, rows)
    problem_lines(printer, problems)


def _many(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'s' * (number != 1)}"
