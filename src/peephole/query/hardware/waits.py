"""What a waiting instruction waits for: its counters by name, and the instruction that has to be done first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = re.compile(r"(\d+)?\)\s*$")
_LOAD: Final = re.compile(r"(GLOBAL|BUFFER|TBUFFER|FLAT|SCRATCH|IMAGE)_(?!STORE)")
_STORE: Final = re.compile(r"(GLOBAL|BUFFER|TBUFFER|FLAT|SCRATCH|IMAGE)_STORE")
_ANY: Final = re.compile(r"(GLOBAL|BUFFER|TBUFFER|FLAT|SCRATCH|IMAGE)_")
_LOCAL: Final = re.compile(r"DS_|FLAT_")
_SCALAR: Final = re.compile(r"S_(BUFFER_)?LOAD|S_SENDMSG_RTN")
_BOTH: Final = re.compile(f"{_LOCAL.pattern}|{_SCALAR.pattern}")
_SAMPLE: Final = re.compile(r"IMAGE_(SAMPLE|GATHER|GET_LOD|MSAA)")
_BVH: Final = re.compile(r"IMAGE_BVH")
_EXPORT: Final = re.compile(r"EXP\b|EXPORT")


@dataclass(frozen=True, slots=True)
class Wait:
    """What a wait says. `counters` are those that hold it up: at most so many operations may be outstanding."""

    text: str
    """As an assembler writes it: `vmcnt(1) lgkmcnt(0)`."""
    counters: tuple[tuple[str, int], ...]


_Field = tuple[str, tuple[tuple[int, int], ...]]
"""A counter and where its bits are: (lowest bit, how many), the lower part first."""
_GFX9: Final[tuple[_Field, ...]] = (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 4),)))
_GFX10: Final[tuple[_Field, ...]] = (("vmcnt", ((0, 4), (14, 2))), ("expcnt", ((4, 3),)), ("lgkmcnt", ((8, 6),)))
_GFX11: Final[tuple[_Field, ...]] = (("vmcnt", ((10, 6),)), ("expcnt", ((0, 3),)), ("lgkmcnt", ((4, 6),)))
_PAIRS: Final[Mapping[str, tuple[_Field, ...]]] = {
    "S_WAIT_LOADCNT_DSCNT": (("loadcnt", ((8, 6),)), ("dscnt", ((0, 6),))),
    "S_WAIT_STORECNT_DSCNT": (("storecnt", ((8, 6),)), ("dscnt", ((0, 6),))),
}
_ALU: Final[tuple[_Field, ...]] = (
    ("va_vdst", ((12, 4),)), ("va_sdst", ((9, 3),)), ("va_ssrc", ((8, 1),)), ("hold_cnt", ((7, 1),)),
    ("vm_vsrc", ((2, 3),)), ("va_vcc", ((1, 1),)), ("sa_sdst", ((0, 1),)),
)  # fmt: skip
"""Of S_WAIT_ALU and S_WAITCNT_DEPCTR: results of vector and scalar units, not memory."""
_ONE: Final = re.compile(r"S_WAIT(?:CNT)?_((?:LOAD|STORE|SAMPLE|BVH|EXP|DS|KM|VM|VS|LGKM|X)CNT)")
_DELAYS: Final = (
    "NO_DEP", *(f"VALU_DEP_{n}" for n in range(1, 5)), *(f"TRANS32_DEP_{n}" for n in range(1, 4)),
    "FMA_ACCUM_CYCLE_1", *(f"SALU_CYCLE_{n}" for n in range(1, 4)),
)  # fmt: skip
_SKIPS: Final = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")

MEANINGS: Final[Mapping[str, str]] = {
    "vmcnt": "vector memory operations",
    "lgkmcnt": "LDS, scalar memory and message operations",
    "expcnt": "exports",
    "vscnt": "vector memory stores",
    "loadcnt": "vector memory loads",
    "storecnt": "vector memory stores",
    "samplecnt": "image samples",
    "bvhcnt": "ray intersections",
    "dscnt": "LDS operations",
    "kmcnt": "scalar memory and message operations",
    "xcnt": "address translations",
}
"""What a counter counts."""


def decode_wait(op: str, text: str, arch: str) -> Wait | None:
    """The wait that an instruction is; None for what is none. `text` ends with its number: `s_waitcnt(64519)`."""
    if not op.startswith(("S_WAIT", "S_DELAY_ALU")):
        return None
    found = _NUMBER.search(text)
    value = int(found[1] or 0) & 0xFFFF if found else 0
    if op == "S_DELAY_ALU":
        return Wait(_delay(value), ())
    if op in ("S_WAIT_ALU", "S_WAITCNT_DEPCTR"):
        held = _held(_ALU, value)
        return Wait(_said(held) or "nothing", ())
    if op == "S_WAITCNT":
        fields = _GFX9 if arch.startswith("gfx9") else _GFX10 if arch.startswith("gfx10") else _GFX11
        held = _held(fields, value)
    elif op in _PAIRS:
        held = _held(_PAIRS[op], value)
    elif one := _ONE.fullmatch(op):
        held = ((one[1].lower(), value),)
    else:
        return None
    return Wait(_said(held) or "nothing", held)


def _held(fields: tuple[_Field, ...], value: int) -> tuple[tuple[str, int], ...]:
    """The counters that are waited for; one with all its bits set is not."""
    found = []
    for name, parts in fields:
        number = most = width = 0
        for low, bits in parts:
            number |= (value >> low & (1 << bits) - 1) << width
            width += bits
            most = (1 << width) - 1
        if number != most:
            found.append((name, number))
    return tuple(found)


def _said(held: tuple[tuple[str, int], ...]) -> str:
    return " ".join(f"{name}({number})" for name, number in held)


def _delay(value: int) -> str:
    first, skip, second = value & 0xF, value >> 4 & 7, value >> 7 & 0xF
    names = [_DELAYS[number] if number < len(_DELAYS) else str(number) for number in (first, second)]
    if not second:
        return f"instid0({names[0]})"
    after = _SKIPS[skip] if skip < len(_SKIPS) else str(skip)
    return f"instid0({names[0]}) instskip({after}) instid1({names[1]})"


def _counted(name: str, arch: str) -> re.Pattern[str] | None:
    """The operations that a counter counts; None where they are not known by their names."""
    return {
        "vmcnt": _ANY if arch.startswith("gfx9") else _LOAD, "loadcnt": _LOAD, "vscnt": _STORE, "storecnt": _STORE,
        "lgkmcnt": _BOTH, "dscnt": _LOCAL, "kmcnt": _SCALAR, "samplecnt": _SAMPLE, "bvhcnt": _BVH, "expcnt": _EXPORT,
    }.get(name)  # fmt: skip


def awaited(ops: tuple[str, ...], at: int, wait: Wait, arch: str, joins: frozenset[int]) -> int:
    """The instruction that has to be done before a wait ends: of those of its block, the last one; -1 when none is.

    Operations of one counter end in their order, so that with n left over the one before the last n is done. Where
    paths join (`joins`) nothing is known of what came before.
    """
    found = -1
    for name, left in wait.counters:
        kinds = _counted(name, arch)
        for i in range(at - 1, -1, -1) if kinds is not None and at not in joins else ():
            if "BRANCH" in ops[i] or ops[i].startswith(("S_SETPC", "S_SWAPPC", "S_ENDPGM")):
                break
            if kinds is not None and kinds.match(ops[i]):
                if left == 0:
                    found = max(found, i)
                    break
                left -= 1
            if i in joins:
                break
    return found


def words(wait: Wait) -> str:
    """A wait in words: `waits until all but 1 vector memory operations are done`."""
    parts = [f"all {f'but {left} ' if left else ''}{MEANINGS.get(name, name)} are done" for name, left in wait.counters]
    return f"waits until {' and '.join(parts)}" if parts else ""
