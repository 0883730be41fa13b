"""Draws a tape's picture with matplotlib: PNG, SVG or PDF by the name's suffix."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from peephole.errors import PeepholeError
from peephole.model.unfinished import whole_file
from peephole.render.tape.fonts import fonts_for
from peephole.render.tape.layout import PX
from peephole.render.tape.picture import Picture

SUFFIXES: Final = (".png", ".svg", ".pdf")
_POINT: Final = 72.0 / PX
_BAND, _LINE, _AXIS = "#f4f5f7", "#d9dce2", "#9aa3b2"
_DOWN, _UP = "#7c889b", "#a6afbd"
_RED: Final = "#c8102e"
_ELSEWHERE: Final = ("Verdana", "sans-serif")
"""Who opens an SVG without DejaVu Sans gets the font that is as wide, not the browser's serifs."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was written."""

    path: Path
    width: int
    height: int


def check_output(path: Path) -> None:
    """Raises the one sentence that a wrong name or place deserves, before any work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise PeepholeError(f"{path} cannot be drawn: its name must end in .png, .svg or .pdf.")
    if not path.parent.is_dir():
        raise PeepholeError(f"{path} cannot be written: there is no folder {path.parent}.")
    if path.is_dir():
        raise PeepholeError(f"{path} cannot be written: it is a folder.")


def draw(picture: Picture, path: Path, dpi: float = 150.0) -> Drawn:
    """Writes the picture, whole or not at all, and tells its size in pixels."""
    check_output(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(picture.width / PX, picture.height / PX), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.set_axis_off()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        font_names = [*fonts_for(picture.texts).font_names]
        if path.suffix.lower() == ".svg":
            font_names += _ELSEWHERE
        _Drawing(axes, picture, font_names).all()
        # a part of a pixel is none: as matplotlib cuts it
        width, height = (int(length * dpi) for length in figure.get_size_inches())
        _save(figure, path, dpi)
    return Drawn(path, width, height)


def _save(figure: Any, path: Path, dpi: float) -> None:
    kind = path.suffix.lower()[1:]
    facts = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else {}
    try:
        import matplotlib

        settings = {"svg.hashsalt": "peephole", "svg.fonttype": "none", "pdf.fonttype": 42}
        with matplotlib.rc_context(settings), whole_file(path) as file:
            figure.savefig(file, format=kind, dpi=dpi, metadata=facts)
    except OSError as error:
        raise PeepholeError(f"Cannot write {path}: {error.strerror or error}.") from error


class _Drawing:
    """One picture on one pair of axes, from the back to the front."""

    def __init__(self, axes: Any, picture: Picture, font_names: list[str]) -> None:
        self.axes = axes
        self.picture = picture
        self.font_names = font_names

    def all(self) -> None:
        self.lanes()
        self.signals()
        self.density()
        self.arrows()
        self.marks()
        self.axis()
        self.labels()
        self.legend()

    def text(self, x: float, y: float, text: str, size: float, **more: Any) -> None:
        options = {"va": "center", "fontfamily": self.font_names, "parse_math": False, **more}
        self.axes.text(x, y, text, fontsize=size * _POINT, **options)

    def lanes(self) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        bands, lines = [], []
        for i, lane in enumerate(self.picture.lanes):
            for stretch in self.picture.axis.stretches:
                if i % 2 == 0:
                    bands.append(_corners(stretch.x0, lane.y0, stretch.x1, lane.y1))
                lines.append(((stretch.x0, lane.y), (stretch.x1, lane.y)))
        self.axes.add_collection(PolyCollection(bands, facecolors=_BAND, edgecolors="none", zorder=1))
        self.axes.add_collection(LineCollection(lines, colors=_LINE, linewidths=0.8, zorder=2))

    def signals(self) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        picture = self.picture
        bottom = picture.axis_y
        spans = [_corners(a, picture.lanes[0].y0 - 3, max(b, a + 0.5), bottom) for a, b in picture.spans]
        self.axes.add_collection(PolyCollection(spans, facecolors=_RED, edgecolors="none", alpha=0.055, zorder=1.5))
        thin = 1.15 if len(picture.lines) <= 200 else 0.4
        for ending, style in ((False, "solid"), (True, (0, (4, 2)))):
            lines = [((line.x, line.y), (line.x, bottom)) for line in picture.lines if line.ending is ending]
            if lines:
                self.axes.add_collection(
                    LineCollection(lines, colors=_RED, linewidths=thin, linestyles=[style], zorder=3, gid="signal")
                )

    def density(self) -> None:
        from matplotlib.collections import PolyCollection

        for rects, alpha in ((self.picture.density, 1.0), (self.picture.bars, 0.35)):
            if not len(rects):
                continue
            x, y, w, h = (np.array(values) for values in (rects.x, rects.y, rects.width, rects.height))
            corners = np.stack(
                [np.stack([x, y], 1), np.stack([x + w, y], 1), np.stack([x + w, y + h], 1), np.stack([x, y + h], 1)], 1
            )
            # one colour at a time: a list of a hundred thousand colours takes longer than the drawing
            by_colour = defaultdict(list)
            for i, colour in enumerate(rects.colour):
                by_colour[colour].append(i)
            for colour, rows in by_colour.items():
                self.axes.add_collection(
                    PolyCollection(
                        list(corners[rows]),
                        facecolors=colour,
                        edgecolors="none",
                        alpha=alpha,
                        zorder=4,
                        antialiased=False,
                    )
                )

    def arrows(self) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        for down, colour in ((True, _DOWN), (False, _UP)):
            chosen = [arrow for arrow in self.picture.arrows if (arrow.y1 > arrow.y0) is down]
            if not chosen:
                continue
            ends = np.array([(arrow.x0, arrow.y0, arrow.x1, arrow.y1) for arrow in chosen])
            widths = np.array([arrow.width for arrow in chosen])
            delta = ends[:, 2:] - ends[:, :2]
            unit = delta / np.maximum(1e-6, np.hypot(delta[:, 0], delta[:, 1]))[:, None]
            side = np.stack([-unit[:, 1], unit[:, 0]], 1)
            head = (5.0 + widths)[:, None]
            neck = ends[:, 2:] - unit * head
            lines = np.stack([ends[:, :2], neck], 1)
            heads = np.stack([ends[:, 2:], neck + side * head * 0.45, neck - side * head * 0.45], 1)
            self.axes.add_collection(LineCollection(list(lines), colors=colour, linewidths=widths * _POINT, zorder=5))
            self.axes.add_collection(
                PolyCollection(list(heads), facecolors=colour, edgecolors="none", zorder=5, gid="arrow")
            )

    def marks(self) -> None:
        marks = self.picture.marks
        by_shape: dict[tuple[str, bool], list[int]] = defaultdict(list)
        for i, (shape, outlined) in enumerate(zip(marks.shape, marks.outlined.tolist(), strict=True)):
            by_shape[shape, outlined].append(i)
        for (shape, outlined), rows in by_shape.items():
            # the largest at the back, so that none hides a smaller one
            order = np.array(rows)[np.argsort(-marks.radius[rows], kind="stable")]
            scale = {"D": 1.75, "*": 3.2, ">": 2.1, "<": 2.1, "^": 2.1, "v": 2.1, "|": 2.6, "_": 2.4}.get(shape, 1.8)
            thin = shape in ("|", "_")
            colours = [marks.colour[i] for i in order.tolist()]
            self.axes.scatter(
                marks.x[order],
                marks.y[order],
                s=(marks.radius[order] * scale * _POINT) ** 2,
                marker=shape,
                c=colours,
                edgecolors=None if thin else "#8a90a0" if outlined else "white",
                linewidths=1.2 if thin else 0.6 if outlined else 0.45,
                zorder=6,
                gid=f"event-{shape}",
            )

    def axis(self) -> None:
        from matplotlib.collections import LineCollection

        picture = self.picture
        y = picture.axis_y
        lines = [((stretch.x0, y), (stretch.x1, y)) for stretch in picture.axis.stretches]
        lines += [((x, y), (x, y + 5)) for x, _ in picture.ticks]
        lines += [((x, y), (x, y + 2.5)) for x in picture.small_ticks]
        for a, b in zip(picture.axis.stretches, picture.axis.stretches[1:], strict=False):
            lines += [((x - 3, y + 5), (x + 3, y - 5)) for x in (a.x1, b.x0)]
        self.axes.add_collection(LineCollection(lines, colors=_AXIS, linewidths=0.9, zorder=3))
        for x, text in picture.ticks:
            self.text(x, y + 15, text, 11, ha="center", color="#475569")
        stretches = picture.axis.stretches
        middle = (stretches[0].x0 + stretches[-1].x1) / 2
        self.text(middle, y + 40, picture.axis_title, 11.5, ha="center", color="#475569")
        self.text(stretches[0].x0, 32, picture.title, 17, color="#0f172a", fontweight="bold")
        self.text(stretches[-1].x1, 32, picture.subtitle, 12, ha="right", color="#475569")

    def labels(self) -> None:
        from matplotlib.collections import LineCollection
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=1.8, foreground="white")]
        leaders = []
        for label in self.picture.labels:
            anchor = {"left": "left", "right": "right", "middle": "center"}[label.anchor]
            weight = "bold" if label.bold else "normal"
            effects = halo if label.role in ("event", "size", "signal", "fold") else None
            self.text(
                label.x, label.y, label.text, label.size, ha=anchor, color=label.colour, fontweight=weight,
                path_effects=effects, zorder=8, gid=label.role,
            )  # fmt: skip
            if label.leader is not None:
                leaders.append(((label.x + 1, label.y + 6), (label.x + 1, label.leader)))
        self.axes.add_collection(LineCollection(leaders, colors="#b6bcc8", linewidths=0.5, zorder=4))

    def legend(self) -> None:
        from matplotlib.collections import LineCollection

        for item in self.picture.legend:
            if item.sign in ("line", "dashed"):
                style = "solid" if item.sign == "line" else (0, (4, 2))
                line = ((item.x - 9, item.y), (item.x + 9, item.y))
                self.axes.add_collection(LineCollection([line], colors=item.colour, linewidths=1.3, linestyles=[style]))
                wide = 11.0
            else:
                shape = "s" if item.sign == "square" else item.sign
                thin = shape in ("|", "_")
                scale = 1.8 if shape != "D" else 1.45
                self.axes.scatter(
                    [item.x], [item.y], s=(item.radius * scale * _POINT) ** 2, marker=shape, c=[item.colour],
                    edgecolors="#8a90a0" if item.outlined else None, linewidths=1.2 if thin else 0.6,
                )  # fmt: skip
                wide = max(item.radius, 5.0) + 1
            self.text(item.x + wide + 6, item.y, item.text, 11, color="#1e293b")
        y = self.picture.height - 18 * len(self.picture.note)
        for i, sentence in enumerate(self.picture.note):
            self.text(self.picture.axis.stretches[0].x0, y + 18 * i, sentence, 10, color="#64748b")


def _corners(x0: float, y0: float, x1: float, y1: float) -> list[tuple[float, float]]:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
