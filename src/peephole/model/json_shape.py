"""Values of JSON as the types that are declared for them. Anybody may have written the file that they come from."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
_LEAST: Final = -(1 << 63)
_MOST: Final = 1 << 64
"""What a column holds, signed or not."""


def shaped(kind: type[T], value: object) -> T:
    """The value as that type; ValueError when it, or anything in it, is something else.

    A dataclass is an object of its fields, or a list of them in their order; a tuple is a list.
    """
    made: T = _shaped(kind, value)
    return made


def _shaped(kind: Any, value: Any) -> Any:
    if is_dataclass(kind):
        return _made(kind, value)
    outer, inner = get_origin(kind), get_args(kind)
    if outer is UnionType:
        if value is None and type(None) in inner:
            return None
        return _shaped(next(one for one in inner if one is not type(None)), value)
    if outer is tuple and inner[-1] is not Ellipsis:
        if len(_typed(value, list)) != len(inner):
            raise ValueError("a list of another length")
        return tuple(_shaped(one, part) for one, part in zip(inner, value, strict=True))
    if outer in (list, tuple, frozenset):
        return outer(_shaped(inner[0], part) for part in _typed(value, list))
    if outer is dict:
        return {_shaped(inner[0], key): _shaped(inner[1], part) for key, part in _typed(value, dict).items()}
    return _plain(kind, value)


def _plain(kind: Any, value: Any) -> Any:
    if kind is float and type(value) is int:
        value = float(_in_range(value))
    if kind is int:
        _in_range(_typed(value, int))
    return _typed(value, kind)


def _typed(value: Any, kind: Any) -> Any:
    if type(value) is not kind:  # True is no number here
        raise ValueError(f"not of the type {kind}")
    return value


def _in_range(value: int) -> int:
    if not _LEAST <= value < _MOST:
        raise ValueError("a number beyond 64 bits")
    return value


def _made(kind: Any, value: Any) -> Any:
    hints = _hints(kind)
    if type(value) is list:
        if len(value) != len(hints):
            raise ValueError("another number of fields")
        value = dict(zip(hints, value, strict=True))
    if not _typed(value, dict).keys() >= hints.keys():
        raise ValueError("a field is missing")
    return kind(**{name: _shaped(hint, value[name]) for name, hint in hints.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
