"""The JSON of torch's ExecutionTraceObserver, and what Chakra's linker makes of it (with times)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from peephole.errors import CaptureError
from peephole.sources.chakra.operators import MOST_TEXT, Operator, Tensor, Trace
from peephole.sources.torch.rows import shape_text

Problem = Callable[[str, int, str], None]
_NODES: Final = re.compile(r'"nodes"\s*:\s*\[')
_HOLDS: Final = ("[pytorch|profiler|execution_trace|process]", "[pytorch|profiler|execution_trace|thread]")
_LONG: Final = 1 << 62
_DEEPEST: Final = 8
_FACTS: Final = ("kernel_backend", "kernel_file", "collective_name", "pg_name", "pg_desc", "dtype", "group_size")
BACKWARD: Final = 1
"""Torch's scope of the functions that autograd runs."""


def read_observed(text: str, where: str, problem: Problem) -> Trace:
    """The trace in a file; what precedes a cut is read. CaptureError when there is none."""
    value = _value(text, where, problem)
    found = Trace(schema=str(value.get("schema", ""))[:80])
    found.process = _int(value.get("pid"))
    rank = value.get("rank")
    found.rank = rank if type(rank) is int and 0 <= rank < 1 << 31 else -1
    nodes = value.get("nodes")
    held: dict[int, int] = {}
    odd = 0
    for node in nodes if isinstance(nodes, list) else ():
        operator = _operator(node) if isinstance(node, dict) else None
        if operator is None:
            odd += 1
        elif operator.name in _HOLDS:
            held[operator.number] = operator.parent
        else:
            found.operators.append(operator)
    for operator in found.operators:
        if operator.parent in held:
            operator.parent = -1
    if odd:
        problem("nodes of an execution trace without a number or a name, left out", odd, "")
    return found


def _value(text: str, where: str, problem: Problem) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except RecursionError:
        raise CaptureError(f"{where} is damaged: its values are nested too deeply.") from None
    except ValueError as error:
        begin = _NODES.search(text)
        if begin is None:
            raise CaptureError(f"{where} is cut off or damaged: {str(error)[:100]}.") from None
        nodes = _until_cut(text, begin.end())
        problem(f"the execution trace is cut off or damaged: what precedes that is read ({str(error)[:60]})", 1, where)
        schema = re.search(r'"schema"\s*:\s*"([^"]*)"', text[: begin.start()])
        return {"nodes": nodes, "schema": schema[1] if schema else ""}
    if not isinstance(value, dict):
        raise CaptureError(f"{where} is not an execution trace: it holds no object.")
    return value


def _until_cut(text: str, at: int) -> list[Any]:
    decoder = json.JSONDecoder()
    found: list[Any] = []
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            node, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found
        found.append(node)


def _int(value: Any) -> int:
    return value if type(value) is int and 0 <= value < _LONG else -1


def _operator(node: dict[str, Any]) -> Operator | None:
    number, name = _int(node.get("id")), node.get("name")
    if number < 0 or not isinstance(name, str):
        return None
    attrs = _attrs(node)
    # before the schema had dependencies, a node named its parent
    parent = _int(node.get("ctrl_deps", node.get("parent")))
    one = Operator(number, name, parent if parent != number else -1)
    one.inputs = _values(node.get("inputs"), node, "input")
    given = _values(node.get("outputs"), node, "output")
    one.outputs = [tensor for value in given for tensor in _flat(value)]
    one.record = max(0, _int(attrs.get("rf_id", 0)))
    one.sequence = _int(attrs.get("seq_id"))
    one.backward = attrs.get("scope") == BACKWARD
    schema = attrs.get("op_schema")
    one.writes = "!" in schema.partition("->")[0] if isinstance(schema, str) and schema else name.endswith("_")
    one.facts = [str(attrs[key])[:MOST_TEXT] for key in _FACTS if attrs.get(key) not in (None, "", 0)]
    start, dur = node.get("ts"), node.get("inclusive_dur", node.get("dur"))
    if isinstance(start, int | float) and 0 <= start < 1 << 51:
        one.start = round(start * 1000)
        one.dur = round(dur * 1000) if isinstance(dur, int | float) and 0 <= dur < 1 << 51 else 0
    stream, thread = node.get("stream"), _int(attrs.get("tid"))
    one.lane = f"stream {stream}" if type(stream) is int else f"thread {max(thread, 0)}"
    return one


def _attrs(node: dict[str, Any]) -> dict[str, Any]:
    attrs = node.get("attrs")
    if not isinstance(attrs, list):  # older ones have them among the node's own fields
        return node
    return {str(one.get("name")): one.get("value") for one in attrs if isinstance(one, dict)}


def _values(told: Any, node: dict[str, Any], older: str) -> list[Any]:
    """The values of inputs or outputs with their types and shapes; older traces have three lists beside each other."""
    if isinstance(told, dict):
        values, shapes, types = (told.get(name) for name in ("values", "shapes", "types"))
    else:
        values, shapes, types = told, node.get(f"{older}_shapes"), node.get(f"{older}_types")
    if not isinstance(values, list):
        return []
    shapes = shapes if isinstance(shapes, list) else []
    types = types if isinstance(types, list) else []
    return [_typed(value, *_at(shapes, types, place), 0) for place, value in enumerate(values)]


def _at(shapes: list[Any], types: list[Any], place: int) -> tuple[Any, str]:
    kind = types[place] if place < len(types) else ""
    return shapes[place] if place < len(shapes) else [], kind if isinstance(kind, str) else ""


def _typed(value: Any, shape: Any, kind: str, depth: int) -> Any:
    if kind.startswith("Tensor") and isinstance(value, list) and len(value) >= 2:
        number, storage = _int(value[0]), _int(value[1])
        sizes = shape if isinstance(shape, list) else []
        dtype = kind.removeprefix("Tensor").strip("()")
        return Tensor(number, storage, dtype[:80], shape_text([str(size)[:40] for size in sizes[:64]]))
    if kind.startswith("GenericList[") and "Tensor" in kind and isinstance(value, list) and depth < _DEEPEST:
        inner = _split(kind.removeprefix("GenericList[").removesuffix("]"))
        shapes = shape if isinstance(shape, list) else []
        return [_typed(one, *_at(shapes, inner, place), depth + 1) for place, one in enumerate(value)]
    if value == "<None>" or value is None:
        return "None"
    text = str(value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def _split(kinds: str) -> list[str]:
    """The types in a list's type, which may have lists in them."""
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(kinds):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            found.append(kinds[begin:at])
            begin = at + 1
    return [*found, kinds[begin:]]


def _flat(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [inner for one in value for inner in _flat(one)] if isinstance(value, list) else []
