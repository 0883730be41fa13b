"""The names of tinygrad's enum members by release: they are pickled by number, and the numbers change."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

REFERENCE: Final = "0.14.0"
RELEASES: Final = ("0.11.0", "0.12.0", "0.13.0", "0.14.0")
ENUMS: Final = frozenset(("Ops", "AxisType", "AddrSpace", "OptOps"))


@cache
def members(release: str) -> dict[str, dict[int, str]]:
    """Enum to number to name, of one of RELEASES; an enum that the file lacks there is taken from the next one."""
    tables = json.loads(Path(__file__).with_name("enums.json").read_text("utf-8"))
    found: dict[str, dict[int, str]] = {}
    for name in (release, *RELEASES[RELEASES.index(release) + 1 :]):
        for enum, names in tables[name].items():
            found.setdefault(enum, dict(enumerate(names.split(), start=1)))
    return found
