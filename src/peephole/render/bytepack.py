"""A capture's profile as one bytepack file (docs/bytepack.md)."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from peephole.model import bytepack as pack
from peephole.model.tables import TABLES, Column
from peephole.store.capture import Capture
from peephole.store.tables.frame import Frame

PART = 1 << 18


def varints(values: NDArray[np.uint64]) -> bytes:
    """Unsigned numbers as LEB128, seven bits a byte, the lowest first."""
    if not len(values):
        return b""
    sizes = np.ones(len(values), np.int64)
    for k in range(1, 10):
        sizes += values >= np.uint64(1 << (7 * k))
    ends = np.cumsum(sizes)
    begins = ends - sizes
    out = np.empty(int(ends[-1]), np.uint8)
    for k in range(int(sizes.max())):
        rows = np.flatnonzero(sizes > k)
        low = (values[rows] >> np.uint64(7 * k)) & np.uint64(0x7F)
        more = np.where(sizes[rows] > k + 1, np.uint64(0x80), np.uint64(0))
        out[begins[rows] + k] = low | more
    return out.tobytes()


def zigzag(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Signed numbers as unsigned ones, small for small absolute values."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


class _Texts:
    """Numbers texts for the whole file and remembers which ones were not written yet."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.fresh: list[str] = []

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._numbers)
            self.fresh.append(text)
        return found


def write_bytepack(capture: Capture, out: BinaryIO) -> int:
    """Writes the profile and gives the number of slices."""
    out.write(pack.HEADER.pack(pack.MAGIC, pack.VERSION, 0, 0))
    facts = {"name": capture.name, "source": capture.manifest.source, "argv": capture.manifest.argv}
    _section(out, pack.FACTS, json.dumps(facts).encode())
    texts = _Texts()
    for name in pack.PROFILE_TABLES:
        for frame in _parts(capture, name):
            payload = _rows(frame, name, texts)
            if texts.fresh:
                _section(out, pack.TEXTS, _text_payload(texts.fresh))
                texts.fresh = []
            _section(out, pack.ROWS, payload)
    _section(out, pack.END, b"")
    return capture.count("slices")


def _parts(capture: Capture, name: str) -> Any:
    """Parts of a table; a part of slices is of one lane, so that its differences are small."""
    if name != "slices":
        yield from capture.scan(name, size=PART)
        return
    lanes = capture.lanes()
    for first, count in zip(lanes.first.tolist(), lanes.count.tolist(), strict=True):
        yield from capture.scan(name, rows=slice(first, first + count), size=PART)


def _section(out: BinaryIO, kind: int, payload: bytes) -> None:
    out.write(pack.SECTION.pack(kind, len(payload)))
    out.write(payload)


def _text_payload(texts: list[str]) -> bytes:
    raw = [text.encode("utf-8", "replace") for text in texts]
    sizes = varints(np.array([len(r) for r in raw], np.uint64))
    return len(raw).to_bytes(4, "little") + sizes + b"".join(raw)


def _rows(frame: Frame, name: str, texts: _Texts) -> bytes:
    columns = TABLES[name].columns
    parts = [bytes([len(name)]), name.encode(), len(frame).to_bytes(8, "little"), bytes([len(columns)])]
    for column in columns:
        encoding, data = _column(frame, name, column, texts)
        parts += [bytes([len(column.name)]), column.name.encode(), pack.COLUMN.pack(encoding, len(data)), data]
    return b"".join(parts)


def _column(frame: Frame, table: str, column: Column, texts: _Texts) -> tuple[int, bytes]:
    if column.type in ("str", "text"):
        found = frame.texts(column.name)
        used, inverse = np.unique(found.codes, return_inverse=True)
        numbers = [0 if code < 0 else texts.number(found.values[code]) + 1 for code in used.tolist()]
        values = np.array(numbers, np.uint64)[inverse]
        return pack.TEXT, varints(values)
    values = frame[column.name]
    if column.type == "f64":
        return pack.F64, values.astype("<f8").tobytes()
    if (table, column.name) in pack.RAW_SIZES:
        return pack.U64, values.astype("<u8").tobytes()
    wide = values.astype(np.int64)
    if len(wide) and bool((wide == wide[0]).all()):
        return pack.SAME, varints(zigzag(wide[:1]))
    return pack.DELTA, varints(zigzag(np.diff(wide, prepend=np.int64(0))))
