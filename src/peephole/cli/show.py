"""`peephole show`: a capture in the terminal."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from peephole.cli.format import Printer
from peephole.cli.target import add_json, add_target, names_capture, open_target
from peephole.errors import PeepholeError
from peephole.model.folder import PACKED_SUFFIX, SUFFIX

HELP = """Shows a capture in the terminal: its events in time order; with -t where the time went; with --calls who
called what; with -s one source
(a track, `<device> Memory`, a kernel's counters), with -i one item in it (a context, a step of it).

DEBUG=3 to 7 adds the compilation of each kernel: 3 base AST, 4 source, 5 steps and kernel graph, 6 all graphs,
7 all rewrites with their difference."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument("-s", "--source", metavar="SOURCE", help="one source only (--ls lists them)")
    parser.add_argument(
        "-i", "--item", nargs="+", default=[], metavar="ITEM", help="one item of it: a name, or a context and a step"
    )
    parser.add_argument("--match", type=int, metavar="K", help="with a context and a step: the graph after match K")
    parser.add_argument(
        "--from", dest="first", metavar="STEP[:MATCH]", help="with a context: what differs from this graph of it"
    )
    parser.add_argument("--to", dest="second", metavar="STEP[:MATCH]", help="… to this one")
    parser.add_argument("--ls", action="store_true", dest="listing", help="list the sources, or the items of one")
    parser.add_argument(
        "-t", "--top", nargs="?", type=_count, const=20, metavar="N", help="sum up by name: the N with the most time"
    )
    parser.add_argument("--calls", action="store_true", help="the call tree; -i WORDS: of these functions only")
    parser.add_argument("--inverted", action="store_true", help="with --calls: by own time, under each its callers")
    parser.add_argument("--by-place", action="store_true", help="with --calls: keep places of one name apart")
    parser.add_argument(
        "--interval",
        nargs="+",
        metavar=("A", "B"),
        help="from A to B: marker names, times since the first event (1.5ms), or ns on the capture's clock",
    )
    add_json(parser)
    parser.add_argument("--csv", action="store_true", help="the same objects as --json, as lines of CSV")


def run(args: argparse.Namespace) -> int:
    """Finds the view that the request belongs to and lets it print."""
    from peephole.cli.views import Request, timeline, views
    from peephole.query.timeline.interval import find_interval

    targets, top = _untangle(args.capture, args.top)
    for words in (args.item, args.interval or []):
        targets = targets or _taken(words)
    if args.match is not None and len(args.item) != 2:
        raise PeepholeError("--match K belongs to a step: name its context and the step, -i CONTEXT STEP --match K.")
    if (args.first is not None or args.second is not None) and len(args.item) != 1:
        raise PeepholeError(
            "--from and --to compare two graphs of a context: name it, -i CONTEXT --from STEP --to STEP."
        )
    if (args.inverted or args.by_place) and not args.calls:
        raise PeepholeError(f"--{'inverted' if args.inverted else 'by-place'} belongs to the call tree: add --calls.")
    capture = open_target(targets)
    request = Request(
        source=args.source,
        items=tuple(args.item),
        match=args.match,
        first=args.first,
        second=args.second,
        top=top,
        interval=find_interval(capture, args.interval) if args.interval else None,
        listing=args.listing,
        calls=args.calls,
        inverted=args.inverted,
        by_place=args.by_place,
        debug=_debug(),
    )
    printer = Printer(args.json, as_csv=args.csv)
    try:
        if (request.source is not None or request.items) and not request.calls:
            for view in views():
                if view.claims(capture, request):
                    return view.show(capture, request, printer)
        return timeline.show(capture, request, printer)
    except PeepholeError as error:
        if not targets and len(args.item) > 1 and names_capture(args.item[-1]):
            name, before = args.item[-1], " ".join(args.item[:-1])
            raise PeepholeError(
                f"{error} {name!r} is taken for an item: the capture's name comes before, "
                f"`peephole show {name} -i {before}`."
            ) from None
        raise


def _count(text: str) -> int | str:
    """A number for -t; anything else is handed on, since `-t CAPTURE` means the capture."""
    try:
        number = int(text)
    except ValueError:
        return text
    # as in VIZ, a negative count means all
    return number


def _untangle(targets: list[str], top: int | str | None) -> tuple[list[str], int | None]:
    """Takes a capture's name away from -t, which may stand before it without a number."""
    if isinstance(top, str):
        return [top, *targets], 20
    return targets, top


def _taken(words: list[str]) -> list[str]:
    """Takes a capture that stands behind an option's words away from them: `-i CONTEXT STEP NAME.peep`."""
    last = words[-1] if len(words) > 1 else ""
    if last.endswith((SUFFIX, PACKED_SUFFIX)) or (last and Path(last).is_file()):
        return [words.pop()]
    return []


def _debug() -> int:
    text = os.environ.get("DEBUG", "0") or "0"
    try:
        return int(text)
    except ValueError:
        raise PeepholeError(f"DEBUG is {text!r}; it has to be a number, 0 to 7.") from None
