"""What the timeline shows of a growing capture: counters go as far as slices do, however late answers come."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture

from .conftest import Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROGRAM = """
import time, peephole
for step in range(10_000):
    with peephole.span(f"step {step % 7}"):
        time.sleep(0.05)
    peephole.counter("level", step % 17)
    time.sleep(0.05)
"""
LATE_S = 1.4
"""Longer than the page waits between two looks at a growing capture."""

REACH = """() => {
  const stage = document.querySelector('.tl').timeline, { source, span } = stage;
  const level = Math.floor(Math.log2((span.t1 - span.t0) / stage.width * 512)), width = 2 ** level;
  const grid = { level, width, first: Math.floor(span.t0 / width), past: Math.ceil(span.t1 / width) };
  const rows = stage.layout.rows;
  const lane = rows.find((row) => row.lanes?.length && !row.series).lanes[0];
  const slices = source.lanes.cover(`${lane.track}:${lane.depth}`, grid, span.t0, span.t1);
  const counter = rows.find((row) => row.series).series.counter;
  const values = source.series.cover(`c${counter}`, grid, span.t0, span.t1);
  const last = (tiles, name) => Math.max(0, ...tiles.map((tile) => tile.data[name].at(-1) ?? 0)) / 1e9;
  return { slices: last(slices, 'end'), values: last(values, 'start'), whole: stage.whole / 1e9 };
}"""


def late(app: Any, part: str, after: bool) -> Callable[..., Any]:
    """The application with answers that are late: made late, or made at once and `after` that held back."""

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        wanted = scope["type"] == "http" and scope["path"].endswith(part)
        if wanted and not after:
            await asyncio.sleep(LATE_S)
        waited = not (wanted and after)

        async def held(message: Any) -> None:
            nonlocal waited
            if not waited:
                waited = True
                await asyncio.sleep(LATE_S)
            await send(message)

        await app(scope, receive, held)

    return slow


@pytest.mark.parametrize(("part", "after"), [("/timeline/series", True), ("/timeline/window", False)])
def test_what_comes_late_is_shown_all_the_same(
    page: Page, static: Path, tmp_path: Path, part: str, after: bool
) -> None:
    """On a busy machine an answer comes when the capture has grown again: it was thrown away, each time."""
    (tmp_path / "prog.py").write_text(PROGRAM)
    path = tmp_path / "growing.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(path), "prog.py"]
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        try:
            end = time.monotonic() + 90
            while not (path / "journal").is_dir() or not list((path / "journal").rglob("*.seg")):
                assert time.monotonic() < end, "the program never began to record"
                time.sleep(0.05)
            time.sleep(1.0)
            for served in start(late(create_app(Library([path]), static=static), part, after)):
                shown = Shown(page, served)
                page.goto(f"{served.address}#/growing/timeline")
                shown.until("() => document.querySelector('.tl')?.timeline?.source")
                # an answer may lag by how late it is and by a look or two, but never stand still
                behind = LATE_S + 3
                until = time.monotonic() + 9
                worst = 0.0
                while time.monotonic() < until:
                    time.sleep(0.25)
                    now = page.evaluate(REACH)
                    worst = max(worst, now["whole"] - min(now["slices"], now["values"]))
                assert now["whole"] > 8, "the page never heard of what was written"
                assert worst < behind, f"the picture stood still: {now}"
                child.send_signal(signal.SIGINT)
                child.wait(20)
                page.wait_for_selector(".status .live:not(.on)", timeout=60_000)
                capture = open_capture(path)
                last = (int(capture.read("counters", ["time"])["time"].max()) - capture.span()[0]) / 1e9
                reached = f"() => Math.abs(({REACH})().values - {last}) < 0.2"
                shown.until(reached)  # and what was written last is there in the end
                page.goto("about:blank")  # nothing is asked of a server that has gone
        finally:
            if child.poll() is None:
                child.kill()
