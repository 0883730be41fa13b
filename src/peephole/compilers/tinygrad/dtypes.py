"""The dtype that tinygrad 0.14 gives a node when it is built anew over other sources.

A replay rebuilds the users of whatever was replaced. As long as the sources keep their dtypes the node keeps its own;
when one changed, tinygrad derives it again, and so must we, or the two replays part. Works on names alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from peephole.replay.rules import Refused

VOID: Final = "void"
BOOL: Final = "bool"
PREFIX: Final = "dtypes."


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WIDER: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("weakint",),
    "weakint": ("char", "uchar"),
    "char": ("short",),
    "short": ("int",),
    "int": ("long",),
    "long": ("weakfloat",),
    "uchar": ("short", "ushort"),
    "ushort": ("int", "uint"),
    "uint": ("long", "ulong"),
    "ulong": ("weakfloat",),
    "weakfloat": ("fp8e4m3", "fp8e4m3fnuz", "fp8e5m2", "fp8e5m2fnuz"),
    "fp8e4m3": ("half", "bfloat16"),
    "fp8e5m2": ("half", "bfloat16"),
    "fp8e4m3fnuz": ("half", "bfloat16"),
    "fp8e5m2fnuz": ("half", "bfloat16"),
    "half": ("float",),
    "bfloat16": ("float",),
    "float": ("double",),
    "double": (),
}
"""Where each dtype may be widened to without loss; `_RANK` decides between equals."""

_ORDER: Final = (
    "bool weakint char uchar short ushort int uint long ulong weakfloat fp8e4m3 fp8e4m3fnuz fp8e5m2 fp8e5m2fnuz half "
    "bfloat16 float double"
)
_RANK: Final = {name: rank for rank, name in enumerate(_ORDER.split())}
_FLOATS: Final = _words("weakfloat fp8e4m3 fp8e4m3fnuz fp8e5m2 fp8e5m2fnuz half bfloat16 float double")
_INTS: Final = _words("weakint char uchar short ushort int uint long ulong")

_VOID_OPS: Final = _words(
    "STORE LINEAR SINK PROGRAM SOURCE END BARRIER GROUP IF ENDIF TUPLE FUNCTION CUSTOM_FUNCTION REWRITE_ERROR PYLITERAL"
)
_OWN_OPS: Final = _words("CUSTOM CUSTOMI INS NOOP BUFFER PARAM CAST BITCAST CONST GETADDR BINARY")
"""Their dtype does not come from their sources."""
_FIRST_OPS: Final = _words(
    "LOAD UNSHARD REDUCE AFTER RANGE CONTIGUOUS CONTIGUOUS_BACKWARD COPY STAGE DETACH MSTACK MSELECT ALLREDUCE SPECIAL "
    "NEG TRUNC RESHAPE EXPAND PERMUTE PAD SHRINK FLIP INDEX"
)
_FLOAT_OPS: Final = _words("SIN LOG2 EXP2 SQRT RECIPROCAL")
_COMPARE_OPS: Final = _words("CMPLT CMPNE CMPEQ")
_PROMOTE_OPS: Final = _words("ADD MUL CDIV MAX CMOD XOR OR AND THREEFRY SUB FDIV POW FLOORDIV FLOORMOD MULACC")

KNOWN_OPS: Final = _VOID_OPS | _OWN_OPS | _FIRST_OPS | _FLOAT_OPS | _COMPARE_OPS | _PROMOTE_OPS
"""All but CALL, WHERE, STACK, WMMA, GETTUPLE, SHL and SHR, which have rules of their own."""


def promote(names: Sequence[str]) -> str | None:
    """The narrowest dtype that holds all of these, or None when one is not known."""
    first = names[0]
    if all(name == first for name in names):
        return first
    if not all(name in _WIDER for name in names):
        return None
    common = set.intersection(*(set(_reach(name)) for name in names))
    return min(common, key=_RANK.__getitem__)


def derive(op: str, dtypes: Sequence[str], invalid: Callable[[int], bool], *, image: bool = False) -> str | None:
    """The dtype of a node over sources of these dtypes; None when it keeps the one it has.

    `invalid(i)` says whether source i is the constant that stands for "no value" (below any movement), `image`
    whether an INDEX reads an image. GETTUPLE is the caller's: it looks through its source.
    """
    if op in _VOID_OPS:
        return VOID
    if op in _OWN_OPS or not dtypes:
        return None
    if op == "CALL":
        return VOID if dtypes[0] == VOID else None
    if op == "INDEX" and image:
        return "float"
    if op in _FIRST_OPS:
        return dtypes[0]
    if op in _COMPARE_OPS:
        return BOOL
    if op in _FLOAT_OPS:
        return BOOL if invalid(0) else _float_of(dtypes[0])
    if op == "WHERE":
        if dtypes[0] != BOOL:
            raise Refused(f"the condition of a WHERE must be bool, and is {dtypes[0]}")
        return promote(dtypes[1:])
    if op in ("SHL", "SHR"):
        for place, name in enumerate(dtypes):
            if name not in _INTS and not invalid(place):
                raise Refused(f"the operands of a {op} must be integers, and one is {name}")
        return dtypes[0]
    if op == "WMMA":
        return dtypes[2] if len(dtypes) > 2 else None
    if op in _PROMOTE_OPS or op == "STACK":
        return promote(dtypes)
    return None


@cache
def _reach(name: str) -> frozenset[str]:
    """A dtype and all that it may be widened to."""
    return frozenset((name,)).union(*(_reach(wider) for wider in _WIDER[name]))


def _float_of(name: str) -> str | None:
    if name == "weakint":
        return "weakfloat"
    return name if name in _FLOATS else promote((name, "float"))
