"""Follows a tape's file while it grows: what was appended is read, never the whole again."""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peephole.errors import CaptureError
from peephole.query.tape.follow import Following

if TYPE_CHECKING:
    from peephole.query.tape.now import Now
    from peephole.query.tape.tape import Tape

CONTEXT: Final = 2000
"""Lines before the new ones that are read with them: a command and its answer are not further apart."""
PART: Final = 64 << 20
_TITLE: Final = b"GT2 Dispatcher Instruction Stream"
_REGISTER: Final = b"RegisterWorker"


def can_follow(path: Path) -> bool:
    """Whether a file is a tape whose lines can be read as they come: neither packed nor of two bytes a character."""
    from peephole import sources
    from peephole.sources.gt.text import encoding_of

    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return not head.startswith(b"\x1f\x8b") and encoding_of(head) == "utf-8" and sources.find(path).name == "gt"


class TapeFile:
    """The state of a tape's file, from poll to poll."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._grown = time.monotonic()
        self._start()

    def _start(self) -> None:
        self._following = Following()
        self._registered: list[bytes] = []
        self._last: deque[bytes] = deque(maxlen=CONTEXT)

    def poll(self) -> Now:
        """What the cluster did until now."""
        try:
            size = self._path.stat().st_size
            if size < self._offset:  # written anew
                self._offset = 0
                self._start()
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while block := file.read(PART):
                    whole = block.rfind(b"\n") + 1
                    if not whole:
                        break
                    self._offset += whole
                    file.seek(self._offset)
                    self._add(block[:whole].splitlines(keepends=True))
        except OSError as error:
            raise CaptureError(f"Cannot read {self._path}: {error.strerror or error}.") from error
        quiet = time.monotonic() - self._grown
        return self._following.now(self._path.name, "growing" if quiet < 2 else f"quiet for {quiet:,.0f} s")

    def _add(self, lines: list[bytes]) -> None:
        begins = next((i for i in range(len(lines) - 1, -1, -1) if _TITLE in lines[i]), None)
        if begins is not None and self._following.seen >= 0:
            self._start()  # another run: what came before it is over
        lines = lines[begins or 0 :]
        last = set(self._last)
        tape = _tape([*(line for line in self._registered if line not in last), *self._last, *lines])
        if tape is not None and len(tape.sessions) == 1:
            self._following.add(tape)
        elif tape is not None:
            # numbers begin again without a header: only the last run still grows
            self._start()
            self._following.add(_tape(lines, len(tape.sessions)) or tape)
        self._grown = time.monotonic()
        self._registered += [line for line in lines if _REGISTER in line]
        self._last.extend(lines)


def _tape(lines: list[bytes], run: int | None = None) -> Tape | None:
    """The tape that some lines make; None when there is no event among them."""
    from peephole.errors import PeepholeError
    from peephole.ingest import import_files
    from peephole.query.tape.tape import tape
    from peephole.store.capture import open_capture

    with tempfile.TemporaryDirectory(prefix="peephole-top-") as folder:
        part = Path(folder) / "part.log"
        part.write_bytes(b"".join(lines))
        try:
            return tape(open_capture(import_files([part], Path(folder) / "part.peep")), run)
        except PeepholeError:
            return None


def follow(path: Path) -> Iterator[Now]:
    """The state of the cluster whose tape a file is, whenever it is asked for."""
    file = TapeFile(path)
    while True:
        yield file.poll()
