"""`peephole import`: foreign files become a capture."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from peephole.cli.format import Printer
from peephole.cli.rank_import import add_rank_options, import_ranks
from peephole.cli.target import add_json, progress_bar
from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, captures_folder, free_name, is_capture
from peephole.model.urls import is_remote
from peephole.record import place

HELP = """Makes a capture of files that another tool wrote: tinygrad's rewrites.pkl and profile.pkl, logs of
torch.compile, dumps of XLA, GT tapes, Chrome and Perfetto traces, … (--formats lists them). The format is found by
content. Files that belong together are given together, a folder of them as a whole; a profiler's trace beside a log of
torch.compile is linked with it. Without a file: the latest that tinygrad's VIZ left behind.

Traces that name a rank each, or several captures, become a run of many ranks (`peephole ranks`): a capture for each
rank and small tables over all of them. What is missing, cut or of another run is listed, and the rest goes on. Where
-o names a run that is there already, the ranks are added to it. Files and runs may lie in object storage (s3://…)."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="files or folders of one source that belong together; s3://… too"
    )
    parser.add_argument("-o", "--output", metavar="NAME.peep", help="where it goes (default: the user's folder)")
    parser.add_argument("--force", action="store_true", help="replace a capture of that name")
    parser.add_argument("--formats", action="store_true", help="list what can be imported, and import nothing")
    parser.add_argument("--merge", action="store_true", help="one capture of all ranks, instead of a run")
    add_rank_options(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Imports and says where the capture is."""
    from peephole import sources
    from peephole.ingest import import_files, name_for
    from peephole.store import remote
    from peephole.store.capture import open_capture

    if args.formats:
        return _formats(Printer(args.json))
    words = args.files or [str(path) for path in sources.left_behind()]
    if not words:
        raise PeepholeError("No file was given and no tool left one behind; name the files: peephole import FILE…")
    near = [Path(word) for word in words if not is_remote(word)]
    far = [url for word in words if is_remote(word) for url in remote.expand(word)]
    first = near[0] if near else Path(far[0].rstrip("/").rpartition("/")[2])
    out = _named(args.output) if args.output else free_name(captures_folder() / name_for([first]))
    if args.force and isinstance(out, Path):
        place.may_replace(str(out), replace=True)
    files = [str(file) for path in near for file in ([path] if is_capture(path) else sources.spread([path]))]
    if not args.merge and (args.scheduler or _are_ranks([*files, *far], out, args.force)):
        return import_ranks([*files, *far], out, args)
    if there := next((path for path in near if is_capture(path)), None):
        raise PeepholeError(f"{there} is a capture already; several captures become a run without --merge.")
    if not isinstance(out, Path):
        raise PeepholeError(f"Only runs of several ranks are written to {out}; give -o a folder, then copy it.")
    with tempfile.TemporaryDirectory(prefix="peephole-import-") as scratch:
        paths = [*near, *(remote.fetch(url, Path(scratch)) for url in far)]
        # what is there gives way when the new one is whole, not before
        import_files(paths, out, progress_bar(f"importing {first.name}"), args.force)
    capture = open_capture(out)
    tables = {name: rows for name, rows in capture.manifest.tables.items() if rows}
    problems = [{"reason": p.get("reason", ""), "count": p.get("count", 1)} for p in capture.manifest.problems]
    printer = Printer(args.json)
    if args.json:
        printer.record(
            {"path": str(capture.path), "source": capture.manifest.source, "tables": tables, "problems": problems}
        )
        return 0
    held = ", ".join(f"{rows:,} {name}" for name, rows in tables.items()) or "no rows"
    printer.line((str(capture.path), "bold"), f": {held}")
    for problem in problems:
        printer.line((f"{problem['count']:,} × ", "yellow"), str(problem["reason"]))
    return 0


def _formats(printer: Printer) -> int:
    """Lists the formats, each with what tells it from others."""
    from peephole import sources

    found = [(source.name, form) for source in sources.every() for form in source.formats]
    for source, form in found:
        if printer.json:
            printer.record(
                {"source": source, "name": form.name, "files": form.files.split(), "known_by": form.known_by}
            )
        else:
            printer.line((form.name, "bold"))
            printer.line(f"    {form.files or 'any name'}; known by {form.known_by}")
    return 0


def _are_ranks(given: list[str], out: Path | str, replace: bool) -> bool:
    """Whether a run is made of these: they are ranks, or there is a run already to which they are added."""
    from peephole.model.run_tables import RUN

    if not replace and isinstance(out, Path) and (out / RUN).is_dir():
        return True
    if len(given) < 2 and isinstance(out, Path):
        return False
    from peephole.fleet.detect import are_ranks

    return are_ranks(given) or (not isinstance(out, Path) and not replace and _is_run(out))


def _is_run(out: str) -> bool:
    from peephole.fleet.run import find_run

    return find_run(out) is not None


def _named(output: str) -> Path | str:
    """The place that a user's name means, as for `run`: with the suffix that every command knows a capture by."""
    named = output.rstrip("/") if is_remote(output) else output
    if not named.endswith(SUFFIX):
        named += SUFFIX
    if is_remote(output):
        return named
    place.named(output)  # refuses what no file should be called
    return Path(named)
