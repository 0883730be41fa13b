"""`peephole why`: why two kernels did not become one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Part, Printer, count
from peephole.cli.target import add_json, add_target, not_a_capture, open_target
from peephole.cli.views.decisions import show_verdict

if TYPE_CHECKING:
    from peephole.compilers.answers import Boundary, Buffer, Kernel, Why

HELP = """Says why two kernels of a schedule are two: the buffers between them, the node that was put into memory and
why, the pass, match and rule that show it, and the line of the program. A kernel is given by its name (`r_64_16`,
`r_64_16#2` for the second of that name, as `show` counts) or its place in the schedule (`#0`). Where the capture has
what a compiler decided about two instructions of these names (fused, refused), its last word is the answer; other
instructions (`gelu`, `op3`, `buf7`) stand for the kernels that compute them."""

INTERMIXED = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("kernel_a", metavar="KERNEL_A", help="one kernel")
    parser.add_argument("kernel_b", metavar="KERNEL_B", help="the other")
    add_target(parser)
    parser.add_argument("--schedule", metavar="NAME", help="only look in this schedule (a context's name or number)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the answer."""
    from peephole.query.rewrites.decisions import Verdict
    from peephole.query.rewrites.why import answer as answer_of

    for word in (args.kernel_a, args.kernel_b):
        not_a_capture(word, "peephole why KERNEL_A KERNEL_B CAPTURE")
    capture = open_target(args.capture)
    printer = Printer(args.json)
    answer = answer_of(capture, args.kernel_a, args.kernel_b, args.schedule)
    if isinstance(answer, Verdict):
        show_verdict(answer, printer)
    elif args.json:
        printer.record(_record(answer))
    else:
        _print(answer, printer)
    return 0


def _print(answer: Why, printer: Printer) -> None:
    first, second = answer.first, answer.second
    where = {answer.first_schedule.name: None, answer.second_schedule.name: None}
    printer.line(
        (first.name, "bold"),
        (f" #{first.index}  →  ", "dim"),
        (second.name, "bold"),
        (f" #{second.index}", "dim"),
        (f"   {', '.join(where)}", "dim"),
    )
    printer.line(_TITLES[answer.relation], f": {answer.text}" if answer.relation != "dependent" else "")
    for boundary in answer.boundaries:
        printer.line()
        _boundary(boundary, printer)


_TITLES: dict[str, Part] = {
    "dependent": ("the second needs the first", "bold yellow"),
    "between": ("a third kernel stands between", "bold yellow"),
    "independent": ("independent", "bold green"),
    "other schedule": ("different schedules", "bold green"),
    "same": ("one kernel", "bold green"),
}


def _boundary(boundary: Boundary, printer: Printer) -> None:
    from peephole.cli.views.rewrites import short

    printer.line((boundary.reason, "bold"), f": {boundary.text}")
    printer.line(("  buffer   ", "dim"), _buffer(boundary.buffer), (f"  {boundary.kind}", "dim"))
    forced = boundary.forced
    if forced is not None:
        shape = f" {forced.shape}" if forced.shape else ""
        printer.line(("  node     ", "dim"), f"[{forced.id}] {forced.op} {forced.dtype}{shape}")
        if forced.tensors:
            printer.line(("  from     ", "dim"), ", ".join(forced.tensors))
    if boundary.kept:
        printer.line(("  kept     ", "dim"), boundary.kept)
    evidence = boundary.evidence
    if evidence is not None:
        rule = f"  {short(evidence.file)}:{evidence.line}" if evidence.file else ""
        match = f", match {evidence.match}" if evidence.match else ""
        printer.line(("  seen in  ", "dim"), f"{evidence.step_name}{match}", (rule, "dim"))
        if evidence.source:
            printer.line(("           ", "dim"), (evidence.source, "dim"))
    if boundary.user_line:
        printer.line(("  program  ", "dim"), boundary.user_line)


def _buffer(buffer: Buffer) -> str:
    size = f" x {count(buffer.elements)}" if buffer.elements is not None else ""
    return f"{'the program’s buffer' if buffer.own else 'buffer'} {buffer.slot}: {buffer.dtype}{size}" + (
        f" on {buffer.device}" if buffer.device else ""
    )


def _record(answer: Why) -> dict[str, Any]:
    return {
        "relation": answer.relation,
        "text": answer.text,
        "first": _kernel(answer.first, answer.first_schedule.name),
        "second": _kernel(answer.second, answer.second_schedule.name),
        "between": [kernel.name for kernel in answer.between],
        "common": [kernel.name for kernel in answer.common],
        "boundaries": [_boundary_record(boundary) for boundary in answer.boundaries],
    }


def _kernel(kernel: Kernel, schedule: str) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "index": kernel.index,
        "schedule": schedule,
        "context": None if kernel.context < 0 else kernel.context,
        "kind": kernel.kind,
        "ops": kernel.ops,
    }


def _boundary_record(boundary: Boundary) -> dict[str, Any]:
    buffer, forced, evidence = boundary.buffer, boundary.forced, boundary.evidence
    return {
        "reason": boundary.reason,
        "text": boundary.text,
        "kind": boundary.kind,
        "kept": boundary.kept,
        "buffer": {
            "node": buffer.node,
            "op": buffer.op,
            "slot": buffer.slot,
            "dtype": buffer.dtype,
            "elements": buffer.elements,
            "device": buffer.device,
        },
        "node": None
        if forced is None
        else {
            "id": forced.id,
            "op": forced.op,
            "dtype": forced.dtype,
            "shape": forced.shape,
            "tensors": forced.tensors,
        },
        "step": None if evidence is None else evidence.step_name,
        "match": None if evidence is None else evidence.match,
        "rule": None if evidence is None else {"file": evidence.file, "line": evidence.line, "source": evidence.source},
        "user_line": boundary.user_line,
    }
