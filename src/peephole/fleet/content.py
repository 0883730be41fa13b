"""What an input is known by, under any name: its size and a hash of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Final

_TAIL: Final = 1 << 16
"""Bytes at the end of a capture's files that are hashed: a table has its sums and places there."""


def content_of(path: Path) -> str:
    """What a file, or the folder of a capture, is known by; nothing where it cannot be read: its reader says why."""
    try:
        return _content(path)
    except OSError:
        return ""


def _content(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    if path.is_dir():
        for file in _files(path):
            digest.update(f"{file.relative_to(path).as_posix()} {file.stat().st_size}\n".encode())
            with file.open("rb") as data:
                data.seek(max(file.stat().st_size - _TAIL, 0))
                digest.update(data.read())
        return f"{_size(path)} {digest.hexdigest()}"
    with path.open("rb") as data:
        return f"{_size(path)} {hashlib.file_digest(data, lambda: digest).hexdigest()}"


def alike(path: Path, known: Collection[str]) -> tuple[str, ...]:
    """Those of the known contents that this file may have, by its size."""
    try:
        size = f"{_size(path)} " if known else ""
    except OSError:  # its reader says why
        return ()
    return tuple(one for one in known if one.startswith(size))


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in _files(path)) if path.is_dir() else path.stat().st_size


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
