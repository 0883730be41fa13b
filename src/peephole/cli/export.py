"""`peephole export`: a capture as another tool's file."""

from __future__ import annotations

import argparse
import gzip
import importlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

from peephole.cli.format import Printer, size
from peephole.cli.target import add_json, add_target, open_target
from peephole.errors import PeepholeError
from peephole.model.unfinished import whole_file

if TYPE_CHECKING:
    from peephole.store.capture import Capture

HELP = """Writes a capture as a file that another tool reads: Chrome trace JSON (Perfetto, chrome://tracing), Perfetto's
own protobuf, bytepack (docs/bytepack.md), or its call trees: folded stacks, speedscope, pprof. A name that ends in
.gz is gzipped."""


class Format(NamedTuple):
    """What writes a format: a function `(capture, binary file) -> number of slices`, and the ending of its files."""

    module: str
    function: str
    suffix: str


FORMATS: Final = {
    "chrome": Format("peephole.render.chrome", "write_chrome", ".trace.json"),
    "perfetto": Format("peephole.render.perfetto", "write_perfetto", ".pftrace"),
    "bytepack": Format("peephole.render.bytepack", "write_bytepack", ".bytepack"),
    "collapsed": Format("peephole.render.collapsed", "write_collapsed", ".folded"),
    "speedscope": Format("peephole.render.speedscope", "write_speedscope", ".speedscope.json"),
    "pprof": Format("peephole.render.pprof", "write_pprof", ".pb.gz"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_target(parser)
    known = ", ".join(FORMATS)
    # a list of them all in the usage would be wider than a terminal
    parser.add_argument(
        "--format", choices=tuple(FORMATS), default="chrome", metavar="NAME", help=f"{known} (default: chrome)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: the capture's name, here)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the file, whole or not at all."""
    form = FORMATS[args.format]
    write = cast("Callable[[Capture, BinaryIO], int]", getattr(importlib.import_module(form.module), form.function))
    capture = open_target(args.capture)
    out = Path(args.output) if args.output else Path(capture.path.name.partition(".peep")[0] + form.suffix)
    if out.is_dir():
        raise PeepholeError(f"{out} is a folder; give a file's name with -o.")
    try:
        # pprof's files are gzipped whatever they are called
        packed = out.name.endswith(".gz") and args.format != "pprof"
        with whole_file(out) as file, gzip.open(file, "wb", 6) if packed else nullcontext(file) as to:
            slices = write(capture, cast("BinaryIO", to))
    except OSError as error:
        raise PeepholeError(f"Cannot write {out}: {error.strerror or error}.") from error
    written = out.stat().st_size
    printer = Printer(args.json)
    if args.json:
        printer.record({"path": str(out), "format": args.format, "slices": slices, "bytes": written})
    else:
        printer.line((str(out), "bold"), f"  {slices:,} slices, {size(written)}")
    return 0
