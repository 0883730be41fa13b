"""Ways to damage what a capture is made of: Parquet tables, journal segments, packed files."""

from __future__ import annotations

import contextlib
import io
import json
import random
import struct
import warnings
import zipfile
import zlib
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz.edits import NUMBERS, TEXTS, Draw, damage_bytes, damage_inside, damage_value
from hypothesis import strategies as st

_SLOT: Final = 32
_USED: Final = struct.Struct("<II")
_USED_AT: Final = 20


def _fitting(draw: Draw, kind: pa.DataType) -> Any:
    """A value that a column of that type can hold and that nobody expects."""
    if pa.types.is_boolean(kind):
        return draw(st.booleans())
    if pa.types.is_integer(kind):
        low, high = -(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1
        return draw(st.sampled_from([n for n in NUMBERS if low <= n <= high]))
    if pa.types.is_floating(kind):
        return draw(st.sampled_from((0.0, -1.0, 1e308, -1e308, float("nan"), float("inf"))))
    if pa.types.is_large_binary(kind):
        return draw(st.binary(max_size=40))
    if pa.types.is_large_list(kind):
        return draw(st.lists(st.sampled_from([n for n in NUMBERS if -(2**63) <= n < 2**63]), max_size=4))
    wrong = (*TEXTS, "[" * 4000, '{"bytes": 1e999}', '{"bytes": -1}', '[["a", 1]]', '{"flops": "x"}', "[[[]]]")
    return draw(st.sampled_from([None, *(t.encode("utf-8", "replace").decode() for t in wrong)]))


def _damage_table(draw: Draw, table: pa.Table) -> pa.Table:
    how = draw(st.sampled_from(("value", "value", "value", "all", "order", "rows", "drop", "type", "name", "empty")))
    at = draw(st.integers(0, table.num_columns - 1))
    field = table.schema.field(at)
    if how in ("value", "all") and table.num_rows:
        values = table.column(at).to_pylist()
        rows = range(len(values)) if how == "all" else [draw(st.integers(0, len(values) - 1))]
        wrong = _fitting(draw, field.type)
        for row in rows:
            values[row] = wrong
        nullable = pa.field(field.name, field.type, True, field.metadata)
        return table.set_column(at, nullable, pa.array(values, field.type))
    if how == "order":
        order = list(range(table.num_rows))
        random.Random(draw(st.integers(0, 99))).shuffle(order)
        return table.take(pa.array(order, pa.int64()))
    if how == "rows":
        return pa.concat_tables([table] * draw(st.sampled_from((2, 5))))
    if how == "drop":
        return table.drop_columns([field.name])
    if how == "type":
        other = draw(st.sampled_from((pa.int8(), pa.string(), pa.float32(), pa.large_list(pa.string()), pa.null())))
        return table.set_column(at, field.name, pa.nulls(table.num_rows, other))
    if how == "name":
        wrong = draw(st.sampled_from(("", field.name[:-1] + "é", field.name.upper(), "x" * 300)))
        return table.rename_columns([wrong if n == field.name else n for n in table.column_names])
    return table.slice(0, draw(st.integers(0, 2)))


def damage_parquet(draw: Draw, data: bytes) -> bytes:
    """A Parquet file whose bytes or rows and columns are damaged."""
    if draw(st.integers(0, 2)) == 0:
        return damage_bytes(draw, data)
    file = pq.ParquetFile(pa.BufferReader(data))
    table = file.read(use_threads=False)
    for _ in range(draw(st.integers(1, 2))):
        if table.num_columns:
            with contextlib.suppress(pa.ArrowException):  # no value fits into a column that has lost its type
                table = _damage_table(draw, table)
    out = io.BytesIO()
    size = draw(st.sampled_from((1 << 14, 7)))  # row groups of other sizes than ours
    pq.write_table(table, out, compression="zstd", row_group_size=size)
    return out.getvalue()


def damage_segment(draw: Draw, data: bytes) -> bytes:
    """A segment of a journal whose bytes, slots or records are damaged; mostly its checksum fits again."""
    out = data
    how = draw(st.sampled_from(("bytes", "slot", "slot", "slot", "move", "twice", "number")))
    slots = max(1, len(data.rstrip(b"\0")) // _SLOT)
    at = draw(st.integers(0, slots)) * _SLOT
    if how == "bytes":
        out = damage_bytes(draw, data)
    elif how == "slot":
        out = damage_inside(draw, data, at, min(at + _SLOT, len(data)))
    elif how == "number":
        place = at + draw(st.sampled_from((0, 4, 8, 12, 16, 20, 24, 28, 30, 31)))
        width = draw(st.sampled_from(("<B", "<H", "<I", "<Q")))
        value = draw(st.sampled_from(NUMBERS)) % (1 << (8 * struct.calcsize(width)))
        out = data[:place] + struct.pack(width, value) + data[place + struct.calcsize(width) :]
    else:
        other = draw(st.integers(0, slots)) * _SLOT
        part = data[at : at + _SLOT]
        rest = data[:at] + data[at + _SLOT :] if how == "move" else data
        out = rest[:other] + part + rest[other:]
    used = (len(out) - _SLOT) // _SLOT
    if draw(st.booleans()) and used > 0 and out[:8] == data[:8] and data[_USED_AT : _USED_AT + 4] != bytes(4):
        out = out[:_USED_AT] + _USED.pack(used, zlib.crc32(out[_SLOT : _SLOT + used * _SLOT])) + out[_USED_AT + 8 :]
    return out


def damage_zip(draw: Draw, data: bytes) -> bytes:
    """A packed capture whose bytes or members are damaged."""
    if draw(st.booleans()):
        return damage_bytes(draw, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    at = draw(st.integers(0, len(members) - 1))
    name, content = members[at]
    how = draw(st.sampled_from(("content", "name", "drop", "twice", "swap", "bomb", "manifest")))
    if how == "content":
        members[at] = (
            name,
            damage_parquet(draw, content) if name.endswith(".parquet") else damage_bytes(draw, content),
        )
    elif how == "name":
        members[at] = (
            draw(st.sampled_from(("../" + name, "/" + name, name + "/", "index/../" + name, "x" * 300))),
            content,
        )
    elif how == "drop":
        del members[at]
    elif how == "twice":
        members.append((name, damage_bytes(draw, content)))
    elif how == "swap":
        members[at] = (name, members[draw(st.integers(0, len(members) - 1))][1])
    elif how == "bomb":
        members[at] = (name, content + bytes(60 << 20))
    else:
        first, manifest = members[0]
        members[0] = (first, json.dumps(damage_value(draw, json.loads(manifest))).encode("utf-8", "replace"))
    out = io.BytesIO()
    packing = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))
    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(out, "w", packing if how != "bomb" else zipfile.ZIP_DEFLATED) as archive,
    ):
        warnings.simplefilter("ignore")  # one name twice is what is wanted
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = archive.compression
            archive.writestr(info, content)
    packed = out.getvalue()
    return damage_bytes(draw, packed) if draw(st.integers(0, 3)) == 0 else packed
