"""How far a replay is, an end to it when nobody waits, and the origin of a kernel's lines, over the API."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from peephole.errors import PeepholeError
from peephole.query.capture.contexts import Step, contexts, steps
from peephole.query.rewrites import step_graphs as rewrites
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter

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


def walked(path: Path) -> Step:
    capture = open_capture(path)
    return next(s for c in contexts(capture) for s in steps(capture, c.id) if s.name == "walked")


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


LONG = 4000


@pytest.fixture
def long_pass(tmp_path: Path) -> Path:
    """A walk over a chain, each match at a leaf further up: to reach the last takes many seconds."""
    path = tmp_path / "long.peep"
    leaves = 2 * LONG  # each one and what replaces it
    sources: list[list[int]] = [[] for _ in range(leaves)] + [
        [leaves + at - 1 if at else LONG, at] for at in range(LONG)
    ]  # the first link reads a replacement, which nothing replaces
    with CaptureWriter(path) as sink:
        sink.append("contexts", {"id": [0], "name": ["chain"], "kind": ["other"]})
        step = {"id": [0], "context": [0], "ordinal": [0], "name": ["walked"], "walk": [True]}
        sink.append("steps", {**step, "root": [leaves + LONG - 1], "matches": [LONG]})
        ops = ["PARAM"] * leaves + ["ADD"] * LONG
        args = [str(at) for at in range(leaves)] + [None] * LONG
        ids = list(range(len(ops)))
        sink.append("nodes", {"id": ids, "op": ops, "dtype": ["int"] * len(ops), "arg": args, "src": sources})
        at = list(range(LONG))
        match = {"step": [0] * LONG, "ordinal": at, "before": at, "after": [LONG + one for one in at]}
        sink.append("matches", match)
    return path


@pytest.fixture
def port(long_pass: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        app = create_app(Library([long_pass]))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        yield sock.getsockname()[1]
        server.should_exit = True
        thread.join(10)


def asked(port: int, path: str) -> http.client.HTTPConnection:
    """A connection on which the request is on its way."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", f"/api/v1/captures/long/{path}")
    return connection


def told(port: int, path: str) -> Any:
    connection = asked(port, path)
    try:
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def progress_when(port: int, wanted: Any) -> dict[str, Any]:
    end = time.monotonic() + 60
    while not wanted(found := told(port, "steps/0/progress")):
        assert time.monotonic() < end, found
    return dict(found)


def test_over_http_progress_is_told_during_a_replay_which_ends_when_the_client_goes(port: int) -> None:
    assert told(port, "steps/0/graph?match=0")["matches"] == LONG
    waiting = asked(port, f"steps/0/graph?match={LONG}")
    first = progress_when(port, lambda found: found["running"] and 0 < found["done"] < LONG)
    assert first == {"step": 0, "name": "walked", "running": True, "done": first["done"], "total": LONG}
    second = progress_when(port, lambda found: found["done"] > first["done"])
    assert second["running"] and second["done"] < LONG, "the replay went on while it was asked about"
    waiting.close()
    stopped = progress_when(port, lambda found: not found["running"])
    assert second["done"] <= stopped["done"] < LONG
    # what was done is kept
    assert told(port, f"steps/0/graph?match={stopped['done']}")["match"] == stopped["done"]
