"""`peephole import`: foreign files become a capture."""

from __future__ import annotations

import argparse
from pathlib import Path

from peephole.cli.format import Printer
from peephole.cli.target import add_json, progress_bar
from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, captures_folder, free_name, is_capture
from peephole.record import place

HELP = """Makes a capture of files that another tool wrote: tinygrad's rewrites.pkl and profile.pkl, logs of
torch.compile, dumps of XLA, GT tapes, Chrome and Perfetto traces, … (--formats lists them). The format is found by
content. Files that belong together are given together, a folder of them as a whole; a profiler's trace beside a log of
torch.compile is linked with it. Without a file: the latest that tinygrad's VIZ left behind.

Traces that name a rank each, or several captures, become a run of many ranks (`peephole ranks`): a capture for each
rank and small tables over all of them. What is missing, cut or of another run is listed, and the rest goes on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="files or folders of one source that belong together")
    parser.add_argument("-o", "--output", metavar="NAME.peep", help="where it goes (default: the user's folder)")
    parser.add_argument("--force", action="store_true", help="replace a capture of that name")
    parser.add_argument("--formats", action="store_true", help="list what can be imported, and import nothing")
    parser.add_argument("--merge", action="store_true", help="one capture of all ranks, instead of a run")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="import ranks on the Dask cluster of this scheduler")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Imports and says where the capture is."""
    from peephole import sources
    from peephole.ingest import import_files, name_for
    from peephole.store.capture import open_capture

    if args.formats:
        return _formats(Printer(args.json))
    paths = [Path(file) for file in args.files] or list(sources.left_behind())
    if not paths:
        raise PeepholeError("No file was given and no tool left one behind; name the files: peephole import FILE…")
    out = _named(args.output) if args.output else free_name(captures_folder() / name_for(paths))
    if args.force:
        place.may_replace(str(out), replace=True)
    files = [file for path in paths for file in ([path] if is_capture(path) else sources.spread([path]))]
    if not args.merge and (args.scheduler or _are_ranks(files)):
        return _import_ranks(files, out, args)
    # what is there gives way when the new one is whole, not before
    import_files(paths, out, progress_bar(f"importing {paths[0].name}"), args.force)
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


def _are_ranks(paths: list[Path]) -> bool:
    if len(paths) < 2:
        return False
    from peephole.fleet.detect import are_ranks

    return are_ranks(paths)


def _import_ranks(paths: list[Path], out: Path, args: argparse.Namespace) -> int:
    """Makes a run, and says who is in it."""
    from peephole.fleet.run import make_run
    from peephole.query.ranks.run import open_run
    from peephole.store.capture import open_capture

    told = progress_bar(f"importing {len(paths)} ranks")
    found = open_run(open_capture(make_run(paths, out, told, args.scheduler, args.force)))
    ranks, printer = found.ranks(), Printer(args.json)
    if args.json:
        problems = [{"reason": reason, "count": number} for reason, number, _ in found.problems]
        rows = {name: len(next(iter(table.columns.values()))) for name, table in found.tables.items()}
        printer.record({"path": str(out), "source": "ranks", "tables": rows, "problems": problems})
        return 0
    rows_of = f"{sum(rank.slices for rank in ranks):,} slices"
    held = f"{len(ranks)} ranks, {rows_of}, {len(found.tables['collectives']['name']):,} collectives"
    printer.line((str(out), "bold"), f": {held}; who was slow: peephole ranks {out}")
    for reason, number, example in found.problems:
        printer.line((f"{number:,} × ", "yellow"), reason, (f" ({example})" if example else "", "dim"))
    return 0


def _named(output: str) -> Path:
    """The place that a user's name means, as for `run`: with the suffix that every command knows a capture by."""
    place.named(output)  # refuses what no file should be called
    return Path(output if output.endswith(SUFFIX) else output + SUFFIX)
