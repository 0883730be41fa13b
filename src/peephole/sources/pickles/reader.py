"""Reads pickles without running anything of theirs, and without what wrote them. Standard library only."""

from __future__ import annotations

import io
import pickle
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peephole.errors import CaptureError
from peephole.model.collector import no_collecting
from peephole.sources.pickles.opcode_scan import checked
from peephole.sources.pickles.standin import Allowed, Mapping, Refused, StandIn, stand_in


@dataclass(frozen=True, slots=True)
class Loaded:
    """A pickle's value, made of plain data and stand-ins, and the names of the classes that it has."""

    value: Any
    classes: frozenset[str]
    size: int = 0
    """Bytes of the pickle: what is in it cannot be much more."""


class _Unpickler(pickle.Unpickler):
    """Knows only stand-ins. The one real class is our dictionary, under a name that the file cannot guess."""

    def __init__(self, data: bytes, secret: str, allowed: Allowed, whose: str) -> None:
        super().__init__(io.BytesIO(data))
        self.secret, self._allowed, self._whose = secret, allowed, whose
        self.classes: dict[tuple[str, str], type[StandIn]] = {}

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """The stand-in of that name; Refused when it is not on the allow-list."""
        if module_name == self.secret:
            return Mapping
        found = self.classes.get((module_name, global_name))
        if found is None:
            found = self.classes[module_name, global_name] = stand_in(
                module_name, global_name, self._allowed, self._whose
            )
        return found

    def persistent_load(self, pid: Any, /) -> Any:
        """Never gives anything."""
        raise Refused("it holds a persistent object")


def nothing(_module: str, _name: str) -> bool:
    """The allow-list of files that hold plain data only."""
    return False


def loads(data: bytes, where: str, allowed: Allowed, whose: str) -> Loaded:
    """The value of a pickle; CaptureError with one sentence when it is refused, damaged or none at all.

    `allowed` says which classes it may name, `whose` in a word what holds those.
    """
    secret = "m" + secrets.token_hex(8)
    try:
        reader = _Unpickler(checked(data, f"c{secret}\nd\n)\x81".encode("latin-1")), secret, allowed, whose)
        with no_collecting():
            value = reader.load()
        return Loaded(value, frozenset(f"{module}.{name}" for module, name in reader.classes), len(data))
    except Refused as refusal:
        raise CaptureError(f"{where} is not read: {refusal}; nothing of it was run.") from None
    except RecursionError:
        raise CaptureError(f"{where} is not read: it is nested too deeply; nothing of it was run.") from None
    except MemoryError:
        raise CaptureError(f"{where} is not read: it asks for more memory than there is.") from None
    except Exception as error:  # the unpickler raises whatever a damaged stream leads to
        raise CaptureError(f"{where} is a damaged pickle ({type(error).__name__}: {str(error)[:100]}).") from None


def load(path: Path, allowed: Allowed, whose: str) -> Loaded:
    """The value of the pickle in that file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"{path} cannot be read ({error.strerror or error}).") from None
    return loads(data, str(path), allowed, whose)
