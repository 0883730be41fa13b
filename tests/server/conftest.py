"""A capture made by hand, with hostile names in it, behind a test client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.server.security import Gate
from peephole.store.writer import CaptureWriter

HOSTILE = "<img src=x onerror=alert(1)>\"'\u202eabc\x00\x1b[31m"
BASE = "http://127.0.0.1"


def write_capture(path: Path, name: str = HOSTILE) -> Path:
    """Two contexts; the first has a pass in which x*1 -> x and x+0 -> x fired."""
    with CaptureWriter(path) as writer:
        writer.describe(name="by hand", source="test", program="prog.py", frameworks={"tinygrad": "0.14.0"})
        writer.append(
            "contexts",
            {
                "id": [0, 1],
                "name": [name, "r_16_4"],
                "kind": ["schedule", "kernel"],
                "parent": [-1, 0],
                "function": ["schedule", "codegen"],
                "keys": ["[]", json.dumps(["r_16_4"])],
                "stack": [json.dumps([["/prog.py", 3, "main", "x.realize()"]]), "not json"],
            },
        )
        writer.append(
            "nodes",
            {
                "id": [0, 1, 2, 3, 4, 5, 6],
                "op": ["PARAM", "CONST", "MUL", "ADD", "SINK", "CONST", "ADD"],
                "dtype": ["float", "float", "float", "float", "void", "float", "float"],
                "arg": ["0", "1.0", None, None, None, "0.0", None],
                "src": [[], [], [0, 1], [2, 5], [3], [], [0, 5]],
                "tag": [None] * 7,
                "shape": ["(4,)", "()", "(4,)", "(4,)", None, "()", "(4,)"],
            },
        )
        writer.append(
            "steps",
            {
                "id": [0, 1],
                "context": [0, 1],
                "ordinal": [0, 0],
                "name": ["symbolic", "View Base AST"],
                "file": ["/nowhere/rules.py", "/nowhere/rules.py"],
                "line": [12, 14],
                "root": [4, 4],
                "matches": [2, 0],
                "dur": [5000, 10],
            },
        )
        writer.append(
            "matches",
            {
                "step": [0, 0],
                "ordinal": [0, 1],
                "before": [2, 6],
                "after": [0, 0],
                "file": ["/nowhere/rules.py"] * 2,
                "line": [30, 31],
                "dur": [1500, 700],
            },
        )
        writer.append("tracks", {"id": [0, 1], "name": ["CPU", "TINY"], "kind": ["device", "tiny"]})
        start = {"track": [0, 0, 0, 1], "start": [0, 1000, 2000, 0], "dur": [100, 200, 300, 5000]}
        writer.append("slices", {**start, "name": ["r_16_4"] * 4, "context": [1] * 4})
        writer.append(
            "artifacts",
            {
                "context": [1, 1],
                "step": [-1, -1],
                "kind": ["source", "binary"],
                "language": ["c", ""],
                "name": ["r_16_4", "r_16_4.o"],
                "content": [b"void r_16_4(float* a) {\n  a[0] = 1.0f;\n}", bytes(range(40))],
            },
        )
    return path


@pytest.fixture(scope="session")
def capture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("captures") / "hand.peep")


@pytest.fixture
def client(capture_path: Path) -> TestClient:
    return TestClient(create_app(Library([capture_path])), base_url=BASE, raise_server_exceptions=False)


@pytest.fixture
def guarded(capture_path: Path) -> TestClient:
    """As it is on an address beyond loopback."""
    gate = Gate(frozenset({"box"}), "s3cret", "peephole_8800")
    return TestClient(create_app(Library([capture_path]), gate), base_url="http://192.0.2.7", follow_redirects=False)
