"""One file of a capture, to send around: a zip that stores its tables as they are."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from peephole.errors import CaptureError, PeepholeError
from peephole.model.tables import TABLES
from peephole.store.index.capture_index import FILES
from peephole.store.manifest import FILE, LIMIT, parse_manifest
from peephole.store.opening import cache_folder, check_folder, sealed_folder
from peephole.store.tables.files import INDEX

_MEMBERS: Final = frozenset((FILE, *(f"{name}.parquet" for name in TABLES), *(f"{INDEX}/{name}" for name in FILES)))
"""The only names that are taken out of a packed capture."""
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
    temporary = None
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(fd, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(_MEMBERS, key=lambda n: (n != FILE, n)):
                if (tables / name).exists():
                    archive.write(tables / name, name)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
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
    except PeepholeError:
        raise
    except Exception as error:  # each way to compress has errors of its own
        raise CaptureError(f"{path} is damaged and cannot be unpacked ({error}).") from None


def _unpack(path: Path, archive: zipfile.ZipFile, target: Path) -> Path:
    members = {info.filename: info for info in archive.infolist() if info.filename in _MEMBERS}
    if FILE not in members:
        raise CaptureError(f"{path} is no packed capture: it has no {FILE}.")
    total = sum(info.file_size for info in members.values())
    if total > LARGEST or members[FILE].file_size > LIMIT:
        raise CaptureError(f"{path} is too large to unpack: {total} bytes.")
    parse_manifest(archive.read(FILE), path / FILE)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        (work / INDEX).mkdir()
        for name, info in sorted(members.items()):
            # what a member claims to hold is not what it may unfold to
            with archive.open(info) as source, (work / name).open("wb") as out:
                left = info.file_size
                while left > 0 and (some := source.read(min(left, 1 << 20))):
                    out.write(some)
                    left -= len(some)
        with contextlib.suppress(OSError):  # another one was quicker: its copy is as good
            work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target
