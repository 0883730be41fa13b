"""`peephole search`: everything in a capture that has a name."""

from __future__ import annotations

import argparse
import sys

from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.target import add_json, add_target, not_a_capture, open_target
from peephole.errors import PeepholeError

HELP = """Finds kernels, contexts, passes, rules, ops, instructions and slices by their name, the page's search in the
terminal. Words may come in any order and case, and all must hold:

  mul r_16                       both words in the name
  '"two words"'                  with the blank in it
  '/^r_\\d+$/'                    a regular expression (RE2)
  -copy                          without it (after --)
  kind:kernel track:CPU          what it is; the track that it ran on
  rule:symbolic.py               rules alone
  op:REDUCE                      ops, and instructions of that op, alone
  prog.py:4                      the kernels that compute something of that line

Exact names come first, then what begins with the words, the longest total time before the others."""

INTERMIXED = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("words", metavar="QUERY", help="what to look for, as one argument")
    add_target(parser)
    parser.add_argument("-n", type=int, metavar="N", default=40, help="at most N hits (default: 40; 0: all)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints a line for each hit; 1 when there is none, with close names."""
    from peephole.query.capture.grammar import parse
    from peephole.query.capture.search import Hit, build_index
    from peephole.query.timeline.context_runs import context_serials

    not_a_capture(args.words, "peephole search QUERY CAPTURE")
    if not parse(args.words).terms:
        raise PeepholeError("There is nothing to look for in the query; give a word of a name, or kind:kernel.")
    capture = open_target(args.capture)
    found = build_index(capture).search(args.words, args.n if args.n > 0 else sys.maxsize)
    printer = Printer(args.json)
    if args.json:
        for hit in found.hits:
            printer.record(
                {
                    "kind": hit.kind,
                    "name": hit.text,
                    "note": hit.note,
                    "context": hit.context,
                    "step": hit.step,
                    "match": hit.match,
                    "node": hit.node,
                    "count": hit.count,
                    "runs": hit.runs,
                    "total_ns": hit.total_ns,
                }
            )
        return 0 if found.hits else 1
    if not found.hits:
        near = ", ".join(dict.fromkeys(hit.text for hit in found.near))
        printer.line(f"Nothing is named {args.words}.", *([(f" Close to it: {near}", "dim")] if near else []))
        return 1
    serials = context_serials(capture)

    def named(hit: Hit) -> str:
        """The name, of a second kernel with its number as everywhere."""
        serial = serials.get(hit.context, 1) if hit.kind in ("kernel", "context") else 1
        return f"{hit.text}#{serial}" if serial > 1 else hit.text

    printer.table(
        [
            Column("kind", style="dim"),
            Column("name", style="bold", flexible=True),
            Column("matches", right=True),
            Column("runs", right=True),
            Column("total", right=True, style="yellow"),
            Column("in", style="dim", flexible=True),
        ],
        [
            (
                hit.kind,
                named(hit),
                count(hit.count) if hit.count and hit.kind not in ("slice",) else "",
                count(hit.runs) if hit.runs else "",
                duration(hit.total_ns) if hit.runs else "",
                hit.note if hit.note != hit.kind else "",
            )
            for hit in found.hits
        ],
    )
    if found.total > len(found.hits):
        printer.line((f"{count(found.total - len(found.hits))} more; -n {found.total} shows all", "dim"))
    return 0
