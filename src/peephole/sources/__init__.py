"""One module or folder per producer: turns its bytes, or its live process, into rows."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, cast

from peephole.errors import CaptureError
from peephole.sources.base import LeavesFiles, ReadsFolders, Source

NAMES: Final = (
    "cuda_memory",
    "tinygrad",
    "torch",
    "gt",
    "bytepack",
    "chakra",
    "mlir",
    "xla",
    "perfetto",
    "nsight",
    "rocpd",
    "stacks",
    "chrome",
)
"""The modules of this package that read files, asked in this order: the most particular first."""

LEAVE_FILES: Final = ("tinygrad",)
"""Those of them whose producer leaves files at a known place (`LeavesFiles`)."""

READ_FOLDERS: Final = ("torch", "xla", "mlir")
"""Those of them that a whole folder can be given to (`ReadsFolders`)."""

HEAD: Final = 64 * 1024


def load(name: str) -> Source:
    """The source of that name; imported when it is first asked for."""
    source: Source = importlib.import_module(f"{__name__}.{name}").SOURCE
    return source


def every() -> Iterator[Source]:
    """All sources, in the order in which they are asked."""
    return (load(name) for name in NAMES)


def head_of(path: Path) -> bytes:
    """The first bytes of a file, gunzipped as far as it goes when it is gzipped; CaptureError when none can be read."""
    # not at the top: a source's attach module loads this package inside the user's program
    from peephole.sources.gunzip import GZIP_MAGIC, Gunzip

    if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe may wait for ever
        raise CaptureError(f"{path} is neither a file nor a folder: save what comes out of it as a file.")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
            if not head.startswith(GZIP_MAGIC):
                return head
            file.seek(0)
            unzipped = Gunzip(file)
            head = unzipped.read(HEAD)
    except OSError as error:
        raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error
    if unzipped.damage and not head:
        raise CaptureError(f"{path} starts as a gzip file but cannot be unpacked: {unzipped.damage}.")
    return head


def find(path: Path) -> Source:
    """The source whose file this is, by content; CaptureError when no source knows it."""
    head = head_of(path)
    if not head:
        for name in READ_FOLDERS:
            # one of many files of a folder, which its producer is about to write: the others are there
            if getattr(load(name), "may_be_empty", lambda _: False)(path):
                return load(name)
        raise CaptureError(f"{path} is empty.")
    for source in every():
        if source.sniff(head, path):
            return source
    raise CaptureError(
        f"{path} is neither a capture nor a file of a known source ({', '.join(NAMES)}); its content starts with "
        f"{head[:16]!r}."
    )


def files_in(folder: Path) -> Sequence[Path]:
    """The files of a folder that a producer left there as a whole; empty when no source knows it."""
    for name in READ_FOLDERS:
        try:
            if found := cast(ReadsFolders, load(name)).files_in(folder):
                return found
        except OSError as error:
            raise CaptureError(f"Cannot read {folder}: {error.strerror or error}.") from error
    return []


def spread(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant by files and folders; CaptureError for a folder that no source knows."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = files_in(path)
        if not found:
            raise CaptureError(f"{path} is a folder with neither a capture nor files of a known source in it.")
        files += [file for file in found if file not in files]
    return files


def left_behind() -> Sequence[Path]:
    """The newest files that any producer left at its own place (tinygrad's VIZ does); empty when there are none."""
    groups = [list(cast(LeavesFiles, load(name)).left_behind()) for name in LEAVE_FILES]
    return max((group for group in groups if group), key=newest, default=[])


def newest(paths: Sequence[Path]) -> int:
    """When the youngest of some files was written, in ns since the epoch; 0 for those that are gone."""
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)
