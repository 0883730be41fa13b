"""HLO as a protocol buffer (HloProto): the same state of a module, as `--xla_dump_hlo_as_proto` and profiles have it.

What an instruction's attributes are is written as in the text where that is simple. Of other fields a hash is kept, so
that two instructions that differ are different.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final, TypeVar

from peephole.sources.xla.hlo_text import MOST_ATTRIBUTE, MOST_LITERAL, shortened
from peephole.sources.xla.instructions import BODY, Computation, Dump, Frame, Instruction
from peephole.sources.xla.wire import Cut, Value, fields, packed, signed, text

_TYPE_NAMES: Final = """
    invalid pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 tuple opaque c64 bf16 token c128 f8e5m2 f8e4m3fn s4 u4
    f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 s1 u1 f4e2m1fn f8e8m0fnu
"""
_TYPES: Final = dict(enumerate(_TYPE_NAMES.split()))
_KNOWN: Final = frozenset((1, 2, 3, 7, 8, 9, 35, 36, 38))
"""Fields of an instruction that are told otherwise than as attributes."""
_LISTS: Final = {14: "dimensions", 20: "dynamic_slice_sizes", 32: "fft_length", 34: "slice_sizes"}
_TEXTS: Final = {28: "custom_call_target", 43: "backend_config"}
_WORDS: Final = {11: "kind", 63: "direction"}
_DOT: Final = ("lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims", "rhs_batch_dims")
_T = TypeVar("_T")


def read_proto(data: bytes) -> Dump:
    """The state of a module in an HloProto, or in a bare HloModuleProto; Cut when it is neither."""
    parts = dict(fields(data))
    module = parts.get(1)
    if not isinstance(module, bytes):
        raise Cut("this protocol buffer holds no HLO module")
    # the first field of a module is its name, of an HloProto the module
    return read_module(data if 2 in parts and 3 in parts and _is_name(module) else module)


def _is_name(value: bytes) -> bool:
    return len(value) < 4096 and not any(byte < 0x20 for byte in value)


def read_module(data: bytes) -> Dump:
    """The same for an HloModuleProto."""
    name, entry_name, entry_id, layout = "", "", -1, ""
    raw: list[bytes] = []
    frames: dict[int, Frame] = {}
    schedule: dict[int, list[int]] = {}
    for number, value in fields(data):
        if number == 1:
            name = text(value)
        elif number == 2:
            entry_name = text(value)
        elif number == 3 and isinstance(value, bytes):
            raw.append(value)
        elif number == 6:
            entry_id = signed(value)
        elif number == 7 and isinstance(value, bytes):
            schedule = _schedule(value)
            layout = ", is_scheduled=true"
        elif number == 17 and isinstance(value, bytes):
            frames = _frames(value)
    heads = [_head(one) for one in raw]
    names = {number: own for own, number, _, _ in heads}
    found = []
    for own, number, root, instructions in heads:
        entry = number == entry_id if entry_id >= 0 else own == entry_name
        listed = _instructions(instructions, root, names, schedule.get(number))
        found.append(Computation(own, entry, listed))
    return Dump(name, name + layout, found, frames, cut=not any(one.entry for one in found))


def _head(data: bytes) -> tuple[str, int, int, list[bytes]]:
    """Name, id, id of the root and the instructions of a computation."""
    name, number, root = "", -1, -1
    instructions = []
    for field, value in fields(data):
        if field == 1:
            name = text(value)
        elif field == 2 and isinstance(value, bytes):
            instructions.append(value)
        elif field == 5:
            number = signed(value)
        elif field == 6:
            root = signed(value)
    return name, number, root, instructions


def _instructions(raw: list[bytes], root: int, names: dict[int, str], order: list[int] | None) -> list[Instruction]:
    parsed = [_instruction(data, names) for data in raw]
    own = {number: one.name for one, number, _ in parsed}
    # ids may be given with the computation's in their upper half, or without
    own.update({number & 0xFFFFFFFF: one.name for one, number, _ in parsed})
    by_id = {}
    for one, number, operands in parsed:
        one.reads = (*(own.get(o, own.get(o & 0xFFFFFFFF, "")) for o in operands), *one.reads)
        one.tag = "ROOT" if number == root or number & 0xFFFFFFFF == root & 0xFFFFFFFF else None
        by_id[number] = by_id[number & 0xFFFFFFFF] = one
    if order:
        placed = [by_id[number] for number in order if number in by_id]
        if len(placed) == len(parsed):
            return placed
    return [one for one, _, _ in parsed]


def _instruction(data: bytes, names: dict[int, str]) -> tuple[Instruction, int, list[int]]:
    found: dict[int, list[Value]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    name, op = (text(found[number][-1]) if number in found else "" for number in (1, 2))
    dtype, shape = _shape(found[3][-1]) if 3 in found else ("", "")
    called = [names.get(number, "") for value in found.get(38, ()) for number in packed(value)]
    operands = [number for value in found.get(36, ()) for number in packed(value)]
    parts: list[str] = []
    if op == "parameter":
        parts.append(str(found.get(9, [0])[-1]))
    elif op == "constant":
        parts.append(_literal(found.get(8, [b""])[-1]))
    for number in sorted(found.keys() - _KNOWN):
        if said := _attribute(number, found[number]):
            parts.append(said)
    if called:
        # as the text does, so that another computation makes another instruction
        parts.append("calls=" + ", ".join(f"%{one}" for one in called))
    made = Instruction(name, op, dtype, shape, ", ".join(parts), False, tuple(BODY + one for one in called))
    made.bodies = tuple(called)
    for value in found.get(7, ()):
        _origin(made, value)
    number = signed(found[35][-1]) if 35 in found else -1
    return made, number, operands


def _attribute(number: int, values: list[Value]) -> str:
    """One attribute as the text would have it, or a hash of what it is."""
    last = values[-1]
    if number in _LISTS:
        return f"{_LISTS[number]}={{{','.join(str(n) for value in values for n in packed(value))}}}"
    if number in _TEXTS:
        return shortened(f"{_TEXTS[number]}={text(last)}", MOST_ATTRIBUTE) if last else ""
    if number in _WORDS:
        return f"{_WORDS[number]}={text(last)}" if last else ""
    if number == 13:
        return f"index={last!r}"
    if number == 30 and isinstance(last, bytes):
        lists = dict[int, list[int]]()
        for field, value in fields(last):
            lists.setdefault(field, []).extend(packed(value))
        known = [(name, lists.get(place, [])) for place, name in enumerate(_DOT, 1)]
        return ", ".join(f"{name}={{{','.join(map(str, dims))}}}" for name, dims in known if dims)
    if all(not value for value in values):
        return ""
    joined = b"".join(value if isinstance(value, bytes) else b"%d," % value for value in values)
    return f"field {number}={hashlib.blake2b(joined, digest_size=4).hexdigest()}"


def _shape(value: Value) -> tuple[str, str]:
    """Element type and the rest of a shape, as in the text: `f32` and `[8,32]{1,0}`."""
    kind, dims, inner, layout, dynamic = 0, list[int](), list[tuple[str, str]](), "", list[int]()
    for number, part in fields(value) if isinstance(value, bytes) else ():
        if number == 2 and isinstance(part, int):
            kind = part
        elif number == 3:
            dims += packed(part)
        elif number == 4:
            inner.append(_shape(part))
        elif number == 5 and isinstance(part, bytes):
            layout = _layout(part)
        elif number == 6:
            dynamic += packed(part)
    name = _TYPES.get(kind, f"type{kind}")
    if name == "tuple":
        return "", f"({', '.join(dtype + shape for dtype, shape in inner)})"
    marks = [*dynamic, *[0] * len(dims)]
    written = ",".join(("<=" if marked else "") + str(dim) for dim, marked in zip(dims, marks, strict=False))
    return name, f"[{written}]{layout if dims else ''}"


def _layout(data: bytes) -> str:
    order: list[int] = []
    tiles, space = "", 0
    for number, value in fields(data):
        if number == 1:
            order += packed(value)
        elif number == 6 and isinstance(value, bytes):
            dims = [n for field, part in fields(value) if field == 1 for n in packed(part)]
            tiles += f"({','.join('*' if n >= 1 << 63 else str(n) for n in dims)})"
        elif number == 8 and isinstance(value, int):
            space = value
    further = (f"T{tiles}" if tiles else "") + (f"S({space})" if space else "")
    return f"{{{','.join(map(str, order))}{':' + further if further else ''}}}"


def _literal(value: Value) -> str:
    """A single number as the text would have it; of anything else its size and a hash."""
    if not isinstance(value, bytes):
        return str(value)
    kind, scalar, single = "", "", True
    for number, part in fields(value):
        if number == 1:
            kind, shape = _shape(part)
            single = shape.startswith("[]")
        elif single and kind == "f32" and number == 8 and isinstance(part, bytes) and len(part) == 4:
            scalar = f"{struct.unpack('<f', part)[0]:.9g}"
        elif single and number in (4, 5, 6, 7) and kind[:1] in "su":
            numbers = packed(part)
            wide = [n - (1 << 64) if n >= 1 << 63 else n for n in numbers]
            scalar = str(wide[0]) if len(wide) == 1 else ""
        elif single and number == 2 and kind == "pred":
            scalar = "true" if any(packed(part)) else "false"
    if scalar:
        return scalar
    mark = hashlib.blake2b(value, digest_size=4).hexdigest()
    return shortened(f"{{…}} ({len(value):,} bytes, {mark})", MOST_LITERAL)


def _origin(made: Instruction, value: Value) -> None:
    file, line = "", 0
    for number, part in fields(value) if isinstance(value, bytes) else ():
        if number == 2:
            made.op_name = text(part)
        elif number == 3:
            file = text(part)
        elif number == 4 and isinstance(part, int):
            line = part
        elif number == 15 and isinstance(part, int):
            made.frame = part
    if file:
        made.place = f"{file}:{line}"


def _schedule(data: bytes) -> dict[int, list[int]]:
    found = {}
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            entry = dict(fields(value))
            sequence = entry.get(2, b"")
            ids = (
                [n for field, part in fields(sequence) if field == 1 for n in packed(part)]
                if isinstance(sequence, bytes)
                else []
            )
            found[signed(entry.get(1, 0))] = ids
    return found


def _frames(data: bytes) -> dict[int, Frame]:
    """The stack frames by number, from 1; a parent of 0 is none."""
    tables: dict[int, list[Value]] = {1: [], 2: [], 3: [], 4: []}
    for number, value in fields(data):
        tables.get(number, []).append(value)
    files, functions = ([text(value) for value in tables[number]] for number in (1, 2))
    places = [dict(fields(value)) if isinstance(value, bytes) else {} for value in tables[3]]
    found = {}
    for number, value in enumerate(tables[4], 1):
        frame = dict(fields(value)) if isinstance(value, bytes) else {}
        place = _at(places, frame.get(1)) or {}
        line = place.get(3, -1)
        parent = frame.get(2, 0)
        file, function = _at(files, place.get(1)) or "", _at(functions, place.get(2)) or ""
        found[number] = Frame(
            file, function, line if isinstance(line, int) else -1, parent if isinstance(parent, int) else 0
        )
    return found


def _at(values: list[_T], number: Value | None) -> _T | None:
    """The entry of a table that is counted from 1."""
    return values[number - 1] if isinstance(number, int) and 0 < number <= len(values) else None
