"""Sets of tinygrad's ops that several questions need, and the buffer that a node is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from peephole.replay.pool import Pool

CALLS: Final = frozenset(("CALL", "FUNCTION"))
"""Ops whose first source is the body that they call."""
MOVEMENT: Final = frozenset(("RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP"))
BUFFERS: Final = frozenset(("BUFFER", "PARAM"))
INFIX: Final = {
    "ADD": "+", "MUL": "*", "SUB": "-", "CDIV": "//", "FLOORDIV": "//", "CMOD": "%", "FLOORMOD": "%", "CMPLT": "<",
    "CMPNE": "!=", "CMPEQ": "==", "AND": "&", "OR": "|", "XOR": "^", "SHL": "<<", "SHR": ">>", "FDIV": "/",
    "IDIV": "//", "MOD": "%",
}  # fmt: skip
"""Ops that are written between their sources."""


def base(pool: Pool, node: int) -> int:
    """The BUFFER or PARAM that a node is a view or a state of: down its first sources."""
    while pool.op(node) not in BUFFERS and pool.src[node]:
        node = pool.src[node][0]
    return node
