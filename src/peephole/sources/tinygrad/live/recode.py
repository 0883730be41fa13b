"""tinygrad's functions with other names for the switches and lists that a recording needs. Standard library only.

    def cpu_profile(…): … if PROFILE: cpu_events.append(…)        what the program imports: as without a recording
                             │               │
                   peephole_PROFILE   peephole_cpu_events         what tinygrad's own functions use (hidden.py)

Only the names in a function's code are others, and only where it looks up a global: imports, classes and whatever a
module does when it is imported stay, and so do lines, tracebacks and speed.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Final

PREFIX: Final = "peephole_"
GLOBALS: Final = frozenset(
    ("VIZ", "TRACK_MATCH_STATS", "PROFILE", "TRACEMETA", "PARALLEL", "Context", "cpu_events", "tracked_keys",
     "tracked_ctxs", "uop_fields", "_name_cnt")
)  # fmt: skip
"""Names of tinygrad's modules that have a hidden one beside them."""
ATTRIBUTES: Final = frozenset(("profile_events",))
"""The same of its classes."""
_HIDDEN: Final = {name: PREFIX + name for name in GLOBALS | ATTRIBUTES}
_ALL: Final = {**_HIDDEN, "getenv": f"{PREFIX}getenv"}
_FUNCTION: Final = 0x1 | 0x2
"""CO_OPTIMIZED and CO_NEWLOCALS: neither a module nor the body of a class."""
_LOADS: Final = frozenset(("LOAD_GLOBAL",))
_REACHES: Final = frozenset(("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"))
_KNOWN: Final = sys.version_info[:2] == (3, 11)
"""Whether we know how this Python's instructions lie; else they are asked for, which takes several times as long."""
_NAMING: Final = {number: (dis.opname[number], int(dis.opname[number] == "LOAD_GLOBAL")) for number in dis.hasname}
"""The instructions that name something, and by how many bits the number of the name is moved there."""


def recode(code: CodeType) -> CodeType:
    """The code of one of tinygrad's modules, with the hidden names in all of its functions."""
    return _recode(code, {})


def renamed(code: CodeType, attributes: Mapping[str, str]) -> CodeType:
    """The code of a function that reaches for other attributes; the same one where it reaches for none of them."""
    return _recode(code, attributes, plain=True)


def plain_names(code: CodeType) -> set[str]:
    """The names that a function uses, as tinygrad's source has them."""
    return {name.removeprefix(PREFIX) for name in code.co_names}


def _recode(code: CodeType, attributes: Mapping[str, str], *, plain: bool = False) -> CodeType:
    names, consts = code.co_names, code.co_consts
    own: list[object] | None = None
    for at, const in enumerate(consts):
        if type(const) is CodeType and (other := _recode(const, attributes, plain=plain)) is not const:
            own = list(consts) if own is None else own
            own[at] = other
    if code.co_flags & _FUNCTION == _FUNCTION:
        wanted = attributes if plain else _wanted(code)
        if not wanted.keys().isdisjoint(names):
            names = _other(code, wanted)
    if names is code.co_names and own is None:
        return code
    return code.replace(co_consts=consts if own is None else tuple(own), co_names=names)


def _wanted(code: CodeType) -> Mapping[str, str]:
    if "getenv" in code.co_names and "VIZ" in code.co_consts:  # 0.12 asks the environment each time
        return _ALL
    return _HIDDEN


def _other(code: CodeType, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """The names that the code uses, others for those that it uses in the one way that is meant."""
    uses: dict[str, set[str]] = {}
    for operation, name in named(code):
        if name in wanted:
            uses.setdefault(name, set()).add(operation)
    return tuple(
        wanted[name] if name in wanted and uses.get(name, set()) <= (_LOADS if _is_global(name) else _REACHES) else name
        for name in code.co_names
    )


def named(code: CodeType) -> Iterator[tuple[str, str]]:
    """What the instructions of a function do with which name. Each process of a program asks for thousands."""
    if not _KNOWN:
        for instruction in dis.get_instructions(code):
            if instruction.opcode in _NAMING and type(instruction.argval) is str:
                yield instruction.opname, instruction.argval
        return
    names, units, high = code.co_names, code.co_code, 0
    for operation, low in zip(units[::2], units[1::2], strict=True):
        number = high | low
        high = number << 8 if operation == dis.EXTENDED_ARG else 0
        if operation in _NAMING:
            text, moved = _NAMING[operation]
            yield text, names[number >> moved]


def _is_global(name: str) -> bool:
    return name in GLOBALS or name == "getenv"
