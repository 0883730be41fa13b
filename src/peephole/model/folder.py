"""Where captures are kept when nobody says where: the per-user folder. Standard library only."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

SUFFIX: Final = ".peep"
PACKED_SUFFIX: Final = ".peep.zip"
_UNSAFE = re.compile(r"[^\w.+-]+")


def captures_folder() -> Path:
    """The folder of this user's captures: `PEEPHOLE_DIR`, else `peephole` in the user's data folder."""
    if chosen := os.environ.get("PEEPHOLE_DIR"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "peephole"


def safe_name(text: str) -> str:
    """A name for a capture made of any text: no separators, no control characters, not empty, not too long."""
    return _UNSAFE.sub("_", text).strip("._")[:80] or "capture"


def is_capture(path: Path) -> bool:
    """Whether a path looks like a capture from outside: a `.peep` folder or a packed file."""
    name = path.name
    try:
        return path.is_file() if name.endswith(PACKED_SUFFIX) else name.endswith(SUFFIX) and path.is_dir()
    except OSError:  # no path at all, such as a line of SQL that is longer than a file's name may be
        return False


def keep_to_owner(folder: Path) -> None:
    """Makes all that lies in a folder its owner's alone; one that is handed on may be opened by hand."""
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or on a disk that knows no owners
            path.chmod(0o700 if path.is_dir() else 0o600)


def free_name(path: Path) -> Path:
    """The path, or with a number when there is such a capture already."""
    stem, number = path.name.removesuffix(SUFFIX), 2
    while path.exists():
        path = path.with_name(f"{stem}-{number}{SUFFIX}")
        number += 1
    return path


def find_captures(folder: Path) -> list[Path]:
    """The captures in a folder, newest first."""
    try:
        found = [path for path in folder.iterdir() if is_capture(path)]
    except OSError:
        return []
    return sorted(found, key=_written, reverse=True)


def _written(path: Path) -> tuple[int, str]:
    # the folder's own time changes whenever a file in it comes or goes: creation and sealing both count
    try:
        return path.stat().st_mtime_ns, path.name
    except OSError:
        return 0, path.name
