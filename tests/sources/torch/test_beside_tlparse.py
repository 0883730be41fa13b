"""Nothing that tlparse shows of a log is missing in a capture of it: the peer that users of these logs know.

tlparse is a binary on PyPI (`pip install tlparse`); without it these tests are skipped.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SharedFile
from tests.sources.torch.logs import artifact, every_graph, record, small_log

from peephole.ingest import import_files
from peephole.query.capture.contexts import contexts
from peephole.query.problems.problems import problems
from peephole.store.capture import Capture, open_capture


@pytest.fixture(scope="session")
def tlparse() -> str:
    beside = Path(sys.executable).with_name("tlparse")
    found = str(beside) if beside.exists() else shutil.which("tlparse")
    if found is None:
        pytest.skip("needs tlparse, which is on PyPI")
    return found


def compare(tlparse: str, log: Path, folder: Path) -> tuple[Capture, dict[str, Any]]:
    """The capture of a log, after everything that tlparse wrote about it was found in it."""
    out = folder / "tl_out"
    command = [tlparse, str(log), "-o", str(out), "--overwrite", "--no-browser", "--plain-text"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    capture = open_capture(import_files([log], folder / "log.peep", replace=True))
    directory = json.loads((out / "compile_directory.json").read_text())
    ids = {plain_id(name) for name in directory if plain_id(name)}
    names = {context.name for context in contexts(capture) if context.kind == "graph"}
    assert ids <= names, ids - names
    contents = capture.read("artifacts").blobs("content")
    kept = Counter(normal(contents[row] or b"") for row in range(capture.count("artifacts")))
    missing = []
    for files in directory.values():
        for one in files["artifacts"]:
            path = out / one["url"]
            if path.suffix == ".html" or "compilation_metrics" in one["name"] or not path.is_file():
                continue
            if (text := normal(path.read_bytes())) and not kept[text]:
                missing.append(one["name"])
    assert not missing, missing
    events = json.loads((out / "chromium_events.json").read_text())
    begun = Counter(event["name"] for event in events if event.get("ph") == "B")
    shown = Counter(str(name) for name in capture.read("slices").texts("name"))
    assert not begun - shown, begun - shown
    check_failures(out, capture)
    return capture, directory


def check_failures(out: Path, capture: Capture) -> None:
    """Each restart and failure that tlparse lists is a problem of that compilation, with the same words."""
    text = (out / "failures_and_restarts.html").read_text()
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    told: dict[str, str] = {}
    for problem in problems(capture).problems:
        told[problem.context_name] = told.get(problem.context_name, "") + " " + " ".join(problem.text.split())
    for row in rows:
        cells = [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td>(.*?)</td>", row, re.DOTALL)]
        if len(cells) < 3:
            continue
        id = plain_id(cells[0].strip())
        first = next(line.strip() for line in cells[2].splitlines() if line.strip())
        assert " ".join(first.split()) in told.get(id, ""), (id, first)


def normal(content: bytes) -> str:
    """A payload without what a viewer may add or take away: JSON is printed anew, ends are trimmed."""
    text = content.decode("utf-8", "replace").strip()
    if text[:1] in "[{":
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except ValueError:
            pass
    return text


def plain_id(name: str) -> str:
    """`0/0` for `[0/0_1]`: attempts are of one compilation."""
    found = re.match(r"^\[?(!?[\d/-]+?)(?:_\d+)?\]?$", name)
    id = found[1].replace("/-/-", "") if found else ""
    return "" if "-" in id else id


def test_a_log_with_something_of_everything(tlparse: str, tmp_path: Path) -> None:
    log = tmp_path / "t.log"
    failed = {"co_name": "f", "fail_type": "Unsupported", "fail_reason": "not today", "restart_reasons": []}
    more = record("compilation_metrics", failed, id="0/0") + artifact("an_artifact_of_2031", "new", "1/0")
    log.write_text(small_log() + every_graph() + more)
    compare(tlparse, log, tmp_path)


@pytest.mark.parametrize("name", ["breaks", "block", "cache_hit", "sdpa"])
def test_logs_of_real_programs(tlparse: str, shared: SharedFile, tmp_path: Path, name: str) -> None:
    log = next(shared(f"fixtures/torch/{name}").glob("*.log"))
    compare(tlparse, log, tmp_path)
