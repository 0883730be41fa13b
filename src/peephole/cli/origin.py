"""`peephole origin`: from a kernel to the lines of the program that it came from, and back."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Column, Printer, cells, fit
from peephole.cli.target import add_json, add_target, not_a_capture, open_target
from peephole.errors import PeepholeError
from peephole.model.natural import whole_number

if TYPE_CHECKING:
    from peephole.compilers.answers import Operation, Origin
    from peephole.query.rewrites.chains import ChainLink
    from peephole.store.capture import Capture

HELP = """Says which lines and tensor operations of the program a kernel came from, for every place in a schedule at
which it runs; given FILE:LINE, which kernels compute something of that line; given an instruction of a graph
(`addmm_1`), the chain from the program's line over the graphs, rules and passes into a fusion and to the kernels that
compute it; given an operation of the program (`softmax`), the kernels that compute it.

With --lines the kernel's source is printed with the op that wrote each line, the pass and match in which that op
appeared, its rule, and the tensor operations that the line computes."""

INTERMIXED = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "what",
        metavar="KERNEL|FILE:LINE|NODE",
        help="a kernel's name, a line as in prog.py:4, or the name of an instruction or operation",
    )
    add_target(parser)
    parser.add_argument("--lines", action="store_true", help="the origin of each line of the kernel's source")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the answer."""
    not_a_capture(args.what, "peephole origin KERNEL CAPTURE")
    capture = open_target(args.capture)
    printer = Printer(args.json)
    line = re.fullmatch(r".+:\d+", args.what)
    if args.lines:
        if line:
            raise PeepholeError("--lines is about a kernel's source: name the kernel instead of a line of the program.")
        return _lines(capture, args.what, printer)
    return _from_line(capture, args.what, printer) if line else _from_kernel(capture, args.what, printer)


def _from_kernel(capture: Capture, name: str, printer: Printer) -> int:
    from peephole.query.capture.context_lookup import find_context
    from peephole.query.rewrites.chains import chains_of, made_of
    from peephole.query.rewrites.origins import computing, origins

    try:
        context = find_context(capture, name)
    except PeepholeError:
        if places := chains_of(capture, name):
            return _chains(capture, name, places, printer)
        if not (kernels := computing(capture, name)):
            raise
        _print(capture, kernels, printer)
        return 0
    found = origins(capture, context.id)
    if not found:
        raise PeepholeError(f"No schedule of this capture runs {context.name}, so where it came from is not known.")
    _print(capture, found, printer, inside=made_of(capture, context.id))
    return 0


_STAGES = {
    "line": "line",
    "dynamo": "the program's graph",
    "traced": "traced into",
    "rule": "rule",
    "pass": "pass",
    "lowered": "in the code's graph",
    "fused": "inside the fusion",
    "kernel": "kernel",
}


def _chains(capture: Capture, name: str, places: list[tuple[int, int]], printer: Printer) -> int:
    """Prints where instructions of a name come from and what computes them, one chain for each graph."""
    from peephole.compilers.traces import trace_of
    from peephole.query.rewrites.chains import chain
    from peephole.query.rewrites.step_graphs import step_name

    trace = trace_of(capture)
    for step, node in places:
        context = trace.numbered_names.get(trace.number("context", trace.step_row(step)), "")
        links = chain(capture, step, node)
        if printer.json:
            kept = ("stage", "name", "op", "step", "match", "node", "line", "source")
            told = [{key: getattr(link, key) for key in kept} for link in links]
            printer.record({"node": name, "id": node, "context": context, "step": step, "links": told})
            continue
        printer.line((name, "bold"), (f"  {step_name(trace, step)} of {context}", "dim"))
        if not links:
            printer.line("  nothing is recorded of where it comes from, and no kernel computes it")
        _links(links, printer)
    return 0


def _links(links: Sequence[ChainLink], printer: Printer) -> None:
    rows, before = [], ""
    for link in links:
        stage = _STAGES[link.stage]
        what = " ".join(part for part in (link.name, link.op) if part)
        what = f"{_short(link.line)}  {what}" if link.line and link.stage in ("line", "rule") else what
        rows.append(("  " + (stage if stage != before else ""), what, (link.source or "").strip()))
        before = stage
    columns = [Column("", style="dim"), Column("", style="bold"), Column("", style="dim", flexible=True)]
    printer.table(columns, rows, header=False)


def _from_line(capture: Capture, line: str, printer: Printer) -> int:
    from peephole.query.rewrites.origins import all_origins, is_line, kernels_of

    found = kernels_of(capture, line)
    if not found:
        known = sorted({made.line for one in all_origins(capture) for made in one.operations if made.line})
        if not known:
            known = sorted({one.realized_at for one in all_origins(capture) if one.realized_at})
        file, _, number = line.rpartition(":")
        same = [place for place in known if place.rpartition(":")[0].endswith(file)] or known
        nearest = sorted(same, key=lambda place: abs(_order(place)[2] - whole_number(number)))[:8]
        places = ", ".join(_short(place) for place in sorted(nearest, key=_order)) + (", …" if len(same) > 8 else "")
        hint = f"lines that kernels came from: {places}" if known else "it holds no kernel whose origin is known"
        raise PeepholeError(f"No kernel of this capture came from {line}; {hint}.")
    _print(capture, found, printer, only=lambda made: is_line(made.line, line))
    return 0


def _print(
    capture: Capture,
    found: list[Origin],
    printer: Printer,
    only: Any = None,
    inside: Sequence[ChainLink] = (),
) -> None:
    from peephole.query.rewrites.schedules import schedule_contexts

    names = dict(schedule_contexts(capture))
    for one in found:
        operations = [made for made in one.operations if only is None or only(made)]
        if printer.json:
            printer.record(
                {
                    "kernel": one.name,
                    "schedule": names.get(one.schedule, ""),
                    "index": one.index,
                    "realized_at": one.realized_at,
                    "realized_source": one.realized_source,
                    "operations": [_operation(made) for made in operations],
                    **({"instructions": [_instruction(link) for link in inside]} if inside else {}),
                }
            )
            continue
        place = f"  #{one.index} of {names.get(one.schedule, '')}" if one.schedule >= 0 else ""
        printer.line((one.name, "bold"), (place, "dim"))
        if one.realized_at:
            said = f"  realized at  {_short(one.realized_at)}  "
            source = fit(one.realized_source or "", printer.width - cells(said))
            printer.line((said[:15], "dim"), said[15:], (source, "dim"))
        by_line: dict[tuple[str | None, str | None], list[str]] = {}
        for made in operations:
            by_line.setdefault((made.line, made.source), []).append(made.name)
        rows = [
            ("  " + (_short(line) if line else "line unknown"), ", ".join(made), source or "")
            for (line, source), made in sorted(by_line.items(), key=lambda item: _order(item[0][0]))
        ]
        columns = [Column("", style="cyan"), Column("", style="bold"), Column("", style="dim", flexible=True)]
        printer.table(columns, rows, header=False)
        _links(inside, printer)


def _instruction(link: ChainLink) -> dict[str, Any]:
    return {key: getattr(link, key) for key in ("stage", "name", "op", "step", "node")}


def _lines(capture: Capture, name: str, printer: Printer) -> int:
    from peephole.cli.views.rewrites import short
    from peephole.query.capture.context_lookup import find_context
    from peephole.query.rewrites.origins import line_origins, source_lines

    context = find_context(capture, name)
    found = line_origins(capture, context.id, operations=True)
    if found.artifact < 0:
        raise PeepholeError(f"{context.name} left no source in this capture.")
    operations = found.operations or []
    rows: list[tuple[str, ...]] = []
    before = None
    for origin, text in zip(found.lines, source_lines(capture, found.artifact), strict=True):
        made = [operations[i] for i in origin.operations]
        rule = origin.rule
        if printer.json:
            printer.record(
                {
                    "kernel": context.name,
                    "line": origin.line,
                    "text": text,
                    "kind": origin.kind,
                    "ops": origin.ops,
                    "node": origin.node if origin.node >= 0 else None,
                    "step": origin.step_name or None,
                    "match": origin.match or None,
                    "rule": None if rule is None else {"file": rule.file, "line": rule.line, "source": rule.source},
                    "operations": [{"name": one.name, "line": one.line} for one in made],
                }
            )
            continue
        where = f"{short(rule.file)}:{rule.line}" if rule else ""
        place = f"{origin.step_name} {origin.match}  {where}" if rule else "in the AST" if origin.node >= 0 else ""
        lines = dict.fromkeys(f"{one.name} {_short(one.line)}" if one.line else one.name for one in made)
        # the rule is printed where it changes
        shown = "" if place == before and place else place
        before = place or before
        rows.append((str(origin.line), text, " ".join(origin.ops[:1]), shown, ", ".join(lines)))
    if not printer.json:
        columns = [
            Column("line", right=True, style="dim"),
            Column("source", flexible=True),
            Column("op", style="bold"),
            Column("pass, match, rule", style="yellow", flexible=True),
            Column("program", style="cyan", flexible=True),
        ]
        printer.table(columns, rows)
        if found.note:
            printer.line((found.note, "yellow"))
    return 0


def _operation(made: Operation) -> dict[str, Any]:
    return {"name": made.name, "line": made.line, "source": made.source, "nodes": made.nodes}


def _order(line: str | None) -> tuple[bool, str, int]:
    file, _, number = (line or "").rpartition(":")
    return line is None, file, whole_number(number)


def _short(line: str) -> str:
    """A line's place without the folders."""
    return line.replace("\\", "/").rpartition("/")[2]
