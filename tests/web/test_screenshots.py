"""Pictures of the main views in both themes and sizes, kept as test output; each must show something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Shown

pytestmark = pytest.mark.browser

OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
PLACES = {"rewrites": "#/small/rewrites", "code": "#/small/code", "schedule": "#/small/schedule"}
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
            data = page.screenshot(path=OUTPUT / f"{name}-{theme}-{size}.png")
            assert len(data) > 20_000
