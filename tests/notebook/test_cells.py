"""Captures in cells: what is shown, Arrow, where the page comes from; then all of it in a real JupyterLab."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.timeline_capture import write_timeline

import peephole
from peephole.errors import PeepholeError
from peephole.notebook import viewing

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    return write_timeline(tmp_path / "steps.peep")


def test_a_cell_has_a_table_and_a_picture_that_survive(steps: Path) -> None:
    html = peephole.capture(steps)._repr_html_()
    # what GitHub takes out of a notebook is not in it
    assert not re.search(r"<(svg|script|style|iframe)| style=| class=", html)
    assert "steps.peep" in html and "r_16_32_2_4_4_512_128_4" in html and html.count("<table>") == 2
    picture = base64.b64decode(re.findall(r'src="data:image/png;base64,([^"]+)"', html)[0])
    assert picture.startswith(b"\x89PNG") and len(picture) < 20_000
    assert len(html) < 30_000


def test_names_are_data_in_a_cell(tmp_path: Path) -> None:
    from peephole.store.writer import CaptureWriter

    with CaptureWriter(tmp_path / "x.peep") as writer:
        writer.describe(program="<script>alert(1)</script>")
        writer.append("tracks", {"id": [0], "name": ["t"], "kind": ["thread"]})
        writer.append("slices", {"track": [0], "start": [0], "dur": [5], "name": ["<img src=x onerror=alert(1)>"]})
    html = peephole.capture(tmp_path / "x.peep")._repr_html_()
    assert "<script" not in html and "<img src=x" not in html and "&lt;img src=x" in html


def test_a_table_is_arrow(steps: Path) -> None:
    table = peephole.capture(steps).table("slices")
    assert table.num_rows > 100 and {"track", "start", "dur", "name"} <= set(table.column_names)
    from peephole.errors import CaptureError

    with pytest.raises(CaptureError, match=r"no table 'slice'; a capture has tracks, slices"):
        peephole.capture(steps).table("slice")


def test_where_the_page_comes_from(steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in viewing._REMOTE:
        monkeypatch.delenv(name, raising=False)
    local = peephole.view(steps)._repr_html_()
    address = re.findall(r'src="(http://127\.0\.0\.1:\d+/)"', local)[0]
    with urllib.request.urlopen(address, timeout=120) as page:
        assert "X-Frame-Options" not in page.headers
        policy = page.headers["Content-Security-Policy"]
        assert "frame-ancestors http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:" in policy
    assert address in peephole.view(peephole.capture(steps))._repr_html_()  # one server for one capture
    monkeypatch.setenv("JUPYTERHUB_API_URL", "http://hub")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert 'src="data:text/html;base64,' in peephole.view(steps)._repr_html_()
    with pytest.raises(PeepholeError, match="pip install anywidget"):
        peephole.view(steps, where="widget")


def test_a_page_asks_its_kernel(steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="needs anywidget; `make test` installs it")
    monkeypatch.setenv("JUPYTERHUB_API_URL", "http://hub")
    shown = peephole.view(steps)
    assert "steps" in repr(shown) and "<table>" in shown._repr_mimebundle_()[0]["text/html"]
    answers: list[tuple[dict[str, Any], bytes]] = []
    monkeypatch.setattr(shown, "send", lambda content, buffers: answers.append((content, buffers[0])))

    def ask(**question: Any) -> None:
        shown._handle_custom_msg(question, [])

    ask(id=1, path="captures", method="GET", body="")
    ask(id=2, path="captures/nothing/../../../etc", method="GET", body="")
    handle = json.loads(answers[0][1])["captures"][0]["id"]
    ask(id=3, path=f"captures/{handle}/sql?q=SELECT+count(*)+FROM+slices", method="GET", body="")
    ask(id=4, path="captures", method="CONNECT", body="")
    ask(id="5", path="captures")
    assert [(content["id"], content["status"]) for content, _ in answers] == [(1, 200), (2, 404), (3, 200)]
    assert str(peephole.capture(steps).table("slices").num_rows).encode() in answers[2][1]


def run_cells(folder: Path, cells: list[str]) -> Path:
    """A notebook with these cells, not run yet."""
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"c{at}", "execution_count": None, "metadata": {}, "outputs": [], "source": cell}
        for at, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "it.ipynb").write_text(json.dumps(notebook))
    return folder / "it.ipynb"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A JupyterLab of its own: its address and its folder."""
    pytest.importorskip("jupyterlab", reason="needs JupyterLab; `make test` installs it")
    folder = tmp_path_factory.mktemp("lab")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if name not in viewing._REMOTE}
    env = {**kept, "JUPYTER_CONFIG_DIR": str(folder / "c"), "JUPYTER_DATA_DIR": str(folder / "d"), "HOME": str(folder),
           "JUPYTER_RUNTIME_DIR": str(folder / "r"), "IPYTHONDIR": str(folder / "i"),
           "PEEPHOLE_DIR": str(folder)}  # fmt: skip
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--ip=127.0.0.1", "--allow-root",
               "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]  # fmt: skip
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{address}api", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < end, "JupyterLab does not answer"
                time.sleep(0.3)
        yield address, folder
    finally:
        process.terminate()
        process.wait(20)


def test_in_a_real_jupyterlab(lab: tuple[str, Path], browser: Browser) -> None:
    address, folder = lab
    widgets = importlib.util.find_spec("anywidget") is not None
    run_cells(
        folder,
        [
            "%load_ext peephole\nimport peephole",
            "%%peephole cell.peep\nfor i in range(20):\n    with peephole.span(f'work {i % 3}'):\n        sum(())",
            "with peephole.record('block.peep') as recorded:\n    with peephole.span('inner'):\n        sum(range(99))",
            "recorded",
            "print(capture.table('slices').num_rows, recorded.table('slices').num_rows > 0)",
            "peephole.view(capture, height=500)",
            "peephole.view(recorded, height=500, where='copy')",
            *(["peephole.view(capture, height=500, where='widget')"] if widgets else []),
        ],
    )
    context = browser.new_context(viewport={"width": 1600, "height": 3200})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{address}lab/tree/it.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_selector("text=| Idle")
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells >> nth=0")
    frames = page.locator(".jp-OutputArea iframe")
    frames.nth(1 + widgets).wait_for(state="attached")
    said: Any = page.locator(".jp-OutputArea-output").all_inner_texts()
    assert any("work 0" in text for text in said) and any("inner" in text for text in said), said
    assert page.locator(".jp-OutputArea img[alt=timeline]").count() >= 2
    assert any(re.match(r"\d+ True", text) for text in said), said
    for place in range(2 + widgets):
        frame = frames.nth(place).content_frame
        frame.locator(".tabs a[data-title=Timeline]").wait_for()
        frame.locator("canvas.tl-rows").wait_for()
        frame.locator(".tabs a[data-title=Calls]").click()
        frame.locator(".flame[data-boxes]").wait_for()
        # a copy cannot be asked with SQL; who asks a server or the kernel can
        assert frame.locator(".tabs a[data-title=SQL]").count() == (place != 1)
    output = Path(__file__).resolve().parent.parent.parent / "test-output"
    output.mkdir(exist_ok=True)
    page.screenshot(path=output / "notebook.png")
    context.close()
