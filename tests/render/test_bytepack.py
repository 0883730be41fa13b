"""Bytepack: written, read by an independent small decoder, imported again, damaged on purpose."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.ingest import import_files
from peephole.model.bytepack import PROFILE_TABLES
from peephole.model.tables import TABLES
from peephole.render.bytepack import varints, write_bytepack, zigzag
from peephole.sources.bytepack import unpack_varints
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

HOUR = 3_600_000_000_000


def decode(data: bytes) -> dict[str, list[dict[str, Any]]]:
    """The reference decoder: docs/bytepack.md and nothing else."""
    assert data[:8] == b"PEEPPACK"
    at, texts, tables = 16, [], {}  # type: ignore[var-annotated]

    def numbers(raw: bytes) -> Iterator[int]:
        value = shift = 0
        for byte in raw:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                yield value
                value = shift = 0

    def signed(raw: bytes) -> Iterator[int]:
        return ((n >> 1) ^ -(n & 1) for n in numbers(raw))

    while True:
        kind, size = struct.unpack_from("<BQ", data, at)
        body, at = data[at + 9 : at + 9 + size], at + 9 + size
        if kind == 0:
            return tables
        if kind == 1:
            (count,), used = struct.unpack_from("<I", body), 4
            lengths: list[int] = []
            while len(lengths) < count:
                end = next(i for i in range(used, len(body)) if body[i] < 0x80) + 1
                lengths.append(next(numbers(body[used:end])))
                used = end
            for length in lengths:
                texts.append(body[used : used + length].decode())
                used += length
        if kind == 2:
            name, p = body[1 : 1 + body[0]].decode(), 1 + body[0]
            rows, columns = struct.unpack_from("<QB", body, p)
            p += 9
            table: dict[str, list[Any]] = {}
            for _ in range(columns):
                column, p = body[p + 1 : p + 1 + body[p]].decode(), p + 1 + body[p]
                encoding, length = struct.unpack_from("<BQ", body, p)
                raw, p = body[p + 9 : p + 9 + length], p + 9 + length
                if encoding == 0:
                    table[column] = list(signed(raw)) * rows
                elif encoding == 1:
                    table[column] = np.cumsum(list(signed(raw))).tolist()
                elif encoding in (2, 3):
                    table[column] = list(struct.unpack(f"<{rows}{'Q' if encoding == 2 else 'd'}", raw))
                else:
                    table[column] = [None if n == 0 else texts[n - 1] for n in numbers(raw)]
            tables.setdefault(name, []).extend(
                dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)
            )


def rows_of(capture: Capture, table: str) -> list[dict[str, Any]]:
    frame = capture.read(table)
    columns = {}
    for column in TABLES[table].columns:
        texts = column.type in ("str", "text")
        columns[column.name] = list(frame.texts(column.name)) if texts else frame[column.name].tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    with CaptureWriter(tmp_path / "c.peep") as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["GPU", "mem ≥"], "kind": ["device", "counter"]})
        writer.append(
            "slices",
            {
                "track": [0] * 4,
                "start": [0, 5, 3 * HOUR, -7],
                "dur": [3, 2 * HOUR, 1, 2],
                "name": ["a", "b\x00", "a", None],
                "correlation": [1, 2, 0, 3],
                "args": ['{"n": 1}', None, None, None],
            },
        )
        writer.append("counters", {"track": [1, 1], "time": [0, 9], "value": [0.1, -2.5]})
        writer.append("markers", {"time": [4], "name": ["train @ 1"], "kind": ["marker"]})
        writer.append("flows", {"from": [1], "to": [2], "bytes": [2**40], "kind": ["x"]})
        writer.append("buffers", {"id": [1], "device": ["GPU"], "alloc": [1], "bytes": [2**43]})
        writer.append("uses", {"buffer": [1], "slice": [2], "mode": ["read"]})
    return open_capture(tmp_path / "c.peep")


def packed(capture: Capture) -> bytes:
    out = io.BytesIO()
    assert write_bytepack(capture, out) == capture.count("slices")
    return out.getvalue()


def test_reference_decoder_reads_every_row(capture: Capture) -> None:
    tables = decode(packed(capture))
    for table in PROFILE_TABLES:
        assert tables[table] == rows_of(capture, table), table


def test_import_gives_the_same_capture(capture: Capture, tmp_path: Path, capture_dir: Path) -> None:
    path = tmp_path / "anything.bin"
    path.write_bytes(packed(capture))
    again = open_capture(import_files([path]))
    for table in PROFILE_TABLES:
        assert rows_of(again, table) == rows_of(capture, table), table


def test_bytes_a_slice(tmp_path: Path) -> None:
    n = 200_000
    rng = np.random.default_rng(1)
    dur = rng.integers(500, 900_000, n)
    with CaptureWriter(tmp_path / "big.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["GPU"]})
        names = [f"k{i}" for i in rng.integers(0, 300, n)]
        start = np.cumsum(dur + rng.integers(0, 9_000, n)) - dur
        writer.append(
            "slices", {"track": np.zeros(n, np.int32), "start": start, "dur": dur, "name": names, "correlation": start}
        )
    assert len(packed(open_capture(tmp_path / "big.peep"))) / n < 27


def test_damaged_files_say_so(capture: Capture, tmp_path: Path, capture_dir: Path) -> None:
    whole = packed(capture)
    rng = np.random.default_rng(0)
    for attempt in range(60):
        data = bytearray(whole[: int(rng.integers(16, len(whole)))] if attempt % 2 else whole)
        if attempt % 2 == 0:
            data[int(rng.integers(16, len(data)))] ^= 1 << int(rng.integers(8))
        path = tmp_path / f"d{attempt}"
        path.write_bytes(data)
        again = open_capture(import_files([path], tmp_path / f"d{attempt}.peep"))
        if attempt % 2:
            assert any("damaged" in problem["reason"] for problem in again.manifest.problems)


def _section(kind: int, payload: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(payload)) + payload


def _part(table: str, rows: int, *columns: tuple[str, int, bytes]) -> bytes:
    parts = [bytes([len(table)]), table.encode(), rows.to_bytes(8, "little"), bytes([len(columns)])]
    for name, encoding, data in columns:
        parts += [bytes([len(name)]), name.encode(), struct.pack("<BQ", encoding, len(data)), data]
    return _section(2, b"".join(parts))


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        (_section(3, b"[" * 100_000), "damaged"),
        (_part("slices", 1, ("start", 4, b"\x01")), "damaged"),
        (_part("slices", 1, ("name", 0, b"\x02")), "damaged"),
        (_part("slices", 1, ("start", 3, struct.pack("<d", float("nan")))), "damaged"),
        (_part("slices", 1, ("start", 9, b"\x02")), "damaged"),
        (_part("slices", 1 << 30, ("start", 0, b"\x02")), "damaged"),
        (_part("slices", 1, ("start", 0, b"")), "damaged"),
        (_part("nodes", 1, ("src", 1, b"\x02")), "unknown"),
    ],
    ids=[
        "deep facts",
        "text for a number",
        "number for a text",
        "no whole number",
        "no encoding",
        "endless rows",
        "no value",
        "not of a profile",
    ],
)
def test_what_cannot_be_is_said(section: bytes, reason: str, tmp_path: Path, capture_dir: Path) -> None:
    texts = _section(1, struct.pack("<I", 1) + b"\x01a")
    path = tmp_path / "odd"
    path.write_bytes(struct.pack("<8sHHI", b"PEEPPACK", 1, 0, 0) + texts + section + _section(0, b""))
    (problem,) = open_capture(import_files([path])).manifest.problems
    assert reason in problem["reason"]


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_varints_round_trip(values: list[int]) -> None:
    raw = varints(zigzag(np.array(values, np.int64)))
    found, used = unpack_varints(raw, len(values))
    assert used == len(raw)
    assert [(n >> 1) ^ -(n & 1) for n in found.tolist()] == values
