"""The timeline's replies: raw arrays that hold what the tables hold, and clear words for a bad request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.timeline_capture import KERNELS, MS, ORIGIN, STEPS, rows, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

BELOW = "/api/v1/captures/steps"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = write_timeline(tmp_path_factory.mktemp("timeline") / "steps.peep")
    return TestClient(create_app(Library([path])), base_url="http://127.0.0.1", raise_server_exceptions=False)


def head_of(content: bytes) -> tuple[dict[str, Any], int]:
    length = int(np.frombuffer(content, np.uint32, 1)[0])
    assert (4 + length) % 8 == 0
    return json.loads(content[4 : 4 + length]), 4 + length


def lanes_of(content: bytes) -> tuple[dict[str, Any], list[list[np.ndarray[Any, Any]]]]:
    head, at = head_of(content)
    total = sum(head["n"])
    columns = []
    for kind in (np.float64, np.float64, np.float32, np.uint32, np.uint32, np.int32):
        columns.append(np.frombuffer(content, kind, total, at))
        at += total * np.dtype(kind).itemsize
    assert at == len(content)
    ends = np.cumsum(head["n"])[:-1]
    return head, [list(lane) for lane in zip(*(np.split(column, ends) for column in columns), strict=True)]


def test_the_whole_names_tracks_markers_and_times_from_its_origin(client: TestClient) -> None:
    whole = client.get(f"{BELOW}/timeline").json()
    assert (whole["origin"], whole["span"]) == (str(ORIGIN), 119 * MS)
    assert whole["slices"] == len(rows()["start"])
    assert whole["markers"]["time"] == [step * 20 * MS for step in range(STEPS)]
    assert whole["tracks"]["name"][:4] == ["USER", "TINY", "CPU", "CPU:1"]


def test_a_window_has_the_slices_of_each_lane(client: TestClient) -> None:
    names = client.get(f"{BELOW}/timeline/names").json()
    reply = client.get(f"{BELOW}/timeline/window?t0=0&t1={20 * MS}&px=1000&lanes=3:0,2:1,99:0")
    assert reply.headers["content-encoding"] == "identity"
    head, lanes = lanes_of(reply.content)
    assert head["width"] == [0, 0, 0]
    every = rows()
    for lane, (track, depth) in zip(lanes, ((3, 0), (2, 1), (99, 0)), strict=True):
        expected = sorted(
            (start - ORIGIN, start - ORIGIN + dur, name)
            for t, d, start, dur, name in zip(
                every["track"], every["depth"], every["start"], every["dur"], every["name"], strict=True
            )
            if (t, d) == (track, depth) and start < ORIGIN + 20 * MS
        )
        start, end, busy, count, row, name = lane
        # whole buckets are given: a slice that begins just after the window may be there too
        shown = start < 20 * MS
        found = list(zip(start[shown], end[shown], (names["text"][n] for n in name[shown]), strict=True))
        assert found == expected
        assert (busy == 1).all()
        assert (count == 1).all()
        assert (np.diff(row.astype(np.int64)) == 1).all()


def test_a_window_zoomed_out_holds_all_busy_time(client: TestClient) -> None:
    _, [lane] = lanes_of(client.get(f"{BELOW}/timeline/window?px=8&lanes=3:0").content)
    every = rows()
    busy = sum(dur for track, dur in zip(every["track"], every["dur"], strict=True) if track == 3)
    assert float(((lane[1] - lane[0]) * lane[2]).sum()) == pytest.approx(busy, rel=1e-5)
    assert int(lane[3].sum()) == STEPS * 42


def test_series_of_memory_and_counters(client: TestClient) -> None:
    reply = client.get(f"{BELOW}/timeline/series?px=119&counters=7&memory=CPU&memory=CPU:1").content
    head, at = head_of(reply)
    assert head["peak"] == [80.0, 196_600 + 787_700, 32_800]
    assert head["peakTime"] == [20 * MS, 5 * MS, 10 * MS]
    total = sum(head["n"])
    high = np.frombuffer(reply, np.float64, total, at + 16 * total)
    assert high[head["n"][0] :].max() == 196_600 + 787_700


def test_a_slice_with_its_links(client: TestClient) -> None:
    row = client.get(f"{BELOW}/timeline/at?track=3&depth=0&time={20 * MS + 4}").json()["row"]
    found = client.get(f"{BELOW}/timeline/slice?row={row}").json()
    assert (found["name"], found["start"], found["dur"]) == (KERNELS[0], 20 * MS, 6 * MS + 1)
    links = client.get(f"{BELOW}/timeline/links?row={row}").json()
    assert [buffer["mode"] for buffer in links["buffers"]] == ["write", "read"]
    assert links["runs"] == 2 * STEPS


def test_search_steps_around(client: TestClient) -> None:
    first = client.get(f"{BELOW}/timeline/search?q=r_16_32&time={100 * MS + 5}").json()
    assert first["total"] == 2 * STEPS
    assert first["start"] == 100 * MS + 1000
    after = client.get(f"{BELOW}/timeline/search?q=r_16_32&place={first['place'] + 1}").json()
    assert (after["place"], after["start"]) == (0, 0)


def test_gaps_longest_first(client: TestClient) -> None:
    gaps = client.get(f"{BELOW}/timeline/gaps?limit=5").json()["gaps"]
    assert [gap["dur"] for gap in gaps] == sorted((gap["dur"] for gap in gaps), reverse=True)
    assert (gaps[0]["before"], gaps[0]["after"]) == (KERNELS[2], KERNELS[0])


def test_top_by_column(client: TestClient) -> None:
    top = client.get(f"{BELOW}/top").json()
    assert top["name"] == list(KERNELS)
    assert top["flops"][0] == pytest.approx(1.36e12)
    assert len(top["histogram"]) == 3 * top["bins"]
    runs = client.get(f"{BELOW}/top/runs?name={top['number'][0]}").json()
    assert runs["slowest"][0]["marker"] == f"train @ {STEPS - 1}"


def test_speeds_of_kernels_on_any_of_many_tracks(tmp_path: Path) -> None:
    """Hundreds of names, each on a track of its own among thousands: what occurs is looked at, not what could."""
    count = 3000
    with CaptureWriter(tmp_path / "many.peep") as writer:
        ids = list(range(count))
        writer.append("tracks", {"id": ids, "name": [f"GPU {i}" for i in ids], "kind": ["device"] * count})
        writer.append("contexts", {"id": [0], "name": ["k"], "kind": ["kernel"]})
        args = [json.dumps({"flops": 1000.0 + i}) for i in ids]
        facts = {"track": ids, "start": [0] * count, "dur": [10] * count, "name": [f"k{i}" for i in ids]}
        writer.append("slices", {**facts, "context": [0] * count, "args": args})
    client = TestClient(create_app(Library([tmp_path / "many.peep"])), base_url="http://127.0.0.1")
    top = client.get("/api/v1/captures/many/top").json()
    assert sorted(zip(top["name"], top["flops"], strict=True)) == sorted((f"k{i}", 1000.0 + i) for i in ids)
    top = client.get("/api/v1/captures/many/top?tracks=2999").json()
    assert (top["name"], top["flops"]) == (["k2999"], [3999.0])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("timeline/window?lanes=x:0", 400),
        ("timeline/window?lanes=" + ",".join(["1:0"] * 3000), 400),
        ("timeline/window?t0=5&t1=1", 400),
        ("timeline/slice?row=99999", 404),
        ("timeline/links?row=99999", 404),
        ("top?group=none", 400),
        ("top/runs?name=9999", 404),
        ("timeline/range?t0=a", 400),
    ],
)
def test_a_bad_request_gets_one_sentence(client: TestClient, path: str, status: int) -> None:
    reply = client.get(f"{BELOW}/{path}")
    assert reply.status_code == status
    assert reply.json()["error"].endswith(".")


def test_an_empty_capture(tmp_path: Path) -> None:
    from peephole.store.writer import CaptureWriter

    with CaptureWriter(tmp_path / "none.peep") as writer:
        writer.describe(name="none")
    client = TestClient(create_app(Library([tmp_path / "none.peep"])), base_url="http://127.0.0.1")
    whole = client.get("/api/v1/captures/none/timeline").json()
    assert (whole["span"], whole["slices"], whole["tracks"]["id"]) == (0, 0, [])
    assert client.get("/api/v1/captures/none/timeline/overview?px=10").status_code == 200
    assert client.get("/api/v1/captures/none/timeline/range").json()["top"] == []


def test_a_window_further_than_a_page_can_count(tmp_path: Path) -> None:
    """A wild time stamp makes a capture longer than 2^53 ns; its tiles end beyond that."""
    with CaptureWriter(tmp_path / "wild.peep") as writer:
        writer.append("tracks", {"id": [1], "name": ["CPU"], "kind": ["device"], "parent": [-1]})
        rows = {
            "track": [1, 1],
            "depth": [0, 0],
            "start": [5, 9_223_372_036_854_000],
            "dur": [2_000, 7],
            "name": ["a", "b"],
        }
        writer.append("slices", rows)
    wild = TestClient(create_app(Library([tmp_path / "wild.peep"])), base_url="http://127.0.0.1")
    ask = "/api/v1/captures/wild/timeline/window?t0=0&px=2560&lanes=1:0&t1="
    for end in (11_258_999_068_426_240, 2**62):
        reply = wild.get(f"{ask}{end}")
        assert reply.status_code == 200, reply.text
    assert wild.get(f"{ask}1e30").status_code == 400
    assert wild.get(f"{ask}{10**19}").status_code == 400


def test_facts_that_json_lacks_reach_the_page_as_texts(tmp_path: Path) -> None:
    """A loss that is not a number is what a training run is looked at for."""
    with CaptureWriter(tmp_path / "odd.peep") as writer:
        args = ['{"loss": NaN, "scale": 1e999}', "[1]", "[" * 900 + "]" * 900]
        rows = {"track": [1] * 3, "start": [0, 1, 2], "dur": [1] * 3, "name": ["step"] * 3, "args": args}
        writer.append("slices", rows)
    odd = TestClient(create_app(Library([tmp_path / "odd.peep"])), base_url="http://127.0.0.1")

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    texts = [odd.get(f"/api/v1/captures/odd/timeline/slice?row={row}").text for row in range(3)]
    assert [json.loads(text, parse_constant=refuse)["args"] for text in texts] == [
        {"loss": "NaN", "scale": "1e999"},
        {"args": [1]},
        {"args": args[2]},
    ]
