"""A compilation in the terminal: its steps, its code, and with DEBUG its graphs and rewrites."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Printer, duration
from peephole.cli.views import Request
from peephole.cli.views.decisions import MOST, show_decisions
from peephole.cli.views.rewrites import around, work
from peephole.errors import PeepholeError
from peephole.query.capture.context_lookup import find_contexts
from peephole.query.capture.contexts import Context, Step, artifacts, contexts, steps
from peephole.query.timeline.source_items import compiled

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def sources(_capture: Capture) -> list[str]:
    """None: a compilation is an item of the source that it happened in."""
    return []


def claims(capture: Capture, request: Request) -> bool:
    """One item that is a context's name; -t asks for its time instead."""
    return len(request.items) == 1 and request.top is None and bool(find_contexts(capture, request.items[0]))


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints every context of that name: the contexts inside it, a schedule's kernels, and its steps."""
    everything = contexts(capture)
    details = Details(capture, request, printer)
    for context in find_contexts(capture, request.items[0]):
        if printer.json:
            printer.record(_context_record(context))
        else:
            took = f"  {duration(context.dur)}" if context.dur >= 0 else ""
            printer.line((context.name, "bold"), (f"  {context.kind}{took}", "dim"))
            if context.place:
                printer.line((f"  {context.place}", "dim"))
        for inner in everything:
            if inner.parent == context.id:
                if printer.json:
                    printer.record(_context_record(inner))
                else:
                    printer.line("  ", (inner.name, "cyan"), (f"  {inner.kind}", "dim"))
        if context.kind == "schedule":
            _kernels(capture, context, printer)
        details.show(context.id, listing=True)
    return 0


def _kernels(capture: Capture, context: Context, printer: Printer) -> None:
    """Prints what a schedule runs, in order; nothing when its graph was not recorded."""
    from peephole.query.rewrites.schedules import kernels_of_schedule

    kernels = kernels_of_schedule(capture, context.id)
    names = {item.context.id: item.name for item in compiled(capture)}
    for kernel in kernels:
        linked = None if kernel.context < 0 else kernel.context
        if printer.json:
            facts = {"kind": "kernel", "schedule": context.id, "index": kernel.index, "name": kernel.name}
            printer.record({**facts, "context": linked, "ops": kernel.ops})
            continue
        name = names.get(kernel.context, kernel.name)
        ops = " ".join(f"{op}×{n}" if n > 1 else op for op, n in Counter(kernel.ops).most_common(8))
        printer.line(f"  {kernel.index:>3}  ", (name, "cyan"), (f"  {ops}" if ops else "", "dim"))


class Details:
    """Prints what DEBUG asks for about each context, once."""

    def __init__(self, capture: Capture, request: Request, printer: Printer) -> None:
        self._capture = capture
        self._debug = request.debug
        self._listing = request.listing
        self._printer = printer
        self._seen: set[int] = set()

    def show(self, context: int, listing: bool = False) -> None:
        """Prints the details of a context that was not shown before."""
        listing = listing or self._listing or self._debug >= 5
        if context in self._seen or not (listing or self._debug >= 3):
            return
        from peephole.query.rewrites.calls import shows_ast, shows_kernels

        self._seen.add(context)
        for step in steps(self._capture, context):
            if self._debug >= 3 and shows_ast(self._capture, step):
                self._graph(step)
                self._text(step)
            if listing:
                self._step(step)
            if self._debug >= 6 or (self._debug >= 5 and shows_kernels(self._capture, step)):
                self._graph(step)
            if self._debug >= 7:
                self._rewrites(step)
        if self._debug >= 4:
            self._artifacts(context, "source")
        if self._debug >= 7:
            self._artifacts(context, "assembly")
            self._assembly(context)
        if self._debug >= 3 and not listing:  # the step that raised has said it
            self._artifacts(context, "error")

    def code(self, context: int, kind: str) -> None:
        """Prints a context's artifacts of one kind; assembly that was not recorded is made from the binary."""
        if artifacts(self._capture, context, kind):
            self._artifacts(context, kind)
        elif not self._assembly(context):
            raise PeepholeError("The binary of this kernel is of a machine that nothing here can disassemble.")

    def _step(self, step: Step) -> None:
        from peephole.query.rewrites.decisions import decisions
        from peephole.query.rewrites.step_graphs import BETWEEN

        if self._printer.json:
            self._printer.record(_step_record(step))
            show_decisions(decisions(self._capture, step.id), self._printer)
            return
        matches = work(self._capture, step)
        name = step.name or (f"{step.file.rpartition('/')[2]}:{step.line}" if step.file else BETWEEN)
        self._printer.line(
            "    " + "  " * step.depth, name, (matches, "yellow"), ("  raised" if step.error else "", "red")
        )
        show_decisions(decisions(self._capture, step.id), self._printer, "      " + "  " * step.depth, MOST)
        if step.error:
            self._printer.block(step.error, "red")

    def _graph(self, step: Step, match: int = 0) -> None:
        from peephole.query.rewrites.graph_labels import graph_facts
        from peephole.query.rewrites.step_graphs import graph_at

        graph = graph_at(self._capture, step.id, match)
        nodes = graph.nodes
        known = graph_facts(self._capture, step.id, nodes)
        columns = zip(nodes.id, nodes.op, nodes.dtype, nodes.arg, nodes.src, nodes.shape, nodes.tag, strict=True)
        for place, (id, op, dtype, arg, src, shape, tag) in enumerate(columns):
            facts = {"op": op, "dtype": dtype, "arg": arg, "src": list(src), "shape": shape, "tag": tag}
            if known is not None:
                facts |= {"ranges": known.ranges[place], "index": known.indexed.get(place), "space": known.space[place]}
            if self._printer.json:
                self._printer.record({"kind": "node", "step": step.id, "match": match, "id": id, **facts})
                continue
            own = (around(known, place), dtype, arg, shape)
            words = " ".join(str(word) for word in own if word not in (None, "", "None"))
            tagged = f" tag={tag}" if tag is not None else ""
            self._printer.line((f"[{id}] ", "dim"), (str(op), "bold"), f" {words}{tagged}")
            if src:
                self._printer.line(("  src: " + ", ".join(f"[{node}]" for node in src), "dim"))

    def _text(self, step: Step) -> None:
        """Prints a graph in the compiler's own notation."""
        from peephole.query.rewrites.graph_labels import graph_text
        from peephole.query.rewrites.step_graphs import graph_at

        text = graph_text(self._capture, graph_at(self._capture, step.id, 0))
        if text and self._printer.json:
            self._printer.record({"kind": "graph", "step": step.id, "text": text})
        elif text:
            self._printer.block(text)

    def _rewrites(self, step: Step) -> None:
        from peephole.query.rewrites.step_graphs import match_diffs

        for match, diff in match_diffs(self._capture, step.id):
            if self._printer.json:
                facts = {"kind": "match", "step": step.id, "match": match.ordinal, "file": match.file}
                dur = None if match.dur < 0 else match.dur
                lines = [f"{kind} {text}" for kind, text in diff]
                self._printer.record(
                    {**facts, "line": match.line, "source": match.source, "dur_ns": dur, "diff": lines}
                )
                continue
            self._printer.line((f"match {match.ordinal}  {match.file or 'unknown rule'}:{match.line}", "dim"))
            if match.source:
                self._printer.block(match.source, "dim")
            for kind, text in diff:
                self._printer.block(f"{kind} {text}", {"-": "red", "+": "green"}.get(kind, ""))

    def _artifacts(self, context: int, kind: str) -> None:
        for artifact in artifacts(self._capture, context, kind):
            text = artifact.content.decode("utf-8", "backslashreplace")
            if self._printer.json:
                facts = {"kind": "artifact", "context": context, "artifact": kind, "name": artifact.name}
                self._printer.record({**facts, "language": artifact.language, "text": text})
            else:
                self._printer.block(text, "red" if kind == "error" else "")

    def _assembly(self, context: int) -> bool:
        """Prints what a binary holds; whether there was anything to print."""
        from peephole.query.hardware.assembly import assembly

        shown = False
        for artifact in artifacts(self._capture, context, "binary"):
            text = assembly(artifact.content, artifact.language)
            if text is None:
                continue
            shown = True
            if self._printer.json:
                facts = {"kind": "artifact", "context": context, "artifact": "assembly", "name": artifact.name}
                self._printer.record({**facts, "language": "asm", "text": text})
            else:
                self._printer.block(text)
        return shown


def _context_record(context: Context) -> dict[str, Any]:
    return {
        "kind": "context",
        "id": context.id,
        "name": context.name,
        "context_kind": context.kind,
        "parent": None if context.parent < 0 else context.parent,
        "start_ns": None if context.start < 0 else context.start,
        "dur_ns": None if context.dur < 0 else context.dur,
    }


def _step_record(step: Step) -> dict[str, Any]:
    return {
        "kind": "step",
        "id": step.id,
        "context": step.context,
        "ordinal": step.ordinal,
        "depth": step.depth,
        "name": step.name,
        "file": step.file,
        "line": step.line,
        "matches": step.matches,
        "after": None if step.after < 0 else step.after,
        "dur_ns": None if step.dur < 0 else step.dur,
        "error": step.error,
    }
