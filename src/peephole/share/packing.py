"""Parts of a copy as bytes: columns of whole numbers, and replies by the request that they answer."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**53
"""Above this a number of JavaScript is not exact."""


def pack_table(columns: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> bytes:
    """Columns in planes of bytes behind a head that says which there are, with further facts."""
    heads: list[tuple[str, int, int, int]] = []
    planes: list[bytes] = []
    for name, values in columns.items():
        if values.dtype == np.float64:
            raw, low = np.ascontiguousarray(values, "<f8").view("<u8"), 0
            width = 8
        else:
            low = min(int(values.min(initial=0)), 0)
            raw = (values - low).astype("<u8")
            width = next(size for size in range(1, 9) if int(raw.max(initial=0)) < 1 << (8 * size))
        heads.append((name, width, len(values), low))
        planes.append(raw.view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes())
    return _headed({"columns": heads, **(facts or {})}) + b"".join(planes)


def pack_replies(replies: Mapping[str, bytes]) -> bytes:
    """Replies one after the other behind a head with their requests."""
    return _headed({"replies": [(path, len(body)) for path, body in replies.items()]}) + b"".join(replies.values())


def _headed(head: Mapping[str, Any]) -> bytes:
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    return len(text).to_bytes(4, "little") + text


def to_text(part: bytes) -> bytes:
    """A part as it stands in the page: gzip in base64, in which no element of a page can end."""
    return base64.b64encode(gzip.compress(part, 7, mtime=0))
