"""What the fusion pass said about each pair: the frames of `COMPUTATION.module_0032.jit_f._fusion.html`.

The labels are JSON in the page; the graphs in it, most of its bytes, are not needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FRAMES: Final = re.compile(r"const frames\s*=\s*\[")
_FUSED: Final = re.compile(r"Fused \|?([^|]+?)\|? into \|?([^|]+?)\|?(?: inside (.*))?")
_REFUSED: Final = re.compile(r"Not fusing \|?([^|]+?)\|? into \|?([^|]+?)\|? as (.*)", re.DOTALL)
_LATER: Final = re.compile(r"\s*;\s*multi-output fusion not supported by this pass\s*$")


@dataclass(frozen=True, slots=True)
class FusionWord:
    """Producer `a` went into consumer `b`, or it did not and why."""

    kind: str
    a: str
    b: str
    reason: str


def read_explanations(page: str) -> list[FusionWord]:
    """The decisions of a page, in order; ValueError when it is none of that kind or was cut off."""
    found = _FRAMES.search(page)
    if found is None:
        raise ValueError("it has no list of frames")
    frames, _ = json.JSONDecoder().raw_decode(page, found.end() - 1)
    return list(_words(frames))


def _words(frames: list[object]) -> Iterator[FusionWord]:
    for frame in frames:
        label = frame[1] if isinstance(frame, list) and len(frame) > 1 and isinstance(frame[1], str) else ""
        label = label.strip()
        if fused := _FUSED.fullmatch(label):
            yield FusionWord("fused", _name(fused[1]), _name(fused[2]), "")
        elif refused := _REFUSED.fullmatch(label):
            yield FusionWord("refused", _name(refused[1]), _name(refused[2]), _LATER.sub("", refused[3]).strip())


def _name(text: str) -> str:
    return text.strip().removeprefix("%")
