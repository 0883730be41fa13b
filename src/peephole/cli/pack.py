"""`peephole pack`: one file out of a capture, to send around."""

from __future__ import annotations

import argparse
from pathlib import Path

from peephole.cli.format import Printer, size
from peephole.cli.target import add_json, add_target, find_target
from peephole.errors import PeepholeError
from peephole.model.folder import PACKED_SUFFIX, SUFFIX

HELP = """Makes one file of a capture, NAME.peep.zip, to send around. Every command takes it as it takes the folder.
A capture whose program was killed is sealed on the way."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: NAME.peep.zip, here)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Packs and says what came out."""
    from peephole.store.pack import pack

    path = find_target(args.capture)
    if path.is_file():
        raise PeepholeError(f"{path} is packed already.")
    out = Path(args.output) if args.output else Path(path.resolve().name.removesuffix(SUFFIX) + PACKED_SUFFIX)
    if out.is_dir():
        raise PeepholeError(f"{out} is a folder; give a file's name with -o.")
    if not out.name.endswith(PACKED_SUFFIX):
        raise PeepholeError(f"{out} has to end in {PACKED_SUFFIX}, so that every command knows it for a capture.")
    written = pack(path, out)
    printer = Printer(args.json)
    if args.json:
        printer.record({"path": str(written), "bytes": written.stat().st_size})
    else:
        printer.line((str(written), "bold"), f"  {size(written.stat().st_size)}")
    return 0
