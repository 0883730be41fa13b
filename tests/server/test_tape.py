"""What the page is told about a tape, on tapes that the test writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from peephole.ingest import import_files
from peephole.query.tape.tape import tape
from peephole.query.tape.window import cell_of, cut, matching
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture

BASE = "/api/v1/captures/t/tape"
HEADER = "=" * 100 + "\nGT2 Dispatcher Instruction Stream\nStarted: 2026-01-02 03:04:05\n" + "=" * 100 + "\n\n"


def tape_text(line: Any, commands: int = 3, begin: float = 2.0, ops: tuple[str, ...] = ("matmul",)) -> str:
    """Two workers register, then a client asks: each command takes one millisecond, all of it on worker_0."""
    lines = [HEADER]
    seq = 0
    for k in (0, 1):
        lines.append(line(0.1 + k / 10, seq + 1, "RECV", f"WORKER w{k}", "RegisterWorker", "85B", f"worker_id=w{k}"))
        lines.append(line(0.1 + k / 10, seq + 2, "SEND", f"WORKER w{k}", "RegisterWorker", "91B", "success=True"))
        seq += 2
    for i in range(commands):
        op, time = ops[i % len(ops)], begin + i / 1000
        facts = f"result={i} op={op} left=1 right=2"
        lines.append(line(time, seq + 1, "RECV", "CLIENT CLIENT 00ab", "BinaryOp", "109B", facts))
        lines.append(line(time, seq + 2, "MODIFIER_INJECT", "CLIENT CLIENT 00ab", "BinaryOp", "", facts))
        lines.append(line(time, seq + 3, "WORKER_SEND", "WORKER w0", "WorkerBinaryOp", "195B", facts))
        lines.append(line(time + 0.001, seq + 4, "WORKER_RECV", "WORKER w0", "WorkerBinaryOp", "91B", "success=True"))
        lines.append(line(time + 0.001, seq + 5, "SEND", "CLIENT CLIENT 00ab", "BinaryOp", "91B", "success=True"))
        seq += 5
    return "".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tape")


def client_of(folder: Path, text: str, name: str) -> TestClient:
    source = folder / f"{name}.txt"
    source.write_text(text)
    target = folder / name / "t.peep"
    target.parent.mkdir()
    capture = import_files([source], target)
    return TestClient(create_app(Library([capture])), base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def small(folder: Path, tape_line: Any) -> TestClient:
    return client_of(folder, tape_text(tape_line, ops=("matmul", "add")), "small")


@pytest.fixture(scope="module")
def large(folder: Path, tape_line: Any) -> TestClient:
    return client_of(folder, tape_text(tape_line, 4000, ops=("matmul", "add", "relu")), "large")


def window(client: TestClient, **query: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The head of a window and its columns by name."""
    reply = client.get(f"{BASE}/window", params=query)
    assert reply.status_code == 200, reply.text
    body = reply.content
    size = int.from_bytes(body[:4], "little")
    assert (4 + size) % 8 == 0
    head = json.loads(body[4 : 4 + size])
    marks, columns, arrows = head["marks"], head["columns"], head["arrows"]
    wide = {"time": marks, "dur": marks, "size": marks, "start": columns, "from": arrows, "to": arrows, "bytes": arrows}
    narrow = dict.fromkeys(("seq", "lane", "place", "many", "event", "family", "op", "flags"), marks)
    narrow |= dict.fromkeys(("column_lane", "column_family", "count", "first"), columns)
    narrow |= dict.fromkeys(("source", "target", "messages"), arrows)
    at, found = 4 + size, {}
    for names, kind, width in ((wide, "<f8", 8), (narrow, "<i4", 4)):
        for name, length in names.items():
            found[name] = np.frombuffer(body, kind, length, at)
            at += width * length
    assert at == len(body)
    return head, found


def test_summary(small: TestClient) -> None:
    told = small.get(BASE).json()
    assert [(lane["name"], lane["kind"]) for lane in told["lanes"]] == [
        ("Client", "client"), ("Dispatcher", "dispatcher"), ("w0", "worker"), ("w1", "worker"),
    ]  # fmt: skip
    assert told["events"] == 19
    assert told["lead"] and told["parts"] == [[2_000_000_000, 2_003_000_000]] and told["early"] == 4
    colours = {family["name"]: family["colour"] for family in told["families"]}
    assert colours["MatMul"] == "#d62728" and colours["BinaryOp"] == "#1f6fb5"
    shapes = {kind["name"]: kind["shape"] for kind in told["kinds"]}
    assert shapes["RECV"] == "o" and shapes["WORKER_SEND"] == ">"
    assert {"source": "Dispatcher", "target": "w0", "messages": 4, "bytes": 3 * 195 + 91, "unknown": 0} in told["pairs"]
    assert told["balance"]["busiest"] == "w0" and told["balance"]["idle"] == ["w1"]


def test_marks_of_one_millisecond_stand_in_order(small: TestClient) -> None:
    head, found = window(small, t0=2_000_000_000, t1=2_003_000_001, per=4_000)
    assert head["stack"] == 1_000_000 and head["columns"] == 0
    assert head["marks"] == 15 and head["kept"] == 19
    # the second millisecond holds the client's SEND of the first command (#9) and its RECV of the second (#10)
    pick = [found["seq"].tolist().index(seq) for seq in (9, 10)]
    assert found["time"][pick].tolist() == [2_001_000_000] * 2
    assert found["place"][pick].tolist() == [0, 1] and found["many"][pick].tolist() == [2, 2]


def test_arrows_of_one_moment_and_pair_are_one(small: TestClient) -> None:
    _, near = window(small, t0=2_000_000_000, t1=2_003_000_001, per=4_000)
    assert near["messages"].tolist() == [1] * 12
    _, far = window(small, t0=2_000_000_000, t1=2_003_000_001, per=1_000_000)
    assert far["messages"].sum() == 12 and far["messages"].max() > 1
    pairs = list(zip(far["source"].tolist(), far["target"].tolist(), strict=True))
    assert len(pairs) == len(set(pairs)) == 4
    to_worker = pairs.index((1, 2))
    assert far["bytes"][to_worker] == 3 * 195


def test_many_events_become_columns(large: TestClient) -> None:
    head, found = window(large, t0=2_000_000_000, t1=6_010_000_000, per=4_000_000)
    assert head["marks"] == 0 and head["columns"] > 100
    assert found["count"].sum() == 20_000
    assert head["arrows"] < 2000 and found["messages"].sum() == 16_000
    near, single = window(large, t0=3_000_000_000, t1=3_020_000_000, per=20_000)
    assert near["columns"] == 0 and near["marks"] > 90
    assert (np.diff(single["time"][single["lane"] == 0]) >= 0).all()


def test_columns_do_not_move_while_panning(large: TestClient) -> None:
    _, here = window(large, t0=2_000_000_000, t1=4_000_000_000, per=2_000_000)
    _, there = window(large, t0=2_345_678_901, t1=4_345_678_901, per=2_000_000)

    def inner(found: dict[str, Any]) -> set[tuple[int, ...]]:
        rows = zip(found["start"], found["column_lane"], found["column_family"], found["count"], strict=True)
        return {tuple(map(int, row)) for row in rows if 2_400_000_000 < row[0] < 3_900_000_000}

    assert inner(here) == inner(there) != set()


def test_a_filter_keeps_operations_and_workers(small: TestClient) -> None:
    head, found = window(small, t0=0, t1=3_000_000_000, per=4_000, q="matmul")
    assert head["kept"] < 19 and head["lanes"] == [0, 1, 2, 3]
    names = small.get(BASE).json()["families"]
    assert {names[i]["name"] for i in found["family"]} == {"MatMul"}
    assert window(small, t0=0, t1=3_000_000_000, per=4_000, q="w0")[0]["lanes"] == [0, 1, 2]
    assert window(small, t0=0, t1=3_000_000_000, per=4_000, q="w1 add")[0]["lanes"] == [0, 1, 3]
    assert window(small, t0=0, t1=3_000_000_000, per=4_000, q="matmul,add")[0]["kept"] == 15
    assert window(small, t0=0, t1=3_000_000_000, per=4_000, q="nothing")[0]["kept"] == 0


def test_the_list_knows_where_the_window_begins(large: TestClient) -> None:
    head, _ = window(large, t0=0, t1=9_000_000_000, v0=3_000_000_000, v1=3_001_000_000, per=4_000)
    rows = large.get(f"{BASE}/messages", params={"first": head["first"], "count": head["visible"] + 1}).json()
    assert rows["total"] == 20_004
    assert rows["time"][0] == 3_000_000_000 and set(rows["time"][:-1]) == {3_000_000_000}
    assert rows["time"][-1] > 3_000_000_000


def test_message(small: TestClient) -> None:
    told = small.get(f"{BASE}/messages/7").json()
    assert told["command"] == "WorkerBinaryOp" and (told["source"], told["target"]) == (1, 2)
    assert told["pair"]["seq"] == 8 and told["of"]["seq"] == 5 and told["together"] == 2
    assert told["place"] == 6 and small.get(f"{BASE}/messages/7?q=w1").json()["place"] == -1
    missing = small.get(f"{BASE}/messages/999")
    assert missing.status_code == 404 and "#999" in missing.json()["error"]


@pytest.mark.parametrize("query", ["t0=5&t1=5&per=1", "t0=0&t1=9&per=0", "t0=0&t1=9&per=nan", "t0=x&t1=9&per=1"])
def test_a_bad_window_is_refused(small: TestClient, query: str) -> None:
    reply = small.get(f"{BASE}/window?{query}")
    assert reply.status_code == 400 and reply.json()["error"].endswith(".")


def test_runs(folder: Path, tape_line: Any) -> None:
    client = client_of(folder, tape_text(tape_line, 2) + tape_text(tape_line, 5), "runs")
    told = client.get(BASE).json()
    assert [run["events"] for run in told["runs"]] == [14, 29] and told["run"] == 2
    assert client.get(f"{BASE}?run=1").json()["events"] == 14
    assert client.get(f"{BASE}/messages?run=1").json()["total"] == 14
    reply = client.get(f"{BASE}?run=3")
    assert reply.status_code == 404 and "run 3" in reply.json()["error"]


def test_no_tape(client: TestClient) -> None:
    reply = client.get("/api/v1/captures/hand/tape")
    assert reply.status_code == 404 and "holds no tape" in reply.json()["error"]


def test_cells_are_multiples_of_the_clock() -> None:
    assert cell_of(1_000_000, 10) == 1_000_000
    assert cell_of(1_000_000, 5_000_000) == 8_000_000
    assert cell_of(1, 1000) == 1024


def test_the_real_tape(shared: Any, tmp_path: Path) -> None:
    source = shared("fixtures/gt/10_long_4w_6000iters.log")
    found = tape(open_capture(import_files([source], tmp_path / "long.peep")))
    keep, lanes = matching(found, "")
    assert len(lanes) == 6
    whole = cut(found, keep, 0, 30_000_000_000, 20_000_000)
    assert whole.columns.count.sum() + len(whole.marks.row) >= 120_000
    assert len(whole.columns.start) < 10_000 and len(whole.arrows.start) < 1000
