"""Reads tinygrad's pickles without running anything of theirs, and without tinygrad. Standard library only."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from peephole.sources.pickles import reader
from peephole.sources.pickles.reader import Loaded
from peephole.sources.tinygrad.pickle.allowed import allowed

_WHOSE: Final = "capture of tinygrad"


def loads(data: bytes, where: str) -> Loaded:
    """The value of a pickle; CaptureError with one sentence when it is refused, damaged or none at all."""
    return reader.loads(data, where, allowed, _WHOSE)


def load(path: Path) -> Loaded:
    """The value of the pickle in that file."""
    return reader.load(path, allowed, _WHOSE)
