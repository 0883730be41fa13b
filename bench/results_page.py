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

What each measurement printed when it last ran here. `make bench` runs all of them in a short form that needs
nothing but this repository, `make bench FULL=1` in the sizes that the budgets are of, `python -m bench NAME` one.
"Better by" is how many times smaller ours is than the peer, or larger where it is a rate; the bar is the same on a
logarithmic scale, a thousandfold at its longest. Where the last column says so, the peer is a budget. "Load" is
what the machine did besides when a measurement began: on two cores, figures under a load above 1 are worse than
they would be on a quiet machine, for us and for the peer. Read differences below 20% as nothing.
"""
_WIDTH = 20
"""Characters of a bar of a thousandfold."""

HELPERS = {"__init__", "__main__", "decode", "generate", "results_page", "short", "workloads"}


def names() -> list[str]:
    """The measurements: every program of this folder that is no helper of others."""
    found = [path.stem for path in sorted(HERE.glob("*.py")) if path.stem not in HELPERS]
    return [name for name in found if "__main__" in (HERE / f"{name}.py").read_text("utf-8")]


def page() -> str:
    """The page."""
    parts = [HEAD]
    for path in sorted((HERE / "results").glob("*.json")):
        facts = json.loads(path.read_text("utf-8"))
        command = " ".join(["python -m bench." + facts["bench"], *facts.get("options", [])])
        load = f", load {facts['load']}" if "load" in facts else ""
        parts.append(f"## {facts['bench']}\n\n`{command}`, {facts['date']}, {facts['machine']}{load}.\n")
        lines = ["| what | ours | peer | better by | |", "| --- | ---: | ---: | ---: | --- |"]
        rows = [one for row in facts["rows"] for one in _flat(row)]
        parts.append("\n".join([*lines, *(_row(row) for row in rows)]) + "\n")
    missing = [name for name in names() if not (HERE / "results" / f"{name}.json").exists()]
    if missing:
        parts.append("## Not measured here yet\n\n" + ", ".join(f"`{name}`" for name in missing) + ".\n")
    return "\n".join(parts)


def _flat(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row, and one for each group of figures inside it."""
    inner = {key: value for key, value in row.items() if isinstance(value, dict)}
    plain = {key: value for key, value in row.items() if key not in inner}
    first = [plain] if not inner or set(plain) - {"bench"} else []
    return [*first, *({"bench": f"{row.get('bench', '')}: {key}", **value} for key, value in inner.items())]


def _better(row: dict[str, Any]) -> float | None:
    ours, peer = row.get("ours"), row.get("peer")
    if not isinstance(ours, int | float) or not isinstance(peer, int | float) or ours <= 0 or peer <= 0:
        return None
    return ours / peer if "/s" in str(row.get("unit", "")) else peer / ours


def _row(row: dict[str, Any]) -> str:
    unit = str(row.get("unit", ""))
    ratio = _better(row)
    shown = f"{ratio:.3g}" if isinstance(ratio, int | float) else ""
    known = {"bench", "what", "ours", "peer", "unit"} | ({"ratio"} if ratio is not None else set())
    more = ", ".join(
        f"{key.replace('_', ' ')} {_figure(value)}"
        for key, value in row.items()
        if key not in known and _is_short(value)
    )
    cells = [
        str(row.get("bench") or row.get("what", "")),
        _with(row.get("ours"), unit),
        _with(row.get("peer"), unit),
        shown,
    ]
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
