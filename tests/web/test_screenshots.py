"""Pictures of the main views in both themes and sizes, kept as test output; each must show something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Shown

pytestmark = pytest.mark.browser

OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
PLACES = {
    "rewrites": "#/small/rewrites",
    "code": "#/small/code?line=2",
    "schedule": "#/small/schedule",
    "search": "#/small/rewrites",
    "keys": "#/small/rewrites",
}
SIZES = {"1600": (1600, 900), "1000": (1000, 700)}


@pytest.mark.parametrize("name", PLACES)
def test_pictures(view: Shown, name: str) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page = view.page
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme=theme)
            view.open(PLACES[name])
            if name == "rewrites":
                shown = view.shown
                page.keyboard.press("ArrowRight")
                view.wait_other(shown)
                page.wait_for_selector(".diff")
            elif name == "code":
                page.wait_for_selector(".stage[data-traced]")
            elif name == "search":
                page.keyboard.press("/")
                page.keyboard.type("r_64")
                page.wait_for_selector(".results .row")
            elif name == "keys":
                page.keyboard.press("?")
                page.wait_for_selector(".keyhelp")
            data = page.screenshot(path=OUTPUT / f"{name}-{theme}-{size}.png")
            assert len(data) > 20_000
