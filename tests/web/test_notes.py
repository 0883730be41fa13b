"""Notes in the page: pinned by key, menu and palette, marked, listed, linked, changed, removed, and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.pack import pack

from .conftest import HOSTILE, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("noted")


@pytest.fixture(scope="module")
def noted_served(static: Path, recorded: Path, folder: Path) -> Iterator[Served]:
    import shutil

    small = Path(shutil.copytree(recorded, folder / "small.peep"))
    steps = write_timeline(folder / "steps.peep")
    packed = pack(steps, folder / "packed.peep.zip")
    yield from start(create_app(Library([small, steps, packed]), static=static))


@pytest.fixture
def noted(page: Page, noted_served: Served) -> Shown:
    return Shown(page, noted_served)


def write(view: Shown, text: str) -> None:
    view.page.locator(".note-edit textarea").fill(text)
    view.page.keyboard.press("Control+Enter")
    view.page.locator(".note-edit").wait_for(state="detached")


def kept(path: Path) -> list[str]:
    return [note["text"] for note in json.loads((path / "notes.json").read_text())["notes"]]


def test_a_note_on_a_slice_is_marked_linked_changed_and_removed(noted: Shown, folder: Path) -> None:
    page = noted.page
    noted.open("#/steps/timeline?slice=3")
    page.wait_for_selector(".tl-duration")
    before = page.locator("canvas.tl-rows").screenshot()
    page.keyboard.press("m")
    write(noted, f"too long {HOSTILE}")
    card = page.locator(".note-card")
    card.get_by_text("too long").wait_for()
    assert card.locator("img").count() == 0 and page.evaluate("window.hacked") is None
    assert kept(folder / "steps.peep") == [f"too long {HOSTILE}"]
    page.wait_for_timeout(200)
    assert page.locator("canvas.tl-rows").screenshot() != before, "the slice has a sign"
    # elsewhere it is listed, and leads back
    noted.open("#/steps/timeline")
    assert card.is_hidden()
    page.keyboard.press("m")  # nothing is chosen: it says so, and what is typed next does nothing to the view
    page.get_by_role("menuitem", name="Choose something to pin a note to").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Notes").click()
    page.get_by_role("menuitem", name="too long").click()
    noted.wait_param("slice", "3")
    card.get_by_text("too long").wait_for()
    card.get_by_role("button", name="Change").click()
    write(noted, "warm-up")
    card.get_by_text("warm-up").wait_for()
    assert kept(folder / "steps.peep") == ["warm-up"]
    card.get_by_role("button", name="Remove").click()
    card.wait_for(state="hidden")
    assert kept(folder / "steps.peep") == []


def test_a_range_is_noted_from_the_palette(noted: Shown, folder: Path) -> None:
    noted.open("#/steps/timeline?r0=1000000&r1=9000000")
    noted.page.wait_for_selector(".krow, .pane.r .sec")
    noted.page.keyboard.press("/")
    noted.page.keyboard.type("note range")
    noted.page.wait_for_selector(".results .row")
    noted.page.keyboard.press("Enter")
    write(noted, "compiles here")
    noted.page.locator(".note-card").get_by_text("compiles here").wait_for()
    assert kept(folder / "steps.peep")[-1] == "compiles here"


def test_matches_and_nodes_are_noted_and_marked(noted: Shown, folder: Path) -> None:
    page = noted.page
    noted.open("#/small/rewrites")
    shown = noted.shown
    page.keyboard.press("ArrowRight")
    noted.wait_other(shown)
    page.wait_for_selector(".diff")
    page.get_by_role("button", name="Notes").click()
    page.get_by_role("menuitem", name="Pin a note to match 1").click()
    write(noted, "why this one?")
    page.locator(".m.noted").first.wait_for()
    noted.page.keyboard.press("Shift+ArrowDown")
    noted.until("() => new URLSearchParams(location.hash.split('?')[1]).get('node') !== null")
    page.keyboard.press("m")
    page.get_by_role("heading", name="A note on this node").wait_for()
    write(noted, "this becomes a store")
    page.locator(".note-card").get_by_text("this becomes a store").wait_for()
    node = int(noted.param("node") or "-1")
    script = "node => [...document.querySelector('.graph').graphView.marks.noted].includes(node)"
    noted.until(script, node)
    kinds = [note["kind"] for note in json.loads((folder / "small.peep" / "notes.json").read_text())["notes"]]
    assert kinds == ["match", "node"]


def test_a_packed_capture_lists_notes_and_says_why_it_takes_none(noted: Shown) -> None:
    noted.open("#/packed/timeline?slice=3")
    noted.page.wait_for_selector(".tl-duration")
    noted.page.get_by_role("button", name="Notes").click()
    noted.page.get_by_role("menuitem", name="is a packed capture").wait_for()
