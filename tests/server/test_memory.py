"""The routes of the memory page on a capture whose buffers are known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

ORIGIN = 1_700_000_000_000_000_001
"""A time that a float cannot hold: only differences may become one."""
BASE = "/api/v1/captures/mem/memory"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = tmp_path_factory.mktemp("memory") / "mem.peep"
    at = [ORIGIN + time for time in (0, 100, 200, 300, 400)]
    with CaptureWriter(path) as writer:
        writer.append(
            "buffers",
            {
                "id": [1, 2, 3, 4, 5], "device": ["GPU"] * 4 + ["CPU:<1>"], "alloc": at,
                "free": [-1, ORIGIN + 250, ORIGIN + 500, ORIGIN + 900, -1], "bytes": [1000, 300, 200, 400, 8],
                "dtype": ["float"] * 5, "name": ["weights", None, None, "<b>", None],
            },
        )  # fmt: skip
        slices = {"track": [0, 0], "depth": [0, 0], "start": [ORIGIN + 110, ORIGIN + 600], "dur": [50, 400]}
        writer.append("slices", {**slices, "name": ["make", "use"], "correlation": [7, 8]})
        uses = {"buffer": [4, 4], "slice": [7, 8], "mode": ["write", "read"], "position": [0, 1]}
        writer.append("uses", uses)
    return TestClient(create_app(Library([path])), base_url="http://127.0.0.1")


def window(client: TestClient, query: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    body = client.get(f"{BASE}/window?{query}").content
    length = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + length])
    n, m, at = head["bands"], head["pixels"], 4 + length
    columns = []
    for size in [n] * 5 + [m] * 3:
        columns.append(np.frombuffer(body, "<f8", size, at))
        at += 8 * size
    for _ in range(2):
        columns.append(np.frombuffer(body, "<i4", n, at))
        at += 4 * n
    assert at == len(body)
    return head, columns


def test_devices(client: TestClient) -> None:
    answer = client.get(BASE).json()
    assert answer["duration"] == 1000
    gpu, cpu = answer["devices"]
    assert (gpu["name"], gpu["buffers"], gpu["living"], gpu["peak"], gpu["peakTime"]) == ("GPU", 4, 1, 1600, 300)
    # something of each is never freed: until the end
    assert (gpu["first"], gpu["last"], cpu["first"], cpu["last"]) == (0, 1000, 400, 1000)
    assert cpu["name"] == "CPU:<1>" and max(gpu["spark"]) == 1600 and len(gpu["spark"]) == 32


def test_window(client: TestClient) -> None:
    head, (alloc, free, offset, size, number, start, low, high, _, name) = window(client, "device=GPU&px=100")
    # the first begins with the window and is never freed: it lives through all of it
    assert (head["folded"], head["foldedBytes"], head["left"]) == (1, 1000, 0)
    assert number.tolist() == [2, 3, 4] and alloc.tolist() == [100, 200, 300] and free.tolist() == [250, 500, 900]
    assert offset.tolist() == [1000, 1400, 1000] and size.tolist() == [300, 200, 400]
    assert head["names"][int(name[2])] == "<b>"
    assert high.max() == 1600 and len(start) == 100 and low.min() == 1000
    head, columns = window(client, "device=GPU&px=100&most=1")
    assert (head["left"], head["leftBytes"], columns[4].tolist()) == (2, 500, [4])
    # on the screen is what b4 lives through: it comes beside the others
    head, columns = window(client, "device=GPU&px=100&most=2&v0=310&v1=800")
    assert (head["left"], columns[4].tolist()) == (0, [2, 3, 4])
    head, columns = window(client, "device=GPU&t0=320&t1=480&px=10")
    assert head["folded"] == 3 and head["bands"] == 0


def test_alive_largest_first(client: TestClient) -> None:
    answer = client.get(f"{BASE}/alive?device=GPU&time=320").json()
    assert answer["id"] == [1, 4, 3] and answer["total"] == 1600 and answer["count"] == 3
    assert [answer["producers"][code] for code in answer["producer"]] == ["weights", "<b>", ""]


def test_buffer(client: TestClient) -> None:
    answer = client.get(f"{BASE}/buffers/4").json()
    assert (answer["device"], answer["alloc"], answer["free"], answer["bytes"]) == ("GPU", 300, 900, 400)
    assert (answer["before"], answer["after"], answer["atPeak"]) == (3, -1, True)
    assert answer["producer"]["name"] == "make" and answer["producer"]["row"] == 0
    (use,) = answer["readers"]
    assert (answer["reads"], answer["writers"], answer["writes"]) == (1, [], 0)
    assert (use["name"], use["mode"], use["position"], use["start"]) == ("use", "read", 1, 600)
    assert (answer["untouched"]["begin"], answer["untouched"]["end"]) == (160, 600)


@pytest.mark.parametrize(
    "path", ["/window?device=nowhere", "/alive?device=", "/buffers/77", "/buffers/x", "/alive?device=GPU&time=soon"]
)
def test_bad_requests_are_one_sentence(client: TestClient, path: str) -> None:
    answer = client.get(BASE + path)
    assert answer.status_code in (400, 404) and answer.json()["error"].endswith(".")
