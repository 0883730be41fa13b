"""Drawings that are kept: SVG with shapes and text, PNG of the same, from the bar and from the palette."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from PIL import Image
from tests.timeline_capture import write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

from .conftest import HOSTILE, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
SVG = "{http://www.w3.org/2000/svg}"


def write_hostile(path: Path) -> Path:
    """Slices that nest, each named to break out of a file that is put together of text."""
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0], "name": [HOSTILE], "kind": ["thread"]})
        columns = {"track": [0, 0], "depth": [0, 1], "start": [0, 1_000], "dur": [10_000, 8_000]}
        writer.append("slices", {**columns, "name": [HOSTILE, "a  b </text></svg>"]})
    return path


@pytest.fixture(scope="module")
def kept_served(static: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("kept")
    captures = [recorded, write_timeline(folder / "steps.peep"), write_hostile(folder / "names.peep")]
    yield from start(create_app(Library(captures), static=static))


@pytest.fixture
def kept(page: Page, kept_served: Served) -> Shown:
    return Shown(page, kept_served)


def save(view: Shown, item: str) -> bytes:
    """What the browser is given when an item of the menu is chosen."""
    view.page.get_by_role("button", name="Save a picture").click()
    with view.page.expect_download() as download:
        view.page.get_by_role("menuitem", name=item).click()
    found = Path(download.value.path()).read_bytes()
    assert download.value.suggested_filename.endswith(item.rpartition(" ")[2].lower())
    return found


def texts(svg: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in svg.iter(f"{SVG}text")]


PLACES = {
    "Timeline": ("#/steps/timeline", ".krow", "train step"),
    "Memory": ("#/steps/memory", ".mem-devices .vlist *", "Total"),
    "Flame graph": ("#/steps/calls", ".flame[data-boxes]", "simplify ranges"),
    "Graph in sight": ("#/small/rewrites", ".diff", ""),
    "Whole graph": ("#/small/rewrites", ".diff", "INDEX"),
}


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("title", PLACES)
def test_a_drawing_is_kept_as_shapes_and_text(kept: Shown, title: str, theme: str) -> None:
    address, ready, word = PLACES[title]
    kept.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    kept.open(address)
    if "rewrites" in address:
        kept.page.keyboard.press("ArrowRight")
    kept.page.wait_for_selector(ready)
    kept.page.wait_for_timeout(200)
    text = save(kept, f"{title} as SVG")
    svg = ElementTree.fromstring(text)
    shapes = [*svg.iter(f"{SVG}rect"), *svg.iter(f"{SVG}path")]
    said = texts(svg)
    assert len(shapes) > 5 and len(said) > 3 and b"<image" not in text
    assert any(word in one for one in said), said[:20]
    assert address.split("/")[1] in said[-1] and title in said[-1], "the line under it says what it is"
    ground = "#0d0f12" if theme == "dark" else "#ffffff"
    assert any(shape.get("fill") == ground for shape in shapes), "the ground has the theme's colour"
    OUTPUT.mkdir(exist_ok=True)
    (OUTPUT / f"kept-{title.replace(' ', '-').lower()}-{theme}.svg").write_bytes(text)
    if theme == "dark":
        png = Image.open(io.BytesIO(save(kept, f"{title} as PNG")))
        scale = png.width / float(svg.get("width", "0"))
        assert abs(scale - 2) < 0.01 and abs(png.height / scale - float(svg.get("height", "0"))) < 1
        assert len(png.convert("RGB").getcolors(1 << 24) or []) > 20, "something is drawn"
        png.save(OUTPUT / f"kept-{title.replace(' ', '-').lower()}.png")


@pytest.mark.parametrize("title", ["Timeline", "Flame graph"])
def test_names_are_text_in_a_kept_picture(kept: Shown, title: str) -> None:
    kept.open("#/names/timeline" if title == "Timeline" else "#/names/calls")
    kept.page.wait_for_selector(".krow, .tl-heads .hd" if title == "Timeline" else ".flame[data-boxes]")
    kept.page.wait_for_timeout(300)
    text = save(kept, f"{title} as SVG").decode()
    svg = ElementTree.fromstring(text)
    assert not list(svg.iter(f"{SVG}script")) and not list(svg.iter(f"{SVG}img"))
    assert not re.search(r"<script|<img|\x07", text)
    assert any(one.startswith("a  b </text></svg>") for one in texts(svg)), texts(svg)


def test_a_picture_is_kept_from_the_palette(kept: Shown) -> None:
    kept.open("#/steps/timeline")
    kept.page.wait_for_selector(".krow")
    kept.page.keyboard.press("/")
    kept.page.keyboard.type("timeline svg")
    kept.page.wait_for_selector(".results .row")
    with kept.page.expect_download() as download:
        kept.page.keyboard.press("Enter")
    assert download.value.suggested_filename.startswith("steps-Timeline-0-to-119")
    assert download.value.suggested_filename.endswith(".svg")
    kept.page.get_by_text("Timeline saved as SVG").wait_for()


def test_a_view_without_a_drawing_says_so(kept: Shown) -> None:
    kept.open("#/steps/sql")
    kept.page.get_by_role("button", name="Save a picture").click()
    kept.page.get_by_role("menuitem", name="Nothing is drawn in this view").wait_for()
