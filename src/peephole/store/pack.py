"""One file of a capture, to send around: a zip that stores its tables as they are."""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from pathlib import Path
from typing import IO, Final

from peephole.errors import CaptureError, PeepholeError
from peephole.model.folder import keep_to_owner
from peephole.model.tables import TABLES
from peephole.model.unfinished import WorkFolder, whole_file
from peephole.store.index.capture_index import FILES
from peephole.store.manifest import FILE, LIMIT, parse_manifest, read_manifest
from peephole.store.notes import FILE as NOTES
from peephole.store.opening import cache_folder, check_folder, sealed_folder
from peephole.store.tables.files import INDEX, open_table

_MEMBERS: Final = frozenset(
    (FILE, NOTES, *(f"{name}.parquet" for name in TABLES), *(f"{INDEX}/{name}" for name in FILES))
)
"""The only names that are taken out of a packed capture."""
_FOLDED: Final = 20
_SMALL: Final = 16 << 20
"""Bytes that a small file may unfold to, and how many times its size a large one may."""
LARGEST: Final = 256 << 30
"""Bytes of a packed capture's contents that we are willing to unpack."""


def pack(capture: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Packs the capture in that folder into one file, `NAME.peep.zip` beside it unless told; gives the file."""
    folder = Path(capture)
    if not folder.is_dir():
        raise CaptureError(f"There is no capture folder at {folder}.")
    check_folder(folder)
    tables = sealed_folder(folder)
    target = Path(out) if out is not None else folder.with_name(folder.name.removesuffix(".peep") + ".peep.zip")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(target, 0o644) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(_MEMBERS, key=lambda n: (n != FILE, n)):
                # what a reader wrote stays with the capture, wherever its tables had to be made
                path = (folder if name == NOTES else tables) / name
                if path.is_symlink():  # it may lead to a secret of whoever packs a stranger's capture
                    raise CaptureError(f"{path} is a link; only files of the capture itself are packed.")
                if path.exists():
                    archive.write(path, name)
    except OSError as error:
        raise PeepholeError(f"{target} cannot be written: {error.strerror or error}.") from None
    return target


def unpack(path: Path) -> Path:
    """A folder with the tables of a packed capture, in the user's cache; CaptureError when it is none."""
    try:
        status = path.stat()
        state = f"{path.resolve()} {status.st_size} {status.st_mtime_ns}".encode("utf-8", "surrogateescape")
        target = cache_folder() / "unpacked" / f"{hashlib.sha256(state).hexdigest()[:32]}.peep"
        if (target / FILE).exists():
            return target
        with zipfile.ZipFile(path) as archive:
            return _unpack(path, archive, target)
    except zipfile.BadZipFile:
        raise CaptureError(f"{path} is no packed capture: it is no zip file, or a damaged one.") from None
    except OSError as error:
        raise PeepholeError(f"{path} cannot be unpacked: {error.strerror or error}.") from None
    except PeepholeError as error:
        if str(path) in str(error):
            raise
        raise CaptureError(f"{path} is damaged: {error}.") from None
    except Exception as error:  # each way to compress has errors of its own
        raise CaptureError(f"{path} is damaged and cannot be unpacked ({error}).") from None


def _unpack(path: Path, archive: zipfile.ZipFile, target: Path) -> Path:
    members = {info.filename: info for info in archive.infolist() if info.filename in _MEMBERS}
    if FILE not in members:
        raise CaptureError(f"{path} is no packed capture: it has no {FILE}.")
    total = sum(info.file_size for info in members.values())
    if total > LARGEST or members[FILE].file_size > LIMIT:
        raise CaptureError(f"{path} is too large to unpack: {total} bytes.")
    size = path.stat().st_size
    if total > _FOLDED * size + _SMALL:
        # a capture's tables are compressed already and packed as they are: what grows like that is no capture
        raise CaptureError(f"{path} is not unpacked: its {size:,} bytes claim to hold {total:,}, as no capture does.")
    parse_manifest(archive.read(FILE), path / FILE)
    with WorkFolder(target, shared=True) as work:
        (work.path / INDEX).mkdir()
        for name, info in sorted(members.items()):
            with archive.open(info) as source, (work.path / name).open("wb") as out:
                _copy(source, out, info.file_size)
        keep_to_owner(work.path)
        # nothing that cannot be opened stays in the cache
        version = read_manifest(work.path).format
        for name in TABLES:
            if f"{name}.parquet" in members:
                open_table(work.path, name, version).close()
        with contextlib.suppress(OSError):  # another one was quicker: its copy is as good
            work.path.rename(target)
    return target


def _copy(source: IO[bytes], out: IO[bytes], size: int) -> None:
    """Copies a member; CaptureError when it unfolds to another number of bytes than it claims."""
    left = size
    while some := source.read(1 << 20):
        left -= len(some)
        if left < 0:
            break
        out.write(some)
    if left:
        raise CaptureError(f"it has a part that does not hold the {size} bytes that it claims")
