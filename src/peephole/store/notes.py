"""Notes that a reader pins to something of a capture: `notes.json` in its folder, whole or not there, in every pack."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from peephole.errors import CaptureError, PeepholeError
from peephole.model.unfinished import whole_file

FILE: Final = "notes.json"
FORMAT: Final = 1
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "slice": ("track", "depth", "start", "dur"),
    "range": ("start", "end"),
    "match": ("step", "match"),
    "node": ("step", "match", "node"),
}
"""What a note can be pinned to, and the numbers that say where that is; times are ns on the capture's clock."""
LONGEST: Final = 10_000
"""Characters of a note."""
LABEL: Final = 200
MOST: Final = 5_000
LIMIT: Final = 64 << 20
"""Bytes of the file that we are willing to read."""


@dataclass(frozen=True, slots=True)
class Note:
    """A text and what it is pinned to. `label` is the name of that at the time, `at` the numbers of `KINDS`."""

    id: str
    kind: str
    text: str
    label: str
    created: str
    at: dict[str, int]


def read_notes(folder: Path) -> list[Note]:
    """The notes in that folder, oldest first; CaptureError when the file is not one of ours."""
    path = folder / FILE
    try:
        # neither a link out of the folder nor a pipe that never ends
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from None
    with open(fd, "rb") as file:  # noqa: PTH123
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LIMIT:
            raise CaptureError(f"{path} holds no notes: it is no file, or larger than {LIMIT:,} bytes.")
        return parse_notes(file.read(LIMIT + 1), path)


def parse_notes(data: bytes, path: Path) -> list[Note]:
    """The notes in a file's bytes; `path` is for the sentence of a CaptureError."""
    try:
        found = json.loads(data)
        known = found["format"]
        if not isinstance(known, int) or not 1 <= known <= FORMAT:
            raise CaptureError(f"{path} has format {str(known)[:20]}, which a newer Peephole wrote; update this one.")
        notes = [_note(one) for one in found["notes"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CaptureError(f"{path} is damaged ({str(error)[:80]}); move it away to begin anew.") from None
    if len({note.id for note in notes}) != len(notes):
        raise CaptureError(f"{path} is damaged (two notes of one id); move it away to begin anew.")
    return notes


def _note(found: Any) -> Note:
    kind = found["kind"]
    at = {name: found["at"][name] for name in KINDS[kind]}
    if not all(type(value) is int and abs(value) < 1 << 63 for value in at.values()):
        raise ValueError("a place that is no number")
    texts = {name: found[name] for name in ("id", "text", "label", "created")}
    if not all(isinstance(value, str) for value in texts.values()):
        raise ValueError("a text that is none")
    return Note(kind=kind, at=at, **texts)


def add_note(path: Path, kind: str, text: str, label: str, at: Mapping[str, int], created: str) -> Note:
    """Pins a note to something of the capture at that path; PeepholeError when it cannot be kept."""
    numbers = {name: at[name] for name in KINDS[kind]}
    added: list[Note] = []

    def change(notes: list[Note]) -> list[Note]:
        if len(notes) >= MOST:
            raise PeepholeError(f"{path.name} has {MOST:,} notes, which is as many as it may; remove some.")
        last = max((int(note.id[1:]) for note in notes if note.id[1:].isdecimal() and len(note.id) < 10), default=0)
        added.append(Note(f"n{last + 1}", kind, _checked(text), label[:LABEL], created, numbers))
        return [*notes, *added]

    _rewrite(path, change)
    return added[0]


def change_note(path: Path, id: str, text: str) -> Note:
    """Gives a note another text; PeepholeError when there is none of that id, or it cannot be kept."""

    def change(notes: list[Note]) -> list[Note]:
        _find(path, notes, id)
        return [replace(note, text=_checked(text)) if note.id == id else note for note in notes]

    return _find(path, _rewrite(path, change), id)


def remove_note(path: Path, id: str) -> None:
    """Takes a note away; PeepholeError when there is none of that id, or the file cannot be written."""

    def change(notes: list[Note]) -> list[Note]:
        _find(path, notes, id)
        return [note for note in notes if note.id != id]

    _rewrite(path, change)


def why_not_writable(path: Path) -> str:
    """A sentence when notes cannot be pinned to the capture at that path; empty when they can."""
    if not path.is_dir():
        return f"{path.name} is a packed capture, which is not changed; pin notes in its folder and pack that again."
    if not os.access(path, os.W_OK | os.X_OK):
        return f"Notes are kept in the capture's folder, and {path} cannot be written; copy it to where it can."
    return ""


def _checked(text: str) -> str:
    if not text.strip() or len(text) > LONGEST:
        raise PeepholeError(f"A note has 1 to {LONGEST:,} characters; this has {len(text.strip()):,}.")
    return text


def _find(path: Path, notes: list[Note], id: str) -> Note:
    for note in notes:
        if note.id == id:
            return note
    raise PeepholeError(f"{path.name} has no note {id[:40]!r}; it may have been removed meanwhile.")


def _rewrite(path: Path, change: Callable[[list[Note]], list[Note]]) -> list[Note]:
    if reason := why_not_writable(path):
        raise PeepholeError(reason)
    try:
        with _alone(path):
            notes = change(read_notes(path))
            text = json.dumps({"format": FORMAT, "notes": [asdict(note) for note in notes]}, indent=1)
            with whole_file(path / FILE, 0o600) as file:
                file.write(text.encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise PeepholeError(f"{path / FILE} cannot be written: {error.strerror or error}.") from None
    return notes


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits until no other server or command changes the notes of a capture; the lock goes with its process."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder, and so locks none
        fd = os.open(os.devnull, os.O_RDONLY)
    try:
        with contextlib.suppress(ImportError, OSError):  # a system or a disk without locks
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
