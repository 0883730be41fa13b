"""An independent reader of journals, and recordings inside the test's process and in real ones."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import textwrap
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from peephole.model.tables import TABLES
from peephole.record import active, process
from peephole.record.recorder import Recorder

CODES = {"bool": "?", "i16": "h", "i32": "i", "i64": "q", "f64": "d", "str": "I"}


class Journal:
    """What a capture's journals hold, read slot by slot as model/journal.py describes them."""

    def __init__(self, capture: Path) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.problems: dict[str, int] = defaultdict(int)
        self.facts: dict[str, Any] = {}
        self.frees: list[tuple[int, int]] = []
        self.dropped = 0
        self.closed_segments = 0
        self.record_ends: list[int] = []
        self.open_slices: list[dict[str, Any]] = []
        self.marks: list[dict[str, Any]] = []
        self.unfinished = 0
        self.processes: list[dict[str, Any]] = []
        for folder in sorted((capture / "journal").iterdir()):
            self.processes.append(json.loads((folder / "process.json").read_text()))
            self._ordinal = int(folder.name[1:])
            for thread in sorted({path.name.split(".")[0] for path in folder.glob("*.seg")}):
                self._texts: dict[int, str] = {}
                self._args: tuple[int, str | None] | None = None
                for number, path in enumerate(sorted(folder.glob(f"{thread}.*.seg"))):
                    self._segment(path.read_bytes(), int(thread[1:]), number)
                self._marks(folder, int(thread[1:]))

    def _marks(self, folder: Path, thread: int) -> None:
        for path in sorted(folder.glob("open.*")):
            for mark in struct.iter_unpack("<qIIqIHH", path.read_bytes()):
                start, name, correlation, again, track, depth, own_thread = mark
                if own_thread == thread + 1 and start and start == again:
                    row = {"track": track, "depth": depth, "start": start, "dur": 0, "name": self._text(name)}
                    self.marks.append(row | {"correlation": correlation, "process": self._ordinal})

    def left_open(self) -> list[dict[str, Any]]:
        """What was marked as open, or written as open, and never ended."""
        closed = {(row["process"], row["track"], row["depth"], row["start"]) for row in self.slices}
        found = {}
        for row in [*self.marks, *self.open_slices]:
            key = (row["process"], row["track"], row["depth"], row["start"])
            if key not in closed:
                found[key] = row
        return list(found.values())

    def _segment(self, data: bytes, thread: int, number: int) -> None:
        if not any(data[:32]):
            return  # the process was killed between making the file and its first write
        magic, version, ordinal, own_thread, own_number, used, crc, dropped = struct.unpack("<8sHHIIIII", data[:32])
        assert (magic, version) == (b"PEEPJRN1", 2)
        assert (ordinal, own_thread, own_number) == (self._ordinal, thread, number)
        self.dropped += dropped & 0xFFFFFFF
        if used:
            self.closed_segments += 1
            data = data[: 32 + used * 32]
            assert zlib.crc32(data[32:]) == crc
        at = 32
        while at < len(data):
            if not data[at + 31]:  # never finished: skipped when something follows
                behind = at + self._slots(data, at) * 32
                if not any(data[at : at + 4]) or behind >= len(data) or not data[behind + 31]:
                    break
                self.unfinished += 1
                at = behind
                continue
            at = self._record(data, at)
            self.record_ends.append(at)
        assert not used or at == len(data)

    def _record(self, data: bytes, at: int) -> int:
        kind = data[at + 31]
        if kind == 1:
            start, dur, name, correlation, track, depth, flags, _ = struct.unpack("<qqIIIHBB", data[at : at + 32])
            row = {"track": track, "depth": depth, "start": start, "dur": dur, "name": self._text(name)}
            row |= {"correlation": correlation, "context": -1, "args": None, "process": self._ordinal}
            if self._args is not None:
                row["context"], row["args"] = self._args
            self._args = None
            (self.open_slices if flags & 1 else self.rows["slices"]).append(row)
            return at + 32
        (length,) = struct.unpack("<I", data[at : at + 4])
        slots = self._slots(data, at)
        payload = data[at + 4 : at + 30] + data[at + 32 : at + slots * 32]
        self._payload(kind, payload[:length])
        return at + slots * 32

    @staticmethod
    def _slots(data: bytes, at: int) -> int:
        (length,) = struct.unpack("<I", data[at : at + 4])
        return 1 if length <= 26 else 1 + -(-(length - 26) // 32)

    def _payload(self, kind: int, payload: bytes) -> None:
        assert self._args is None, "args must be followed by their slice"
        if kind == 9:
            self._texts[struct.unpack("<I", payload[:4])[0]] = payload[4:].decode("utf-8", "surrogatepass")
        elif kind == 3:
            text = payload[8:].decode()
            self._args = (struct.unpack("<q", payload[:8])[0], text or None)
        elif kind == 4:
            self.frees.append(struct.unpack("<qq", payload))
        elif kind == 5:
            self.problems[payload[8:].decode()] += struct.unpack("<q", payload[:8])[0]
        elif kind == 6:
            self.facts |= json.loads(payload)
        else:
            self._row(list(TABLES)[kind - 16], payload)

    def _row(self, name: str, payload: bytes) -> None:
        columns = TABLES[name].columns
        fixed = [column for column in columns if column.type in CODES]
        layout = struct.Struct("<" + "".join(CODES[column.type] for column in fixed))
        row: dict[str, Any] = {}
        for column, value in zip(fixed, layout.unpack(payload[: layout.size]), strict=True):
            row[column.name] = self._text(value) if column.type == "str" else value
        at = layout.size
        for column in columns:
            if column.type in CODES:
                continue
            (length,) = struct.unpack("<I", payload[at : at + 4])
            at += 4
            data = None if length == 0xFFFFFFFF else payload[at : at + length]
            at += 0 if data is None else length
            if data is not None and column.type == "ids":
                row[column.name] = list(struct.unpack(f"<{length // 8}q", data))
            elif data is not None and column.type == "text":
                row[column.name] = data.decode("utf-8", "surrogatepass")
            else:
                row[column.name] = data
        assert at == len(payload)
        self.rows[name].append(row)

    def _text(self, number: int) -> str | None:
        return None if number == 0 else self._texts[number]

    @property
    def slices(self) -> list[dict[str, Any]]:
        return self.rows["slices"]

    def last(self, table: str) -> list[dict[str, Any]]:
        """Rows of contexts or steps: of those with one id, the last."""
        return list({row["id"]: row for row in self.rows[table]}.values())

    def names(self) -> list[str]:
        return [row["name"] for row in self.slices]


@pytest.fixture(scope="session")
def read_journal() -> Callable[[Path], Journal]:
    return Journal


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture that nobody has written to yet."""
    path = tmp_path / "test.peep"
    process.start_capture(str(path), "test", ["test"])
    return path


@pytest.fixture
def recorder(capture: Path) -> Iterator[Recorder]:
    """The active recorder of this process, writing into `capture`."""
    yield active.start(capture)
    active.stop()


@pytest.fixture
def finish(recorder: Recorder, capture: Path) -> Callable[[], Journal]:
    """Ends the recording of this process and reads it."""

    def end() -> Journal:
        active.stop()
        return Journal(capture)

    return end


Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs a real program that records itself into `capture` with `import peephole` done for it."""

    def run(source: str, *arguments: str | Path, env: dict[str, str] | None = None) -> Any:
        script = tmp_path / "program.py"
        script.write_text("import os, sys, time\nimport peephole\n" + textwrap.dedent(source))
        return subprocess.run(
            [sys.executable, str(script), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "PEEPHOLE_DIR": str(tmp_path / "captures"), **(env or {})},
        )

    return run
