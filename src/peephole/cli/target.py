"""Which capture a command is about: the newest, a path, or a raw file of a known source."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.errors import CaptureError, PeepholeError
from peephole.model.folder import PACKED_SUFFIX, SUFFIX, captures_folder, find_captures, is_capture
from peephole.model.urls import is_remote
from peephole.sources.base import Progress

if TYPE_CHECKING:
    from peephole.store.capture import Capture

Target = str | Path | Sequence[str | Path] | None


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declares `args.capture`, which `open_target` takes."""
    parser.add_argument(
        "capture",
        nargs="*",
        metavar="CAPTURE",
        help="a capture, its name, or files (a folder) of a known source (default: the newest capture)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declares `args.json`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, times in integer ns")


def open_target(target: Target) -> Capture:
    """The capture that the user means, open; PeepholeError when there is none."""
    from peephole.store.capture import open_capture

    path = find_target(target)
    return open_capture(path, progress_bar(f"sealing {path.name}"))


def not_a_capture(word: str, usage: str) -> None:
    """PeepholeError when a capture stands where a command's own words belong."""
    if is_capture(Path(word)):
        raise PeepholeError(f"{word} is a capture, which comes last: {usage}")


def names_capture(word: str) -> bool:
    """Whether a word could have been meant for a capture: here, or in the user's folder."""
    try:
        path = _capture_path(Path(word))
    except CaptureError:
        return False
    return path is not None and is_capture(path)


def find_target(target: Target) -> Path:
    """The path of the capture that the user means; raw files are imported first."""
    words = [target] if isinstance(target, (str, Path)) else list(target or ())
    if len(words) == 1 and is_remote(str(words[0])):
        return _brought(str(words[0]))
    given = [Path(word) for word in words]
    if not given:
        return _newest()
    if len(given) == 1 and (found := _capture_path(given[0])) is not None:
        return found
    for path in given:
        if not path.exists():
            raise CaptureError(f"There is no {path}.")
    for path in given:
        if is_capture(path):
            raise PeepholeError(f"{path} is a capture; give one capture, or several files of one source.")
    return _import(given)


def progress_bar(what: str) -> Progress:
    """A progress that shows itself in the terminal (stderr) when the work takes longer than a second."""
    begun = time.monotonic()
    shown = 0.0

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun < 1 or now - shown < 0.1 or not sys.stderr.isatty():
            return
        shown = now
        part = f"{done / total:6.1%}" if total else f"{done:,}"
        end = "\n" if total and done >= total else ""
        print(f"\r{what} {part}", end=end, file=sys.stderr, flush=True)

    return show


def _capture_path(path: Path) -> Path | None:
    """An existing capture by path, or by name here or in the user's folder; None when the path is a plain file."""
    if path.exists():
        return None if is_raw(path) else path
    for suffix in (SUFFIX, PACKED_SUFFIX):
        if path.name and (whole := path.with_name(path.name + suffix)).exists():
            return whole
    if len(path.parts) == 1:
        folder = captures_folder()
        for name in (path.name, path.name + SUFFIX, path.name + PACKED_SUFFIX):
            if (folder / name).exists():
                return folder / name
        import difflib

        known = {item.name.removesuffix(PACKED_SUFFIX).removesuffix(SUFFIX): item for item in find_captures(folder)}
        if near := difflib.get_close_matches(path.name.removesuffix(SUFFIX), known, n=1):
            raise CaptureError(f"There is no {path}, here or in {folder}; did you mean {near[0]!r}?")
        raise CaptureError(f"There is no {path}, here or in {folder}; `peephole ls` lists the captures.")
    raise CaptureError(f"There is no {path}; `peephole ls` lists the captures.")


def is_raw(path: Path) -> bool:
    """Whether it is no capture but a file, or a folder that a producer left its files in."""
    if not path.is_dir():
        return path.exists() and not path.name.endswith(PACKED_SUFFIX)
    if is_capture(path) or any((path / own).exists() for own in ("manifest.json", "journal")):
        return False
    from peephole import sources

    return bool(sources.files_in(path))


def _brought(url: str) -> Path:
    """A capture or a raw file in object storage, here."""
    import tempfile

    from peephole.store import remote

    if remote.is_capture_url(url):
        return remote.bring_capture(url)
    with tempfile.TemporaryDirectory(prefix="peephole-") as scratch:
        return _import([remote.fetch(one, Path(scratch)) for one in remote.expand(url)])


def _newest() -> Path:
    from peephole import sources

    captures = find_captures(captures_folder())
    left = list(sources.left_behind())
    if left and (not captures or sources.newest(left) > sources.newest(captures[:1])):
        return _import(left)
    if not captures:
        raise PeepholeError(
            f"There is no capture in {captures_folder()} yet; record one with `peephole run script.py` or "
            "`peephole demo`."
        )
    return captures[0]


def _import(paths: Sequence[Path]) -> Path:
    from peephole.ingest import import_files

    return import_files(paths, progress=progress_bar(f"reading {paths[0].name}"))
