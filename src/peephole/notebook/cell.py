"""A capture as a cell shows it: a table and a small picture that are still there in a saved notebook."""

from __future__ import annotations

import base64
import os
from html import escape
from pathlib import Path
from typing import Any

from peephole.model.amounts import size
from peephole.query.capture.info import info
from peephole.query.timeline.tracks import range_figures, timeline_span
from peephole.render.thumbnail import WIDTH, thumbnail
from peephole.store.capture import Capture, open_capture

_NAMES = 5
_GAP = "&ensp;"


class CaptureCell:
    """A capture to look at in a notebook; `table("slices")` is Arrow, which pandas, Polars and DuckDB take as it is."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def table(self, name: str) -> Any:
        """A table of the capture as a pyarrow.Table."""
        return open_capture(self.path).table(name)

    def __repr__(self) -> str:
        return f"peephole.capture({self.path!r})"

    def _repr_html_(self) -> str:
        return html_of(open_capture(self.path))


def html_of(capture: Capture) -> str:
    """What a capture holds, its picture, and what took most.

    No style, script or SVG: GitHub takes those out of a notebook, and leaves tables and pictures that are data. The
    space between columns is text, since marimo's own style takes it away.
    """
    facts = info(capture)
    t0, t1 = timeline_span(capture)
    counts = ((name, facts.tables.get(name, 0)) for name in ("slices", "contexts", "matches", "buffers"))
    rows = [
        ("capture", Path(facts.path).name),
        ("program", _program(facts.program, facts.argv)),
        (
            "recorded with",
            " · ".join(f"{name} {version}" for name, version in facts.frameworks.items())
            or ("" if facts.source == "record" else facts.source),
        ),
        ("span", f"{(t1 - t0) / 1e6:,.3f} ms"),
        ("holds", ", ".join(f"{many:,} {name}" for name, many in counts if many) or "nothing"),
        ("on disk", size(facts.bytes["total"])),
    ]
    html = ["<table>", *(_row(name, text) for name, text in rows if text), "</table>"]
    if (picture := thumbnail(capture)) is not None:
        data = base64.b64encode(picture).decode()
        html.append(f'<img alt="timeline" width="{WIDTH}" src="data:image/png;base64,{data}">')
        top = range_figures(capture, t0, max(t1, t0 + 1)).top[:_NAMES]
        html.append(f"<table><tr><th>name</th><th>{_GAP}time</th><th>{_GAP}runs</th></tr>")
        html += [
            f"<tr><td>{_text(one.name)}</td><td>{_GAP}{one.total / 1e6:,.3f} ms</td><td>{_GAP}{one.count:,}</td></tr>"
            for one in top
        ]
        html.append("</table>")
    return "\n".join(html)


def _program(program: str, argv: tuple[str, ...]) -> str:
    """What was run, as one would type it; of a notebook's kernel nothing, since that is where it is read."""
    return "" if "ipykernel" in program else " ".join(argv) or program


def _row(name: str, text: str) -> str:
    return f'<tr><th align="left">{name}</th><td>{_GAP}{_text(text)}</td></tr>'


def _text(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:200])
    return escape(shown)
