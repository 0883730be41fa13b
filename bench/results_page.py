"""Draws docs/benchmarks.md out of bench/results: what was measured last, where and when, beside its peer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
HEAD = """\
# Measurements

<!-- Written by bench/results_page.py out of bench/results; `make bench` writes both anew. -->

What each measurement printed when it last ran here. `make bench` runs all of them, `python -m bench NAME` one. The
bar is the ratio between peer and ours on a logarithmic scale, a thousandfold at its longest. The machine is shared and
noisy: read differences below 20% as nothing.
"""
_WIDTH = 20
"""Characters of a bar of a thousandfold."""


def page() -> str:
    """The page."""
    parts = [HEAD]
    for path in sorted((HERE / "results").glob("*.json")):
        facts = json.loads(path.read_text("utf-8"))
        parts.append(f"## {facts['bench']}\n\n{facts['date']}, {facts['machine']}.\n")
        lines = ["| what | ours | peer | ratio | |", "| --- | ---: | ---: | ---: | --- |"]
        parts.append("\n".join([*lines, *(_row(row) for row in facts["rows"])]) + "\n")
    return "\n".join(parts)


def _row(row: dict[str, Any]) -> str:
    unit = str(row.get("unit", ""))
    ratio = row.get("ratio")
    shown = f"{ratio:.3g}" if isinstance(ratio, int | float) else ""
    known = {"bench", "ours", "peer", "ratio", "unit"}
    more = ", ".join(
        f"{key.replace('_', ' ')} {_figure(value)}"
        for key, value in row.items()
        if key not in known and _is_short(value)
    )
    cells = [str(row.get("bench", "")), _with(row.get("ours"), unit), _with(row.get("peer"), unit), shown]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in [*cells, f"{_bar(ratio)} {more}".strip()]) + " |"


def _bar(ratio: Any) -> str:
    if not isinstance(ratio, int | float) or not ratio > 1:
        return ""
    return "█" * max(round(min(math.log10(ratio) / 3, 1) * _WIDTH), 1)


def _is_short(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list) and len(str(value)) <= 60


def _with(value: Any, unit: str) -> str:
    return "" if value is None else f"{_figure(value)} {unit}".strip()


def _figure(value: Any) -> str:
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}") if isinstance(value, float) else str(value)


def write() -> None:
    """Writes the page."""
    PAGE.write_text(page().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
