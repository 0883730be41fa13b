"""LLVM of XLA's CPU kernels without what changes from one compilation of the same graph to the next.

A kernel that calls whole computations gets the buffers of all of them as its arguments, in an order that XLA takes from
a table hashed by address: the same program gives other argument numbers, and with them other numbers of metadata.
"""

from __future__ import annotations

import re
from typing import Final

ARGUMENT_ORDER: Final = "the order of buffers among the arguments of XLA's kernels that call computations"

_TABLE: Final = "%buffer_table"
_DEFINITION: Final = re.compile(r"^![0-9]+ = .*\n?", re.MULTILINE)
_NOTE: Final = re.compile(r", !(?:dereferenceable|align|alias\.scope|noalias|invariant\.load) ![0-9]+")
_NUMBER: Final = re.compile(r"![0-9]+")
_LOADED: Final = re.compile(r"^ *%args?[0-9]*(?:_gep[0-9]*)? = .*\n?", re.MULTILINE)
"""An argument is loaded, the first lines of a kernel."""
_STORED: Final = re.compile(
    r"^ *%[0-9]+ = getelementptr [a-z ]*ptr, ptr %buffer_table, i64 [0-9]+\n *store ptr %arg[0-9]+, ptr %[0-9]+.*\n?",
    re.MULTILINE,
)
"""The table is filled, all arguments in their order."""
_USE: Final = re.compile(r"%arg([0-9]+)\b|(?<=%buffer_table, i64 )([0-9]+)")


def without_order(text: str) -> tuple[str, bool]:
    """The code with its buffers numbered as they are first used, and whether it is a kernel that this is done for."""
    if _TABLE not in text:
        return text, False
    for away in (_DEFINITION, _NOTE, _LOADED, _STORED):
        text = away.sub("", text)
    text = _NUMBER.sub("!", text)
    known: dict[str, int] = {}

    def renumbered(found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"%arg{known.setdefault('%' + found[1], len(known))}"
        return str(known.setdefault(found[2], len(known)))

    return _USE.sub(renumbered, text), True
