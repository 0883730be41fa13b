"""MLIR in the page: an operation with its program's line, and what the many passes of such a tool did with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.capture_rows import rows

from peephole.ingest import import_files
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture

from .conftest import OUTPUT, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
STATE = """module @m {{
  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = toy.scale %arg0 by {by} : tensor<4xf32> loc("jit(f)/mul"("layer"("prog.py":5:11)))
    %1 = math.tanh %0 : tensor<4xf32> loc("jit(f)/tanh"(callsite("layer"("prog.py":6:11) at "main"("prog.py":9:1))))
    return %1 : tensor<4xf32> loc(unknown)
  }}
}}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlir")
    states = [STATE.format(by=1 if at < 8 else 2) for at in range(20)]
    blocks = [f"// -----// IR Dump After P{at}Pass: p{at} //----- //\n{text}\n" for at, text in enumerate(states)]
    (folder / "passes.log").write_text("\n".join(blocks))
    return import_files([folder / "passes.log"], folder / "passes.peep")


@pytest.fixture(scope="module")
def address(static: Path, path: Path) -> Iterator[str]:
    for served in start(create_app(Library([path]), static=static)):
        yield served.address


def test_an_operation_has_its_line_and_idle_passes_are_one(page: Page, address: str, path: Path) -> None:
    tanh = max(node["id"] for node in rows(open_capture(path), "nodes") if node["op"] == "math.tanh")
    page.goto(f"{address}#/passes/rewrites?step=8&match=1&id={tanh}")
    pane = page.get_by_role("group", name="From the program to the kernel")
    pane.get_by_text("prog.py:6").first.wait_for()
    pane.get_by_text("prog.py:9").first.wait_for()
    history = page.locator("dd.history")
    history.get_by_text("8 passes left it untouched").wait_for()
    history.get_by_text("11 passes left it untouched").wait_for()
    assert "p3" not in history.inner_text()
    history.get_by_text("8 passes left it untouched").click()
    assert "p3" in history.inner_text() and "p12" not in history.inner_text()
    history.get_by_text("8 passes left it untouched").click()
    page.screenshot(path=OUTPUT / "mlir_origin.png")
