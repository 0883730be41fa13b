"""Which part of the page shows what an answer is about: parameters of its address. None where that is not certain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peephole.cli.agent.commands import rows

Place = dict[str, str | int]


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
