"""The routes of comparisons: what they answer is what the query says, and bad requests get a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.query.compare.generated import Kernel, write_kernels

from peephole.server.app import create_app
from peephole.server.library import Library

RUNS = {"r_4": [900_000 + 300 * (i % 7) for i in range(20)], "E_8": [50_000] * 20}
OLD = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "E_8", 2, "  y = 2;", 4)]
NEW = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "E_8", 7, "  y = 7;", 4)]


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    paths = [write_kernels(tmp_path / "old.peep", OLD, RUNS), write_kernels(tmp_path / "new.peep", NEW, RUNS)]
    return TestClient(create_app(Library(paths, named=2)), base_url="http://127.0.0.1")


def test_tables_one_kernel_and_both_graphs(client: TestClient) -> None:
    assert client.get("/api/v1/captures").json()["named"] == 2
    found = client.get("/api/v1/captures/old/compare/new").json()
    assert {row["name"]: row["state"] for row in found["kernels"]} == {"r_4": "same", "E_8": "changed"}
    one = client.get("/api/v1/captures/old/compare/new/kernel?name=E_8").json()
    assert [line["text_b"] for line in one["code"] if line["kind"] == "changed"] == ["  y = 7;"]
    sides = {node["op"]: node["side"] for node in one["graphs"]["nodes"] if node["op"] in ("MUL", "BUFFER")}
    assert sides["BUFFER"] == "both" and {n["side"] for n in one["graphs"]["nodes"] if n["op"] == "MUL"} == {"a", "b"}
    keys = {node["key"] for node in one["graphs"]["nodes"]}
    assert all(set(node["src"]) <= keys for node in one["graphs"]["nodes"])


def test_windows_calls_and_memory_of_both(client: TestClient) -> None:
    below = "/api/v1/captures/old/compare/new"
    window = client.get(f"{below}/window?a0=0&a1=5000000&b0=0&b1=5000000&pixels=300&moments=1&kernel=E_8").json()
    (moment,) = window["moments"]
    assert window["a"]["lanes"][0]["title"] == "GPU" and (moment["kind"], moment["name"]) == ("kernel", "E_8")
    assert moment["a"] == moment["b"] > 0
    assert client.get(f"{below}/memory").json() == {"a": [], "b": []}
    assert client.get(f"{below}/calls").json() == {"rows": [], "left_out": 0}


def test_pairs_by_hand_and_the_graphs_of_any_pass(client: TestClient) -> None:
    below = "/api/v1/captures/old/compare/new"
    found = client.get(f"{below}?pairA=r_4&pairB=E_8").json()
    assert {(row["a"], row["b"], row["how"]) for row in found["kernels"]} >= {("r_4", "E_8", "hand")}
    assert "near names: E_8" in client.get(f"{below}?pairA=r_4&pairB=E_88").json()["error"]
    assert client.get(f"{below}?pairA=r_4").status_code == 400
    one = client.get(f"{below}/kernel?name=r_4&pass=View%20Base%20AST").json()
    assert one["chosen"] == "View Base AST" and {node["side"] for node in one["graphs"]["nodes"]} == {"both"}
    assert client.get(f"{below}/kernel?name=r_4&pass=none").status_code == 404


def test_what_is_not_there_is_said(client: TestClient) -> None:
    assert client.get("/api/v1/captures/old/compare/nothing").status_code == 404
    answer = client.get("/api/v1/captures/old/compare/new/kernel?name=E_88")
    assert answer.status_code == 404 and "near names: E_8" in answer.json()["error"]
    assert client.get("/api/v1/captures/old/compare/new/window?pixels=99999").status_code == 400
