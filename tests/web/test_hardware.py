"""The hardware page in a real browser, on traces that the tests' own encoder makes."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.query.hardware import kernels, streams
from tests.web.conftest import start

from peephole.query.hardware.packets import Arch
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def hurt(program: Any) -> bytes:
    """A trace that stalls, loses packets, and is damaged in the end."""
    stream = kernels.walk_waves(program, 7, 20)
    stream.named("TS_WAVE_STATE", payload=1 << 4, delta=10)
    stream.named("TS_WAVE_STATE", payload=1 << 5, delta=40)
    stream.named("TS_DELTA_OR_MARK", rest=1 << 8, delta=500)
    return bytes(stream.blob()[: (stream.nibbles + 1) // 2]) + b"\x77" * 16


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel with a loop, traced on two engines (one with instructions), and a CDNA trace."""
    binary, program = kernels.kernel("loop")
    cdna = streams.random_stream(Arch.CDNA, 3, 3000).blob()
    counters = struct.pack("<9Q", *range(1, 9), 100)
    path = tmp_path_factory.mktemp("hardware") / "hw.peep"
    with CaptureWriter(path) as writer:
        names = ["gemm", "hurt", "wide"]
        writer.append(
            "artifacts",
            {"kind": ["binary"] * 3, "name": names, "language": ["gfx1100"] * 3, "content": [binary] * 3},
        )
        writer.append(
            "hardware",
            {
                "kernel": ["gemm", "gemm", "gemm", "scan<b>", "hurt", *["wide"] * 12],
                "device": ["AMD"] * 17,
                "run": [0] * 17,
                "kind": ["sqtt", "sqtt", "pmc", *["sqtt"] * 14],
                "unit": ["SE:0", "SE:1", "", "SE:0", "SE:0", *(f"SE:{i}" for i in range(12))],
                "arch": ["gfx1100", "gfx1100", "gfx1100", "gfx950", *["gfx1100"] * 13],
                "props": [
                    json.dumps({"itrace": True}),
                    json.dumps({"itrace": False}),
                    json.dumps({"sched": streams.SCHED}),
                    json.dumps({"itrace": True}),
                    json.dumps({"itrace": True}),
                    *(json.dumps({"itrace": i < 2}) for i in range(12)),
                ],
                "content": [
                    kernels.walk_waves(program, 1, 300).blob(),
                    kernels.walk_waves(program, 2, 50).blob(),
                    counters,
                    cdna,
                    hurt(program),
                    b"",
                    kernels.walk_waves(program, 5, 30, unit=(3, 1, 2)).blob(),
                    *[kernels.walk_waves(program, 6, 5).blob()] * 10,
                ],
            },
        )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def hardware(static: Path, capture: Path) -> Iterator[str]:
    for served in start(create_app(Library([capture]), static=static)):
        yield served.address


def shown(page: Page, value: str) -> None:
    page.wait_for_selector(f'section.view[data-shown^="{value}"]')


def test_waves_focus_and_link(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    assert page.locator(".in").count() > 4
    assert page.locator(".tabs [aria-current]").inner_text() == "Hardware"
    page.locator(".hw-ins .in", has_text="v_mov").first.click()
    page.locator('.in[aria-selected="true"]', has_text="v_mov").wait_for()
    first = page.evaluate("location.hash")
    assert "ev=" in first
    page.keyboard.press("Escape")
    page.locator('.in[aria-selected="true"]').wait_for(state="detached")
    page.go_back()
    page.locator('.in[aria-selected="true"]', has_text="v_mov").wait_for()
    page.reload()
    page.locator('.in[aria-selected="true"]', has_text="v_mov").wait_for()
    said = page.locator("[aria-live=polite]", has_text="Wave").first
    said.wait_for(state="attached")


def test_zoom_pan_and_fit_are_in_the_address(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    box = page.locator("canvas.hw-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 600, box["y"] + 300)
    page.mouse.wheel(0, -600)
    page.wait_for_url("**t0=**")
    page.keyboard.press("d")
    page.keyboard.press("w")
    page.keyboard.press(" ")
    page.wait_for_url(lambda url: "t0=" not in url)


def test_instructions_sort_by_what_they_cost(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    page.wait_for_selector(".hw-ins .in")

    def costs() -> list[int]:
        texts = page.locator(".hw-ins .in .heat .num").all_inner_texts()
        return [int(text.replace(",", "") or 0) for text in texts]

    program = costs()
    page.get_by_role("button", name="Stall, cycles").click()
    page.wait_for_timeout(300)
    assert "sort=cost" in page.url
    assert costs() == sorted(program, reverse=True) != program
    page.get_by_role("button", name="pc", exact=True).click()
    page.wait_for_timeout(300)
    assert costs() == program and "sort" not in page.url


def test_an_engine_without_detail_says_so(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    page.get_by_role("button", name="SE 1").click()
    page.get_by_text("without instruction detail").first.wait_for()


def test_counters_sort_and_break_down(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware?mode=counters")
    shown(page, "counters")
    page.get_by_role("button", name="36", exact=True).click()
    assert page.locator(".hw-table table").nth(1).locator("tbody tr").count() == 4
    page.get_by_role("button", name="SQ_INSTS_VALU").click()
    assert page.locator('th[aria-sort="descending"]').inner_text().startswith("SQ_INSTS_VALU")


def test_control_flow(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware?mode=flow")
    shown(page, "flow/")
    assert page.locator(".blk").count() == 3
    assert page.locator("path.way.taken").count() == 1
    assert page.locator("path.way.skipped").count() == 1
    page.locator(".ln", has_text="s_add").click()
    assert page.locator(".ln.lit").count() >= 1
    register = page.locator(".reg:not(.lit)").first
    name = register.get_attribute("data-register")
    register.click()
    assert page.locator(f'.reg.lit[data-register="{name}"]').count() >= 1
    assert page.locator(".hw-legend b").inner_text() == f"{name} lit"
    page.locator(".reg.lit").first.click()
    assert page.locator(".reg.lit").count() == 0
    page.screenshot(path=str(Path(__file__).resolve().parent.parent.parent / "test-output" / "hardware-flow.png"))


def test_cdna_has_waves_but_no_instructions(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    page.locator("select").select_option(label="scan<b> · run 0")
    page.get_by_text("CDNA traces hold no program counter").first.wait_for()


def test_an_instruction_outside_the_window_is_gone_to(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware?t0=100000&t1=100100")
    shown(page, "waves/")
    page.locator(".hw-ins .in", has_text="s_mov").first.click()
    page.locator('.in[aria-selected="true"]', has_text="s_mov").wait_for()
    page.wait_for_url(lambda url: "t0=100000" not in url)


@pytest.mark.parametrize("how", ["key", "list"])
def test_the_first_focus_is_in_the_window(page: Page, hardware: str, how: str) -> None:
    """The page holds some of what lies before the window, so that panning shows it; that is not where one looks."""
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    whole = int(re.sub(r"\D", "", page.locator(".status").inner_text().split(" of ")[-1].split(" cycles")[0]))
    window = f"t0={whole // 2}&t1={whole * 3 // 4}"
    page.goto("about:blank")
    page.goto(f"{hardware}#/hw/hardware?{window}")
    shown(page, "waves/")
    if how == "key":
        page.keyboard.press("ArrowRight")
    else:
        page.locator(".hw-ins .in", has_text="v_mov").first.click()
    page.wait_for_url("**ev=**")
    row = page.evaluate("document.querySelector('section.view').dataset.shown.split('/')[1]")
    event = re.search(r"ev=(\d+)", page.url)
    assert event is not None
    api = f"{hardware}api/v1/captures/hw/hardware/{row}"
    first = page.request.get(api).json()["first"]
    start = page.request.get(f"{api}/events/{event[1]}").json()["start"] - first
    assert whole // 2 <= start < whole * 3 // 4


def test_an_event_that_cannot_be_read_leaves_the_picture(page: Page, hardware: str) -> None:
    page.route("**/events/3", lambda route: route.fulfill(body="no JSON"))
    page.goto(f"{hardware}#/hw/hardware?ev=3")
    shown(page, "waves/")
    again = page.get_by_role("button", name="Try again")
    again.wait_for()
    canvas = page.locator("canvas.hw-canvas").bounding_box()
    assert canvas is not None
    at = [canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2]
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).className", at) == "hw-canvas"
    page.unroute("**/events/3")
    again.click()
    again.wait_for(state="detached")
    page.locator("[aria-live=polite]", has_text="cycle").wait_for(state="attached")


def test_losses_and_damage_are_told(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    page.locator("select").first.select_option(label="hurt · run 0")
    page.get_by_text("The trace is damaged at byte").first.wait_for()
    page.get_by_text("1 × packets were lost").first.wait_for()
    page.get_by_text("1 × the trace stalled, 40 cycles").first.wait_for()


def test_many_engines_and_one_that_stood_idle(page: Page, hardware: str) -> None:
    """Of twelve engines the first has no waves: the next with instructions is opened, the others share a list."""
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    page.locator("select").first.select_option(label="wide · run 0")
    page.get_by_role("button", name="SE 0", pressed=True).wait_for()
    page.get_by_text("No waves here").wait_for()
    page.get_by_text("SE 1 has").wait_for()
    page.get_by_role("button", name="SE 1").click()
    page.get_by_role("button", name="SE 1", pressed=True).wait_for()
    shown(page, f"waves/{page.url.partition('row=')[2].partition('&')[0]}/")  # the list of the one before is gone
    page.locator(".hw-ins .in", has_text="v_mov").first.click()
    page.locator('.in[aria-selected="true"]', has_text="v_mov").wait_for()
    page.get_by_role("combobox", name="Engine without instructions").select_option(label="SE 9")
    page.get_by_text("without instruction detail").first.wait_for()


def test_occupancy_folds(page: Page, hardware: str) -> None:
    page.goto(f"{hardware}#/hw/hardware")
    shown(page, "waves/")
    canvas = page.locator("canvas.hw-canvas")
    before = canvas.screenshot()
    canvas.click(position={"x": 40, "y": 10})
    shown(page, "waves/")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert canvas.screenshot() != before
