"""`peephole visualize`: the tape of a distributed program as a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peephole.errors import CaptureError, PeepholeError

if TYPE_CHECKING:
    from peephole.store.capture import Capture

MOST_PROBLEMS: Final = 5
"""Problems with a tape that are told; `info` lists all of them."""

HELP: Final = """\
Draws the tape of a distributed program: lanes for client, dispatcher and each worker over time, colours by operation,
shapes by event, marks as large as the data, arrows for the messages, red lines for signals.

  peephole visualize debug.log --output timeline.png --dpi 200"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("tape", nargs="?", metavar="TAPE", help="a GT tape, or a capture (default: the newest one)")
    parser.add_argument("-o", "--output", default="tape_timeline.png", metavar="PATH", help="PNG, SVG or PDF by suffix")
    parser.add_argument("--dpi", type=float, default=150.0, help="pixels per inch (default: 150)")
    parser.add_argument(
        "--workers", nargs="+", default=[], metavar="NAME", help="only these: names, patterns or numbers"
    )
    parser.add_argument("--interval", nargs=2, type=float, metavar=("A", "B"), help="only these seconds")
    parser.add_argument("--ops", nargs="+", default=[], metavar="OP", help="only these operations: matmul, GetData, …")
    parser.add_argument(
        "--run", type=int, metavar="N", help="which run, when the tape holds several (default: the largest)"
    )
    parser.add_argument("--no-fold", action="store_true", help="draw idle time at its full length")
    parser.add_argument("--json", action="store_true", help="print the summary as a JSON object")


def run(args: argparse.Namespace) -> int:
    """Draws, and says in five lines what was drawn."""
    from peephole.cli.format import Printer
    from peephole.query.tape.select import select
    from peephole.query.tape.tape import NO_EVENTS, tape
    from peephole.render.tape.draw import check_output, draw
    from peephole.render.tape.fonts import fonts_for
    from peephole.render.tape.layout import Options, layout
    from peephole.render.tape.names import spelled

    path = Path(args.output)
    check_output(path)
    if not 20 <= args.dpi <= 1200:
        raise PeepholeError(f"--dpi must be between 20 and 1200, not {args.dpi:g}.")
    whole = tape(_open(args.tape), args.run)
    if not len(whole):
        raise PeepholeError(f"{args.tape or whole.name} holds no events. {NO_EVENTS}")
    part = select(whole, args.workers, tuple(args.interval) if args.interval else None, args.ops)
    if not len(part):
        raise PeepholeError("Nothing is left to draw: no event is in the chosen interval, workers and operations.")
    options = Options(args.dpi, not args.no_fold)
    picture = layout(part, options)
    lacking = fonts_for(picture.texts).lacking
    if lacking:
        picture = layout(spelled(part, lacking), options)
    drawn = draw(picture, path, args.dpi)
    seconds = float((part.time + part.dur).max() - part.time.min()) / 1e9
    workers = len(part.of_kind("worker"))
    printer = Printer(args.json)
    if args.json:
        printer.record(
            {
                "path": str(path),
                "width": drawn.width,
                "height": drawn.height,
                "events": len(part),
                "workers": workers,
                "duration": round(seconds * 1e9),
            }
        )
        return 0
    printer.line(("✓", "green"), f" Visualization saved to: {path}")
    printer.line(f"  Resolution: {drawn.width} x {drawn.height} pixels")
    printer.line(f"  Events: {len(part)}")
    printer.line(f"  Workers: {workers}")
    printer.line(f"  Duration: {seconds:.3f}s")
    if lacking:
        some = " ".join(lacking[:8]) + (" …" if len(lacking) > 8 else "")
        print(
            f"peephole: no font on this machine has {some}: in names they are written as "
            f"{lacking[0].encode('unicode_escape').decode()}{' …' if len(lacking) > 1 else ''}",
            file=sys.stderr,
        )
    for reason, count, _ in part.problems[:MOST_PROBLEMS]:
        print(f"peephole: {count:,} × {reason}", file=sys.stderr)
    if len(part.problems) > MOST_PROBLEMS:
        more = len(part.problems) - MOST_PROBLEMS
        print(f"peephole: and {more} more; `peephole info {args.tape or ''}` lists all", file=sys.stderr)
    return 0


def _open(target: str | None) -> Capture:
    """The capture of a tape; an empty file gets the advice that a tape's owner needs."""
    from peephole.cli.target import open_target
    from peephole.query.tape.tape import NO_EVENTS

    path = Path(target) if target else None
    if path is not None and path.is_file() and not path.stat().st_size:
        raise CaptureError(f"{target} is empty: there are no events. {NO_EVENTS}")
    return open_target(target)
