"""A real browser on a real server over real tinygrad captures, each made once a session."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUT = ROOT / "test-output"
NOTHING = '<!doctype html><link rel="icon" href="data:,">'
WINDOW: ViewportSize = {"width": 1600, "height": 900}

PROGRAM = """
from tinygrad import Tensor
a = Tensor.rand(64, 32).realize()
b = Tensor.rand(32, 16).realize()
c = (a @ b).relu()
(c.softmax(-1).sum() + (a.contiguous() * 2).sum()).realize()
"""

HOSTILE = '<img src=x onerror="window.hacked=1">\'"&amp;\u202egnp\u202c\u0007<script>window.hacked=1</script>'


@dataclass
class Served:
    """A running server: its address and the port it has."""

    address: str
    port: int


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, built from this tree."""
    node = shutil.which("node")
    if node is None or not (ROOT / "web" / "node_modules").is_dir():
        pytest.skip("needs Node and web/node_modules; `make test` installs them")
    out = tmp_path_factory.mktemp("static")
    subprocess.run([node, "scripts/build.mjs", f"--out={out}"], cwd=ROOT / "web", check=True, timeout=120)
    return out


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of a small program on tinygrad's NULL device: the whole compiler, nothing executed."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "prog.py").write_text(PROGRAM)
    env = {**os.environ, "DEV": "NULL", "PEEPHOLE_DIR": str(folder), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "peephole", "run", "-o", str(folder / "small.peep"), "prog.py"]
    subprocess.run(command, cwd=folder, env=env, check=True, timeout=120, capture_output=True)
    return folder / "small.peep"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture in which every name is an attack or far too long."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.peep"
    long = "x" * 10_000
    with CaptureWriter(path) as writer:
        writer.describe(name=HOSTILE, source=HOSTILE, program=HOSTILE, frameworks={HOSTILE: HOSTILE})
        writer.problem(HOSTILE, 3, HOSTILE)
        kinds = {"id": [0, 1], "name": [HOSTILE, long], "kind": ["kernel", "schedule"], "parent": [-1, -1]}
        writer.append("contexts", {**kinds, "keys": ["[]", "[]"], "stack": ["[]", "[]"], "function": [HOSTILE, ""]})
        writer.append(
            "nodes",
            {
                "id": [0, 1, 2],
                "op": [HOSTILE, "ADD", "SINK"],
                "dtype": [HOSTILE, "float", "void"],
                "arg": [HOSTILE, long, None],
                "src": [[], [0, 0], [1]],
                "tag": [HOSTILE, None, None],
                "shape": [HOSTILE, None, None],
            },
        )
        writer.append(
            "steps",
            {
                "id": [0],
                "context": [0],
                "ordinal": [0],
                "name": [HOSTILE],
                "file": [f"/{HOSTILE}.py"],
                "line": [1],
                "root": [2],
                "matches": [1],
                "dur": [5],
                "error": [HOSTILE],
            },
        )
        match = {"step": [0], "ordinal": [0], "before": [1], "after": [0], "dur": [5]}
        writer.append("matches", {**match, "file": [f"javascript:{HOSTILE}"], "line": [1]})
        text = f"{HOSTILE}\n{long}".encode()
        trace = b'Traceback (most recent call last):\n  File "clang.py", line 9, in compile\nCompileError: no such type'
        kinds = {"context": [0, 1], "step": [-1, -1], "kind": ["source", "error"], "language": ["c", "text"]}
        writer.append("artifacts", {**kinds, "name": [HOSTILE, "error"], "content": [text, trace]})
    return path


def start(app: Any) -> Iterator[Served]:
    """Runs an application in a thread until the test session is over."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Served(f"http://127.0.0.1:{port}/", port)
        server.should_exit = True
        thread.join(5)


@pytest.fixture(scope="session")
def served(static: Path, recorded: Path, hostile: Path) -> Iterator[Served]:
    yield from start(create_app(Library([recorded, hostile]), static=static))


@pytest.fixture(scope="session")
def empty_served(static: Path) -> Iterator[Served]:
    yield from start(create_app(Library([]), static=static))


class KeptPage:
    """One page for the tests of a worker, put back after each: a process of its own costs more than most tests do."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.page: Page | None = None

    def get(self) -> Page:
        if self.page is None:
            context = self.browser.new_context(viewport=WINDOW, color_scheme="dark", reduced_motion="reduce")
            self.page = context.new_page()
            self.page.set_default_timeout(30_000)
        return self.page

    def put_back(self) -> None:
        """No route, setting, permission or place of the mouse is left, and nothing runs on."""
        from playwright.sync_api import Error

        page = self.page
        assert page is not None
        place = urllib.parse.urlsplit(page.url)
        try:
            page.unroute_all(behavior="ignoreErrors")
            if place.netloc:  # nothing is shown, at the same origin: its process and its compiled script stay
                nothing = f"{place.scheme}://{place.netloc}/nothing"
                page.route(nothing, lambda route: route.fulfill(body=NOTHING, content_type="text/html"))
                page.goto(nothing)
                page.evaluate("localStorage.clear()")
                page.unroute(nothing)
                if page.evaluate("history.length") > 25:  # a browser keeps fifty entries, and tests count them
                    return self.close()
            page.mouse.move(-5, -5)
            page.context.clear_permissions()
            page.set_viewport_size(WINDOW)
            page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        except Error:  # it or its server is gone
            self.close()
        return None

    def close(self) -> None:
        if self.page is not None:
            self.page.context.close()
            self.page = None


@pytest.fixture(scope="session")
def kept_page(browser: Browser) -> Iterator[KeptPage]:
    kept = KeptPage(browser)
    yield kept
    kept.close()


@pytest.fixture
def page(kept_page: KeptPage, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page as if it were new; the test fails when the page logs an error or breaks its content policy."""
    page = kept_page.get()
    trouble: list[str] = []

    def failed(error: Error) -> None:
        trouble.append(str(error))

    def logged(message: ConsoleMessage) -> None:
        # what KeptPage shows in between stands before the first entry of the history, where a test may go back to
        url = message.location["url"]
        if message.type == "error" and not url.endswith(("/nothing", "/favicon.ico")):
            trouble.append(f"{message.text} {url}")

    page.on("pageerror", failed)
    page.on("console", logged)
    yield page
    own = request.node.get_closest_marker("own_page") is not None
    if own or trouble:
        kept_page.close()
    else:
        page.remove_listener("pageerror", failed)
        page.remove_listener("console", logged)
        kept_page.put_back()
    assert trouble == []


@pytest.fixture
def view(page: Page, served: Served) -> Shown:
    """The page, not opened yet."""
    return Shown(page, served)


@pytest.fixture
def rewrites(view: Shown) -> Shown:
    """The rewrites view on the first pass that changed something."""
    with urllib.request.urlopen(f"{view.served.address}api/v1/captures/small/steps") as answer:
        steps = json.load(answer)
    first = next(step for step, matches in zip(steps["id"], steps["matches"], strict=True) if matches)
    view.open(f"#/small/rewrites?step={first}")
    return view


@pytest.fixture(scope="session")
def hostile_name() -> str:
    return HOSTILE


class Shown:
    """What the tests do with the page. It waits for states, never for time."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self.served = served

    def open(self, place: str) -> None:
        if self.page.url.split("#")[0] == self.served.address:  # loaded anew, not a step within what is open
            self.page.evaluate("address => history.replaceState(null, '', address)", self.served.address + place)
            self.page.reload()
        else:
            self.page.goto(self.served.address + place)
        self.until("() => document.querySelector('section.view')?.dataset.shown")

    def until(self, script: str, arg: object = None, seconds: float = 30) -> None:
        """Waits until a function of the page is true. Playwright's own needs eval, which the page's policy forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(script, arg):
            assert time.monotonic() < end, f"never true: {script} {arg}"
            time.sleep(0.01)

    @property
    def shown(self) -> str:
        return str(self.page.evaluate("document.querySelector('section.view').dataset.shown"))

    def wait_shown(self, shown: str) -> None:
        self.page.wait_for_selector(f'section.view[data-shown="{shown}"]')

    def wait_other(self, than: str) -> str:
        self.until("old => document.querySelector('section.view').dataset.shown !== old", than)
        return self.shown

    def param(self, name: str) -> str | None:
        script = "name => new URLSearchParams(location.hash.split('?')[1] ?? '').get(name)"
        value: str | None = self.page.evaluate(script, name)
        return value

    def wait_param(self, name: str, value: str | None) -> None:
        script = "([n, v]) => new URLSearchParams(location.hash.split('?')[1] ?? '').get(n) === v"
        self.until(script, [name, value])

    def boxes(self) -> list[dict[str, Any]]:
        """Boxes of the graph with the place of their middle on the screen."""
        result: list[dict[str, Any]] = self.page.evaluate(
            """() => {
              const host = document.querySelector('.graph'), view = host.graphView, c = view.camera;
              const r = host.getBoundingClientRect();
              return view.boxes.map(b => ({...b, px: r.left + r.width / 2 + (b.x - c.x) * c.zoom,
                                          py: r.top + r.height / 2 + (b.y - c.y) * c.zoom}));
            }"""
        )
        return result
