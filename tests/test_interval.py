"""One rule of an interval: terminal, Top page and the figures of a range give the same numbers for the same one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from peephole.cli.main import main
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

ORIGIN = 1_700_000_000_000_000_000
GPUS = {1: "GPU:0", 2: "GPU:1"}


class Slice(NamedTuple):
    track: int
    start: int
    dur: int
    name: str
    flops: float | None = None
    bytes_per_s: float | None = None


SLICES = [
    Slice(1, 0, 1000, "gemm", 100.0, 10.0),
    Slice(1, 1000, 500, "add", 8.0),
    Slice(1, 2000, 1000, "gemm", 400.0),
    Slice(1, 3000, 0, "nothing"),
    Slice(1, 3000, 3000, "gemm", 200.0, 50.0),
    Slice(2, 100, 5000, "gemm", 50.0, 20.0),
    Slice(2, 5200, 300, "add", 1.0),
    Slice(3, 0, 400, "copy"),
    Slice(3, 1600, 800, "copy"),
]
"""The first and the last reach over the borders of most intervals below, and rates differ from run to run."""
INTERVALS = [
    (0, 6000),
    (700, 4200),  # cuts slices at both borders, on both devices
    (2100, 2200),  # lies within one slice a device
    (1000, 3000),  # borders on which slices end and begin
    (3000, 3001),
    (5100, 5200),  # only one device works
    (1500, 2000),  # nothing on the first
    (4200, 4200),  # no longer than a moment
]


class Sums(NamedTuple):
    total: int
    runs: int
    shortest: int
    longest: int


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interval") / "cut.peep"
    with CaptureWriter(path) as writer:
        names, kinds = ["USER", *GPUS.values(), "GPU:COPY"], ["user", "device", "device", "copy"]
        writer.append("tracks", {"id": [0, 1, 2, 3], "name": names, "kind": kinds, "order": [0, 1, 2, 3]})
        writer.append("contexts", {"id": [7], "name": ["gemm"], "kind": ["kernel"]})
        slices = [Slice(0, 0, 6000, "train"), *SLICES]
        args = [{"flops": one.flops, "bytes_per_s": one.bytes_per_s} for one in slices]
        known = [{key: value for key, value in one.items() if value is not None} for one in args]
        copied = [{"bytes": 800} if one.name == "copy" else facts for one, facts in zip(slices, known, strict=True)]
        columns: dict[str, list[Any]] = {
            "track": [one.track for one in slices],
            "depth": [0] * len(slices),
            "start": [ORIGIN + one.start for one in slices],
            "dur": [one.dur for one in slices],
            "name": [one.name for one in slices],
            "context": [7 if one.track in GPUS else -1 for one in slices],
            "args": [json.dumps(facts) for facts in copied],
        }
        writer.append("slices", columns)
    return path


@pytest.fixture(scope="module")
def page(capture: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Library([capture])), base_url="http://127.0.0.1/api/v1/captures/cut/") as client:
        yield client


def parts(track: int | None, t0: int, t1: int) -> dict[str, list[tuple[Slice, int]]]:
    """The slices of devices that overlap an interval, by name, each with its ns inside: counted one by one."""
    t1 = max(t1, t0 + 1)
    found: dict[str, list[tuple[Slice, int]]] = {}
    for one in SLICES:
        overlaps = one.start < t1 and (one.start >= t0 or one.start + one.dur > t0)
        if overlaps and (one.track == track or (track is None and one.track in GPUS)):
            inside = min(one.start + one.dur, t1) - max(one.start, t0)
            found.setdefault(one.name, []).append((one, inside))
    return found


def sums(track: int | None, t0: int, t1: int) -> dict[str, Sums]:
    found = {name: [ns for _, ns in own] for name, own in parts(track, t0, t1).items()}
    return {name: Sums(sum(own), len(own), min(own), max(own)) for name, own in found.items()}


def speeds(track: int | None, t0: int, t1: int, key: str) -> dict[str, int]:
    """Work divided by time, of the runs whose work is known; -1 for none."""
    found = {}
    for name, own in parts(track, t0, t1).items():
        known = [(getattr(one, key), ns) for one, ns in own if getattr(one, key) is not None]
        time = sum(ns for _, ns in known)
        found[name] = round(sum(rate * ns for rate, ns in known) / time) if time else -1
    return found


def printed(capsys: pytest.CaptureFixture[str], capture: Path, t0: int, t1: int, *words: str) -> list[dict[str, Any]]:
    ends = [str(ORIGIN + t0), str(ORIGIN + t1)]
    assert main(["show", str(capture), *words, "--interval", *ends, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(("t0", "t1"), INTERVALS)
@pytest.mark.parametrize("track", [1, 2, None])
def test_terminal_top_and_range_give_the_same_numbers(
    capture: Path, page: TestClient, capsys: pytest.CaptureFixture[str], track: int | None, t0: int, t1: int
) -> None:
    source = [] if track is None else ["-s", GPUS[track]]
    rows = [row for row in printed(capsys, capture, t0, t1, "-t", "-1", *source) if row["track"] in GPUS.values()]
    terminal: dict[str, Sums] = {}
    for row in rows:
        own = Sums(row["total_ns"], row["count"], row["min_ns"], row["max_ns"])
        both = [own, *([terminal[row["name"]]] if row["name"] in terminal else [])]
        terminal[row["name"]] = Sums(
            sum(one.total for one in both), sum(one.runs for one in both),
            min(one.shortest for one in both), max(one.longest for one in both),
        )  # fmt: skip
    only = {} if track is None else {"tracks": str(track)}
    top = page.get("top", params={"group": "kernels", "t0": t0, "t1": t1, **only}).json()
    columns = zip(top["name"], top["sum"], top["runs"], top["shortest"], top["longest"], strict=True)
    shown = {name: Sums(*numbers) for name, *numbers in columns}
    assert terminal == shown == sums(track, t0, t1)

    for key, column in (("flops", "flops"), ("bytes_per_s", "bytesPerS")):
        expected = speeds(track, t0, t1, key)
        assert {name: round(rate) for name, rate in zip(top["name"], top[column], strict=True)} == expected
        if track is not None:
            assert {row["name"]: row.get(key, -1) for row in rows} == expected

    figures = page.get("timeline/range", params={"t0": t0, "t1": t1}).json()
    if track is None:
        assert {row["name"]: (row["total"], row["count"]) for row in figures["top"]} == {
            name: (own.total, own.runs) for name, own in shown.items() if own.total
        }
        assert figures["kernels"] == top["count"] == sum(row["count"] for row in rows)
    else:
        busy = next((row for row in figures["tracks"] if row["track"] == track), {"busy": 0, "count": 0})
        assert (busy["busy"], busy["count"]) == (top["total"], top["count"])


@pytest.mark.parametrize(("t0", "t1"), INTERVALS)
def test_an_item_lists_the_runs_that_its_sum_counts(
    capture: Path, capsys: pytest.CaptureFixture[str], t0: int, t1: int
) -> None:
    expected = sums(2, t0, t1).get("gemm")
    if expected is not None:
        first, *runs = printed(capsys, capture, t0, t1, "-s", "GPU:1", "-i", "gemm")
        assert Sums(first["total_ns"], first["count"], first["min_ns"], first["max_ns"]) == expected
        assert [run["name"] for run in runs] == ["gemm"] * expected.runs
    items = printed(capsys, capture, t0, t1, "-s", "GPU:1", "--ls")
    assert {item["item"]: (item["total_ns"], item["slices"]) for item in items} == {
        name: (own.total, own.runs) for name, own in sums(2, t0, t1).items()
    }


def test_a_copy_over_the_edge_of_a_range_has_its_part_of_the_bytes(page: TestClient) -> None:
    def copied(t0: int, t1: int) -> tuple[int, int]:
        figures = page.get("timeline/range", params={"t0": t0, "t1": t1}).json()
        return figures["copies"], figures["copied"]

    assert copied(0, 6000) == (2, 1600)
    assert copied(100, 1700) == (2, 600 + 100)
    assert copied(1700, 1900) == (1, 200)
    assert copied(500, 1600) == (0, 0)
