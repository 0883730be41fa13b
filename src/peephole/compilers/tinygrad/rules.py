"""What a replay has to know about tinygrad's graphs: calls, dtypes, args that are one, how a node is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from peephole.compilers.tinygrad.dtypes import BOOL, PREFIX, derive
from peephole.compilers.tinygrad.ops import CALLS, INFIX, MOVEMENT
from peephole.compilers.tinygrad.shapes import Shapes
from peephole.model.natural import whole_number
from peephole.replay.rules import Rules, short_arg

if TYPE_CHECKING:
    from peephole.replay.pool import Pool

OPAQUE: Final = frozenset(("SINK", "PROGRAM", "LINEAR", "COPY", "CUSTOM_FUNCTION"))
"""Bodies of a CALL that a pass does not enter unless it was told to."""
_BOOLS: Final = re.compile(r"\b(?:True|False)\b")
_NUMBERS: Final = ("ParamArg(", "(")
_LEAVES: Final = frozenset(("PARAM", "BUFFER", "RANGE", "SPECIAL", "DEFINE_VAR", "SINK", "CALL", "STAGE", "STORE"))
"""These always get a line of their own."""
_MADE: Final = frozenset(("PARAM", "BUFFER", "RANGE", "SPECIAL", "STACK", "SINK"))
"""Written as calls: their first source is no object that something is done to."""
_DTYPED: Final = frozenset(("PARAM", "BUFFER", "RANGE", "CAST", "BITCAST", "SPECIAL"))
_KEPT_DTYPES: Final = ("0.10", "0.11", "0.12", "0.13")
"""Releases in which a rebuilt node kept its dtype; since 0.14 it is derived anew."""


class TinygradRules(Rules):
    """The rules of the release that a capture was recorded with; empty when that is not known."""

    call_ops = CALLS
    error_node = ("REWRITE_ERROR", "void")

    def __init__(self, release: str) -> None:
        release = release.rpartition("like ")[2]  # of a checkout it is said whose ways it has
        self.derives = bool(release) and not release.startswith(_KEPT_DTYPES)

    def same_args(self, args: Sequence[str | None]) -> dict[int, int]:
        """Python takes False for 0 and True for 1, and so does tinygrad when it interns."""
        found: dict[int, int] = {}
        known: dict[str, int] = {}
        for place, text in enumerate(args):
            if text is not None and text.startswith(_NUMBERS) and text[-1] == ")":
                first = known.setdefault(_BOOLS.sub(_number, text), place)
                if first != place:
                    found[place] = first
        return found

    def leaves_body(self, pool: Pool, call: int) -> bool:
        """A FUNCTION's body is left alone, a CALL's when it was compiled by itself."""
        return pool.op(call) == "FUNCTION" or pool.op(pool.src[call][0]) in OPAQUE

    def rebuilt(self, pool: Pool, own: int, src: tuple[int, ...]) -> int:
        """The node with the dtype that tinygrad derives for it."""
        table = pool.table
        op, dtype, arg, tag = table.unpack(own)
        name = table.op_names.values[op] or ""
        if name == "GETTUPLE":
            new = _tuple_dtype(pool, src[0], table.arg_names.values[arg])
        else:
            names = [_dtype(pool, s) for s in src]
            image = name == "INDEX" and _image(pool, src[0])
            new = derive(name, names, lambda i: _invalid(pool, src[i]), image=image)
        old = table.dtype_names.values[dtype] or ""
        if new is None or new == old.removeprefix(PREFIX):
            return own
        prefix = PREFIX if old.startswith(PREFIX) else ""
        return table.pack(op, table.dtype_names.code(prefix + new), arg, tag)

    def shapes(self, pool: Pool) -> Shapes:
        """Worked out from ops and args: a trace does not hold them."""
        return Shapes(pool)

    def written(self, op: str, dtype: str, arg: str | None, tag: str | None, sources: list[str]) -> str:
        """A node as tinygrad's own listing writes it: `c1.index(c3*4+c10)`."""
        if op == "CONST" and arg is not None and not sources:
            text = arg
        elif op in INFIX and len(sources) == 2 and arg is None:
            text = f"({sources[0]}{INFIX[op]}{sources[1]})"
        else:
            method = bool(sources) and op not in _MADE
            rest = sources[1:] if method else sources
            if arg is not None:
                rest = [*rest, short_arg(arg)]
            if op in _DTYPED and (arg is None or dtype not in arg):
                rest = [dtype.removeprefix(PREFIX), *rest]
            text = f"{sources[0]}.{op.lower()}({', '.join(rest)})" if method else f"{op}({', '.join(rest)})"
        return text if tag is None else f"{text}.rtag({tag})"

    def own_line(self, op: str) -> bool:
        """Buffers, loops and what is stored."""
        return op in _LEAVES

    def in_place(self, op: str) -> bool:
        """Constants."""
        return op == "CONST"


def _number(found: re.Match[str]) -> str:
    return "1" if found[0] == "True" else "0"


def _dtype(pool: Pool, node: int) -> str:
    return (pool.texts(node)[1] or "").removeprefix(PREFIX)


def _tuple_dtype(pool: Pool, source: int, place: str | None) -> str | None:
    inner = pool.src[source][0] if pool.op(source) == "FUNCTION" else source
    index = whole_number(place or "")
    return _dtype(pool, pool.src[inner][index]) if 0 <= index < len(pool.src[inner]) else None


def _invalid(pool: Pool, node: int) -> bool:
    while pool.op(node) in MOVEMENT and pool.src[node]:
        node = pool.src[node][0]
    op, dtype, arg, _ = pool.texts(node)
    return op == "CONST" and dtype.removeprefix(PREFIX) == BOOL and (arg or "").startswith("Invalid")


def _image(pool: Pool, node: int) -> bool:
    """Whether a PARAM has the shape of an image: three axes, the last of four."""
    if pool.op(node) != "PARAM" or not pool.src[node]:
        return False
    shape = pool.src[pool.src[node][0]]
    return pool.op(pool.src[node][0]) == "STACK" and len(shape) == 3 and pool.texts(shape[2])[2] == "4"
