"""Addresses in object storage, as a user writes them. Standard library only."""

from __future__ import annotations

import re
from typing import Final

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(text: str) -> bool:
    """Whether a user's word is an address in object storage: `s3://bucket/run.peep`."""
    return _URL.match(text) is not None
