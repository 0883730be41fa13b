"""A shared copy, opened from the disk in Chromium without a network and in Firefox: every view, nothing asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import write_timeline

from peephole.share import replies
from peephole.share.making import make_copy
from peephole.store.capture import open_capture

from .conftest import Served, Shown
from .marionette import firefox
from .pictures import cut_out, drawn, pixels_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
WATCH = "addEventListener('securitypolicyviolation', e => (window.broken ??= []).push(e.violatedDirective));"


@pytest.fixture(scope="module")
def copies(recorded: Path, hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Copies of a tinygrad capture, of one that was made by hand, and of one whose names are attacks."""
    folder = tmp_path_factory.mktemp("copies")
    steps = write_timeline(folder / "steps.peep")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replies, "GRAPHS", 400)
        for name, path in (("small", recorded), ("steps", steps), ("hostile", hostile)):
            found[name] = folder / f"{name}.html"
            make_copy(open_capture(path), found[name], None, None, 20_000_000)
    yield found


@pytest.fixture
def copy(browser: Browser, copies: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[Shown]:
    """A copy in a browser that has no network; at the end nothing was asked for and no policy broken."""
    width, height, theme = getattr(request, "param", (1600, 900, "dark"))
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        offline=True,
    )
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.add_init_script(WATCH)
    trouble: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    page.on("request", lambda sent: asked.append(sent.url) if not sent.url.startswith(("file:", "about:")) else None)
    yield Shown(page, Served(f"{next(iter(copies.values())).parent.as_uri()}/", 0))
    broken = page.evaluate("window.broken ?? []")
    context.close()
    assert (trouble, asked, broken) == ([], [], [])


PLACES = {
    "timeline": ("steps.html#/steps/timeline", ".krow", "canvas.tl-rows"),
    "calls": ("steps.html#/steps/calls", ".flame[data-boxes]", ".flame canvas"),
    "memory": ("steps.html#/steps/memory", ".mem-devices .vlist *", "canvas.mem-canvas"),
    "top": ("steps.html#/steps/top", ".vlist .trow", "section.view"),
    "rewrites": ("small.html#/small/rewrites", ".tree [aria-selected=true]", "canvas.graph-canvas"),
    "code": ("small.html#/small/code?line=2", ".stage[data-traced]", "section.view"),
    "schedule": ("small.html#/small/schedule", "canvas.graph-canvas", "canvas.graph-canvas"),
}


@pytest.mark.parametrize("copy", [(1600, 900, "dark"), (1000, 700, "light")], indirect=True, ids=["large", "small"])
@pytest.mark.parametrize("name", PLACES)
def test_views_are_drawn_from_the_file(copy: Shown, name: str, request: pytest.FixtureRequest) -> None:
    place, ready, drawing = PLACES[name]
    copy.page.goto(copy.served.address + place)
    for wanted in (ready, drawing):
        copy.page.wait_for_selector(wanted)
    box = copy.page.locator(drawing).first.bounding_box()
    assert box is not None
    edges = [box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]]
    for _ in range(40):
        png = copy.page.screenshot()
        if drawn(cut_out(pixels_of(png), edges)) > 0.01:
            break
        copy.page.wait_for_timeout(50)
    else:
        raise AssertionError(f"{drawing} is of one colour")
    OUTPUT.mkdir(exist_ok=True)
    (OUTPUT / f"share-{name}-{request.node.callspec.id}.png").write_bytes(png)
    assert copy.page.locator(".copybar").inner_text().startswith("Shared copy")


def test_time_is_panned_zoomed_and_chosen(copy: Shown) -> None:
    copy.page.goto(copy.served.address + "steps.html#/steps/timeline")
    copy.page.wait_for_selector(".krow")
    canvas = copy.page.locator("canvas.tl-rows").bounding_box()
    assert canvas is not None
    x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + 60
    before = copy.page.locator(".status").inner_text()
    copy.page.mouse.move(x, y)
    for _ in range(8):
        copy.page.mouse.wheel(0, -300)
    copy.until("old => document.querySelector('.status').innerText !== old", before)
    copy.page.mouse.down()
    copy.page.mouse.move(x - 200, y, steps=4)
    copy.page.mouse.up()
    copy.page.keyboard.down("Shift")
    copy.page.mouse.move(x - 100, y)
    copy.page.mouse.down()
    copy.page.mouse.move(x + 150, y, steps=4)
    copy.page.mouse.up()
    copy.page.keyboard.up("Shift")
    copy.page.wait_for_selector("text=Selected range")
    # the range goes along into Top, whose sums are made in the page
    copy.page.click(".tabs a[data-title=Top]")
    copy.page.wait_for_selector(".vlist .trow")


def test_a_slice_and_its_links_are_told(copy: Shown) -> None:
    copy.page.goto(copy.served.address + "steps.html#/steps/top")
    copy.page.wait_for_selector(".vlist .trow")
    copy.page.click(".vlist .trow >> nth=0")
    copy.page.wait_for_selector("text=Slowest")
    copy.page.goto("about:blank")
    copy.page.goto(copy.served.address + "steps.html#/steps/timeline?find=train+step")
    copy.page.wait_for_selector("aside >> text=train step")


def test_matches_are_stepped_through(copy: Shown) -> None:
    copy.page.goto(copy.served.address + "small.html#/small/rewrites")
    copy.until("() => document.querySelector('section.view')?.dataset.shown?.endsWith('/0')")
    copy.page.keyboard.press("ArrowRight")
    copy.until("() => document.querySelector('section.view').dataset.shown.endsWith('/1')")
    copy.page.wait_for_selector(".diff")
    assert len(copy.boxes()) > 0


def test_the_bar_tells_and_goes(copy: Shown) -> None:
    copy.page.goto(copy.served.address + "steps.html")
    copy.page.wait_for_selector(".krow")
    copy.page.keyboard.press("l")
    said = copy.page.locator(".copylist").inner_text()
    assert "slices" in said and "Name of the machine" in said and "peephole serve steps.peep" in said
    copy.page.keyboard.press("Escape")
    assert copy.page.locator(".copylist").is_hidden()
    assert copy.page.locator(".tabs a").all_inner_texts() == ["Timeline", "Calls", "Memory", "Top", "Code"]
    copy.page.click("[aria-label='Hide this bar']")
    assert copy.page.locator(".copybar").count() == 0
    assert "shared copy" in copy.page.locator(".status").inner_text()
    copy.page.keyboard.press("/")
    copy.page.keyboard.type("E_16384")
    copy.page.wait_for_selector(".results .row")


def test_names_stay_data(copy: Shown, hostile_name: str) -> None:
    copy.page.goto(copy.served.address + "hostile.html")
    copy.page.wait_for_selector(".tabs a")
    for tab in copy.page.locator(".tabs a").all():
        tab.click()
        copy.page.wait_for_timeout(150)
    assert copy.page.evaluate("window.hacked") is None
    assert hostile_name[:20] in copy.page.locator(".copybar").inner_text()


def test_a_copy_opens_in_firefox(copies: dict[str, Path], tmp_path: Path) -> None:
    executable = shutil.which("firefox-esr") or shutil.which("firefox")
    if executable is None:
        pytest.skip("needs Firefox; on Debian: apt-get install firefox-esr")
    folder = next(iter(copies.values())).parent
    with firefox(executable, tmp_path, "light") as fox:
        fox.size(1600, 985)
        OUTPUT.mkdir(exist_ok=True)
        for name, (place, ready, _) in PLACES.items():
            fox.go(f"{folder.as_uri()}/{place}")
            fox.until("document.querySelector(arguments[0]) !== null", ready)
            (OUTPUT / f"share-firefox-{name}.png").write_bytes(fox.screenshot())
        fox.go(f"{folder.as_uri()}/steps.html#/steps/timeline")
        fox.until("document.querySelector('.krow') !== null")
        assert fox.evaluate("return performance.getEntriesByType('resource').length") == 0
        fox.press("l")
        fox.until("document.querySelector('.copylist')?.hidden === false")
