"""Texts as 64-bit numbers that are the same in every process, and what is taken out of them first."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

_ADDRESS: Final = re.compile(r"\bat 0x[0-9a-fA-F]+")
_TEMPORARY: Final = re.compile(r"(?:/tmp|/var/tmp|/var/folders|/private/var)/[^\s'\",:;()\[\]<>]+")
ADDRESSES: Final = "addresses of objects"
TEMPORARY: Final = "temporary paths"


def text_hash(text: str | None) -> int:
    """A text as a number; that of none is 0."""
    if text is None:
        return 0
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def text_hashes(texts: Iterable[str | None]) -> NDArray[np.uint64]:
    """The same for each of these."""
    return np.array([text_hash(text) for text in texts], np.uint64)


def mixed(*parts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One number out of several columns of them; their order counts."""
    prime, shift = np.uint64(0x9E3779B97F4A7C15), np.uint64(31)
    result = np.full(len(parts[0]), 0x243F6A8885A308D3, np.uint64)
    for part in parts:
        result = (result ^ part) * prime
        result ^= result >> shift
    return result


def without_accidents(text: str, seen: set[str]) -> str:
    """A text without addresses and temporary paths; `seen` gets the names of what was taken out."""
    if " 0x" in text and (found := _ADDRESS.sub("at 0x", text)) != text:
        seen.add(ADDRESSES)
        text = found
    if ("/tmp/" in text or "/var/" in text) and (found := _TEMPORARY.sub("/tmp/", text)) != text:
        seen.add(TEMPORARY)
        text = found
    return text
