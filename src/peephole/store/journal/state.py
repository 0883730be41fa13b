"""What a capture's folder holds: tables, a journal, one that is still written. Nothing that sealing needs is loaded."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Final

from peephole.model.left_files import LEFT
from peephole.model.tables import FORMAT_VERSION
from peephole.store.journal.processes import read_process
from peephole.store.manifest import FILE, Manifest, read_manifest

WORK: Final = ".sealing"
"""Folder of the tables while they are being written."""


def is_sealed(folder: Path) -> bool:
    """Whether the tables of a capture count."""
    return (folder / FILE).exists() and read_manifest(folder).state == "sealed"


def has_journal(folder: Path) -> bool:
    """Whether there is a journal in the folder."""
    return (folder / "journal").is_dir()


def is_live(folder: Path) -> bool:
    """Whether a process that writes into this capture still runs."""
    if is_sealed(folder) or not has_journal(folder):
        return False
    scratch = Manifest()
    with contextlib.suppress(OSError):
        for path in (folder / "journal").iterdir():
            if path.is_dir() and read_process(path, 0, scratch).alive():
                return True
    return False


def first_manifest(folder: Path) -> Manifest:
    """The manifest that a capture has before it is sealed."""
    if (folder / FILE).exists():
        manifest = read_manifest(folder)
    else:
        manifest = Manifest(name=folder.name.removesuffix(".peep"), source="record")
    manifest.format = FORMAT_VERSION  # that of the tables which are made now, whatever the journal's is
    manifest.problems = []
    manifest.tables = {}
    manifest.dropped = 0
    return manifest


def clean_up(folder: Path) -> None:
    """Removes what a sealed capture does not need: the journals that are in its tables, and no other."""
    known = {f"p{p['ordinal']:05}" for p in read_manifest(folder).processes if isinstance(p.get("ordinal"), int)}
    with contextlib.suppress(OSError):
        for path in (folder / "journal").iterdir():
            if path.name in known:
                shutil.rmtree(path, ignore_errors=True)
        (folder / "journal").rmdir()
    shutil.rmtree(folder / LEFT, ignore_errors=True)
    shutil.rmtree(folder / WORK, ignore_errors=True)
