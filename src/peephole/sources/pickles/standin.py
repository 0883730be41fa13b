"""Inert stand-ins for the classes that a pickle names. Standard library only.

A stand-in keeps what it was given and can do nothing: the arguments of its construction in `args`, its state as
plain attributes. Its class bears the name of the original, so that one piece of code reads live objects and
stand-ins alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

Allowed = Callable[[str, str], bool]
"""Whether a pickle may name a global, by module and name."""

ATOMS: Final = frozenset((str, int, bytes, float, bool, type(None)))
"""Types that a key in a pickled dictionary may have: hashing any other could be made to take for ever."""

_MOST: Final = 200
"""Arguments or fields of one object. More would let a few bytes ask for the same copies again and again."""


class Refused(Exception):
    """A pickle asks for something that such a file never holds."""


class StandIn:
    """An object that was pickled: `args` from its construction, attributes from its state."""

    __slots__ = ("__dict__", "args")
    module = ""
    args: tuple[Any, ...]

    def __new__(cls, *args: Any, **kwargs: Any) -> StandIn:
        """A stand-in that remembers its arguments."""
        if len(args) > _MOST:
            raise Refused(f"{cls.__name__} is made of {len(args)} arguments")
        self = object.__new__(cls)
        self.args = args
        if kwargs:
            self.__setstate__(kwargs)
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is left to do."""

    def __setstate__(self, state: Any) -> None:
        """Takes the pickled state: a dictionary, or a pair of dictionaries for a class with slots."""
        for part in state if type(state) is tuple and len(state) == 2 else (state,):
            if part is None:
                continue
            if not isinstance(part, dict) or len(part) > _MOST:
                raise Refused(f"the state of {type(self).__name__} is no dictionary of its fields")
            for name, value in part.items():
                if type(name) is not str:
                    raise Refused(f"the state of {type(self).__name__} has a field that is no text")
                self.__dict__[name] = value

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a stand-in is not pickled again")


class Mapping(dict[Any, Any]):
    """A pickled dictionary; refuses keys whose hash could run for ever."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) not in ATOMS:
            raise Refused(f"a dictionary is keyed by {type(key).__name__}")
        dict.__setitem__(self, key, value)


def stand_in(module: str, name: str, allowed: Allowed, whose: str) -> type[StandIn]:
    """A new inert class of that name; Refused when the allow-list does not have it."""
    if not allowed(module, name):
        raise Refused(f"it names {module[:100]}.{name[:100]}, which no {whose} holds")
    return type(name.rpartition(".")[2], (StandIn,), {"__slots__": (), "module": module})
