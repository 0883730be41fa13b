"""Finds out what lies at a path and makes its tables readable: sealed, unsealed, live, packed, read-only."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.errors import CaptureError, PeepholeError
from peephole.model.unfinished import WorkFolder
from peephole.store.journal.state import clean_up, first_manifest, has_journal, is_sealed
from peephole.store.manifest import FILE, read_manifest
from peephole.store.tables.files import INDEX

if TYPE_CHECKING:
    from peephole.store.sealing.build import Progress


def cache_folder() -> Path:
    """Where derived data may be kept: `peephole` in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "peephole"


def check_folder(folder: Path) -> None:
    """CaptureError with the reason when the folder is no capture, or has a name that Arrow and DuckDB cannot open."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise CaptureError(
            f"{folder} cannot be opened: its path is no UTF-8; rename the capture or its folder."
        ) from None
    for path in _odd_files(folder):
        raise CaptureError(f"{path} is not a file but a pipe or a device: whoever opens it waits for ever.")
    if not (folder / FILE).exists() and not has_journal(folder):
        raise CaptureError(f"{folder} is not a capture: it has neither a {FILE} nor a journal.")
    if (folder / FILE).exists() and read_manifest(folder).state != "sealed" and not has_journal(folder):
        raise CaptureError(f"{folder} was never sealed and its journal is gone: there is nothing to show.")


def _odd_files(folder: Path) -> Iterator[str]:
    """What lies in a capture's folders and is neither a file nor a folder."""
    for place in (folder, folder / INDEX, *(folder / "journal").glob("*")):
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            yield from (
                entry.path for entry in entries if not entry.is_file() and not entry.is_dir() and Path(entry).exists()
            )


def sealed_folder(folder: Path, progress: Progress | None = None) -> Path:
    """The folder that holds the capture's tables: itself, or a copy in the cache where it cannot be written."""
    if is_sealed(folder):
        if has_journal(folder) and os.access(folder, os.W_OK | os.X_OK):
            clean_up(folder)
        return folder
    if os.access(folder, os.W_OK | os.X_OK):
        from peephole.store.journal.seal import seal  # not for a capture that is sealed already

        try:
            return seal(folder, progress)
        except PeepholeError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            # a full disk, most likely the one that the recording filled: it is to be seen all the same
    return _sealed_elsewhere(folder, progress)


def _sealed_elsewhere(folder: Path, progress: Progress | None) -> Path:
    state = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape"))
    for path in sorted(_files(folder / "journal")):
        with contextlib.suppress(OSError):
            status = path.stat()
            state.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    target = cache_folder() / "sealed" / f"{state.hexdigest()[:32]}.peep"
    if (target / FILE).exists():
        return target
    from peephole.store.journal.seal import build_tables

    try:
        with WorkFolder(target, shared=True) as work:
            manifest = first_manifest(folder)
            build_tables(folder, work.path, manifest, progress)
            manifest.state = "sealed"
            manifest.write(work.path)
            with contextlib.suppress(OSError):  # another one was quicker: its copy is as good
                work.path.rename(target)
    except OSError as error:
        raise PeepholeError(
            f"{folder} is not sealed and neither it nor {target.parent} can be written: {error.strerror or error}."
        ) from None
    return target


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        for name in names:
            yield Path(root) / name
