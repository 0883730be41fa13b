"""A Perfetto trace of many track events, as the SDK writes one: interned names, annotations, flows, counters."""

from __future__ import annotations

import random
import struct
from pathlib import Path

THREADS = 8
NAMES = 64


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def write_trace(path: Path, events: int) -> int:
    """Writes about so many events; gives how many they are."""
    rng = random.Random(7)
    written = 0
    with path.open("wb") as out:
        snapshot = [message(1, number(1, clock), number(2, time)) for clock, time in ((6, 10**12), (1, 179 * 10**16))]
        out.write(message(1, message(6, *snapshot), number(10, 1)))
        out.write(
            message(1, message(60, number(1, 1), message(3, number(1, 100), message(6, b"trainer"))), number(10, 1))
        )
        for thread in range(THREADS):
            described = (
                number(1, 10 + thread),
                message(4, number(1, 100), number(2, 200 + thread), message(5, f"worker {thread}".encode())),
            )
            out.write(message(1, message(60, *described), number(10, 2 + thread)))
        out.write(
            message(
                1,
                message(60, number(1, 90), number(5, 1), message(2, b"memory"), message(8, number(3, 3))),
                number(10, 1),
            )
        )
        names = [message(2, number(1, 1 + k), message(2, f"aten::operation_{k}".encode())) for k in range(NAMES)]
        keys = [message(3, number(1, k + 1), message(2, key)) for k, key in enumerate((b"shape", b"bytes", b"step"))]
        categories = message(1, number(1, 1), message(2, b"operator"))
        for thread in range(THREADS):
            defaults = message(59, message(11, number(11, 10 + thread)))
            out.write(
                message(1, message(12, *names, *keys, categories), defaults, number(10, 2 + thread), number(13, 1))
            )
        tails = [number(10, 2 + thread) + number(13, 2) for thread in range(THREADS)]
        clock = [10**12] * THREADS
        depth = [0] * THREADS
        pieces: list[bytes] = []
        begin, end = number(9, 1), message(11, number(9, 2))
        while written < events:
            thread = rng.randrange(THREADS)
            for _ in range(16):
                clock[thread] += rng.randrange(200, 9000)
                time = number(8, clock[thread])
                if (depth[thread] < 6 and rng.random() < (0.6 if depth[thread] < 3 else 0.4)) or not depth[thread]:
                    depth[thread] += 1
                    parts = [begin, number(10, 1 + rng.randrange(NAMES)), number(3, 1)]
                    if written % 4 == 0:
                        parts.append(message(4, number(1, 1), message(6, b"[64, 128, 256]")))
                        parts.append(message(4, number(1, 2), number(4, 4 * rng.randrange(1 << 20))))
                    if written % 16 == 1:
                        parts.append(varint(47 << 3 | 1) + struct.pack("<Q", written // 32))
                    pieces.append(message(1, time, message(11, *parts), tails[thread]))
                else:
                    depth[thread] -= 1
                    pieces.append(message(1, time, end, tails[thread]))
                written += 1
            if written % 128 == 0:
                pieces.append(
                    message(
                        1,
                        time,
                        message(11, number(9, 4), number(11, 90), number(30, rng.randrange(1 << 34))),
                        number(10, 1),
                    )
                )
                written += 1
            if len(pieces) > 20_000:
                out.write(b"".join(pieces))
                pieces.clear()
        out.write(b"".join(pieces))
    return written
