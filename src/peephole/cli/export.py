"""`peephole export`: a capture as another tool's file."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Final

from peephole.cli.format import Printer, size
from peephole.cli.target import add_json, add_target, open_target, progress_bar
from peephole.errors import PeepholeError

HELP = "Writes a capture as a file that another tool reads: Chrome trace JSON (Perfetto, chrome://tracing), bytepack."

FORMATS: Final = {"chrome": "peephole.render.chrome", "bytepack": "peephole.render.bytepack"}
"""Format to module. A module has SUFFIX, the ending of its files, and `write(capture, path, progress)`."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    there = [name for name, module in FORMATS.items() if importlib.util.find_spec(module) is not None]
    add_target(parser)
    parser.add_argument("--format", choices=there, default="chrome", help="what to write (default: chrome)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: the capture's name, here)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the file, whole or not at all."""
    module: ModuleType = importlib.import_module(FORMATS[args.format])
    capture = open_target(args.capture)
    out = Path(args.output) if args.output else Path(capture.name + module.SUFFIX)
    if out.is_dir():
        raise PeepholeError(f"{out} is a folder; give a file's name with -o.")
    scratch = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        try:
            module.write(capture, scratch, progress_bar(f"writing {out.name}"))
            scratch.replace(out)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise PeepholeError(f"Cannot write {out}: {error.strerror or error}.") from error
    written = out.stat().st_size
    printer = Printer(args.json)
    if args.json:
        printer.record({"path": str(out), "format": args.format, "bytes": written})
    else:
        printer.line((str(out), "bold"), f"  {size(written)}")
    return 0
