"""The names of slices by their numbers, which windows, colours and sums use."""

from __future__ import annotations

from collections.abc import Sequence

from peephole.model.plain_names import plain
from peephole.store.capture import Capture


def slice_names(capture: Capture) -> Sequence[str]:
    """Every name of a slice; its number is its place in it."""
    return capture.names()


def slice_name(capture: Capture, number: int) -> str:
    """The name of that number, without colour codes; IndexError with how many there are when there is none."""
    names = capture.names()
    if not 0 <= number < len(names):
        raise IndexError(len(names))
    return plain(names[number])
