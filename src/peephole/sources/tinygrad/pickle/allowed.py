"""The classes that tinygrad's pickles may name. Standard library only."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}(?:\.[A-Za-z_<>][A-Za-z0-9_<>]{0,99}){0,9}\Z")
_OTHERS: Final = frozenset(("decimal.Decimal", "builtins.bytearray"))


def allowed(module: str, name: str) -> bool:
    """Whether a pickle may name this global: a class of tinygrad, or one of the few others that its captures hold."""
    if module == "tinygrad" or module.startswith("tinygrad."):
        return bool(_NAME.match(module) and _NAME.match(name))
    return f"{module}.{name}" in _OTHERS
