"""Which part of the page shows what an answer is about: parameters of its address. None where that is not certain."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from peephole.cli.agent.commands import rows
from peephole.query.capture.info import row_counts
from peephole.query.capture.kinds import kind_counts
from peephole.store.capture import open_capture

Place = dict[str, str | int]
_TABLES: Final = {
    "timeline": ("slices", "counters", "markers", "buffers"),
    "rewrites": ("contexts",),
    "memory": ("buffers",),
}
_KINDS: Final = {
    "code": tuple(f"artifact:{kind}" for kind in ("source", "oplist", "assembly", "error", "binary")),
    "schedule": ("schedule",),
    "problems": ("problems",),
    "ranks": ("ranks",),
}
"""What a tab of the page needs any of, in tables and in kinds, to be there (`available` in web/src/views)."""


def view_there(path: Path, view: str) -> str:
    """The tab that is wanted, or where the capture has nothing for it the one nearest to it; empty for none."""
    capture = open_capture(path)
    tables, kinds = row_counts(capture), kind_counts(capture)

    def there(one: str) -> bool:
        if one == "sql":
            return any(tables.values())
        if one == "code" and not tables.get("contexts"):
            return False
        needed = [tables.get(name) for name in _TABLES.get(one, ())] + [kinds.get(name) for name in _KINDS.get(one, ())]
        return not needed or any(needed)

    return next((one for one in (view, "rewrites", "timeline", "sql") if there(one)), "")


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def pair_place(path: Path, found: list[dict[str, Any]]) -> Place:
    """Two kernels in Schedule, as `why` tells them."""
    first, second = (found[0].get(side) or {} for side in ("first", "second")) if found else ({}, {})
    schedule = first.get("schedule")
    if not schedule or schedule != second.get("schedule"):
        return {}
    known = rows("query", f"SELECT id FROM contexts WHERE name = {quoted(schedule)} LIMIT 2", str(path))
    if len(known) != 1:
        return {}
    return {"context": known[0]["id"], "a": first["index"], "b": second["index"]}


def pass_place(passes: list[dict[str, Any]], step: str | None, match: int | None) -> Place:
    """A pass in Rewrites, and a match of it; without a pass the first that changed something."""
    steps = [row for row in passes if row["kind"] == "step"]
    chosen = next(
        (row for row in steps if (row["matches"] if step is None else step in (row["name"], str(row["ordinal"])))), None
    )
    if chosen is None:
        return {}
    return {"step": chosen["id"], **({"match": match} if match is not None else {})}
