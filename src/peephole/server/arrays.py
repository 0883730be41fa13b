"""Raw typed arrays as a reply: a small JSON head, then the columns one after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response


def raw_reply(head: dict[str, Any], columns: Sequence[NDArray[Any]]) -> Response:
    """u32 length of the head, the head in JSON, spaces up to a multiple of 8, then the columns' bytes.

    Columns of 8 bytes an item come before those of 4, so that each begins where a typed array may begin.
    """
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    text += b" " * (-(4 + len(text)) % 8)
    parts = [np.uint32(len(text)).tobytes(), text, *(np.ascontiguousarray(column).tobytes() for column in columns)]
    # already as small as it is quick to make: on loopback compression costs more than it saves
    headers = {"Cache-Control": "no-store", "Content-Encoding": "identity"}
    return Response(b"".join(parts), media_type="application/octet-stream", headers=headers)
