"""A capture's profile as one bytepack file (docs/bytepack.md)."""

from __future__ import annotations

import json
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from peephole.model import bytepack as pack
from peephole.query.capture.info import row_counts
from peephole.query.timeline.export_rows import ColumnPart, TablePart, table_parts
from peephole.store.capture import Capture


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
    for part in table_parts(capture, pack.PROFILE_TABLES):
        payload = _rows(part, texts)
        if texts.fresh:
            _section(out, pack.TEXTS, _text_payload(texts.fresh))
            texts.fresh = []
        _section(out, pack.ROWS, payload)
    _section(out, pack.END, b"")
    return row_counts(capture)["slices"]


def _section(out: BinaryIO, kind: int, payload: bytes) -> None:
    out.write(pack.SECTION.pack(kind, len(payload)))
    out.write(payload)


def _text_payload(texts: list[str]) -> bytes:
    raw = [text.encode("utf-8", "replace") for text in texts]
    sizes = varints(np.array([len(r) for r in raw], np.uint64))
    return len(raw).to_bytes(4, "little") + sizes + b"".join(raw)


def _rows(part: TablePart, texts: _Texts) -> bytes:
    name = part.table
    parts = [bytes([len(name)]), name.encode(), part.rows.to_bytes(8, "little"), bytes([len(part.columns)])]
    for one in part.columns:
        encoding, data = _column(name, one, texts)
        title = one.column.name
        parts += [bytes([len(title)]), title.encode(), pack.COLUMN.pack(encoding, len(data)), data]
    return b"".join(parts)


def _column(table: str, one: ColumnPart, texts: _Texts) -> tuple[int, bytes]:
    if not isinstance(one.values, np.ndarray):
        used, inverse = np.unique(one.values.codes, return_inverse=True)
        numbers = [0 if code < 0 else texts.number(one.values.values[code]) + 1 for code in used.tolist()]
        return pack.TEXT, varints(np.array(numbers, np.uint64)[inverse])
    if one.column.type == "f64":
        return pack.F64, one.values.astype("<f8").tobytes()
    if (table, one.column.name) in pack.RAW_SIZES:
        return pack.U64, one.values.astype("<u8").tobytes()
    wide = one.values.astype(np.int64)
    if len(wide) and bool((wide == wide[0]).all()):
        return pack.SAME, varints(zigzag(wide[:1]))
    return pack.DELTA, varints(zigzag(np.diff(wide, prepend=np.int64(0))))
