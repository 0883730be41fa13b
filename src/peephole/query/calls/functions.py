"""What a node of a call tree is: a name, a name at a place of the program, or the run of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.json_text import json_object
from peephole.store.capture import Capture

_IN_NAME: Final = (
    re.compile(r"^(?P<name>.+?) \((?P<place>[^()]*\.\w+:\d+)\)$"),  # f (file.py:12)
    re.compile(r"^(?P<place>[^():]*\.\w+\(\d+\)): (?P<name>.+)$"),  # file.py(12): f
)

_KERNELS: Final = 1 << 20


def place_in_name(name: str) -> str:
    """The place, as `file.py:12`, that profilers of Python put into a name; empty when there is none."""
    if name.endswith(")") or "): " in name:
        for form in _IN_NAME:
            if found := form.match(name):
                file, _, line = found["place"].rstrip(")").rpartition("(" if "(" in found["place"] else ":")
                return f"{file}:{line}"
    return ""


def place_in_args(args: str | None) -> str:
    """The place that a slice says it belongs to; empty when it does not."""
    place = (json_object(args) or {}).get("location") if args and '"location"' in args else None
    return place if isinstance(place, str) else ""


class Functions:
    """Numbers of functions; by name alone they are those of `Capture.names()`, and the next for slices without one.

    With `by_kernel` slices of one name that several contexts produced are several functions, numbered behind these.
    """

    def __init__(self, capture: Capture, by_place: bool = False, by_kernel: bool = False) -> None:
        self._capture = capture
        self.names = [*capture.names(), ""]
        nameless = len(self.names) - 1
        # a slice without a name is shown like one whose name is empty
        self._blank = self.names.index("")
        self.by_place = by_place
        self._places: dict[tuple[int, str], int] = {}
        self.by_kernel = by_kernel
        self.kernels: dict[tuple[int, int], int] = {}
        """Numbers by name and context."""
        if by_place:
            self._most = max(1 << 20, 8 * nameless)

    @property
    def limit(self) -> int:
        """Larger than any number."""
        if self.by_kernel:
            return len(self.names) + _KERNELS
        return self._most if self.by_place else len(self.names)

    def numbers(
        self, name: NDArray[np.int32], first: int, past: int, context: NDArray[np.int64] | None = None
    ) -> NDArray[np.int32]:
        """The functions of these rows of slices, whose names' numbers and contexts are these."""
        if self._blank != len(self.names) - 1 or (len(name) and int(name.min()) < 0):
            name = np.where(name < 0, self._blank, name)
        if self.by_kernel and context is not None:
            return self._kernels(name, context)
        if not self.by_place:
            return name
        texts = self._capture.read("slices", ["args"], slice(first, past)).texts("args")
        places = [*map(place_in_args, texts.values), ""]
        pairs, place = np.unique(name.astype(np.int64) * len(places) + texts.codes % len(places), return_inverse=True)
        known = self._places
        found = []
        for pair in pairs.tolist():
            number, at = divmod(pair, len(places))
            key = number, places[at] or place_in_name(self.names[number])
            if key not in known and len(known) == self._most:
                key = number, ""  # hopelessly many places: those that come last are one
            found.append(known.setdefault(key, min(len(known), self._most - 1)))
        return np.array(found, np.int32)[place]

    def _kernels(self, name: NDArray[np.int32], context: NDArray[np.int64]) -> NDArray[np.int32]:
        own = np.flatnonzero(context >= 0)
        if not len(own):
            return name
        contexts, place = np.unique(context[own], return_inverse=True)
        pairs, place = np.unique(name[own].astype(np.int64) * len(contexts) + place, return_inverse=True)
        found = []
        for pair in pairs.tolist():
            number, at = divmod(pair, len(contexts))
            key = number, int(contexts[at])
            if key not in self.kernels and len(self.kernels) >= _KERNELS:
                found.append(number)  # hopelessly many: those that come last are one by name
            else:
                found.append(self.kernels.setdefault(key, len(self.names) + len(self.kernels)))
        result = name.astype(np.int32)
        result[own] = np.array(found, np.int32)[place]
        return result

    def name_numbers(self) -> NDArray[np.int64]:
        """The number of each function's name."""
        return np.array([*range(len(self.names)), *(number for number, _ in self.kernels)], np.int64)

    def known(self) -> list[tuple[str, str]]:
        """Name and place of every number; without `by_place` the place that the name itself tells."""
        if self.by_place:
            return [(self.names[number], place) for number, place in self._places]
        own = [(name, place_in_name(name)) for name in self.names]
        return own + [own[number] for number, _ in self.kernels]


def places_of(capture: Capture, rows: Iterable[int]) -> dict[int, str]:
    """The places that these slices say they belong to, by row; without those that say none."""
    wanted = sorted(rows)
    found: dict[int, str] = {}
    at = 0
    while at < len(wanted):
        last = at
        while last + 1 < len(wanted) and wanted[last + 1] - wanted[at] < 1 << 14:
            last += 1
        first = wanted[at]
        texts = capture.read("slices", ["args"], slice(first, wanted[last] + 1)).texts("args")
        for row in wanted[at : last + 1]:
            if place := place_in_args(texts[row - first]):
                found[row] = place
        at = last + 1
    return found
