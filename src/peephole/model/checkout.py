"""Which commit a folder of git's is at, read from its files: git need not be there. Standard library only."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")

_SHOWN: Final = 12
_PACKAGE: Final = Path(__file__).absolute().parent.parent


def built_from(package: Path = _PACKAGE) -> str | None:
    """The commit of this Peephole: of the clone that it runs in, else what the wheel says; None when nobody knows."""
    commit = commit_of(package.parent.parent) if package.parent.name == "src" else None
    if commit is None:
        with suppress(OSError, ValueError):
            commit = _read(package / "built_from.txt")
    return commit[:_SHOWN] if commit is not None and _COMMIT.match(commit) else None


def commit_of(folder: Path) -> str | None:
    """The commit that is checked out in a folder; None when it is not a checkout of git's."""
    git = folder / ".git"
    with suppress(OSError, ValueError):
        if git.is_file():  # a worktree or a submodule
            git = folder / _read(git).removeprefix("gitdir: ")
        head = _read(git / "HEAD")
        name = head.removeprefix("ref: ")
        if name != head:
            head = _reference(git, name)
        return head if _COMMIT.match(head) else None
    return None


def _reference(git: Path, name: str) -> str:
    shared = git
    with suppress(OSError):
        shared = git / _read(git / "commondir")
    for place in (git, shared):
        with suppress(OSError):
            return _read(place / name)
    for line in _read(shared / "packed-refs").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name:
            return commit
    return ""


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
