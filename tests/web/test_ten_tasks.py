"""Ten things that a user comes for, each from begin to end in Chromium.

Six of them are here, on one recording of a program that trains on the CPU; what the page says is held against the
tables. The other four are done from begin to end elsewhere:

 1. the slowest kernel: its runs, code, the line of the program, the rewrite that made it, and a link to it   here
 2. the same kernels with the same figures in Top, Code, Schedule and the terminal                             here
 3. what held the memory at the peak, and who read it last                                                    here
 4. where the host's time went in a range                                                                     here
 5. a question in SQL, its slice, a note pinned to it that stays                                              here
 6. the rule behind a rewrite, what became of its node, and the difference of two passes                      here
 7. why two kernels are two, without a mouse                                              test_without_mouse.py
 8. a run that is still going, whose counters follow its end                              test_live_counters.py
 9. the server goes away and comes back                                                      test_connection.py
10. which instruction stalls, and for what it waits                                            test_hardware.py
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start
from .test_stepping import near, on_screen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PROGRAM = """\
from tinygrad import Tensor, TinyJit

weight = Tensor.rand(96, 96).realize()


@TinyJit
def step(x):
    loss = (x @ weight).relu().softmax(-1).sum().realize()
    weight.assign(weight * 0.99).realize()
    return loss


for number in range(5):
    step(Tensor.rand(96, 96).realize())
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("clang") is None:
        pytest.skip("needs clang, with which tinygrad compiles for the CPU")
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "train.py").write_text(PROGRAM)
    env = {**os.environ, "DEV": "CPU", "PEEPHOLE_DIR": str(folder)}
    command = [sys.executable, "-m", "peephole", "run", "-o", str(folder / "run.peep"), "train.py"]
    subprocess.run(command, cwd=folder, env=env, check=True, timeout=120, capture_output=True)
    return folder / "run.peep"


@pytest.fixture(scope="module")
def run_served(static: Path, run: Path) -> Iterator[Served]:
    yield from start(create_app(Library([run]), static=static))


@pytest.fixture
def user(page: Page, run_served: Served) -> Shown:
    return Shown(page, run_served)


def terminal(*words: str) -> list[dict[str, Any]]:
    """What the terminal says, a row each."""
    out = subprocess.run(
        [sys.executable, "-m", "peephole", *words, "--json"], check=True, capture_output=True, text=True
    )
    return [json.loads(line) for line in out.stdout.splitlines()]


def asked(run: Path, sql: str) -> list[dict[str, Any]]:
    """Rows of the capture's own tables, read past Peephole."""
    with duckdb.connect() as connection:
        for table in run.glob("*.parquet"):
            connection.execute(f"CREATE VIEW {table.stem} AS SELECT * FROM '{table}'")
        found = connection.execute(sql)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def go(user: Shown, view: str) -> None:
    """A click on a tab, until its view is there and has arrived."""
    user.page.locator(".tabs a", has_text=view).click()
    user.page.locator(".tabs a[aria-current=page]", has_text=view).wait_for()
    user.until("() => document.querySelector('section.view')?.dataset.shown")


def test_1_the_slowest_kernel(user: Shown, run: Path, browser: Browser) -> None:
    page = user.page
    user.open("#/run/top")
    row = page.locator(".top-list .trow").first
    name, total = row.get_attribute("data-name") or "", int(row.get_attribute("data-total") or 0)
    devices = "track IN (SELECT id FROM tracks WHERE kind = 'device')"
    plain = name.partition("#")[0]
    sums = asked(
        run, f"SELECT sum(dur) t, count(*) n FROM slices WHERE {devices} AND name = '{plain}' GROUP BY context"
    )
    (runs,) = [row["n"] for row in sums if row["t"] == total]
    page.keyboard.press("Enter")
    page.get_by_text(f"1 of {runs}", exact=True).wait_for()  # its runs on the device and nothing else
    page.locator(".tl-title", has_text=plain).wait_for()
    page.keyboard.press("Enter")
    user.until("() => location.hash.includes('/code?')")
    page.wait_for_selector(".stage[data-traced]")
    side = page.locator(".pane.r")
    side.get_by_text(re.compile(r"train\.py:(8|9|14)")).first.wait_for()
    times = page.locator(".row[aria-selected=true] .time")
    assert times.get_attribute("data-ns") == str(total)
    # from a line of the code to the match that made it
    page.keyboard.press("Shift+ArrowDown")
    user.until("() => document.querySelector('.code .ln[aria-current]')")
    while page.locator(".pane.r .chain b", has_text="Rule").count() == 0:
        page.keyboard.press("Shift+ArrowDown")
        page.wait_for_timeout(50)
    page.keyboard.press("Enter")
    user.until("() => location.hash.includes('/rewrites?')")
    page.wait_for_selector(".rule .hit, .rule .l")
    user.until("() => /^\\d+\\/[1-9]/.test(document.querySelector('section.view')?.dataset.shown ?? '')")
    # what is on the screen is what a friend sees who gets the link
    user.until("() => location.hash.includes('at=') || document.querySelector('.graph').graphView.boxes.length > 0")
    here, shown = page.evaluate("location.href"), user.shown
    context = browser.new_context(viewport={"width": 1600, "height": 900}, reduced_motion="reduce")
    friend = Shown(context.new_page(), user.served)
    friend.open(here.removeprefix(user.served.address))
    friend.wait_shown(shown)
    assert near(on_screen(user), on_screen(friend)) == []
    context.close()


def test_2_kernels_are_the_same_everywhere(user: Shown, run: Path) -> None:
    page = user.page
    user.open("#/run/top")
    rows = page.locator(".top-list .trow[data-name]").all()
    found = {row.get_attribute("data-name") or "": int(row.get_attribute("data-total") or 0) for row in rows}
    spoken = [row for row in terminal("show", "-t", "1000", str(run)) if row["track"] == "CPU"]
    assert sorted(found.values()) == sorted(row["total_ns"] for row in spoken) and len(found) > 2
    go(user, "Code")
    # those that were compiled here; one that tinygrad had compiled before the recording has no code
    (compiled,) = asked(run, "SELECT count(*) n FROM contexts WHERE kind = 'kernel'")
    user.until("n => document.querySelectorAll('.row .time[data-ns]').length === n", compiled["n"])
    times = Counter(int(one.get_attribute("data-ns") or 0) for one in page.locator(".row .time[data-ns]").all())
    # as often as in Top: two kernels may have taken the same time
    assert times.total() == compiled["n"] and times <= Counter(found.values())
    go(user, "Schedule")
    page.keyboard.press("f")
    page.keyboard.type("r_96")
    # in whichever schedule it is: that one is listed, and opened its kernel is
    user.wait_param("q", "r_96")
    user.until("() => document.querySelectorAll('.tree .row').length === 3")  # the open one and two that have it
    page.locator(".tree .row[aria-expanded=false]").first.click()
    page.locator(".tree .row[aria-level='2']", has_text="r_96").first.click()
    user.until("() => location.hash.includes('a=')")
    title = page.locator(".pane.r .title").first
    title.wait_for()
    assert title.inner_text().partition("#")[0].strip() in {name.partition("#")[0] for name in found}


def test_3_the_memory_at_the_peak(user: Shown, run: Path) -> None:
    page = user.page
    user.open("#/run/memory")
    page.keyboard.press("p")
    page.wait_for_selector("aside.l[data-alive]")
    page.locator(".mem-row").first.click()
    page.wait_for_selector("aside.r[data-buffer]")
    buffer = int(page.locator("aside.r").get_attribute("data-buffer") or -1)
    (largest,) = asked(run, f"SELECT bytes FROM buffers WHERE id = {buffer}")
    assert page.locator("aside.r [data-bytes]").get_attribute("data-bytes") == str(largest["bytes"])
    sizes = [row["bytes"] for row in asked(run, "SELECT bytes FROM buffers WHERE device = 'CPU'")]
    assert largest["bytes"] == max(sizes)
    # a use names its slice by what links it to others
    used = f"SELECT slice FROM uses WHERE buffer = {buffer} AND mode LIKE 'read%'"
    last = asked(run, f"SELECT name FROM slices WHERE correlation IN ({used}) ORDER BY start DESC LIMIT 1")
    reader = page.locator(".readers a").first
    assert last[0]["name"] in (page.locator(".readers .mem-use").first.text_content() or "")
    reader.click()
    page.locator("aside.r .tl-title", has_text=last[0]["name"]).wait_for()


def test_4_where_the_host_s_time_went_in_a_range(user: Shown, run: Path) -> None:
    page = user.page
    user.open("#/run/timeline?find=realize")
    page.keyboard.press("n")
    page.wait_for_selector(".tl-duration")
    page.keyboard.press("r")
    user.until("() => location.hash.includes('r0=')")
    t0, t1 = user.param("r0") or "", user.param("r1") or ""
    go(user, "Calls")
    page.locator("button", has_text="Whole trace").click()
    page.get_by_role("menuitemradio").nth(1).click()
    user.until("() => location.hash.includes('t0=') || location.hash.includes('range=')")
    page.keyboard.press("i")
    user.until("() => document.querySelector('section.view').dataset.shown.startsWith('inverted')")
    row = page.locator(".call-list .crow").first
    name, own = row.get_attribute("data-name"), int(row.get_attribute("data-self") or 0)
    thread = (page.locator(".call-thread").text_content() or "").removesuffix(" ▾")
    spoken = terminal("show", "--calls", "--inverted", "--interval", f"{t0}ns", f"{t1}ns", str(run))
    first = next(one for one in spoken if one["track"] == thread and one["depth"] == 0)
    assert (first["name"], first["self_ns"]) == (name, own) and own > 0
    page.keyboard.press("t")
    user.wait_param("find", name)


def test_5_a_question_in_sql_and_a_note(user: Shown, run: Path) -> None:
    page = user.page
    user.open("#/run/sql")
    page.get_by_label("SQL query").fill("SELECT * FROM slices ORDER BY dur DESC LIMIT 3")
    page.keyboard.press("Control+Enter")
    row = page.locator(".sql-row:not(.sql-head)").first
    row.wait_for()
    longest = asked(run, "SELECT name, dur FROM slices ORDER BY dur DESC LIMIT 1")[0]
    assert longest["name"] in row.inner_text()
    row.click()
    page.keyboard.press("t")
    page.locator(".tl-title", has_text=longest["name"]).wait_for()
    page.keyboard.press("m")
    page.locator(".note-edit textarea").fill("here it waits for the compiler")
    page.keyboard.press("Control+Enter")
    page.locator(".note-edit").wait_for(state="detached")
    assert [note["text"] for note in terminal("notes", str(run))] == ["here it waits for the compiler"]


def test_6_the_rule_its_node_and_two_passes(user: Shown, run: Path) -> None:
    page = user.page
    rule = asked(run, "SELECT file, line, count(*) n FROM matches GROUP BY ALL ORDER BY n DESC LIMIT 1")[0]
    user.open("#/run/rewrites")
    page.keyboard.press("/")
    page.keyboard.type(f"rule:{Path(rule['file']).name}:{rule['line']}")
    user.until("() => document.querySelector('.results .row')")
    page.keyboard.press("Enter")
    user.until("() => /^\\d+\\/[1-9]/.test(document.querySelector('section.view')?.dataset.shown ?? '')")
    page.wait_for_selector(".rule .hit, .rule .l")
    assert f":{rule['line']}" in page.locator(".pane.r").inner_text()
    # a node that this match touched, the other matches of its life, and what the whole pass did
    shown = user.shown
    user.until("() => document.querySelector('.graph').graphView.boxes.some(box => box.state)")
    changed = next(box for box in user.boxes() if box["state"] in (1, 2))
    page.mouse.click(changed["px"], changed["py"])
    user.until("() => location.hash.includes('node=')")
    page.locator(".history [aria-current=true]", has_text=f"match {shown.split('/')[1]}").wait_for()
    page.keyboard.press("p")
    user.until("() => location.hash.includes('first=')")
    step = shown.split("/")[0]
    assert user.param("first") == f"{step}.0"
    (fired,) = asked(run, f"SELECT count(*) n FROM matches WHERE step = {step}")
    user.wait_shown(f"{step}/{fired['n']}")
