"""What the event that made a buffer says of it: its address, and the stack that asked for it."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.json_text import json_object
from peephole.query.timeline.correlations import Links
from peephole.store.capture import Capture

Ints = NDArray[np.int64]
_ADDRESS: Final = re.compile(r'\{"address":"0x([0-9a-f]{1,16})"')
"""How the args of an allocator's event begin (`sources/cuda_memory/entries.py`)."""
_FRAMES: Final = 100


class Addresses:
    """Where buffers lie."""

    def __init__(self, buffers: Ints, addresses: NDArray[np.uint64]) -> None:
        order = np.argsort(buffers, kind="stable")
        self._buffers, self._addresses = buffers[order], addresses[order]

    def of(self, buffers: Ints) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The address of each buffer, and whether it is known."""
        if not len(self._buffers):
            return np.zeros(len(buffers), np.uint64), np.zeros(len(buffers), np.bool_)
        at = np.searchsorted(self._buffers, buffers).clip(0, len(self._buffers) - 1)
        return self._addresses[at], self._buffers[at] == buffers


def addresses(capture: Capture) -> Addresses:
    """The addresses of all buffers that were made by an event with one."""
    uses = capture.read("uses", ["buffer", "slice", "mode"])
    modes = uses.texts("mode")
    writing = np.array([mode == "write" for mode in modes.values] + [False], np.bool_)
    made = np.flatnonzero(writing[modes.codes])
    made = made[np.argsort(uses["slice"][made], kind="stable")]
    makers, buffers = uses["slice"][made], uses["buffer"][made]
    found: list[tuple[int, int]] = []
    for frame in capture.scan("slices", ["correlation", "args"]) if len(made) else ():
        own, texts = frame["correlation"], frame.texts("args")
        at = np.searchsorted(makers, own).clip(0, len(makers) - 1)
        for row in np.flatnonzero((own != 0) & (makers[at] == own)).tolist():
            if address := _ADDRESS.match(texts[row] or ""):
                found.append((int(buffers[at[row]]), int(address[1], 16)))
    return Addresses(
        np.array([buffer for buffer, _ in found], np.int64), np.array([address for _, address in found], np.uint64)
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
