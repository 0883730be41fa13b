"""The value of a symbolic number of tinygrad, given its variables. Standard library only."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from peephole.sources.tinygrad.text import Texts, arguments, uop_fields, variable_name

_MOST: Final = 10_000
_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "ADD": operator.add,
    "SUB": operator.sub,
    "MUL": operator.mul,
    "IDIV": operator.floordiv,
    "CDIV": operator.floordiv,
    "FLOORDIV": operator.floordiv,
    "MOD": operator.mod,
    "CMOD": operator.mod,
    "FLOORMOD": operator.mod,
    "MAX": max,
    "CMPLT": operator.lt,
    "CMPNE": operator.ne,
    "CMPEQ": operator.eq,
    "AND": operator.and_,
    "OR": operator.or_,
    "XOR": operator.xor,
    "SHL": lambda value, by: value << _shift(by),
    "SHR": lambda value, by: value >> _shift(by),
}
_LARGEST: Final = 1 << 200
_SIGNS: Final[Mapping[str, str]] = {
    "ADD": "+",
    "SUB": "-",
    "MUL": "*",
    "IDIV": "//",
    "CDIV": "//",
    "FLOORDIV": "//",
    "MOD": "%",
    "CMOD": "%",
    "FLOORMOD": "%",
    "MAX": "max",
    "CMPLT": "<",
    "CMPNE": "!=",
    "CMPEQ": "==",
    "AND": "&",
    "OR": "|",
    "XOR": "^",
}
_MOST_PARTS: Final = 900
_DEEPEST: Final = 200
Amount = int | float | list[Any]
"""A number, or the steps to one: see model/journal.py."""


def _shift(by: int) -> int:
    if by > 100:
        raise ValueError("too large")
    return by


def evaluate(value: Any, variables: Mapping[str, Any], texts: Texts) -> float | None:
    """The number, or None when it has a part that is not known."""
    try:
        number: float = _Evaluation(variables, texts).value(value, 0)
        return number
    except (ValueError, TypeError, ArithmeticError, AttributeError, IndexError, KeyError):
        return None


class _Evaluation:
    def __init__(self, variables: Mapping[str, Any], texts: Texts) -> None:
        self._variables = variables
        self._texts = texts
        self._known: dict[int, Any] = {}
        self._left = _MOST

    def value(self, item: Any, depth: int) -> Any:
        if isinstance(item, (int, float)):
            return item
        known = self._known.get(id(item))
        if known is not None:
            return known
        self._left -= 1
        if depth > 200 or self._left < 0:
            raise ValueError("too large")
        op, _, src, arg = uop_fields(item)
        name = self._texts.op(op)
        if name == "CONST":
            result = arguments(arg)[0] if arguments(arg) else arg
        elif name in ("PARAM", "DEFINE_VAR"):
            result = self._variables[variable_name(arg)]
        elif name == "AFTER":  # a bound variable: AFTER(variable, STORE(variable, value))
            result = self.value(uop_fields(src[1])[2][1], depth + 1)
        elif name in ("BIND", "CAST"):
            result = self.value(src[-1] if name == "BIND" else src[0], depth + 1)
        elif name == "WHERE":
            result = self.value(src[1] if self.value(src[0], depth + 1) else src[2], depth + 1)
        elif name == "NEG":
            result = -self.value(src[0], depth + 1)
        else:
            result = _BINARY[name](self.value(src[0], depth + 1), self.value(src[1], depth + 1))
        if not isinstance(result, (int, float)) or abs(result) > _LARGEST:
            raise ValueError("too large")
        self._known[id(item)] = result
        return result


def amount_of(value: Any, texts: Texts) -> Amount | None:
    """What `evaluate` would compute, for whoever has the variables later. None: nothing that is known.

    ValueError when it cannot be said: it is too long, or chooses.
    """
    if isinstance(value, (int, float)):
        return value
    if value is None:
        return None
    parts: list[Any] = []
    _append(parts, {}, value, texts, 0)
    return parts


def _append(parts: list[Any], known: dict[int, int], item: Any, texts: Texts, depth: int) -> int:
    """Appends what an item consists of; the place of its value."""
    place = known.get(id(item))
    if place is not None:
        return place
    if len(parts) > _MOST_PARTS or depth > _DEEPEST:
        raise ValueError("too large")
    if isinstance(item, (int, float)):
        parts.append(item)
        return len(parts) - 1  # not known by its id: another number may get it
    op, _, src, arg = uop_fields(item)
    name = texts.op(op)
    if name == "CONST":
        value = arg.args[0] if hasattr(arg, "args") else arg
        if not isinstance(value, (int, float)):
            raise ValueError("no number")
        parts.append(value)
    elif name in ("PARAM", "DEFINE_VAR"):
        parts.append([variable_name(arg)])
    elif name == "AFTER":
        return _append(parts, known, uop_fields(src[1])[2][1], texts, depth + 1)
    elif name in ("BIND", "CAST"):
        return _append(parts, known, src[-1] if name == "BIND" else src[0], texts, depth + 1)
    elif name == "NEG":
        parts.append(["neg", _append(parts, known, src[0], texts, depth + 1)])
    else:
        if name not in _SIGNS:
            raise ValueError(f"{name} has no sign")
        left = _append(parts, known, src[0], texts, depth + 1)
        parts.append([_SIGNS[name], left, _append(parts, known, src[1], texts, depth + 1)])
    known[id(item)] = len(parts) - 1
    return len(parts) - 1
