"""`peephole rules`: which rewrite rules fired, how often, how long they took."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.target import add_json, add_target, open_target

if TYPE_CHECKING:
    from peephole.query.rewrites.passes import PassStats
    from peephole.query.rewrites.rules import RuleStats

HELP = """Lists the rewrite rules that fired: how often, their total and mean time, in how many contexts; the slowest
first (--sort matches: the most frequent first). Where the recording counted it, also how often a rule matched and then
changed nothing, and how long that took. Where passes recorded their graphs before and after, each pass too: how often
it ran, how often it changed something, how many instructions."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument("--sort", choices=("time", "matches"), default="time", help="what comes first (default: time)")
    parser.add_argument("-n", type=int, metavar="N", help="at most N rules")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints a line for each rule."""
    from peephole.cli.views.rewrites import short
    from peephole.query.capture.contexts import contexts
    from peephole.query.rewrites.passes import pass_stats
    from peephole.query.rewrites.rules import rules

    capture = open_target(args.capture)
    found, passes = rules(capture), pass_stats(capture)
    if args.sort == "matches":
        found.sort(key=lambda rule: -rule.matches)
    if args.n is not None and args.n >= 0:
        found, passes = found[: args.n], passes[: args.n]
    printer = Printer(args.json)
    if args.json:
        names = {context.id: context.name for context in contexts(capture)}
        for rule in found:
            printer.record(
                {
                    "file": rule.file,
                    "line": rule.line,
                    "source": rule.source,
                    "matches": rule.matches,
                    "total_ns": rule.total_ns,
                    "mean_ns": round(rule.mean_ns),
                    "contexts": [names.get(number, str(number)) for number in rule.contexts],
                    "in_vain": rule.in_vain,
                    "in_vain_ns": rule.in_vain_ns,
                }
            )
        for one in passes:
            printer.record(
                {
                    "pass": one.name,
                    "runs": one.runs,
                    "changed": one.changed,
                    "instructions": one.instructions,
                    "added": one.added,
                    "removed": one.removed,
                    "altered": one.altered,
                    "order_or_origin_only": one.only,
                    "contexts": [names.get(number, str(number)) for number in one.contexts],
                }
            )
        return 0
    if passes:
        _print_passes(passes, printer)
    if passes and not found:
        return 0
    if not found:
        printer.line(("No rule fired in this capture.", "dim"))
        return 0
    vain = any(rule.in_vain for rule in found)
    printer.table(
        [
            Column("matches", right=True),
            Column("total", right=True, style="yellow"),
            Column("mean", right=True),
            Column("contexts", right=True),
            *([Column("in vain", right=True)] if vain else []),
            Column("rule", style="bold"),
            Column("source", style="dim", flexible=True),
        ],
        [
            (
                count(rule.matches),
                duration(rule.total_ns) if rule.total_ns else "–",
                duration(rule.mean_ns) if rule.total_ns else "–",
                count(len(rule.contexts)),
                *([_in_vain(rule)] if vain else []),
                f"{short(rule.file)}:{rule.line}" if rule.file is not None else "no rule is known of these",
                rule.source or "",
            )
            for rule in found
        ],
    )
    return 0


def _in_vain(rule: RuleStats) -> str:
    """How often it matched and changed nothing, and how long that took where it is known."""
    took = f", {duration(rule.in_vain_ns)}" if rule.in_vain_ns else ""
    return f"{count(rule.in_vain)}{took}" if rule.in_vain else "–"


def _print_passes(passes: list[PassStats], printer: Printer) -> None:
    columns = ("runs", "changed", "instructions", "added", "removed", "altered", "contexts")
    printer.table(
        [*(Column(name, right=True) for name in columns), Column("pass", style="bold", flexible=True)],
        [
            (
                count(one.runs),
                count(one.changed),
                count(one.instructions),
                count(one.added),
                count(one.removed),
                count(one.altered),
                count(len(one.contexts)),
                one.name,
            )
            for one in passes
        ],
    )
    printer.line()
