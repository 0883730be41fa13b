"""Turns the journals of a capture into sealed tables: atomic, and begun again when it was cut off.

NAME.peep/journal/…            complete until the manifest says sealed
NAME.peep/.sealing/            tables while they are being written
NAME.peep/manifest.json        replaced last: from then on the tables count and the journal may go
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from peephole.errors import CaptureError, PeepholeError
from peephole.model.tables import TABLES
from peephole.store.journal.journals import JournalReader
from peephole.store.journal.left_files import join_left_files
from peephole.store.journal.state import WORK, clean_up, first_manifest, has_journal, is_live, is_sealed
from peephole.store.manifest import Manifest
from peephole.store.sealing.build import Builder, Progress
from peephole.store.tables.files import INDEX, table_path

LOCK: Final = ".lock"


def seal(path: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Seals the capture at that path and gives the path; one that is sealed, or still written, stays as it is.

    `progress` is called with (done, total). CaptureError when there is nothing to seal, PeepholeError when the folder
    cannot be written: the journal is then as it was.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise CaptureError(f"There is no capture at {folder}.")
    if not is_sealed(folder) and not has_journal(folder):
        raise CaptureError(f"{folder} is not a capture: it has neither tables nor a journal.")
    try:
        with _locked(folder):
            if is_live(folder):
                return folder
            if not is_sealed(folder):
                _seal(folder, progress)
            clean_up(folder)
    except OSError as error:
        raise PeepholeError(f"{folder} cannot be sealed: {error.strerror or error}.") from error
    return folder


def _seal(folder: Path, progress: Progress | None) -> None:
    work = folder / WORK
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        manifest = first_manifest(folder)
        build_tables(folder, work, manifest, progress)
        for name in TABLES:
            if manifest.tables.get(name):  # an empty table is read from the manifest alone
                _sync(table_path(work, name))
            table_path(work, name).replace(table_path(folder, name))
        shutil.rmtree(folder / INDEX, ignore_errors=True)
        (work / INDEX).rename(folder / INDEX)
        manifest.state = "sealed"
        manifest.write(folder)
        _sync(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def build_tables(folder: Path, work: Path, manifest: Manifest, progress: Progress | None) -> None:
    """Writes the tables of a capture's journals into `work` and fills the manifest."""
    builder = Builder(work, manifest)
    try:
        reader = JournalReader(folder, builder)
        reader.advance(None if progress is None else lambda done, total: progress(done, 2 * total))
        reader.describe()
        join_left_files(folder, builder, manifest.processes, reader.tracks)
        second = None if progress is None else lambda done, total: progress(total + done, 2 * total)
        builder.finish(second, owners=reader.tracks.owner)
    finally:
        builder.close()


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Waits until nobody else seals the capture. The lock goes with its process, however that ends."""
    path = folder / LOCK
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with contextlib.suppress(ImportError):
                import fcntl

                fcntl.flock(fd, fcntl.LOCK_EX)
            if not _is_file(fd, path):
                # whoever had it removed the file: the lock that counts is on the new one
                continue
            yield
            with contextlib.suppress(OSError):
                path.unlink()
            return
        finally:
            os.close(fd)


def _is_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
