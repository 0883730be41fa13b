"""How tinygrad's nodes look in a graph: the argument of a box in a few characters, its family, what is folded away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from peephole.compilers.labels import (
    CONSTANT,
    INDEXING,
    LONGEST,
    SINK,
    Family,
    Look,
    NodeText,
    cut_kernel,
    short_number,
)
from peephole.compilers.labels import cut as cut_end
from peephole.compilers.tinygrad.ops import MOVEMENT

_FAMILIES: Final[dict[Family, str]] = {
    Family.MEMORY: "PARAM BUFFER DEFINE_GLOBAL DEFINE_LOCAL DEFINE_REG DEFINE_VAR BUFFER_VIEW BIND GETADDR",
    Family.ARITHMETIC: (
        "ADD SUB MUL FDIV CDIV IDIV FLOORDIV FLOORMOD CMOD MOD SHL SHR AND OR XOR MAX POW CMPLT CMPNE CMPEQ WHERE "
        "MULACC EXP2 LOG2 SIN SQRT RECIPROCAL RECIP NEG TRUNC CAST BITCAST THREEFRY WMMA"
    ),
    Family.READ: "INDEX LOAD GEP GETTUPLE",
    Family.WRITE: "STORE ASSIGN STAGE BUFFERIZE",
    Family.LOOP: "RANGE END ENDRANGE IF ENDIF SPECIAL UNROLL CONTRACT LOOP BLOCK BLOCKSTART BLOCKEND",
    Family.CONSTANT: "CONST VCONST UNIQUE LUNIQUE DEVICE PYLITERAL",
    Family.MOVEMENT: (
        "RESHAPE PERMUTE EXPAND PAD SHRINK FLIP VIEW STACK VECTORIZE CAT PTRCAT UNSHARD MULTI CONTIGUOUS "
        "CONTIGUOUS_BACKWARD DETACH"
    ),
    Family.REDUCTION: "REDUCE REDUCE_AXIS ALLREDUCE",
    Family.COPY: "COPY MSELECT MSTACK",
    Family.ORDER: "AFTER SINK GROUP BARRIER NOOP TUPLE",
    Family.CALL: "CALL FUNCTION KERNEL PROGRAM LINEAR SOURCE BINARY CUSTOM CUSTOMI CUSTOM_FUNCTION INS",
}
_FAMILY: Final = {op: family for family, ops in _FAMILIES.items() for op in ops.split()}
_BODIES: Final = {"CALL": 1, "FUNCTION": 1, "KERNEL": 1, "PROGRAM": 2}
_CONSTANTS: Final = frozenset(("CONST", "VCONST", "DEVICE", "UNIQUE", "LUNIQUE"))
_PASSES: Final = frozenset(("RESHAPE", "EXPAND", "CAST"))
"""Ops that hand a constant on unchanged."""
_VECTORS: Final = frozenset(("STACK", "VECTORIZE"))
_TAKES_SHAPES: Final = frozenset((*MOVEMENT, "PARAM", "BUFFER"))
_SIGN: Final = {
    "ADD": "+", "SUB": "−", "MUL": "×", "FDIV": "÷", "CDIV": "÷", "IDIV": "÷", "FLOORDIV": "//", "FLOORMOD": "%",
    "CMOD": "%", "MOD": "%", "SHL": "<<", "SHR": ">>", "AND": "&", "OR": "|", "XOR": "^", "CMPLT": "<", "CMPNE": "≠",
    "CMPEQ": "=", "MAX": "max", "POW": "^",
}  # fmt: skip
_MOST_VALUES: Final = 12
_LONGEST_VALUE: Final = 16

_INDEX_TYPE: Final = re.compile(r"(?:dtypes\.)?(?:weakint|index)\b")
_SPACE: Final = re.compile(r"AddrSpace\.(\w+)")
_GLOBAL: Final = re.compile(r"ParamArg|^\d+$")
_DEVICE: Final = re.compile(r"device='([^']*)'")
_OPS: Final = re.compile(r"Ops\.(\w+)")
_AXIS: Final = re.compile(r"AxisType\.(\w+)")
_RANGES: Final = re.compile(r"\d+(?![^<]*>)")
_NAMED: Final = re.compile(r"name='([^']+)'")
_QUOTED: Final = re.compile(r"name='((?:[^'\\]|\\.)*)'")
_SLOT: Final = re.compile(r"(?:ParamArg\()?(?:slot=)?(-?\d+)")
_INFO: Final = re.compile(r"\w+Info\(")
_COLOURS: Final = re.compile(r"(?:\\x1b|\\033|\x1b)\[[0-9;]*m")
_MODULES: Final = re.compile(r"\b(?:dtypes|Ops|AxisType|AddrSpace)\.")
_BLANKS: Final = re.compile(r"\s+")
_KERNEL: Final = re.compile(r"[rE]_\d")


def look(text: NodeText) -> Look:
    """How a node looks by itself."""
    op = text.op
    fold = CONSTANT if op in _CONSTANTS else SINK if op == "SINK" else 0
    if _INDEX_TYPE.match(text.dtype):
        fold |= INDEXING
    kind = _type_line(text)
    return Look(
        cut(op),
        argument(text, ()),
        cut(kind, LONGEST + 10),
        _FAMILY.get(op, Family.OTHER),
        fold,
        _BODIES.get(op, 0),
        space(text),
        (op, clean(text.arg), kind),
    )


def argument(text: NodeText, constants: tuple[str | None, ...]) -> str:
    """What stands behind the op in a box, with the values of its constant sources."""
    known = [value for value in constants if value is not None]
    if text.op in _VECTORS and known and len(known) == len(constants):
        # vectors of constants are shown as boxes, with their values inside
        return _fit("{" + ",".join(known) + "}")
    return _fit(_argument(text, constants, known))


def constants(texts: Sequence[NodeText], src: Sequence[Sequence[int]], root: int) -> list[str | None]:
    """The values of constants, of what only hands them on, and of the vectors of them that are sizes of something."""
    values: list[str | None] = [None] * len(texts)
    vectors: dict[int, str] = {}
    singles: dict[int, str] = {}
    for v, text in enumerate(texts):
        op, sources = text.op, src[v]
        if op in _CONSTANTS:
            singles[v] = _value(op, text.arg)
        elif op in _PASSES and sources and sources[0] in singles:
            singles[v] = singles[sources[0]]
        elif op in _VECTORS and all(s in singles for s in sources):
            vectors[v] = "{" + ",".join(singles[s] for s in sources[:_MOST_VALUES]) + "}"
            if not sources:
                values[v] = vectors[v]
        if op in _TAKES_SHAPES:
            for s in sources:
                if s in vectors:
                    values[s] = vectors[s]
    for v, value in singles.items():
        values[v] = value
    if 0 <= root < len(values):
        values[root] = None
    return values


def space(text: NodeText) -> str:
    """Where a node's memory is: GLOBAL, LOCAL or REG; empty when its own fields do not say."""
    named = _SPACE.search(f"{text.arg} {text.dtype}")
    if named:
        return named[1]
    if text.op in ("DEFINE_LOCAL", "DEFINE_REG"):
        return text.op.removeprefix("DEFINE_")
    return "GLOBAL" if text.op in ("PARAM", "BUFFER", "DEFINE_GLOBAL") and _GLOBAL.search(text.arg) else ""


def type_name(dtype: str) -> str:
    """An element type without the module that it is printed with."""
    return dtype.replace("dtypes.", "")


def clean(arg: str) -> str:
    """An argument without colour codes, modules and line breaks."""
    if arg == "None":
        return ""
    return _BLANKS.sub(" ", _MODULES.sub("", _COLOURS.sub("", arg))).strip()


def cut(text: str, most: int = LONGEST) -> str:
    """Text of bounded length; names of kernels share their start, so both ends of one stay."""
    return cut_kernel(text, most) if _KERNEL.match(text) else cut_end(text, most)


def _fit(arg: str) -> str:
    return short_number(arg) or cut(arg)


def _argument(text: NodeText, constants: tuple[str | None, ...], known: list[str]) -> str:
    op, arg = text.op, text.arg
    port = dict(enumerate(constants))
    match op:
        case "RANGE":
            return " ".join(part for part in (_range_name(arg), *known) if part)
        case "PARAM" | "DEFINE_GLOBAL":
            return _param_name(arg, "data")
        case "BUFFER" | "DEFINE_REG" | "DEFINE_LOCAL":
            where = space(text)
            return {"REG": f"REG {_param_name(arg, 'acc')}", "LOCAL": f"LOCAL {_param_name(arg, '')}"}.get(
                where, _param_name(arg, "")
            )
        case "STAGE" | "BUFFERIZE":
            device = _DEVICE.search(arg)
            return " ".join(part for part in (space(text), device[1] if device else "") if part) or clean(arg)
        case "REDUCE" | "ALLREDUCE" | "REDUCE_AXIS":
            reduces = _OPS.search(arg)
            return reduces[1] if reduces else clean(arg)
        case "RESHAPE" | "EXPAND":
            return f"→ {_tidy_shape(text.shape)}" if text.shape else clean(arg)
        case "CAST" | "BITCAST":
            return ""  # the type line says it
        case "STORE":
            return clean(arg) if port.get(1) is None else f"← {port[1]}"
        case "INDEX":
            return clean(arg) if len(constants) != 2 or port[1] is None else f"[{port[1]}]"
        case "WHERE":
            if not known:
                return clean(arg)
            return f"{port[0] or ''}? {_or_dot(port.get(1))} : {_or_dot(port.get(2))}"
        case "SPECIAL":
            return " ".join((clean(arg), *known))
        case "SINK" | "PROGRAM" | "CALL" | "FUNCTION" | "KERNEL":
            return _name_in(arg)
    sign = _SIGN.get(op)
    if sign is not None and len(constants) == 2 and known:
        if len(known) == 2:
            return f"{known[0]} {sign} {known[1]}"
        return f"{constants[0]} {sign}" if constants[1] is None else f"{sign} {constants[1]}"
    ports = (f"{place}:{value}" for place, value in port.items() if value is not None)
    return " ".join(part for part in (clean(arg), *ports) if part)


def _or_dot(value: str | None) -> str:
    return "·" if value is None else value


def _type_line(text: NodeText) -> str:
    return " ".join(part for part in (type_name(text.dtype), _tidy_shape(text.shape)) if part)


def _tidy_shape(shape: str) -> str:
    return (shape[:-2] + ")" if shape.endswith(",)") else shape).replace(", ", ",")


@lru_cache(maxsize=50_000)
def _value(op: str, arg: str) -> str:
    text = clean(arg)
    return short_number(text) or cut(text or op, _LONGEST_VALUE)


def _range_name(arg: str) -> str:
    numbers = _RANGES.findall(arg)
    kind = _AXIS.search(arg)
    return f"r{'_'.join(numbers)}{f' {kind[1].lower()}' if kind else ''}" if numbers else clean(arg)


def _param_name(arg: str, prefix: str) -> str:
    named = _NAMED.search(arg)
    if named:
        return named[1]
    slot = _SLOT.match(arg)
    return f"{prefix}{slot[1]}" if slot else clean(arg)


def _name_in(arg: str) -> str:
    """The name='…' inside an argument, without the compiler's colour codes; CallInfo and the like have none."""
    named = _QUOTED.search(arg)
    if named:
        return clean(named[1])
    return "" if _INFO.match(arg) else clean(arg)
