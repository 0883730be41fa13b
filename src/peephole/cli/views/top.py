"""`show -t`: the names that took most time, devices and host code each by themselves."""

from __future__ import annotations

from collections.abc import Collection

from peephole.cli.args_text import describe_args
from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.views import Request
from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.query.capture.info import sampled
from peephole.query.capture.names import missing
from peephole.query.timeline.rates import rates
from peephole.query.timeline.top import Top, TopRow, top
from peephole.query.timeline.track_groups import DEVICES
from peephole.store.capture import Capture


def show_top(capture: Capture, request: Request, chosen: Collection[int] | None, printer: Printer) -> None:
    """Prints the sums of the names of those tracks; PeepholeError with the nearest name for one that is not there."""
    limit = None if request.items or request.top is None or request.top < 0 else request.top
    result = top(capture, limit, chosen, request.interval, apart=True)
    wanted = set(request.items)
    rows = [row for row in result.rows if not wanted or plain(row.name) in wanted or row.label in wanted]
    if request.items and not rows:
        raise missing(request.items[0], dict.fromkeys(row.name for row in result.rows), "item")
    rated = rates(capture, {row.name for row in rows if not row.serial}, chosen, request.interval, apart=True)
    speeds = {(row.track, row.label): row.rates if row.serial else rated.get((row.track, row.name), {}) for row in rows}
    others = bool(result.other_names and not request.items)
    if printer.json:
        _records(result, rows, speeds, others, printer)
        return
    groups = list(dict.fromkeys(sorted((row.group for row in rows), key=lambda group: group != DEVICES)))
    for group in groups:
        if len(groups) > 1:
            if group is not groups[0]:
                printer.line()
            printer.line((group, "bold"))
        _table([row for row in rows if row.group == group], speeds, printer)
    if others:
        spent = f"{duration(result.other_self)} by themselves in {count(result.other_count)} slices"
        printer.line((f"and {count(result.other_names)} others, {spent}", "dim"))
    for words in sampled(capture):
        printer.line((words, "dim"))


def _table(rows: list[TopRow], speeds: dict[tuple[str, str], dict[str, float]], printer: Printer) -> None:
    fast = any(speeds[row.track, row.label] for row in rows)
    nested = any(row.self != row.total for row in rows)
    columns = (
        Column("track", flexible=True),
        Column("name", style="bold", flexible=True),
        Column("total", right=True, style="yellow"),
        Column("share", right=True),
        *((Column("self", right=True, style="yellow"),) if nested else ()),
        Column("count", right=True),
        Column("mean", right=True),
        Column("longest", right=True),
        *((Column("speed", style="dim", flexible=True),) if fast else ()),
    )
    printer.table(
        columns,
        [
            (
                row.track,
                row.label,
                duration(row.total),
                f"{row.share:.2%}",
                *((duration(row.self),) if nested else ()),
                count(row.count),
                duration(row.mean),
                duration(row.longest),
                *((describe_args(speeds[row.track, row.label]),) if fast else ()),
            )
            for row in rows
        ],
    )


def _records(
    result: Top,
    rows: list[TopRow],
    speeds: dict[tuple[str, str], dict[str, float]],
    others: bool,
    printer: Printer,
) -> None:
    for row in rows:
        printer.record(
            {
                "track": row.track,
                "name": row.label,
                "total_ns": row.total,
                "self_ns": row.self,
                "count": row.count,
                "share": round(row.share, 6),
                "mean_ns": round(row.mean),
                "min_ns": row.shortest,
                "max_ns": row.longest,
                "context": None if row.context == NONE else row.context,
                **{key: round(value) for key, value in speeds[row.track, row.label].items()},
            }
        )
    if others:
        share = result.other_self / result.total if result.total else 0.0
        other = {"other_names": result.other_names, "total_ns": result.other_total, "self_ns": result.other_self}
        printer.record({**other, "count": result.other_count, "share": round(share, 6)})
