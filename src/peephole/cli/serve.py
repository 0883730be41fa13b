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
  peephole serve a.peep trace.json    captures and files of any kinds together
  peephole serve a/*.pkl b/*.pkl      several runs: one capture each
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
    asked = asked_for(args.capture)
    named = len(asked) if args.capture else 0

    from peephole.server.serving import serve

    return serve(_with_nearby(asked), args.host, args.port, open_browser=not args.no_open, named=named)


def find_all(given: list[str]) -> list[Path | Arriving]:
    """The captures that the user means, first; then those of the user's folder, for the page's menu."""
    return _with_nearby(asked_for(given))


def _with_nearby(paths: list[Path | Arriving]) -> list[Path | Arriving]:
    from peephole.model.folder import captures_folder, find_captures

    known = {path.resolve() for path in paths if isinstance(path, Path)}
    nearby = find_captures(captures_folder())
    return [*paths, *(path for path in nearby[:100] if path.resolve() not in known)]


def asked_for(given: list[str]) -> list[Path | Arriving]:
    """The captures that the user means: those that are given, else the newest."""
    from peephole.cli.target import find_target, is_raw
    from peephole.model.folder import captures_folder, find_captures

    raw = [Path(name) for name in given if is_raw(Path(name))]
    paths: list[Path | Arriving] = []
    if given:
        # in the order in which they were given; the files of one run are one capture, where the first of them stands
        groups, called = _by_run(raw)
        reads = sum(file.stat().st_size for group in groups.values() for file in _spread(group)) <= READ_WHILE_LOADING
        for name in given:
            path = Path(name)
            if path in groups:
                paths.append(_arriving(groups.pop(path), called[path]) if reads else find_target(groups.pop(path)))
            elif path not in raw:
                paths.append(find_target(name))
    elif find_captures(captures_folder()):
        paths = [find_target(None)]
    else:
        paths = _newest_or_none()
    return paths


def _by_run(raw: list[Path]) -> tuple[dict[Path, list[Path]], dict[Path, str]]:
    """Files and folders as they were given, those that make one capture together under the first of them, and what that
    capture is called."""
    if not raw:
        return {}, {}
    from peephole.ingest import by_run, names_for

    given = {file: path for path in raw for file in _spread([path])}
    runs = [list(dict.fromkeys(given[file] for file in group)) for group in by_run(list(given))]
    return {run[0]: run for run in runs}, dict(zip([run[0] for run in runs], names_for(runs), strict=True))


def _spread(paths: Sequence[Path]) -> list[Path]:
    from peephole.sources import spread

    return spread(paths)


def _arriving(paths: Sequence[Path], name: str) -> Arriving:
    """What the files will be when they are read."""
    from peephole.cli.arrive import Reading
    from peephole.server.arriving import Arriving

    reading = Reading(paths)
    return Arriving(name, reading.start, reading.wait)


def _newest_or_none() -> list[Path | Arriving]:
    """What VIZ left behind, or nothing: the page then says how to get a capture."""
    from peephole.cli.target import find_target

    try:
        return [find_target(None)]
    except PeepholeError:
        return []
