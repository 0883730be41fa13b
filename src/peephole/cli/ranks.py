"""`peephole ranks`: who made everybody wait, in a run of many ranks."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Column, Printer, count, duration, problem_lines, size
from peephole.cli.rank_tables import MOST, more_ranks, print_hosts, print_idle, print_kernels, print_steps
from peephole.cli.target import add_json, add_target, open_target
from peephole.errors import PeepholeError

if TYPE_CHECKING:
    from peephole.query.ranks.critical_path import Leg
    from peephole.query.ranks.run import Rank, Run

HELP = """\
Says of a run of many ranks who made everybody wait, when, and how much: ranks with the least wait first (others wait
for them), their slow steps, how far communication was hidden behind computing, and how well their clocks are known.

  peephole import ranks/*.json.gz -o run     a run of all ranks' traces
  peephole ranks run                         who was slow
  peephole ranks run --steps                 the longest steps
  peephole ranks run --step 4                a step: each rank's own time, the path that took longest
  peephole ranks run --collectives           each collective: who came last, by how much
  peephole ranks run --idle                  idle time of each rank, by cause; with --step N of one step
  peephole ranks run --kernels               kernels that some ranks run longer than others
  peephole ranks run --hosts                 machines whose ranks are slower than the others'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument("--step", type=int, metavar="N", help="one training step")
    parser.add_argument("--group", metavar="G", help="only ranks and collectives of this process group")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--collectives", action="store_true", help="the collectives, instead of the ranks")
    what.add_argument("--steps", action="store_true", help="the steps, the longest first")
    what.add_argument("--idle", action="store_true", help="idle time of each rank, by cause")
    what.add_argument("--kernels", action="store_true", help="kernels, the most uneven first")
    what.add_argument("--hosts", action="store_true", help="machines, the slowest first")
    parser.add_argument("--all", action="store_true", help=f"all rows, not the first {MOST}")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the answer."""
    from peephole.query.ranks.run import open_run

    _check(args)
    found = open_run(open_target(args.capture))
    printer = Printer(args.json)
    if args.collectives:
        _collectives(found, args, printer)
    elif args.steps:
        print_steps(found, args.all, printer)
    elif args.idle:
        print_idle(found, args.step, args.all, printer)
    elif args.kernels:
        print_kernels(found, args.all, printer)
    elif args.hosts:
        print_hosts(found, args.all, printer)
    elif args.step is not None:
        _step(found, args, printer)
    else:
        _ranks(found, args, printer)
    return 0


def _check(args: argparse.Namespace) -> None:
    """PeepholeError where a step or a group is asked for that the answer would not be about."""
    what = next((name for name in ("steps", "idle", "kernels", "hosts") if getattr(args, name)), "")
    if what and args.group is not None:
        raise PeepholeError(f"--group does not go with --{what}: a group has collectives and ranks that wait in them.")
    if what not in ("", "idle") and args.step is not None:
        raise PeepholeError(
            f"--step does not go with --{what}, which is about the whole run; it goes with --collectives and --idle."
        )


def _ranks(found: Run, args: argparse.Namespace, printer: Printer) -> None:
    from peephole.query.ranks.groups import ranks_in_group

    rows = found.ranks() if args.group is None else ranks_in_group(found, args.group)
    if args.json:
        for row in rows:
            printer.record(_rank_record(row))
        return
    _summary(found, rows, args.group, printer)
    columns = (
        Column("rank", right=True, style="bold"),
        Column("host", flexible=True),
        Column("waited", right=True),
        Column("last", right=True),
        Column("others waited for it", right=True),
        Column("busy", right=True),
        Column("communication", right=True),
        Column("exposed", right=True),
        Column("hidden", right=True),
        Column("clock", right=True),
        Column("slow steps", flexible=True),
    )
    shown = rows if args.all else rows[:MOST]
    hosts = len({row.host for row in rows})
    printer.table(columns, [_cells(row, hosts) for row in shown])
    more_ranks(len(rows) - len(shown), printer)
    problem_lines(printer, found.problems)


def _summary(found: Run, rows: list[Rank], group: str | None, printer: Printer) -> None:
    """The verdict, first."""
    slow = [row for row in sorted(rows, key=lambda row: -row.caused_ns) if row.slow_steps]
    steps = len(set(found.tables["rank_steps"].ints("step").tolist()))
    names = found.tables["collectives"]["group"]
    number = len(names) if group is None else sum(name == group for name in names)
    where = "" if group is None else f" of group {group}"
    words = ((len(rows), "rank"), (steps, "step"), (number, "collective"))
    printer.line(", ".join(f"{count(many)} {what}{'' if many == 1 else 's'}" for many, what in words) + where)
    if not number:
        clocks = "the ranks' clocks are not aligned, and " if len({row.host for row in rows}) > 1 else ""
        printer.line((f"No collective is shared: {clocks}nobody is seen to wait.", "yellow"))
    elif slow:
        named = ", ".join(f"rank {row.rank} in {_steps(row.slow_steps)}" for row in slow[:4])
        more = f" and {len(slow) - 4} more ranks" if len(slow) > 4 else ""
        printer.line(("slow: ", "dim"), (named + more, "bold"))
    else:
        printer.line("No rank was slow in a step: nobody came late by a fifth of it.")
    printer.line()


def _steps(steps: tuple[int, ...]) -> str:
    if len(steps) > 6:
        return f"{len(steps)} steps ({steps[0]} … {steps[-1]})"
    return f"step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}"


def _cells(row: Rank, hosts: int) -> tuple[str, ...]:
    hidden = f"{row.overlap_ns / row.communication_ns:.0%}" if row.communication_ns else ""
    clock = (
        "?"
        if row.bound_ns < 0
        else ("same host" if hosts == 1 else "the run's")
        if not row.bound_ns
        else f"{_signed(row.offset_ns)} ± {duration(row.bound_ns)}"
    )
    slow = ", ".join(map(str, row.slow_steps[:8])) + (" …" if len(row.slow_steps) > 8 else "")
    exposed = row.communication_ns - row.overlap_ns
    times = tuple(map(duration, (row.caused_ns, row.busy_ns, row.communication_ns, exposed)))
    return (str(row.rank), row.host, duration(row.wait_ns), str(row.last), *times, hidden, clock, slow)


def _signed(ns: int) -> str:
    return ("+" if ns >= 0 else "-") + duration(abs(ns))


def _rank_record(row: Rank) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "host": row.host,
        "offset_ns": row.offset_ns,
        "bound_ns": row.bound_ns,
        "wait_ns": row.wait_ns,
        "last": row.last,
        "busy_ns": row.busy_ns,
        "communication_ns": row.communication_ns,
        "overlap_ns": row.overlap_ns,
        "slow_steps": list(row.slow_steps),
        "caused_ns": row.caused_ns,
        "drift": row.drift,
        "slices": row.slices,
        "computes_on": row.computes_on,
    }


_COLLECTIVE = ("index", "group", "name", "step", "last_rank", "skew_ns", "latency_ns", "bytes", "caused_ns", "ranks")


def _collectives(found: Run, args: argparse.Namespace, printer: Printer) -> None:
    table = found.tables["collectives"]
    rows = [
        dict(zip(_COLLECTIVE, values, strict=True))
        for values in zip(*(_list(table[n]) for n in _COLLECTIVE), strict=True)
    ]
    for asked, key in ((args.step, "step"), (args.group, "group")):
        if asked is not None and rows and all(row[key] != asked for row in rows):
            raise PeepholeError(f"No collective that ranks share is of {key} {asked}; `--collectives` alone shows all.")
        rows = [row for row in rows if asked in (None, row[key])]
    if args.json:
        for row in rows:
            printer.record(row)
        return
    worst = sorted(rows, key=lambda row: -row["skew_ns"])
    shown = rows if args.all else sorted(worst[:MOST], key=lambda row: row["index"])
    columns = (
        Column("#", right=True),
        Column("collective", style="bold", flexible=True),
        Column("group", flexible=True),
        Column("step", right=True),
        Column("bytes", right=True),
        Column("last", right=True),
        Column("skew", right=True),
        Column("latency", right=True),
    )
    cells = [
        (
            str(row["index"]),
            row["name"],
            row["group"],
            str(row["step"]) if row["step"] >= 0 else "",
            size(row["bytes"]) if row["bytes"] >= 0 else "",
            f"rank {row['last_rank']}" if row["last_rank"] >= 0 else "",
            duration(row["skew_ns"]),
            duration(row["latency_ns"]),
        )
        for row in shown
    ]
    printer.table(columns, cells)
    if len(shown) < len(rows):
        printer.line((f"the {len(shown)} with the largest skew of {count(len(rows))}: --all shows them", "dim"))


def _list(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


_STEP = ("rank", "start_ns", "dur_ns", "busy_ns", "communication_ns", "overlap_ns", "wait_ns", "own_ns", "slow")


def _step(found: Run, args: argparse.Namespace, printer: Printer) -> None:
    from peephole.query.ranks.critical_path import named_path
    from peephole.query.ranks.groups import waits_in_step
    from peephole.query.ranks.rank_slices import mostly
    from peephole.query.ranks.run import step_rows

    path = named_path(found, args.step, mostly)
    table = found.tables["rank_steps"]
    mine = step_rows(found, args.step)
    rows = [
        dict(zip(_STEP, values, strict=True)) for values in zip(*(_list(table[n][mine]) for n in _STEP), strict=True)
    ]
    if args.group is not None:
        waits = waits_in_step(found, args.step, args.group)
        rows = [row | {"wait_ns": waits[row["rank"]]} for row in rows if row["rank"] in waits]
        rows = [row | {"own_ns": row["dur_ns"] - row["wait_ns"]} for row in rows]
    rows.sort(key=lambda row: -row["own_ns"])
    if args.json:
        for row in rows:
            printer.record({"step": args.step, **row})
        for leg in path:
            facts = asdict(leg)
            facts["dur_ns"] = facts.pop("end_ns") - leg.start_ns
            facts["waited_ns"] = facts.pop("waited_for_ns")
            printer.record({"path": facts.pop("kind"), **facts})
        return
    columns = (
        Column("rank", right=True, style="bold"),
        Column("own time", right=True),
        Column("waited", right=True),
        Column("length", right=True),
        Column("busy", right=True),
        Column("communication", right=True),
        Column(""),
    )
    shown = rows if args.all else rows[:MOST]
    names = ("own_ns", "wait_ns", "dur_ns", "busy_ns", "communication_ns")
    cells = [(str(r["rank"]), *(duration(r[name]) for name in names), "slow" if r["slow"] else "") for r in shown]
    printer.table(columns, cells)
    more_ranks(len(rows) - len(shown), printer)
    printer.line()
    printer.line(("The path that took longest", "bold"))
    _path(path, printer)


def _path(path: list[Leg], printer: Printer) -> None:
    first = path[0].start_ns if path else 0
    columns = (
        Column("at", right=True),
        Column("rank", right=True, style="bold"),
        Column("took", right=True),
        Column("what", flexible=True),
        Column("", style="dim"),
    )
    rows = []
    for leg in path:
        what = leg.name if leg.kind == "collective" else f"computes, mostly {leg.name}" if leg.name else "computes"
        waited = f"waited {duration(leg.waited_for_ns)} for rank {leg.waited_for}" if leg.waited_for_ns else ""
        took = duration(leg.end_ns - leg.start_ns)
        rows.append((f"+{duration(leg.start_ns - first)}", str(leg.rank), took, what, waited))
    printer.table(columns, rows)
