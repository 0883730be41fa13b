"""Finds the fields of a block's event lines with array operations: a million lines a second instead of a quarter.

    ␣␣0.108s␣|␣#0001␣|␣RECV␣␣␣␣␣␣␣␣␣|␣CLIENT␣CLIENT␣006b8b4567␣␣␣␣|␣RegisterWorker␣␣|␣␣␣␣␣␣␣␣88B␣|␣worker_id=…
            b0      b1             b2       27 columns          b3                b4            b5

Bars b0 to b2 are the first three of a line, b3 stands at its column (so that a name may hold bars), b4 and b5 are the
next two. A line that does not look exactly like this is left to the patient reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.sources.gt.grammar import HEAD, SIZE, Head

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

HEAD_WORDS: Final = 12
"""A head of more than 96 bytes is left to the patient reader."""
SIZE_WORDS: Final = 3
_PAD: Final = b"\n" + b" " * 128
_BAR, _BLANK, _NEWLINE, _HASH, _POINT, _MINUS, _ZERO = (int(c) for c in b"| \n#.-0")
_MIX: Final = np.cumsum(np.full(64, 0x9E3779B97F4A7C15, np.uint64)) * np.uint64(0xD1342543DE82EF95) | np.uint64(1)
"""Odd numbers whose bits look random; numpy.random would take as long to load as a block to scan."""


@dataclass(slots=True)
class Scan:
    """A block's lines. The arrays run over the lines that were understood, `line` says which they are."""

    line: Ints
    seq: Ints
    milliseconds: Ints
    head: Ints
    heads: list[Head]
    size: Ints
    sizes: list[str]
    """Texts of sizes; number 0 is none."""
    details: list[str]
    odd: list[tuple[int, str]]
    """The other lines with their numbers; empty ones are left out."""


def scan(block: bytes) -> Scan:
    """The fields of all event lines of a block of UTF-8."""
    data = np.frombuffer(block + _PAD, np.uint8)
    length = len(block)
    ends = np.flatnonzero(data[: length + 1] == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if len(starts) and starts[-1] == length:
        starts, ends = starts[:-1], ends[:-1]
    far = length + 64
    bars = np.concatenate((np.flatnonzero(data[:length] == _BAR), np.full(8, far)))
    at = np.searchsorted(bars, starts)
    b0, b1, b2 = bars[at], bars[at + 1], bars[at + 2]
    b3 = b2 + 30
    good = b3 < ends
    for bar in (b0, b1, b2, b3):
        np.minimum(bar, length, out=bar)
    good &= (data[b3] == _BAR) & (data[b3 - 1] == _BLANK) & (data[b3 + 1] == _BLANK) & (data[b2 + 1] == _BLANK)
    good &= (data[b0 - 1] == _BLANK) & (data[b0 - 2] == ord("s")) & (data[b0 - 6] == _POINT) & (b0 - starts > 6)
    good &= (data[b0 + 1] == _BLANK) & (data[b0 + 2] == _HASH) & (data[b1 - 1] == _BLANK) & (data[b1 + 1] == _BLANK)
    rows = np.flatnonzero(good)
    starts_, ends_, b0, b1, b3 = starts[rows], ends[rows], b0[rows], b1[rows], b3[rows]
    whole, fine = _number(data, b0 - 7, starts_, sign=True)
    digits = data[b0[:, None] + np.array([-5, -4, -3])].astype(np.int64) - _ZERO
    fine &= ((digits >= 0) & (digits <= 9)).all(axis=1)
    part = digits @ np.array([100, 10, 1])
    negative = data[np.maximum(b0 - 7 - _width(whole), 0)] == _MINUS
    milliseconds = np.where(negative, -whole * 1000 - part, whole * 1000 + part)
    seq, numbered = _number(data, b1 - 2, b0 + 3, sign=False)
    fine &= numbered
    after = np.searchsorted(bars, b3 + 1)
    b4, b5 = bars[after], bars[after + 1]
    head_end = np.minimum(b4, ends_)
    fine &= head_end - b1 - 2 <= 8 * HEAD_WORDS
    head, first = _texts(data, b1 + 2, head_end, HEAD_WORDS)
    heads, known = _heads(block, b1[first] + 2, head_end[first])
    fine &= known[head]
    size, sizes = _sizes(block, data, b4, b5, ends_)
    last = np.where(size > 0, b5, b4)
    details = _details(block, np.where(last < ends_, last + 2, ends_), ends_)
    understood = np.zeros(len(starts), np.bool_)
    understood[rows[fine]] = True
    odd_rows = np.flatnonzero(~understood)
    odd = [
        (line, block[a:b].decode())
        for line, a, b in zip(odd_rows.tolist(), starts[odd_rows].tolist(), ends[odd_rows].tolist(), strict=True)
        if b > a
    ]
    if not fine.all():
        keep = np.flatnonzero(fine)
        details = [details[i] for i in keep.tolist()]
        rows, seq, milliseconds, head, size = rows[keep], seq[keep], milliseconds[keep], head[keep], size[keep]
    return Scan(rows, seq, milliseconds, head, heads, size, sizes, details, odd)


def _number(data: NDArray[np.uint8], end: Ints, start: Ints, sign: bool) -> tuple[Ints, Flags]:
    """The number whose last digit stands at `end`, and whether there is one and nothing but blanks before it."""
    value = np.zeros(len(end), np.int64)
    count = np.zeros(len(end), np.int64)
    reading = np.ones(len(end), np.bool_)
    fine = np.ones(len(end), np.bool_)
    scale = 1
    for k in range(19):
        at = end - k
        byte = data[np.maximum(at, 0)]
        inside = reading & (at >= start)
        digit = inside & (byte >= _ZERO) & (byte <= _ZERO + 9)
        stopped = inside & ~digit
        fine &= ~stopped | (sign & ((byte == _BLANK) | (byte == _MINUS)))
        if k == 18:
            fine &= ~digit
            break
        value[digit] += (byte[digit].astype(np.int64) - _ZERO) * scale
        count += digit
        reading = digit
        scale *= 10
        if not reading.any():
            break
    return value, fine & (count > 0)


def _width(value: Ints) -> Ints:
    """How many digits a number was written with, without leading zeros."""
    width = np.ones(len(value), np.int64)
    limit = 10
    while (more := value >= limit).any() and limit < 10**18:
        width += more
        limit *= 10
    return width


def _texts(data: NDArray[np.uint8], start: Ints, end: Ints, words: int) -> tuple[Ints, Ints]:
    """Numbers for the texts between two positions, equal for equal texts, and where each appears first."""
    view: NDArray[np.uint64] = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))
    left = np.maximum(end - start, 0)
    total = left.astype(np.uint64) * _MIX[63]
    for k in range(words):
        valid = np.clip(left - 8 * k, 0, 8)
        if not valid.any():
            break
        word = view[np.minimum(start + 8 * k, len(view) - 1)]
        shift = ((8 - np.maximum(valid, 1)) * 8).astype(np.uint64)
        word = np.where(valid > 0, word << shift, np.uint64(0))
        mixed = (word ^ (word >> np.uint64(29))) * _MIX[k]
        total += (mixed ^ (mixed >> np.uint64(32))) * _MIX[k + 20]
    _, first, number = np.unique(total, return_index=True, return_inverse=True)
    return number.astype(np.int64), first.astype(np.int64)


def _heads(block: bytes, start: Ints, end: Ints) -> tuple[list[Head], Flags]:
    heads: list[Head] = []
    known = np.zeros(len(start), np.bool_)
    for i, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        found = HEAD.fullmatch(block[a:b].decode(errors="replace").rstrip(" "))
        known[i] = found is not None
        heads.append(Head(found[1], found[2], found[3], found[4]) if found else Head("", "", "", ""))
    return heads, known


def _sizes(block: bytes, data: NDArray[np.uint8], b4: Ints, b5: Ints, ends: Ints) -> tuple[Ints, list[str]]:
    """The size field of each line as a number into the texts, 0 where the field is something else or absent."""
    stop = np.minimum(b5, ends)
    last = np.maximum(stop - 1 - (b5 < ends), 0)
    maybe = np.flatnonzero((b4 < ends) & (data[last] == ord("B")) & (stop - b4 <= 8 * SIZE_WORDS))
    number, first = _texts(data, b4[maybe] + 1, stop[maybe], SIZE_WORDS)
    texts = [""]
    table = np.zeros(max(1, len(first)), np.int64)
    for i, row in enumerate(maybe[first].tolist()):
        found = SIZE.fullmatch(block[int(b4[row]) + 1 : int(stop[row])].decode(errors="replace").strip(" "))
        if found:
            table[i] = len(texts)
            texts.append(found[0])
    size = np.zeros(len(b4), np.int64)
    size[maybe] = table[number]
    return size, texts


def _details(block: bytes, start: Ints, end: Ints) -> list[str]:
    pairs: Any = zip(start.tolist(), end.tolist(), strict=True)
    if block.isascii():
        text = block.decode("ascii")
        return [text[a:b] for a, b in pairs]
    return [block[a:b].decode(errors="replace") for a, b in pairs]
