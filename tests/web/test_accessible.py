"""axe-core finds no serious or critical fault in any view, in either theme, nor in what lies over the views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kernels_of_one_name import write_kernels
from tests.query.hardware.kernels import write_traced
from tests.query.problems.test_problems import log
from tests.rank_traces import write_ranks
from tests.timeline_capture import write_timeline

from peephole.fleet.run import make_run
from peephole.ingest import import_files
from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, start
from .tape_texts import tape_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

AXE = Path(__file__).resolve().parent.parent.parent / "web" / "node_modules" / "axe-core" / "axe.min.js"
PLACES = {
    "timeline": ("#/steps/timeline?slice=3", ".pane.r .sec"),
    "calls": ("#/steps/calls", ".call-list .crow"),
    "rewrites": ("#/small/rewrites?match=1", ".tree [aria-selected=true]"),
    "schedule": ("#/small/schedule", ".pane.r .sec"),
    "memory": ("#/steps/memory", ".mem-devices .vlist *"),
    "top": ("#/steps/top", ".vlist .trow"),
    "code": ("#/small/code?line=2", ".stage[data-traced]"),
    "hardware": ("#/traced/hardware", ".hw-ins .in"),
    "hardware counters": ("#/traced/hardware?mode=flow", ".hw-page *"),
    "messages": ("#/tape/messages", ".pane.r *"),
    "problems": ("#/bad/problems", ".pr[aria-selected=true]"),
    "ranks": ("#/run/ranks", ".srow"),
    "compare": ("#/small/compare?b=alike", ".cmp-verdict .title"),
    "compare, passes": ("#/small/compare?b=alike&tab=passes", ".cmp-verdict .title"),
    "compare, timelines": ("#/small/compare?b=alike&tab=timeline", '[aria-label="Aligned at"]'),
    "compare, memory": ("#/small/compare?b=alike&tab=memory", ".cmp-scroll"),
    "context": ("#/small/rewrites?context=1", ".page td a"),
    "sql": ("#/steps/sql?q=SELECT%20*%20FROM%20tracks", ".sql-row"),
}
OVER = {
    "search": ("/", ".results"),
    "keys": ("?", ".keyhelp"),
    "note": ("m", ".note-edit"),
}


@pytest.fixture(scope="module")
def every_view(
    static: Path, recorded: Path, tape_line: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("views")
    (folder / "tape.log").write_text(tape_text(tape_line, 30))
    tape = import_files([folder / "tape.log"], folder / "tape.peep")
    write_traced(folder / "traced.peep")
    (folder / "bad.log").write_text(log())
    bad = import_files([folder / "bad.log"], folder / "bad.peep")
    run = make_run(write_ranks(folder, 3, slow={2: (1,)}).files, folder / "run.peep")
    alike = write_kernels(folder / "alike.peep")
    captures = [recorded, write_timeline(folder / "steps.peep"), tape, folder / "traced.peep", bad, run, alike]
    yield from start(create_app(Library(captures), static=static))


@pytest.fixture(scope="module", params=["dark", "light"])
def looked_at(request: pytest.FixtureRequest, browser: Browser, every_view: Served) -> Iterator[tuple[Page, str]]:
    """A page in one theme; its content policy is off, since axe puts a style of its own into what it looks at."""
    if not AXE.exists():
        pytest.skip("needs axe-core in web/node_modules; `make test` installs it")
    context = browser.new_context(
        viewport={"width": 1600, "height": 900}, color_scheme=request.param, reduced_motion="reduce", bypass_csp=True
    )
    page = context.new_page()
    page.add_init_script(path=AXE)
    yield page, every_view.address
    context.close()


def faults(page: Page) -> list[str]:
    """What axe says is serious or critical: rule, element and what to do, a line each."""
    found: list[str] = page.evaluate(
        """async () => {
          const result = await axe.run(document, { resultTypes: ["violations"] });
          return result.violations.filter(v => ["serious", "critical"].includes(v.impact)).flatMap(v =>
            v.nodes.map(n => `${v.id}: ${n.html.slice(0, 160)} | ${n.failureSummary.replace(/\\s+/g, " ")}`));
        }"""
    )
    return found


@pytest.mark.parametrize("name", PLACES)
def test_views_have_no_serious_fault(looked_at: tuple[Page, str], name: str) -> None:
    page, address = looked_at
    place, ready = PLACES[name]
    page.goto("about:blank")
    page.goto(address + place)
    page.wait_for_selector(ready)
    page.wait_for_timeout(300)
    assert faults(page) == []


@pytest.mark.parametrize("name", OVER)
def test_what_lies_over_the_views_has_no_serious_fault(looked_at: tuple[Page, str], name: str) -> None:
    page, address = looked_at
    key, ready = OVER[name]
    page.goto("about:blank")
    page.goto(f"{address}#/steps/timeline?slice=3")
    page.wait_for_selector(".tl-duration")  # the slice is chosen: a note can be pinned to it
    page.keyboard.press(key)
    page.wait_for_selector(ready)
    if name == "search":
        page.keyboard.type("step")
        page.wait_for_selector(".results .row")
    assert faults(page) == []


def test_a_fault_is_found(looked_at: tuple[Page, str]) -> None:
    page, address = looked_at
    page.goto(f"{address}#/steps/sql")
    page.wait_for_selector(".bar")
    page.evaluate("document.querySelector('.bar').append(document.createElement('button'))")
    assert any(fault.startswith("button-name") for fault in faults(page))
