"""The shape of a node, worked out from its op, arg and sources: a trace does not hold it.

Follows tinygrad 0.14's rules. A size that is no constant is written as a short expression; None where there is no
shape or it cannot be told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from peephole.model.natural import whole_number

if TYPE_CHECKING:
    from peephole.replay.pool import Pool

Shape = tuple[int | str, ...]

_NONE: Final = frozenset(
    ("IF", "BARRIER", "SINK", "REWRITE_ERROR", "ENDIF", "GROUP", "LINEAR", "PROGRAM", "SOURCE", "TUPLE", "FUNCTION",
     "CUSTOM_FUNCTION", "PYLITERAL")
)  # fmt: skip
_SCALAR: Final = frozenset(("CONST", "GETADDR", "RANGE", "SPECIAL", "INS"))
_FIRST: Final = frozenset(
    ("MSTACK", "MSELECT", "DETACH", "CONTIGUOUS", "CONTIGUOUS_BACKWARD", "AFTER", "LOAD", "COPY", "ALLREDUCE", "STORE",
     "END", "NOOP", "FLIP", "CAST", "EXP2", "LOG2", "SIN", "SQRT", "RECIPROCAL", "NEG", "TRUNC")
)  # fmt: skip
_BROADCAST: Final = frozenset(
    ("ADD", "MUL", "CDIV", "MAX", "CMOD", "CMPLT", "CMPNE", "CMPEQ", "XOR", "SHL", "SHR", "OR", "AND", "THREEFRY",
     "SUB", "FDIV", "POW", "FLOORDIV", "FLOORMOD", "WHERE", "MULACC", "IDIV", "MOD")
)  # fmt: skip
_NUMBERS: Final = re.compile(r"-?\d{1,18}")
_REDUCE: Final = re.compile(r"\(\w+(?:\.\w+)?, (\d+)\)\Z")
_SIZES: Final = {"char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2, "half": 2, "bfloat16": 2, "int": 4,
                 "uint": 4, "float": 4, "long": 8, "ulong": 8, "double": 8}  # fmt: skip

_MOST_AXES: Final = 256
_DEEPEST: Final = 50
_LARGEST: Final = 1 << 62
"""Beyond these it is no program's graph, and what is worked out may grow without end."""


class Shapes:
    """Shapes of a pool's nodes, kept until the pool is reset."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: dict[int, Shape | None] = {}
        self._texts: dict[int, str | None] = {}

    def of(self, nodes: Sequence[int]) -> list[str | None]:
        """The shapes of these nodes as texts; sources are given before their users."""
        texts = self._texts
        for node in nodes:
            if node not in texts:
                texts[node] = _text(self.shape(node))
        return list(map(texts.__getitem__, nodes))

    def shape(self, root: int) -> Shape | None:
        """The shape of one node."""
        known, src = self._known, self._pool.src
        if root in known:
            return known[root]
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [s for s in src[node] if s not in known]
            if missing:
                stack.extend(missing)
                continue
            if node not in known:
                made = self._make(node)
                known[node] = made if made is None or len(made) <= _MOST_AXES else None
            stack.pop()
        return known[root]

    def _make(self, node: int) -> Shape | None:
        pool, known = self._pool, self._known
        op, dtype, arg, _ = pool.texts(node)
        src = pool.src[node]
        if op in _NONE or (op in ("CALL", "INS", "CUSTOM", "CUSTOMI") and dtype.endswith("void")):
            return None
        if op in _SCALAR or op == "CALL":
            return ()
        if op == "BINARY":
            return _tuple((arg or "").partition(" bytes")[0])
        first = known[src[0]] if src else None
        if op in ("PARAM", "BUFFER"):
            return self._sizes(src[0]) if src else ()
        if op in _FIRST:
            return first
        if op in _BROADCAST or op in ("CUSTOM", "CUSTOMI"):
            return _broadcast([known[s] for s in src])
        if op == "STACK":
            return () if not src else None if first is None else (len(src), *first)
        if op == "RESHAPE":
            return self._sizes(src[1]) if len(src) > 1 else _tuple(arg)
        if first is None:
            return None
        return self._changed(op, dtype, arg, src, first)

    def _changed(self, op: str, dtype: str, arg: str | None, src: tuple[int, ...], first: Shape) -> Shape | None:
        """The shape of an op that changes that of its first source."""
        known = self._known
        if op == "EXPAND":
            added = self._sizes(src[1]) if len(src) > 1 else _tuple(arg)
            return None if added is None else (*added, *first) if len(src) > 1 else added
        if op == "PERMUTE":
            order = _tuple(arg)
            return None if order is None or len(order) != len(first) else tuple(first[int(i)] for i in order)
        if op in ("PAD", "SHRINK"):
            return self._sizes(src[2]) if len(src) > 2 else None
        if op == "REDUCE":
            axes = _REDUCE.match(arg or "")
            return first[int(axes[1]) :] if axes else None
        if op == "INDEX":
            inner = [known[s] for s in src[1:]]
            if any(shape is None for shape in inner):
                return None
            return (*(size for shape in inner if shape for size in shape), *first[len(inner) :])
        if op == "STAGE":
            return (*(self._extent(s) for s in src[1:]), *first)
        if op == "BITCAST":
            old = _SIZES.get(self._pool.texts(src[0])[1].removeprefix("dtypes."))
            new = _SIZES.get(dtype.removeprefix("dtypes."))
            if old == new or not first or old is None or new is None or not isinstance(first[-1], int):
                return first
            return (*first[:-1], first[-1] * old // new)
        return first if op in ("UNSHARD", "WMMA") else None

    def _sizes(self, node: int) -> Shape | None:
        """The shape that a node stands for: a STACK of sizes, or one."""
        src = self._pool.src[node]
        return tuple(self._size(s) for s in src) if self._pool.op(node) == "STACK" else (self._size(node),)

    def _size(self, node: int) -> int | str:
        while self._pool.op(node) == "CAST" and self._pool.src[node]:
            node = self._pool.src[node][0]
        op, _, arg, _ = self._pool.texts(node)
        size = whole_number(arg) if op == "CONST" and arg is not None else -1
        return size if size >= 0 else "?"

    def _extent(self, node: int) -> int | str:
        """How many values an index expression takes when it counts from 0."""
        top = self._top(node, {}, 0)
        return "?" if top is None else top + 1

    def _top(self, node: int, known: dict[int, int | None], depth: int) -> int | None:
        """The largest value of an expression of ranges and constants; `known` are those that were met before."""
        if node in known:
            return known[node]
        op, src = self._pool.op(node), self._pool.src[node]
        top: int | None = None
        if op == "CONST":
            size = self._size(node)
            top = size if isinstance(size, int) else None
        elif op == "RANGE" and src:
            size = self._size(src[0])
            top = size - 1 if isinstance(size, int) else None
        elif op in ("ADD", "MUL", "CAST") and depth <= _DEEPEST:
            tops = [self._top(s, known, depth + 1) for s in src]
            some = [value for value in tops if value is not None]
            if len(some) == len(tops):
                top = sum(some) if op == "ADD" else prod(some)
        known[node] = top if top is not None and top <= _LARGEST else None
        return known[node]


def _broadcast(shapes: list[Shape | None]) -> Shape | None:
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    width = max(map(len, known))
    sizes: list[int | str] = []
    for axis in range(width):
        column = [shape[axis - width + len(shape)] for shape in known if axis - width + len(shape) >= 0]
        sizes.append(next((size for size in column if size != 1), 1))
    return tuple(sizes)


def _tuple(arg: str | None) -> Shape | None:
    return None if arg is None else tuple(int(number) for number in _NUMBERS.findall(arg))


def _text(shape: Shape | None) -> str | None:
    return None if shape is None else "(" + ",".join(map(str, shape)) + ")"


def elements(pool: Pool, node: int) -> int | None:
    """How many elements a node has; None when that is not known."""
    shape = Shapes(pool).shape(node)
    numbers = [size for size in shape or () if isinstance(size, int)]
    return prod(numbers) if shape is not None and len(numbers) == len(shape) else None
