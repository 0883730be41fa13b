"""What tinygrad counts while it runs: numbers that differ from run to run and mean nothing to a comparison."""

from __future__ import annotations

import re
from typing import Final

from peephole.model.tables import NONE

_OF_CONTEXT: Final = re.compile(r"(.*) n\d+")
_OF_KERNEL: Final = re.compile(r"([a-zA-Z]+(?:_\d+)+)n\d+")
_IN_ARG: Final = re.compile(r"(name='[a-zA-Z]+(?:_\d+)+)n\d+(?=')")
_SLOT: Final = re.compile(r"(?<![a-z])slot=(\d+)")
_UNIQUE: Final = frozenset(("UNIQUE", "LUNIQUE"))


def counted_name(name: str) -> str:
    """`Schedule 3 Kernels` for `Schedule 3 Kernels n2`, `r_64_16` for `r_64_16n1`."""
    found = _OF_CONTEXT.fullmatch(name) or _OF_KERNEL.fullmatch(name)
    return found[1] if found else name


def comparable(op: str, arg: str) -> tuple[str, int]:
    """The argument without a buffer's number, which counts all buffers of the process, and without a kernel's counter.

    The slot of a PARAM is its place among the parameters, and stays.
    """
    if op in _UNIQUE and arg.isdigit():
        return "", int(arg[:18])
    if op == "BUFFER" and (slot := _SLOT.search(arg)):
        return f"{arg[: slot.start(1)]}{arg[slot.end(1) :]}", int(slot[1][:18])
    return (_IN_ARG.sub(r"\1", arg) if "name='" in arg else arg), NONE
