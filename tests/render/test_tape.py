"""Pictures as files: read back, their colours where the geometry says, whatever the names are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peephole.cli.main import main
from peephole.ingest import import_files
from peephole.query.tape.tape import tape
from peephole.render.tape.draw import draw
from peephole.render.tape.fonts import Fonts, fonts_for
from peephole.render.tape.layout import PX, Options, layout
from peephole.store.capture import open_capture

Line = Callable[..., str]


def small(line: Line) -> str:
    c, w = "CLIENT CLIENT 00cc", "WORKER w0"
    return "".join(
        [
            line(1.0, 1, "RECV", c, "BinaryOp", "64.0KB", "result=2 op=matmul left=0 right=1"),
            line(1.05, 2, "WORKER_SEND", w, "WorkerBinaryOp", "64.0KB", "op=matmul"),
            line(1.2, 3, "WORKER_RECV", w, "WorkerBinaryOp", "64.0KB", "success=True"),
            line(1.3, 4, "SEND", c, "BinaryOp", "91B", "success=True"),
            line(1.4, 5, "RECV", c, "GetData", "64.0KB", "tensor_id=2"),
        ]
    )


def test_pixels_have_the_colours_of_the_geometry(tmp_path: Path, capture_dir: Path, tape_line: Line) -> None:
    from matplotlib.image import imread

    source = tmp_path / "t"
    source.write_text(small(tape_line))
    picture = layout(tape(open_capture(import_files([source]))))
    out = tmp_path / "out.png"
    drawn = draw(picture, out, dpi=96)
    pixels = imread(out)
    assert (drawn.height, drawn.width) == pixels.shape[:2]
    assert np.allclose(pixels[2, 2, :3], 1.0)  # white
    for i in range(len(picture.marks.x)):
        if picture.marks.radius[i] < 6:
            continue
        x, y = round(float(picture.marks.x[i])), round(float(picture.marks.y[i]))
        wanted = np.array([int(picture.marks.colour[i][k : k + 2], 16) / 255 for k in (1, 3, 5)])
        assert np.abs(pixels[y, x, :3] - wanted).max() < 0.08, picture.marks.colour[i]


@pytest.mark.parametrize("dpi", range(97, 103))
def test_the_size_that_is_told_is_the_file_s(tmp_path: Path, capture_dir: Path, tape_line: Line, dpi: int) -> None:
    from matplotlib.image import imread

    source = tmp_path / "t"
    source.write_text(small(tape_line))
    drawn = draw(layout(tape(open_capture(import_files([source])))), tmp_path / "out.png", dpi)
    assert (drawn.height, drawn.width) == imread(drawn.path).shape[:2]


@pytest.mark.parametrize("dpi", [50, 150])
def test_thousands_of_clients_are_no_endless_picture(
    capture_dir: Path, tmp_path: Path, tape_line: Line, dpi: float
) -> None:
    lines = [tape_line(i / 1000, i + 1, "RECV", f"CLIENT CLIENT {i:06x}", "GetData", "9B") for i in range(3000)]
    (tmp_path / "t").write_text("".join(lines))
    picture = layout(tape(open_capture(import_files([tmp_path / "t"]))), Options(dpi=dpi))
    assert picture.height / PX * dpi <= 20_000
    assert picture.lanes[-1].y1 < picture.axis_y
    assert not [label for label in picture.labels if label.role == "event"]
    assert any("3,000 labels left out" in line for line in picture.note)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_formats_by_suffix(peephole: Any, tmp_path: Path, tape_line: Line, suffix: str) -> None:
    source = tmp_path / "tape"
    source.write_text(small(tape_line))
    out = tmp_path / f"picture.{suffix}"
    done = peephole("visualize", source, "--output", out, "--dpi", "100")
    start = out.read_bytes()[:400]
    assert {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}[suffix] in start
    lines = done.stdout.splitlines()
    assert lines[0] == f"✓ Visualization saved to: {out}"
    assert lines[1].startswith("  Resolution: 1500 x ")
    assert lines[2:] == ["  Events: 5", "  Workers: 1", "  Duration: 0.400s"]
    assert [path.name for path in tmp_path.glob("*.*")] == [out.name]  # nothing half-written is left


def test_default_name_and_json(peephole: Any, tmp_path: Path, tape_line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tape").write_text(small(tape_line))
    monkeypatch.chdir(tmp_path)
    told = json.loads(peephole("visualize", "tape", "--json").stdout)
    assert told["path"] == "tape_timeline.png"
    assert told["duration"] == 400_000_000
    assert (tmp_path / "tape_timeline.png").exists()


def test_hostile_names_are_data(peephole: Any, tmp_path: Path, tape_line: Line) -> None:
    names = ["<script>alert(1)</script>", "$\\frac{1}{0}$", "\x1b[31mred", "../../etc/passwd", "日本", "a\0b", "𝕏" * 15]
    lines = [
        tape_line(1 + i / 100, i + 1, "WORKER_SEND", f"WORKER {name}", "WorkerUnaryOp", "9B", f"op={name}")
        for i, name in enumerate(names)
    ]
    lines.append(tape_line(2, 90, "RECV", "CLIENT CLIENT $x^", "CompileStart", "1B", "signal=$\\sqrt$ <b> \x07"))
    (tmp_path / "t").write_text("".join(lines))
    for suffix in ("png", "svg"):
        peephole("visualize", tmp_path / "t", "--output", tmp_path / f"o.{suffix}")
    assert "<script>" not in (tmp_path / "o.svg").read_text()


TOTO = "\U0001e290\U0001e291"
"""Letters of a script that hardly any machine has a font for."""


def toto(line: Line) -> str:
    return small(line).replace("WORKER w0" + " " * 18, f"WORKER {TOTO}" + " " * 18)


def test_names_that_no_font_has_are_spelled_and_told(peephole: Any, tmp_path: Path, tape_line: Line) -> None:
    (tmp_path / "t").write_text(toto(tape_line))
    done = peephole("visualize", tmp_path / "t", "--output", tmp_path / "o.svg")
    assert done.stderr.splitlines() == [
        f"peephole: no font on this machine has {' '.join(TOTO)}: in names they are written as \\U0001e290 …"
    ]
    said = (tmp_path / "o.svg").read_text()
    assert "\\U0001e290\\U0001e291" in said and TOTO not in said
    (tmp_path / "t").write_text(small(tape_line))
    assert peephole("visualize", tmp_path / "t", "--output", tmp_path / "o.svg").stderr == ""


def test_a_font_that_has_them_draws_them(tmp_path: Path, capture_dir: Path, tape_line: Line) -> None:
    from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
    from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped]
    from matplotlib.font_manager import fontManager

    pen = TTGlyphPen(None)
    for i, point in enumerate(((100, 0), (100, 700), (600, 700), (600, 0))):
        (pen.lineTo if i else pen.moveTo)(point)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "one"])
    builder.setupCharacterMap(dict.fromkeys(map(ord, TOTO), "one"))
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "one": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (700, 0), "one": (700, 100)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Peephole Toto", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "toto.ttf")
    before = list(fontManager.ttflist)
    fontManager.addfont(tmp_path / "toto.ttf")
    try:
        (tmp_path / "t").write_text(toto(tape_line))
        picture = layout(tape(open_capture(import_files([tmp_path / "t"]))))
        assert fonts_for(picture.texts) == Fonts(("DejaVu Sans", "Peephole Toto"), ())
        for suffix in ("png", "pdf", "svg"):
            draw(picture, tmp_path / f"o.{suffix}")
    finally:
        fontManager.ttflist = before
    said = (tmp_path / "o.svg").read_text()
    assert TOTO in said
    # whoever opens it without these fonts gets letters as wide, not the browser's serifs
    families = re.findall(r"font-family: ([^;]*)", said)
    assert families
    assert all(
        f.startswith("'DejaVu Sans', 'Peephole Toto', 'Verdana'") and f.endswith(", sans-serif") for f in families
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty: there are no events"),
        (b"=" * 100 + b"\nGT2 Dispatcher Instruction Stream\nStarted: 2026-01-01 00:00:00\n", "GT_INSTRUCTION_LOG"),
        (b"hello world\n", "neither a capture nor a file of a known source"),
    ],
)
def test_nothing_to_draw_is_one_sentence(
    capture_dir: Path, tmp_path: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_bytes(content)
    assert main(["visualize", str(tmp_path / "x"), "--output", str(tmp_path / "o.png")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "o.png").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--output", "x.jpg"], "must end in .png, .svg or .pdf"),
        (["--output", "no/such/folder/x.png"], "there is no folder"),
        (["--dpi", "5"], "--dpi must be between"),
        (["--interval", "5", "4"], "beginning before its end"),
        (["--interval", "nan", "4"], "beginning before its end"),
        (["--interval", "50", "inf"], "Nothing is left to draw"),
        (["--interval", "50", "60"], "Nothing is left to draw"),
        (["--run", "7"], "no run 7"),
    ],
)
def test_wrong_options(
    capture_dir: Path,
    tmp_path: Path,
    tape_line: Line,
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "t").write_text(small(tape_line))
    assert main(["visualize", str(tmp_path / "t"), *options]) == 2
    assert words in capsys.readouterr().err


def test_real_tapes(
    shared: Callable[[str], Path], capture_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "o.png"
    long = shared("fixtures/gt/10_long_4w_6000iters.log")
    assert main(["visualize", str(long), "--output", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["events"], facts["workers"]) == (120183, 4)
    assert facts["width"] <= 20_000
    for path in sorted(shared("fixtures/gt/bad").iterdir()):
        code = main(["visualize", str(path), "--output", str(out), "--dpi", "60"])
        assert code == (2 if path.name in ("empty.log", "header_only.log") else 0), path
