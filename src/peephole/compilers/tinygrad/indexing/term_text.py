"""An index expression as VIZ prints it: `(r1*8+r0) if r0<4 else Invalid`."""

from __future__ import annotations

import re
from typing import Final

from peephole.compilers.tinygrad.indexing.terms import Term

SIGNS: Final = {
    "ADD": "+", "SUB": "-", "FLOORDIV": "//", "FLOORMOD": "%", "IDIV": "//", "MOD": "%", "SHL": "<<", "SHR": ">>",
    "MUL": "*", "CMPLT": "<", "CMPNE": "!=", "CMPEQ": "==", "AND": "&", "OR": "|", "XOR": "^",
}  # fmt: skip
_BINDS: Final = {
    "MUL": 1, "FLOORDIV": 1, "FLOORMOD": 1, "IDIV": 1, "MOD": 1, "ADD": 2, "SUB": 2, "SHL": 3, "SHR": 3, "AND": 4,
    "XOR": 5, "OR": 6,
}  # fmt: skip
_LOOSE: Final = 99
_NUMBERS: Final = re.compile(r"-?\d+(?![^<]*>)")
_NAME: Final = re.compile(r"name='([^']+)'")
_SLOT: Final = re.compile(r"(?:ParamArg\()?(?:slot=)?(-?\d+)")
_WEAK: Final = re.compile(r"weak\w+|bool")


def term_text(term: Term) -> str:
    """The text of a term, in parentheses where others may stand beside it."""
    op, arg, src = term.op, str(term.arg), term.src
    if op in ("PARAM", "BUFFER", "DEFINE_VAR", "DEFINE_GLOBAL"):
        name, slot = _NAME.search(arg), _SLOT.match(arg)
        return name[1] if name else f"{'b' if op == 'BUFFER' else 'p'}{slot[1]}" if slot else op.lower()
    if op == "RANGE":
        return f"{'loop' if term.dtype == 'void' else 'r'}{range_name(arg)}"
    if op == "SPECIAL":
        return arg.strip("'\"")
    if op == "CONST":
        return arg
    parts = [term_text(s) for s in src]
    if op == "AFTER":
        return parts[0]
    if op == "CAST":
        weak = src[0].op == "CONST" and _WEAK.fullmatch(src[0].dtype)
        return parts[0] if weak else f"({term.dtype})({parts[0]})"
    if op in SIGNS and len(parts) == 2:
        return _infix(term, *parts)
    if op == "PERMUTE":
        return f"{parts[0]}.permute({arg})"
    if op in ("RESHAPE", "EXPAND") and len(src) == 2:
        sizes = [term_text(s) for s in (src[1].src if src[1].op == "STACK" else src[1:])]
        return f"{parts[0]}.{op.lower()}(({','.join(sizes)}{',' * (len(sizes) == 1)}))"
    return _called(op, parts)


def range_name(arg: str) -> str:
    """`0_1` for the number of a range; `m1` for one below 0."""
    return "_".join(f"m{number[1:]}" if number.startswith("-") else number for number in _NUMBERS.findall(arg))


def bare(text: str) -> str:
    """Without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and at < len(text) - 1:
            return text
    return text[1:-1]


def _infix(term: Term, left: str, right: str) -> str:
    op = term.op
    if op in _BINDS:
        binds = [_BINDS.get(s.op, _LOOSE) for s in term.src]
        left = bare(left) if binds[0] <= _BINDS[op] else left
        right = bare(right) if binds[1] < _BINDS[op] else right
    return f"({left}{SIGNS[op]}{right})"


def _called(op: str, parts: list[str]) -> str:
    """An op that is not written between its sources."""
    match op, parts:
        case "NEG", [value]:
            return f"(-{value})"
        case "RECIPROCAL", [value]:
            return f"(1/{value})"
        case "MULACC", [one, other, added]:
            return f"({one}*{other}+{added})"
        case "WHERE", [condition, yes, no]:
            return f"({yes} if {condition} else {no})"
        case "STACK", _:
            return "{" + ",".join(parts) + "}"
        case (("INDEX" | "STAGE"), [_, *places]):
            return "".join(f"[{bare(place)}]" for place in places)
    return f"{op.lower()}({', '.join(parts)})"
