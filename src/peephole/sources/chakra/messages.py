"""Chakra's own files: messages one after the other, each behind its length, or as JSON objects one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from peephole.sources.chakra.operators import MOST_TEXT, Operator, Tensor, Trace
from peephole.sources.scans.wire import Malformed, Value, double, fields, packed, signed, text, varint
from peephole.sources.torch.rows import shape_text

Problem = Callable[[str, int, str], None]
_TYPES: Final = {
    0: "INVALID", 1: "METADATA", 2: "MEM_LOAD", 3: "MEM_STORE", 4: "COMP", 5: "COMM_SEND", 6: "COMM_RECV",
    7: "COMM_COLL", 8: "STORAGE", 9: "BATCH", 10: "CHECKPOINT",
}  # fmt: skip
_COLLECTIVES: Final = (
    "ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK", "BARRIER",
)  # fmt: skip
_ID, _NAME, _TYPE, _CTRL, _DATA, _START, _DUR, _IN, _OUT, _ATTR = range(1, 11)
GRAPH_LIST: Final = "workload_graph"
"""The list of nodes in the JSON that Chakra's feeder takes."""
_VERSION: Final = re.compile(r"[\w.+-]{1,80}")
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_][\w.-]{1,79}")
_DOUBLE, _TEXT, _BYTES, _LISTS = 3, 29, 31, range(4, 33, 2)
_SIGNED: Final = (15, 17)
_SHOWN: Final = ("comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "pg_name", "num_ops", "tensor_size")
_LONGEST: Final = 1 << 30
"""Bytes of a message; what is longer is none."""
_LATEST: Final = 1 << 52
_MASK: Final = (1 << 62) - 1


def is_trace(head: bytes) -> bool:
    """Whether these bytes begin with a version or attributes, and go on with a node that has a number or a name."""
    try:
        size, at = varint(head, 0)
        if not 0 < size < 1 << 16 or at + size > len(head):
            return False
        told = list(fields(head[at : at + size]))
        if not told or not all(_is_metadata(number, value) for number, value in told):
            return False
        at += size
        if at == len(head):
            return True
        size, at = varint(head, at)
        inner = head[at : at + min(size, 4096)]
        # a node's number stands first unless it is 0
        return 0 < size < _LONGEST and inner[:1] in (b"\x08", b"\x12")
    except (Malformed, UnicodeDecodeError):
        return False


def _is_metadata(number: int, value: Value) -> bool:
    """Whether a field is one of the first message: a version, or an attribute with a name, as converters write."""
    if number == 2 and isinstance(value, bytes):
        inner = list(fields(value))
        number, value = inner[0] if inner else (0, b"")
        return number == 1 and isinstance(value, bytes) and _ATTRIBUTE.fullmatch(value.decode("ascii")) is not None
    return number == 1 and isinstance(value, bytes) and _VERSION.fullmatch(value.decode("ascii")) is not None


def read_messages(data: bytes, where: str, problem: Problem) -> Trace:
    """The trace in a file of protocol buffers, as far as it goes."""
    found = Trace()
    at, first, odd = 0, True, 0
    while at < len(data):
        try:
            size, begin = varint(data, at)
        except Malformed:
            size, begin = _LONGEST, at
        if begin + size > len(data):
            problem("the execution trace is cut off: what precedes that is read", 1, where)
            break
        message, at = data[begin : begin + size], begin + size
        try:
            if first:
                _metadata(found, message)
            elif operator := _node(message):
                found.operators.append(operator)
        except Malformed:
            odd += 1
        first = False
    if odd:
        problem("messages that are no node, left out", odd, where)
    return found


def read_json_messages(written: str, where: str, problem: Problem) -> Trace:
    """The same of JSON objects, one after the other (Chakra's jsonizer) or in one list (its feeder's JSON)."""
    found, decoder, at = Trace(), json.JSONDecoder(), 0
    odd = 0
    while True:
        while at < len(written) and written[at] in " \t\r\n,[]":
            at += 1
        if at >= len(written):
            break
        try:
            value, at = decoder.raw_decode(written, at)
        except (ValueError, RecursionError):
            problem("the execution trace is cut off or damaged: what precedes that is read", 1, where)
            break
        if isinstance(value, dict) and "version" in value and "id" not in value:
            found.schema = str(value["version"])[:80]
            continue
        listed = value.get(GRAPH_LIST) if isinstance(value, dict) else None
        for one in listed if isinstance(listed, list) else [value]:
            operator = _json_node(one) if isinstance(one, dict) else None
            if operator is None:
                odd += 1
            else:
                found.operators.append(operator)
    if odd:
        problem("messages that are no node, left out", odd, where)
    return found


def _metadata(found: Trace, message: bytes) -> None:
    attrs: dict[str, Any] = {}
    for number, value in fields(message):
        if number == 1:
            found.schema = text(value)[:80]
        elif number == 2 and isinstance(value, bytes):
            name, told = _attribute(value)
            attrs[name] = told
    found.schema = found.schema or str(attrs.get("schema", ""))[:80]
    process = _whole(attrs.get("pid"))
    if process is not None and process < 1 << 31:
        found.process = process


def _node(message: bytes) -> Operator | None:
    one = Operator(0, "")
    data: list[int] = []
    control: list[int] = []
    attrs: dict[str, Any] = {}
    start = dur = kind = 0
    for number, value in fields(message):
        if number == _ID and isinstance(value, int):
            one.number = value & _MASK
        elif number == _NAME:
            one.name = text(value)
        elif number == _TYPE and isinstance(value, int):
            kind = value
        elif number in (_CTRL, _DATA):
            (control if number == _CTRL else data).extend(one & _MASK for one in packed(value))
        elif number in (_START, _DUR) and isinstance(value, int):
            start, dur = (value, dur) if number == _START else (start, value)
        elif number in (_IN, _OUT) and isinstance(value, bytes):
            _io(one, number == _OUT, {_PARTS.get(part, ""): text(own) for part, own in fields(value)})
        elif number == _ATTR and isinstance(value, bytes):
            name, told = _attribute(value)
            attrs[name] = told
    return _finished(one, _TYPES.get(kind, str(kind)), data, control, start, dur, attrs)


_PARTS: Final = {1: "values", 2: "shapes", 3: "types"}


def _json_node(value: dict[str, Any]) -> Operator | None:
    def own(*names: str) -> Any:
        return next((value[name] for name in names if name in value), None)

    number = _whole(own("id", "Id") or 0)
    if number is None:
        return None
    one = Operator(number, str(own("name", "Name") or ""))
    for name in ("inputs", "outputs"):
        told = own(name)
        if isinstance(told, dict):
            _io(one, name == "outputs", {str(key): str(part) for key, part in told.items()})
    control, data = ([_whole(one) or 0 for one in own(*names) or ()] if isinstance(own(*names), list) else []
                     for names in (("ctrlDeps", "ctrl_deps"), ("dataDeps", "data_deps")))  # fmt: skip
    attrs: dict[str, Any] = {}
    for attr in own("attr") or () if isinstance(own("attr"), list) else ():
        if isinstance(attr, dict):
            told = [part for key, part in attr.items() if key not in ("name", "docString", "doc_string")]
            attrs[str(attr.get("name", ""))] = told[0] if told else 0
    attrs |= {name: value[name] for name in _SHOWN if name in value}
    start = _whole(own("startTimeMicros", "start_time_micros") or 0) or 0
    dur = _whole(own("durationMicros", "duration_micros", "runtime") or 0) or 0
    told = own("type", "NodeType") or ""
    kind = _TYPES.get(told, str(told)) if type(told) is int else str(told).removesuffix("_NODE")
    return _finished(one, kind, data, control, start, dur, attrs)


def _finished(
    one: Operator, kind: str, data: list[int], control: list[int], start: int, dur: int, attrs: dict[str, Any]
) -> Operator | None:
    if not one.name and not kind:
        return None
    one.name = one.name or kind
    one.waits = list(dict.fromkeys(dep for dep in (*data, *control) if dep != one.number))
    one.record = _whole(attrs.get("rf_id", 0)) or 0
    one.lane = f"stream {attrs['stream']}" if "stream" in attrs else kind.lower().replace("_", " ")
    if kind and kind != "COMP":
        one.facts.append(kind)
    for name in _SHOWN:
        if name in attrs:
            told = _whole(attrs[name])
            named = name == "comm_type" and told is not None and told < len(_COLLECTIVES)
            one.facts.append(_COLLECTIVES[told or 0] if named else f"{name}={str(attrs[name])[:MOST_TEXT]}")
    if 0 < start < _LATEST:
        one.start = start * 1000
    if 0 <= dur < _LATEST and (dur or one.start >= 0):
        one.dur = dur * 1000
    return one


def _io(one: Operator, out: bool, told: dict[str, str]) -> None:
    """Shapes and types of inputs or outputs, which are texts of lists."""
    shapes, types = (_listed(told.get(name, "")) for name in ("shapes", "types"))
    found = []
    for place, shape in enumerate(shapes[:64]):
        kind = str(types[place]) if place < len(types) else ""
        if isinstance(shape, list) and kind.startswith("Tensor"):
            found.append(Tensor(-1, -1, kind.removeprefix("Tensor").strip("()")[:80], shape_text(shape[:64])))
    if out:
        one.outputs = found
    else:
        one.inputs = [f"{tensor.dtype}{tensor.shape}" for tensor in found]


def _listed(told: str) -> list[Any]:
    try:
        found = json.loads(told.replace("'", '"'))
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _attribute(message: bytes) -> tuple[str, Any]:
    name, told = "", 0
    for number, value in fields(message):
        if number == 1:
            name = text(value)
        elif number > 2:
            told = _told(number, value)
    return name[:80], told


def _told(number: int, value: Value) -> Any:
    if number in (_TEXT, _BYTES):
        return text(value)[:MOST_TEXT]
    if number == _DOUBLE:
        return double(value)
    if number in _LISTS and isinstance(value, bytes):
        return f"list of {len(value)} bytes"
    if isinstance(value, int):
        return (value >> 1) ^ -(value & 1) if number in _SIGNED else signed(value)
    return text(value)[:MOST_TEXT]


def _whole(value: Any) -> int | None:
    """A whole number, which JSON of protocol buffers writes as a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:20])
    return value if type(value) is int and 0 <= value < 1 << 62 else None
