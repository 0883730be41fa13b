"""Making a run of many ranks from the terminal: how far each rank is, and what came of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.cli.format import Printer, count, duration, problem_lines

if TYPE_CHECKING:
    from peephole.fleet.rank_task import RankDone
    from peephole.fleet.run import Told


def add_rank_options(parser: argparse.ArgumentParser) -> None:
    """Declares how the ranks of a run are worked on."""
    parser.add_argument("--scheduler", metavar="ADDRESS", help="import ranks on the Dask cluster of this scheduler")
    parser.add_argument("--progress", action="store_true", help="a line for each rank when it is done, on stderr")


def import_ranks(given: Sequence[str], out: str | Path, args: argparse.Namespace) -> int:
    """Makes a run or adds to one, and says who is in it."""
    from peephole.cli.target import open_target
    from peephole.fleet.run import make_run
    from peephole.query.ranks.run import open_run

    told, there = rank_progress(args.progress), 0

    def heard(one: RankDone, done: int, of: int) -> None:
        nonlocal there
        there += one.there
        told(one, done, of)

    make_run(given, out, heard, args.scheduler, args.force)
    found = open_run(open_target(str(out)))
    ranks, printer = found.ranks(), Printer(args.json)
    if args.json:
        problems = [{"reason": reason, "count": number} for reason, number, _ in found.problems]
        rows = {name: len(table) for name, table in found.tables.items()}
        printer.record({"path": str(out), "source": "ranks", "tables": rows, "there": there, "problems": problems})
        return 0
    rows_of = f"{sum(rank.slices for rank in ranks):,} slices"
    held = (
        f"{len(ranks)} rank{'s' * (len(ranks) != 1)}, {rows_of}, {count(len(found.tables['collectives']))} collectives"
    )
    printer.line((str(out), "bold"), f": {held}; who was slow: peephole ranks {out}")
    if there:
        printer.line(f"{count(there)} already there")
    problem_lines(printer, found.problems)
    return 0


def rank_progress(lines: bool) -> Told:
    """Says on stderr how far the ranks are: one line that changes, or one for each rank."""
    begun = time.monotonic()
    again = 0
    live = sys.stderr.isatty() and not lines

    def told(one: RankDone, done: int, of: int) -> None:
        nonlocal again
        again += one.tries > 1
        ranks = ", ".join(f"rank {s.rank}" for s in one.summaries[:3] if s.rank >= 0) or Path(one.path).name
        if lines:
            what = (
                one.problem
                or ("already there" if one.there else "")
                or f"{count(sum(s.slices for s in one.summaries))} slices in {duration(one.dur_ns)}"
            )
            tries = f", tried {one.tries} times" if one.tries > 1 else ""
            print(f"{done} of {of}  {ranks}: {what}{tries} ({one.worker})", file=sys.stderr, flush=True)
        elif live and (time.monotonic() - begun > 1 or done == of):
            more = f", {again} tried again" if again else ""
            end = "\n" if done == of and time.monotonic() - begun > 1 else ""
            text = f"{done} of {of} ranks{more}: {ranks} in {duration(one.dur_ns)}"
            print(f"\r{text[:100]:<100}", end=end, file=sys.stderr, flush=True)

    return told
