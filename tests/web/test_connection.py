"""The server goes away and comes back; the capture on the screen is replaced meanwhile. Real servers, really ended."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import write_timeline

from peephole.store.writer import CaptureWriter

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser


class Server:
    """`peephole serve` on a port of its own, started and ended at will."""

    def __init__(self, folder: Path, capture: Path) -> None:
        self.folder = folder
        self.capture = capture
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "peephole", "serve", str(self.capture), "--no-open", f"--port={self.port}"]
        env = {**os.environ, "PEEPHOLE_DIR": str(self.folder / "none"), "NO_COLOR": "1"}
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 90
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self.process.poll() is None, self.process.stdout and self.process.stdout.read()
                assert time.monotonic() < end
                time.sleep(0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@pytest.fixture
def server(tmp_path: Path, static: Path) -> Iterator[Server]:
    running = Server(tmp_path, write_timeline(tmp_path / "run.peep"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own: requests without an answer are errors in its console, and belong to this test."""
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


def _picture(page: Page) -> str:
    script = "() => document.querySelector('canvas').toDataURL()"
    return str(page.evaluate(script))


def _open(page: Page, server: Server, view: str) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/#/run/{view}")
    page.wait_for_selector("section.view[data-shown]")
    page.get_by_text("sealed").wait_for()


def test_the_last_picture_stays_while_the_server_is_gone_and_the_page_goes_on_by_itself(
    page: Page, server: Server
) -> None:
    _open(page, server, "timeline")
    page.mouse.move(5, 5)
    before = _picture(page)
    server.stop()
    page.get_by_text("disconnected").wait_for()
    assert _picture(page) == before
    # what is asked for meanwhile says what is wrong, and is there without a click once the server is back
    page.get_by_role("link", name="Top", exact=True).click()
    page.get_by_text("The server does not answer").first.wait_for()
    assert "`" not in page.locator("body").inner_text()
    server.start()
    page.locator(".trow[data-name]").first.wait_for()
    page.get_by_text("sealed").wait_for()
    assert page.get_by_text("The server does not answer").count() == 0


def test_a_query_that_the_server_did_not_hear_is_asked_again_and_is_no_failed_one(page: Page, server: Server) -> None:
    _open(page, server, "sql")
    server.stop()
    page.get_by_role("button", name="Run Ctrl").click()
    page.locator(".sql-trouble").get_by_text("The server does not answer").wait_for()
    assert page.locator(".sql-entry .failed").count() == 0
    server.start()
    page.locator(".sql-row:not(.sql-head)").first.wait_for()
    assert not page.locator(".sql-trouble").is_visible()
    assert page.locator(".sql-entry").count() == 1


def test_a_live_capture_says_when_its_server_has_gone_and_when_it_is_back(page: Page, server: Server) -> None:
    """The capture is sealed; the browser is told that it is live."""

    mode = "live"

    def answer(route: Route) -> None:
        # one handler that stays: taking one away while it answers leaves its request to nobody
        if mode == "gone":
            route.abort()
        elif mode == "live" and route.request.url.endswith("/captures/run"):
            reply = route.fetch()
            route.fulfill(response=reply, json={**reply.json(), "live": True})
        else:
            route.continue_()

    page.route("**/api/v1/**", answer)
    page.goto(f"http://127.0.0.1:{server.port}/#/run/timeline")
    page.locator(".status .live.on").wait_for()
    mode = "gone"
    page.get_by_text("disconnected").wait_for()
    assert page.locator(".status .live.on").count() == 0
    mode = "back"
    page.locator(".status .live:not(.gone)").wait_for()
    page.unroute_all(behavior="ignoreErrors")


def test_a_capture_that_was_replaced_is_shown_anew(page: Page, server: Server) -> None:
    _open(page, server, "top")
    page.locator('.trow[data-name="E_16384_4"]').wait_for()
    other = server.folder / "other.peep"
    with CaptureWriter(other) as writer:
        writer.describe(name="run", source="test", program="other.py")
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        writer.append("slices", {"track": [0], "start": [0], "dur": [1000], "name": ["r_new_kernel"]})
    shutil.rmtree(server.capture)
    other.rename(server.capture)
    page.locator('.trow[data-name="r_new_kernel"]').wait_for()
    assert page.locator('.trow[data-name="E_16384_4"]').count() == 0
    page.get_by_text("sealed").wait_for()


def test_a_capture_that_was_taken_away_stays_on_the_screen(page: Page, server: Server) -> None:
    _open(page, server, "top")
    page.locator('.trow[data-name="E_16384_4"]').wait_for()
    shutil.rmtree(server.capture)
    page.locator(".status .live.gone", has_text="deleted on disk").wait_for()
    assert page.locator('.trow[data-name="E_16384_4"]').count() == 1
