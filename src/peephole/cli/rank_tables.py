"""The tables of `peephole ranks` beside ranks and collectives: steps, idle time, kernels, hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from peephole.cli.format import Column, Printer, count, duration

if TYPE_CHECKING:
    from peephole.query.ranks.balance import Host, Kernel
    from peephole.query.ranks.run import Run

MOST: Final = 20


def more_ranks(number: int, printer: Printer, what: str = "ranks") -> None:
    """Says how many rows are not shown."""
    if number > 0:
        printer.line((f"{count(number)} more {what}: --all shows them", "dim"))


def _columns(*titles: str) -> tuple[Column, ...]:
    """Columns whose first is a name, where it begins with *, and the others figures."""
    return tuple(
        Column(title.lstrip("*"), style="bold" if i == 0 else "", right=not title.startswith("*"),
               flexible=title.startswith("*"))
        for i, title in enumerate(titles)
    )  # fmt: skip


def _recorded(rows: Sequence[Kernel | Host], printer: Printer) -> bool:
    """Whether JSON was asked for, and is printed."""
    if printer.json:
        for row in rows:
            printer.record(asdict(row))
    return printer.json


def print_steps(run: Run, everything: bool, printer: Printer) -> None:
    """The longest steps."""
    from peephole.query.ranks.balance import steps

    rows = steps(run)
    if printer.json:
        for row in rows:
            printer.record({**asdict(row), "slow_ranks": list(row.slow_ranks)})
        return
    shown = rows if everything else rows[:MOST]
    columns = _columns(
        "step", "length", "own, median", "slowest rank", "its own", "wait, mean", "exposed, mean", "*slow"
    )
    cells = [
        (
            str(row.step),
            duration(row.dur_ns),
            duration(row.own_ns),
            str(row.slowest_rank),
            duration(row.slowest_ns),
            duration(row.wait_ns),
            duration(row.exposed_ns),
            ", ".join(f"rank {rank}" for rank in row.slow_ranks[:4]) + (" …" if len(row.slow_ranks) > 4 else ""),
        )
        for row in shown
    ]
    printer.table(columns, cells)
    more_ranks(len(rows) - len(shown), printer, "steps")


def print_idle(run: Run, step: int | None, everything: bool, printer: Printer) -> None:
    """Idle time by rank and cause."""
    from peephole.query.ranks.balance import idle

    rows, causes = idle(run, step)
    if printer.json:
        for row in rows:
            printer.record({"rank": row.rank, "idle_ns": row.idle_ns, "causes": row.causes})
        return
    shown = rows if everything else rows[:MOST]
    cells = [
        (str(row.rank), duration(row.idle_ns), *(duration(row.causes.get(cause, 0)) for cause in causes))
        for row in shown
    ]
    printer.table(_columns("rank", "idle", *causes), cells)
    more_ranks(len(rows) - len(shown), printer)


def print_kernels(run: Run, everything: bool, printer: Printer) -> None:
    """Kernels, the most uneven first."""
    from peephole.query.ranks.balance import kernels

    rows = kernels(run)
    if _recorded(rows, printer):
        return
    shown = rows if everything else rows[:MOST]
    cells = [
        (
            row.name,
            str(row.ranks),
            count(row.count),
            duration(row.median_ns),
            f"rank {row.most_rank}",
            duration(row.most_ns),
            f"+{row.over_ns / row.median_ns:.0%}" if row.median_ns else "",
        )
        for row in shown
    ]
    printer.table(_columns("*kernel", "ranks", "runs", "median", "most", "its time", "over"), cells)
    more_ranks(len(rows) - len(shown), printer, "kernels")


def print_hosts(run: Run, everything: bool, printer: Printer) -> None:
    """Machines, the slowest first."""
    from peephole.query.ranks.balance import hosts

    rows = hosts(run)
    if _recorded(rows, printer):
        return
    shown = rows if everything else rows[:MOST]
    cells = [
        (
            row.host,
            str(row.ranks),
            ("+" if row.over_ns >= 0 else "-") + duration(abs(row.over_ns)),
            duration(row.wait_ns),
            duration(row.caused_ns),
            count(row.slow_steps),
            "stands out" if row.outlier else "",
        )
        for row in shown
    ]
    titles = ("*host", "ranks", "own over median", "waited, mean", "others waited for it", "slow steps", "*")
    printer.table(_columns(*titles), cells)
    more_ranks(len(rows) - len(shown), printer, "hosts")
