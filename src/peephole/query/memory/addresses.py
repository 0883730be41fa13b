"""What the event that made a buffer says of it: its address, and the stack that asked for it."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.allocator_names import FREE_REQUESTED
from peephole.model.json_text import json_object
from peephole.query.timeline.correlations import Links
from peephole.store.capture import Capture

Ints = NDArray[np.int64]
_ADDRESS: Final = re.compile(r'\{"address":"0x([0-9a-f]{1,16})"(?:,"bytes":[0-9]{1,18},"block":([0-9]{1,18}))?')
"""How the args of an allocator's event begin (`sources/cuda_memory/entries.py`); `block` is size and rounding."""
_FOREVER: Final = np.iinfo(np.int64).max
_FRAMES: Final = 100


class Addresses:
    """Where buffers lie, what their blocks take, and when somebody asked for their end."""

    def __init__(self, buffers: Ints, addresses: NDArray[np.uint64], blocks: Ints, asked: dict[int, int]) -> None:
        order = np.argsort(buffers, kind="stable")
        self._buffers, self._addresses, self._blocks = buffers[order], addresses[order], blocks[order]
        self._asked = asked

    def of(self, buffers: Ints) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The address of each buffer, and whether it is known."""
        if not len(self._buffers):
            return np.zeros(len(buffers), np.uint64), np.zeros(len(buffers), np.bool_)
        at = np.searchsorted(self._buffers, buffers).clip(0, len(self._buffers) - 1)
        return self._addresses[at], self._buffers[at] == buffers

    def taken(self, buffers: Ints, size: Ints) -> Ints:
        """What the block of each buffer takes: its size, and what was rounded up where that is known."""
        if not len(self._buffers):
            return size
        at = np.searchsorted(self._buffers, buffers).clip(0, len(self._buffers) - 1)
        return np.where(self._buffers[at] == buffers, np.maximum(self._blocks[at], size), size)

    def pending(self, buffers: Ints, moment: int) -> NDArray[np.bool_]:
        """Which of them were to be freed at a moment, and waited for a stream."""
        return np.array([self._asked.get(buffer, _FOREVER) <= moment for buffer in buffers.tolist()], np.bool_)


def addresses(capture: Capture) -> Addresses:
    """The addresses of all buffers that were made by an event with one."""
    uses = capture.read("uses", ["buffer", "slice", "mode"])
    modes = uses.texts("mode")
    writing = np.array([mode == "write" for mode in modes.values] + [False], np.bool_)[modes.codes]
    order = np.lexsort((~writing, uses["slice"]))
    makers, buffers, writes = uses["slice"][order], uses["buffer"][order], writing[order]
    found: list[tuple[int, int, int]] = []
    asked: dict[int, int] = {}
    for frame in capture.scan("slices", ["correlation", "args", "name", "start"]) if writing.any() else ():
        own, texts, names = frame["correlation"], frame.texts("args"), frame.texts("name")
        at = np.searchsorted(makers, own).clip(0, len(makers) - 1)
        for row in np.flatnonzero((own != 0) & (makers[at] == own)).tolist():
            place = int(at[row])
            if not writes[place]:
                if (names[row] or "").startswith(FREE_REQUESTED):
                    asked[int(buffers[place])] = int(frame["start"][row])
            elif address := _ADDRESS.match(texts[row] or ""):
                found.append((int(buffers[place]), int(address[1], 16), int(address[2] or 0)))
    return Addresses(
        np.array([buffer for buffer, _, _ in found], np.int64),
        np.array([address for _, address, _ in found], np.uint64),
        np.array([block for _, _, block in found], np.int64),
        asked,
    )


def made_at(capture: Capture, links: Links, buffer: int) -> tuple[str, tuple[str, ...]]:
    """The address of a buffer and the frames that asked for it, innermost first; empty where nobody knows."""
    maker = next((use.slice.row for use in links.users_of(buffer)[0] if "write" in use.mode), None)
    if maker is None:
        return "", ()
    args = capture.read("slices", ["args"], slice(maker, maker + 1)).texts("args")[0]
    found = _ADDRESS.match(args or "")
    return f"0x{found[1]}" if found else "", frames_of(args)


def frames_of(args: str | None) -> tuple[str, ...]:
    """The stack that the args of an allocator's event hold, innermost first."""
    frames = (json_object(args) or {}).get("callstack")
    return tuple(str(frame) for frame in frames[:_FRAMES]) if isinstance(frames, list) else ()
