"""`peephole serve`: the web page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.errors import PeepholeError

if TYPE_CHECKING:
    from peephole.server.arriving import Arriving

READ_WHILE_LOADING = 1 << 30
"""Raw files up to this size are read while the browser loads the page; the terminal shows how far larger ones are."""

HELP = """\
Opens captures in the browser: rewrites, code, timeline, memory and the rest.

  peephole serve                      the newest capture; the others of its folder can be chosen in the page
  peephole serve a.peep b.peep        several at once
  peephole serve profile.pkl          a file of any known source
  peephole serve --host 0.0.0.0       for other machines too; the address then carries a token"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "capture",
        nargs="*",
        metavar="CAPTURE",
        help="captures, their names, or files of a known source (default: the newest capture)",
    )
    parser.add_argument("--port", type=int, default=8800, help="port to use, or the next free one (default: 8800)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")


def run(args: argparse.Namespace) -> int:
    """Serves until Ctrl-C."""
    if not 0 <= args.port <= 65535:
        raise PeepholeError(f"--port must be from 0 to 65535, not {args.port}.")
    paths = find_all(args.capture)

    from peephole.server.serving import serve

    return serve(paths, args.host, args.port, open_browser=not args.no_open)


def find_all(given: list[str]) -> list[Path | Arriving]:
    """The captures that the user means, first; then those of the user's folder, for the page's menu."""
    from peephole.cli.target import find_target
    from peephole.model.folder import captures_folder, find_captures, is_capture

    raw = [name for name in given if Path(name).is_file() and not is_capture(Path(name))]
    nearby = find_captures(captures_folder())
    if raw and len(raw) == len(given) and sum(Path(name).stat().st_size for name in raw) <= READ_WHILE_LOADING:
        return [_arriving(raw), *nearby[:100]]
    paths = [find_target(name) for name in given if name not in raw]
    if raw:
        paths.append(find_target(raw))
    if not given and nearby:
        paths = [find_target(None)]
    elif not given:
        paths = _newest_or_none()
    known = {path.resolve() for path in paths}
    return [*paths, *(path for path in nearby[:100] if path.resolve() not in known)]


def _arriving(raw: Sequence[str]) -> Arriving:
    """What the files will be when they are read; a file of no known source is refused at once."""
    from peephole.cli.arrive import Reading
    from peephole.ingest import common_source, name_for
    from peephole.server.arriving import Arriving

    paths = [Path(name) for name in raw]
    common_source(paths)
    reading = Reading(paths)
    return Arriving(name_for(paths), reading.start, reading.wait)


def _newest_or_none() -> list[Path]:
    """What VIZ left behind, or nothing: the page then says how to get a capture."""
    from peephole.cli.target import find_target

    try:
        return [find_target(None)]
    except PeepholeError:
        return []
