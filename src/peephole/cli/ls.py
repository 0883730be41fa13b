"""`peephole ls`: the captures of this user, newest first."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Column, Printer, size
from peephole.cli.target import add_json
from peephole.errors import CaptureError, PeepholeError
from peephole.model.folder import PACKED_SUFFIX, SUFFIX, captures_folder, find_captures

if TYPE_CHECKING:
    from peephole.store.manifest import Manifest

HELP = "Lists the captures in a folder, newest first. The folder is PEEPHOLE_DIR, or the user's own."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="another folder than the user's own")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the list."""
    folder = Path(args.folder) if args.folder else captures_folder()
    if args.folder and not folder.is_dir():
        raise PeepholeError(f"There is no folder {folder}.")
    printer = Printer(args.json)
    found = find_captures(folder)
    rows = []
    for path in found:
        facts = _facts(path)
        if args.json:
            printer.record(facts)
        else:
            when = datetime.fromtimestamp(facts["written_ns"] / 1e9).strftime("%Y-%m-%d %H:%M:%S")
            # at 80 columns the name, which is what one types, needs the room
            state = facts["state"].removeprefix("sealed, ")
            program = "/".join(facts["program"].split("/")[-2:])
            rows.append((facts["name"], when, size(facts["bytes"]), state, program))
    if args.json:
        return 0
    if not rows:
        printer.line(f"There is no capture in {folder} yet; record one with `peephole run script.py`.")
        return 0
    columns = (
        Column("name", style="bold", flexible=True),
        Column("written"),
        Column("size", right=True),
        Column("state"),
        Column("program", style="dim", flexible=True),
    )
    printer.table(columns, rows)
    return 0


def _facts(path: Path) -> dict[str, Any]:
    """What the list says about a capture; one that cannot be opened is listed too, with the reason as its state."""
    from peephole.query.capture.disk import bytes_on_disk
    from peephole.store.journal.state import is_live
    from peephole.store.manifest import read_manifest

    facts: dict[str, Any] = {
        "name": path.name.removesuffix(PACKED_SUFFIX).removesuffix(SUFFIX),
        "path": str(path),
        "written_ns": path.stat().st_mtime_ns,
        "bytes": 0,
        "state": "",
        "clean": None,
        "program": "",
        "source": "",
    }
    try:
        facts["bytes"] = bytes_on_disk(path)["total"]
        # the manifest alone: a capture that was not sealed is not read for a list
        manifest = read_manifest(path) if path.is_dir() else _packed(path)
        state = manifest.state
        if not manifest.clean and not (path.is_dir() and is_live(path)):
            state += ", broken off"
        facts |= {"state": state, "clean": manifest.clean, "program": manifest.program, "source": manifest.source}
    except (CaptureError, OSError) as error:
        facts["state"] = "unreadable"
        facts["problem"] = str(error)
    return facts


def _packed(path: Path) -> Manifest:
    """The manifest in a packed capture."""
    from peephole.store.capture import open_capture

    return open_capture(path).manifest
