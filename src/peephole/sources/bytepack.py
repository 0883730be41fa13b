"""Reads a bytepack file (docs/bytepack.md), section by section, trusting no number in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model import bytepack as pack
from peephole.model.sink import Sink, Strings
from peephole.model.tables import TABLES
from peephole.sources.base import FileFormat, Progress, each_alone

_MAX_SECTION: Final = 1 << 30
_MAX_ROWS: Final = 1 << 24
"""Rows of one part, which a few bytes may claim; `peephole export` writes a quarter of a million."""

_WHOLE: Final = (pack.SAME, pack.DELTA, pack.U64)
_FITTING: Final = {"str": (pack.TEXT,), "text": (pack.TEXT,), "f64": (pack.F64,)}
"""Encodings that a column of that type may have; all others hold whole numbers."""


class BytepackSource:
    """The `bytepack` files that `peephole export` writes."""

    name = "bytepack"
    formats = (FileFormat("bytepack, which peephole export writes", ".bytepack", "its first bytes"),)

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it begins with the magic."""
        return head.startswith(pack.MAGIC)

    def runs(self, paths: Sequence[Path]) -> list[list[Path]]:
        """Each file alone."""
        return each_alone(paths)

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads one file; what precedes a damage is kept and the damage counted."""
        if len(paths) != 1:
            raise CaptureError("One bytepack file is one profile: import them one by one.")
        path = paths[0]
        size = path.stat().st_size
        with path.open("rb") as file:
            header = file.read(pack.HEADER.size)
            if len(header) < pack.HEADER.size:
                raise CaptureError(f"{path} is cut off in its header.")
            _, version, _, _ = pack.HEADER.unpack(header)
            if version > pack.VERSION:
                raise CaptureError(f"{path} has bytepack version {version}; this Peephole reads up to {pack.VERSION}.")
            try:
                _sections(file, size, sink, progress)
            except _Damage as damage:
                sink.problem("the bytepack file is damaged, the rest of it is lost", 1, f"{path}: {damage}")


class _Damage(Exception):
    """Something that cannot be in a sound file."""


def _sections(file: BinaryIO, size: int, sink: Sink, progress: Progress) -> None:
    texts: list[str] = []
    while True:
        head = file.read(pack.SECTION.size)
        if len(head) < pack.SECTION.size:
            raise _Damage("it ends without its end mark")
        kind, length = pack.SECTION.unpack(head)
        if length > min(_MAX_SECTION, size - file.tell()):
            raise _Damage(f"a section claims {length} bytes")
        payload = file.read(length)
        progress(file.tell(), size)
        if kind == pack.END:
            return
        if kind == pack.TEXTS:
            texts += _read_texts(payload)
        elif kind == pack.ROWS:
            _read_rows(payload, texts, sink)
        elif kind == pack.FACTS:
            _read_facts(payload, sink)
        else:
            sink.problem(f"bytepack section of an unknown kind {kind}")


def _read_facts(payload: bytes, sink: Sink) -> None:
    try:
        facts = json.loads(payload)
    except (ValueError, RecursionError):
        raise _Damage("its facts are not JSON") from None
    if isinstance(facts, dict) and isinstance(facts.get("argv"), list):
        sink.describe(argv=[str(argument) for argument in facts["argv"]])


def unpack_varints(data: bytes, count: int) -> tuple[NDArray[np.uint64], int]:
    """`count` LEB128 numbers and how many bytes they took."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)[:count] + 1
    if len(ends) < count:
        raise _Damage("a column ends too early")
    if not count:
        return np.empty(0, np.uint64), 0
    begins = np.concatenate([[0], ends[:-1]])
    sizes = ends - begins
    if int(sizes.max()) > 10:
        raise _Damage("a number has more than ten bytes")
    values = np.zeros(count, np.uint64)
    for k in range(int(sizes.max())):
        rows = np.flatnonzero(sizes > k)
        values[rows] |= (raw[begins[rows] + k].astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * k)
    return values, int(ends[-1])


def _unzigzag(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    signs = (values & np.uint64(1)).astype(np.int64)
    return (values >> np.uint64(1)).view(np.int64) ^ -signs


def _read_texts(payload: bytes) -> list[str]:
    count = int.from_bytes(payload[:4], "little")
    sizes, used = unpack_varints(payload[4:], count)
    at = 4 + used
    texts = []
    for size in sizes.tolist():
        if at + size > len(payload):
            raise _Damage("a text goes past its section")
        texts.append(payload[at : at + size].decode("utf-8", "replace"))
        at += size
    return texts


class _Cursor:
    """Takes bytes from the front of a payload."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        piece = self._data[self._at : self._at + count]
        if len(piece) < count:
            raise _Damage("a section ends too early")
        self._at += count
        return piece

    def name(self) -> str:
        return self.take(self.take(1)[0]).decode("ascii", "replace")


def _read_rows(payload: bytes, texts: list[str], sink: Sink) -> None:
    cursor = _Cursor(payload)
    name = cursor.name()
    rows = int.from_bytes(cursor.take(8), "little")
    if rows > _MAX_ROWS:
        raise _Damage(f"a part claims {rows} rows")
    declared = TABLES[name].columns if name in pack.PROFILE_TABLES else ()
    types = {column.name: column.type for column in declared}
    columns: dict[str, Any] = {}
    for _ in range(cursor.take(1)[0]):
        column = cursor.name()
        encoding, size = pack.COLUMN.unpack(cursor.take(pack.COLUMN.size))
        data = cursor.take(size)
        if column not in types:
            sink.problem(f"bytepack column {name}.{column} that is unknown", 1)
        elif encoding not in _FITTING.get(types[column], _WHOLE):
            raise _Damage(f"{name}.{column} has encoding {encoding}")
        else:
            columns[column] = _decode(encoding, data, rows, texts)
    if columns and rows:
        sink.append(name, columns)


def _decode(encoding: int, data: bytes, rows: int, texts: list[str]) -> Any:
    if encoding == pack.SAME:
        return np.repeat(_unzigzag(unpack_varints(data, 1)[0]), rows)
    if encoding == pack.DELTA:
        return np.cumsum(_unzigzag(unpack_varints(data, rows)[0]))
    if encoding == pack.TEXT:
        codes = unpack_varints(data, rows)[0].astype(np.int64) - 1
        if len(codes) and int(codes.max()) >= len(texts):
            raise _Damage("a text number has no text")
        return Strings(codes.astype(np.int32), texts)
    if len(data) != rows * 8:
        raise _Damage("a column has another length than its rows")
    return np.frombuffer(data, "<i8" if encoding == pack.U64 else "<f8")


SOURCE = BytepackSource()
