"""How far a replay is, an end to it when nobody waits, and the origin of a kernel's lines, over the API."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from peephole.errors import PeepholeError
from peephole.query import rewrites
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture

# a walk downwards can only be stepped through
PROGRAM = """
from tinygrad import Tensor
from tinygrad.uop.ops import UOp, Ops, UPat, PatternMatcher, graph_rewrite
(Tensor.empty(8, 8).sum(1) + 1).realize()
leaves = [UOp.variable(f"x{i}", 0, 100) for i in range(60)]
terms = [UOp(Ops.MUL, src=(a, b)) for a, b in zip(leaves, leaves[1:])]
flip = PatternMatcher([(UPat(Ops.MUL, name="m"), lambda m: m.replace(src=m.src[::-1]))])
graph_rewrite(UOp.sink(*terms), flip, name="walked", walk=True)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replaying")
    (folder / "prog.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "peephole", "run", "-o", str(folder / "prog.peep"), str(folder / "prog.py")]
    subprocess.run(command, env={**os.environ, "DEV": "NULL", "CACHELEVEL": "0"}, check=True, capture_output=True)
    return folder / "prog.peep"


def walked(path: Path) -> rewrites.StepInfo:
    capture = open_capture(path)
    return next(s for c in rewrites.contexts(capture) for s in rewrites.steps(capture, c.id) if s.name == "walked")


def test_a_replay_says_how_far_it_is_and_can_be_stopped(recorded: Path) -> None:
    capture, step = open_capture(recorded), walked(recorded)
    assert step.matches == 59
    assert rewrites.progress(capture, step.id) == rewrites.Progress(step.id, "walked", False, 0, 59)
    seen: list[rewrites.Progress] = []

    def stop() -> bool:
        seen.append(rewrites.progress(capture, step.id))
        return len(seen) > 20

    with pytest.raises(PeepholeError, match="stopped at match 20 of 59"):
        rewrites.graph_at(capture, step.id, 59, stop)
    assert [at.done for at in seen[1:]] == list(range(1, 21)) and all(at.running for at in seen[1:])
    stopped = rewrites.progress(capture, step.id)
    assert (stopped.done, stopped.running) == (20, False)
    # what was done is kept, and the rest follows
    assert rewrites.graph_at(capture, step.id, 59).match == 59
    assert rewrites.progress(capture, step.id).done == 59


def test_progress_and_lines_over_the_api(recorded: Path) -> None:
    step = walked(recorded)
    with TestClient(create_app(Library([recorded])), base_url="http://127.0.0.1") as client:
        at = "/api/v1/captures/prog"
        assert client.get(f"{at}/steps/{step.id}/graph?match=59").json()["match"] == 59
        progress = client.get(f"{at}/steps/{step.id}/progress").json()
        assert progress == {"step": step.id, "name": "walked", "running": False, "done": 59, "total": 59}
        contexts = client.get(f"{at}/contexts").json()
        [kernel] = [c for c, kind in zip(contexts["id"], contexts["kind"], strict=True) if kind == "kernel"]
        quick = client.get(f"{at}/contexts/{kernel}/lines").json()
        full = client.get(f"{at}/contexts/{kernel}/lines?operations=1").json()
        assert quick["note"] is None and quick["operations"] is None
        assert {made["name"] for made in full["operations"]} == {"sum", "__add__"}
        store = [line for line in full["lines"] if line["ops"][:1] == ["STORE"]][-1]
        assert store["node"] >= 0 and store["operations"] and store["kind"] == "op"
        ruled = next(line for line in full["lines"] if line["rule"])
        assert ruled["rule"]["line"] > 0 and ruled["stepName"] and ruled["match"] > 0
        graph = client.get(f"{at}/steps/{ruled['step']}/graph?match={ruled['match']}").json()
        assert graph["match"] == ruled["match"]
        assert client.get(f"{at}/contexts/99999/lines").status_code == 404
