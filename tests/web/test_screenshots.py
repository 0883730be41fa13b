"""Pictures of the main views in both themes and sizes, kept as test output; each must show what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.timeline_capture import write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start
from .pictures import PANES, faults, still

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
SIZES = {"1600": (1600, 900), "1000": (1000, 700)}
NO_LEFT = tuple(pane for pane in PANES if pane != ".pane.l")


class Place(NamedTuple):
    address: str
    panes: tuple[str, ...]
    """What has to be there in a wide window."""
    ready: str
    """What is there once everything is."""


PLACES = {
    "rewrites": Place("#/small/rewrites", PANES, ".diff"),
    "code": Place("#/small/code?line=2", PANES, ".stage[data-traced]"),
    "schedule": Place("#/small/schedule", PANES, ".pane.r .sec"),
    "search": Place("#/small/rewrites", (".results",), ".results .row"),
    "keys": Place("#/small/rewrites", (".keyhelp",), ".keyhelp"),
    "timeline": Place("#/steps/timeline", NO_LEFT, ".krow"),
    "top": Place("#/steps/top", NO_LEFT, ".vlist .trow"),
    "memory": Place("#/steps/memory", PANES, ".mem-devices .vlist *"),
}


@pytest.fixture(scope="module")
def pictured_served(static: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    steps = write_timeline(tmp_path_factory.mktemp("pictured") / "steps.peep")
    yield from start(create_app(Library([recorded, steps]), static=static))


@pytest.fixture
def pictured(page: Page, pictured_served: Served) -> Shown:
    return Shown(page, pictured_served)


def show(view: Shown, name: str) -> None:
    page = view.page
    view.open(PLACES[name].address)
    if name == "rewrites":
        shown = view.shown
        page.keyboard.press("ArrowRight")
        view.wait_other(shown)
    elif name == "search":
        page.keyboard.press("/")
        page.keyboard.type("r_64")
    elif name == "keys":
        page.keyboard.press("?")
    page.wait_for_selector(PLACES[name].ready)


@pytest.mark.parametrize("name", PLACES)
def test_pictures(pictured: Shown, name: str) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page = pictured.page
    found = {}
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        # a narrow window may put a pane aside, but what a view is for stays
        panes = tuple(pane for pane in PLACES[name].panes if size == "1600" or not pane.startswith(".pane"))
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme=theme)
            show(pictured, name)
            picture, parts = still(page, panes)
            (OUTPUT / f"{name}-{theme}-{size}.png").write_bytes(picture)
            found[theme, size] = faults(picture, parts, panes)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


HARM = {
    "section.view is not to be seen": "document.querySelector('section.view').style.visibility = 'hidden'",
    ".stage is of one colour": "for (const e of document.querySelectorAll('.stage *')) e.style.opacity = 0",
    ".pane.r has no text": "document.querySelector('.pane.r .scroll').parentElement.replaceChildren()",
    "is hard to see": """for (const e of document.querySelectorAll('.pane.r *'))
        e.style.color = getComputedStyle(document.querySelector('.pane.r')).backgroundColor""",
    "is wider than its place": "document.querySelector('main').style.width = '130vw'",
    "is cut off without an ellipsis": """Object.assign(document.querySelector('.pane.r .bar b').style,
        {display: 'block', width: '20px', overflow: 'hidden', whiteSpace: 'nowrap', textOverflow: 'clip'})""",
    "footer.status has no text": """document.body.append(Object.assign(document.createElement('i'), {id: 'lid'}));
        Object.assign(document.querySelector('#lid').style, {position: 'fixed', inset: 0, background: 'grey'})""",
}
"""What has to be said of a page to which this was done."""


@pytest.mark.parametrize("fault", HARM)
def test_a_spoilt_view_is_noticed(pictured: Shown, fault: str) -> None:
    show(pictured, "rewrites")
    page = pictured.page
    assert faults(*still(page, PANES), PANES) == []
    page.evaluate(f"() => {{ {HARM[fault]} }}")
    found = faults(*still(page, PANES), PANES)
    assert any(fault in one for one in found), found
