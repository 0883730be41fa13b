"""The main tasks in a stock Firefox: the views open, keys step and search, drawings are drawn and kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.timeline_capture import write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, start
from .marionette import Firefox, firefox
from .pictures import cut_out, drawn, pixels_of

OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
RIGHT, ENTER = "\ue014", "\ue007"


@pytest.fixture(scope="module")
def fox_served(static: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    steps = write_timeline(tmp_path_factory.mktemp("fox") / "steps.peep")
    yield from start(create_app(Library([recorded, steps]), static=static))


@pytest.fixture(scope="module", params=["dark", "light"])
def fox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    executable = shutil.which("firefox-esr") or shutil.which("firefox")
    if executable is None:
        pytest.skip("needs Firefox; on Debian: apt-get install firefox-esr")
    with firefox(executable, tmp_path_factory.mktemp("profile"), request.param) as found:
        found.size(1600, 985)
        yield found


PLACES = {
    "timeline": ("#/steps/timeline", ".krow", "canvas.tl-rows"),
    "calls": ("#/steps/calls", ".flame[data-boxes]", ".flame canvas"),
    "memory": ("#/steps/memory", ".mem-devices .vlist *", "canvas.mem-canvas"),
    "top": ("#/steps/top", ".vlist .trow", "section.view"),
    "rewrites": ("#/small/rewrites", ".tree [aria-selected=true]", "canvas.graph-canvas"),
    "code": ("#/small/code?line=2", ".stage[data-traced]", "section.view"),
}


@pytest.mark.parametrize("name", PLACES)
def test_views_are_drawn(fox: Firefox, fox_served: Served, name: str, request: pytest.FixtureRequest) -> None:
    place, ready, drawing = PLACES[name]
    fox.go(fox_served.address + place)
    for wanted in (ready, drawing, "section.view[data-shown]"):
        fox.until("document.querySelector(arguments[0]) !== null", wanted)
    box = "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
    edges = fox.evaluate(f"{box} return [r.left, r.top, r.right, r.bottom]", drawing)
    for _ in range(40):
        png = fox.screenshot()
        if drawn(cut_out(pixels_of(png), edges)) > 0.01:
            break
    else:
        raise AssertionError(f"{drawing} is of one colour")
    OUTPUT.mkdir(exist_ok=True)
    (OUTPUT / f"firefox-{name}-{request.node.callspec.params['fox']}.png").write_bytes(png)


def test_keys_step_and_search(fox: Firefox, fox_served: Served) -> None:
    fox.go(f"{fox_served.address}#/small/rewrites")
    fox.until("document.querySelector('section.view')?.dataset.shown?.endsWith('/0')")
    fox.press(RIGHT)
    fox.until("document.querySelector('section.view').dataset.shown.endsWith('/1')")
    fox.until("document.querySelector('.diff') !== null")
    fox.press("/", *"early symbolic")
    fox.until("document.querySelector('.results .row')?.innerText.includes('early symbolic')")
    fox.press(ENTER)
    fox.until("document.querySelector('.palette') === null")
    fox.until("document.querySelector('.tree [aria-selected=true]').innerText.includes('early symbolic')")


def test_a_picture_is_kept(fox: Firefox, fox_served: Served) -> None:
    fox.go(f"{fox_served.address}#/steps/timeline")
    fox.until("document.querySelector('.krow') !== null")
    fox.evaluate(
        "const make = URL.createObjectURL; URL.createObjectURL = blob =>"
        " { blob.text().then(text => { document.body.dataset.kept = text; }); return make.call(URL, blob); };"
    )
    fox.press("/", *"timeline svg")
    fox.until("document.querySelector('.results .row')?.innerText.includes('SVG')")
    fox.press(ENTER)
    fox.until("document.body.dataset.kept?.startsWith('<svg') && document.body.dataset.kept.includes('train step')")
