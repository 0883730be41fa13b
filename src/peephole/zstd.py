"""Zstandard, which pyarrow brings along: for sources, which know nothing else of pyarrow."""

from __future__ import annotations

from collections.abc import Iterator


def unpacked(data: bytes, size: int) -> Iterator[bytes]:
    """What was compressed, in pieces of at most that size; OSError where it is damaged."""
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while piece := stream.read(size):
            yield piece
