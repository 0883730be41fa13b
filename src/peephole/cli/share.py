"""`peephole share`: a capture as one HTML file, to send to somebody who has nothing but a browser."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from peephole.cli.format import Printer, problem_lines, size
from peephole.cli.target import add_json, add_target, open_target, progress_bar
from peephole.errors import PeepholeError

HELP = """Makes one HTML file of a capture. It opens from the disk in any browser, without a server or a network, and
shows the same views as `peephole serve`, as far as the limit allows; it says itself what was left out."""

_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmg]?)(i?)b?", re.IGNORECASE)
_POWERS = ("", "k", "m", "g")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument(
        "--interval", nargs="+", metavar=("A", "B"), help="only what happened between two markers or times (1.5ms)"
    )
    parser.add_argument(
        "--views", nargs="+", metavar="VIEW",
        help="only these: timeline, calls, top, memory, code, rewrites, schedule, problems",
    )  # fmt: skip
    parser.add_argument("--limit", metavar="SIZE", default="20MB", help="bytes of the file at most (default: 20MB)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: NAME.html, here)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the file and says what is inside and what is not."""
    from peephole.query.capture.info import info
    from peephole.share.making import make_copy

    limit = read_size(args.limit)
    views = [view for given in args.views or () for view in given.lower().split(",") if view]
    capture = open_target(args.capture)
    out = Path(args.output) if args.output else Path(capture.path.name.partition(".peep")[0] + ".html")
    if out.is_dir():
        raise PeepholeError(f"{out} is a folder; give a file's name with -o.")
    made = make_copy(capture, out, args.interval, views or None, limit, progress_bar("making graphs of rewrites"))
    printer = Printer(args.json)
    problems = [(one.reason, one.count, one.example) for one in info(capture).problems]
    if args.json:
        lists = {"inside": made.inside, "left_out": made.left_out}
        items = {name: [{"what": one.what, "bytes": one.bytes} for one in items] for name, items in lists.items()}
        lost = [{"reason": reason, "count": number, "example": example} for reason, number, example in problems]
        printer.record({"path": str(made.path), "bytes": made.bytes, "views": made.views, **items, "problems": lost})
        return 0
    printer.line((str(made.path), "bold"), f"  {size(made.bytes)}, opens from disk: {', '.join(made.views)}")
    for item in made.inside:
        printer.line(f"  + {item.what:<60} {size(item.bytes):>9}")
    for item in made.left_out:
        printer.line((f"  - {item.what:<60} {size(item.bytes) if item.bytes > 0 else '':>9}", "dim"))
    problem_lines(printer, problems)
    return 0


def read_size(text: str) -> int:
    """Bytes of `20MB`, `500 kB`, `1.5mib` or a plain number."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise PeepholeError(f"--limit {text!r} is not a size; write it as 20MB or 500kB.")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _POWERS.index(found[2].lower()))
