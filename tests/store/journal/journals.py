"""A small journal encoder of the tests' own, after the description in model/journal.py."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

from peephole.model.journal import TABLE_KINDS, fixed_columns, record_format, tail_columns
from peephole.model.tables import FORMAT_VERSION, TABLES

SLOT = 32


def slot_slice(
    start: int, dur: int, name: int, track: int = 0, depth: int = 0, correlation: int = 0, flags: int = 0
) -> bytes:
    return struct.pack("<qqIIIHBB", start, dur, name, correlation, track, depth, flags, 1)


def record(kind: int, payload: bytes) -> bytes:
    rest = payload[26:]
    rest += b"\0" * (-len(rest) % SLOT)
    return struct.pack("<I", len(payload)) + payload[:26].ljust(26, b"\0") + b"\0" + bytes([kind]) + rest


def text(value: str) -> bytes:
    return record(2, value.encode("utf-8", "surrogatepass"))


def args(context: int, value: dict[str, Any] | None) -> bytes:
    return record(3, struct.pack("<q", context) + (b"" if value is None else json.dumps(value).encode()))


def row(table: str, **columns: Any) -> bytes:
    """A row of any table; texts are given by number, tails as bytes or None."""
    declared = TABLES[table]
    fixed = [columns.get(c.name, c.default if c.default is not None else 0) for c in fixed_columns(declared)]
    payload = record_format(declared).pack(*fixed)
    for column in tail_columns(declared):
        value = columns.get(column.name)
        payload += struct.pack("<I", 0xFFFFFFFF) if value is None else struct.pack("<I", len(value)) + value
    return record(TABLE_KINDS[table], payload)


def segment(body: bytes, closed: bool, thread: int = 0, number: int = 0, dropped: int = 0, spare: int = 0) -> bytes:
    """A segment; an open one has zeros behind its records."""
    used = len(body) // SLOT if closed else 0
    crc = zlib.crc32(body) if closed else 0
    head = struct.pack("<8sHHIIIII", b"PEEPJRN1", FORMAT_VERSION, 0, thread, number, used, crc, dropped)
    return head + body + b"\0" * (0 if closed else spare * SLOT)


def capture_folder(path: Path, segments: dict[str, bytes], process: dict[str, Any] | None = None) -> Path:
    """An unsealed capture: segments by `p00000/t0000.000000.seg`."""
    (path / "journal" / "p00000").mkdir(parents=True)
    manifest = {"format": FORMAT_VERSION, "name": "t", "state": "recording", "clean": False}
    (path / "manifest.json").write_text(json.dumps(manifest))
    for name, data in segments.items():
        file = path / "journal" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        facts = {"format": 1, "ordinal": int(file.parent.name[1:]), "pid": 1, "boot": "b", "clean": True}
        (file.parent / "process.json").write_text(json.dumps(facts | (process or {})))
    return path
