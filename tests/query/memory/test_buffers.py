"""Memory over time against a plain simulation; who used a buffer."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.cli.main import main
from peephole.query.memory.buffers import alive, devices, memory, memory_events
from peephole.query.timeline.correlations import Links
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

Rows = list[tuple[int, int | None, int]]


def write(folder: Path, rows: Rows) -> Capture:
    with CaptureWriter(folder / "m.peep") as writer:
        if rows:
            alloc, life, size = zip(*rows, strict=True)
            free = [-1 if lives is None else begin + lives for begin, lives in zip(alloc, life, strict=True)]
            n = len(rows)
            columns = {"id": range(n), "device": ["GPU"] * n, "alloc": alloc, "free": free, "bytes": size}
            writer.append("buffers", {**columns, "dtype": ["float"] * n})
        writer.append("buffers", {"id": [900], "device": ["CPU"], "alloc": [5], "bytes": [7]})
    return open_capture(folder / "m.peep")


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 60), st.none() | st.integers(0, 40), st.integers(1, 100)), min_size=1, max_size=30
    )
)
def test_totals_are_what_is_alive(rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        capture = write(Path(folder), rows)
        found = memory(capture, "GPU")
        events = list(memory_events(capture, found, part=7))

        def held(moment: int) -> int:
            return sum(size for a, life, size in rows if a <= moment and (life is None or a + life > moment))

        ends = {event.time: event.total for event in events}
        assert ends == {moment: held(moment) for moment in ends}
        assert found.peak == max(event.total for event in events) >= max(held(m) for m in range(110))
        assert len(events) == len(rows) + sum(life is not None for _, life, _ in rows)
        assert min(event.total for event in events) >= 0
        # an alloc always comes before its free
        seen = set()
        for event in events:
            if event.kind == "alloc":
                seen.add(event.buffer.id)
            assert event.buffer.id in seen
        for moment in (0, 30, 100):
            assert sum(buffer.bytes for buffer in alive(capture, "GPU", moment)) == held(moment)


def test_devices_in_the_order_of_their_first_buffer(tmp_path: Path) -> None:
    capture = write(tmp_path, [(1, 5, 10)])
    assert devices(capture) == ["GPU", "CPU"]
    assert memory(capture, "CPU").peak == 7
    assert memory(capture, "CPU").buffers == (1, 1)


@pytest.fixture
def used(capture_dir: Path) -> Path:
    path = capture_dir / "used.peep"
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0], "name": ["GPU"], "kind": ["device"]})
        columns = {"track": [0, 0], "start": [20, 30], "dur": [5, 5], "name": ["make", "take"]}
        writer.append("slices", {**columns, "correlation": [11, 12]})
        buffers = {"id": [4, 5], "device": ["GPU", "GPU"], "alloc": [10, 12], "free": [40, -1], "bytes": [64, 1000]}
        writer.append("buffers", {**buffers, "dtype": ["float", "int"]})
        uses = {"buffer": [4, 4, 4], "slice": [12, 11, 99], "mode": ["read", "write", "read"], "position": [1, 0, 0]}
        writer.append("uses", uses)
    return path


def test_users_by_time_and_without_those_that_are_gone(used: Path) -> None:
    links = Links(open_capture(used))
    uses, unknown = links.users_of(4)
    assert [(use.slice.name, use.slice.correlation, use.mode, use.position, use.slice.start) for use in uses] == [
        ("make", 11, "write", 0, 20),
        ("take", 12, "read", 1, 30),
    ]
    assert unknown == 1
    assert links.users_of(5) == ([], 0)


def test_the_view(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(used), "--ls", "--json"]) == 0
    assert {"source": "GPU Memory"} in map(json.loads, capsys.readouterr().out.splitlines())
    assert main(["show", str(used), "-s", "GPU Memory", "--json"]) == 0
    peak, *events = map(json.loads, capsys.readouterr().out.splitlines())
    assert (peak["device"], peak["peak_bytes"], peak["peak_ns"], peak["buffers"]) == ("GPU", 1064, 12, 2)
    assert [buffer["buffer"] for buffer in peak["at_peak"]] == [5, 4]
    assert [(e["event"], e["time_ns"], e["buffer"], e["total_bytes"]) for e in events] == [
        ("alloc", 10, 4, 64),
        ("alloc", 12, 5, 1064),
        ("free", 40, 4, 1000),
    ]
    assert [(user["name"], user["mode"]) for user in events[2]["users"]] == [("make", "write"), ("take", "read")]
    assert main(["show", str(used), "-s", "GPU Memory"]) == 0
    text = capsys.readouterr().out
    assert "peak 1.06 kB" in text
    assert "make write@0, take read@1" in text
    assert main(["show", str(used), "-s", "GPU Memry"]) == 2
    assert "did you mean 'GPU Memory'?" in capsys.readouterr().err


def test_a_buffer_is_called_by_its_number_in_its_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ids, names in (([2 << 40 | 7, 2 << 40 | 8], ("b7", "b8")), ([2 << 40 | 7, 3 << 40 | 7], ("p2.b7", "p3.b7"))):
        path = tmp_path / f"{names[1]}.peep"
        with CaptureWriter(path) as writer:
            rows = {"id": ids, "device": ["GPU", "GPU"], "alloc": [10, 12], "free": [40, -1], "bytes": [64, 1000]}
            writer.append("buffers", rows)
        assert main(["show", str(path), "-s", "GPU Memory"]) == 0
        head, events = capsys.readouterr().out.split("\n\n")
        assert f"  {names[1]}\n" in head
        assert [line.split()[-1] for line in events.splitlines()] == [names[0], names[1], names[0]]
        assert main(["show", str(path), "-s", "GPU Memory", "--json"]) == 0
        held = json.loads(capsys.readouterr().out.splitlines()[0])["at_peak"]
        assert [buffer["buffer"] for buffer in held] == ids[::-1]


def test_idle_command(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["idle", str(used), "--json"]) == 0
    gap, busy = map(json.loads, capsys.readouterr().out.splitlines())
    assert gap == {
        "track": "GPU", "track_id": 0, "start_ns": 25, "dur_ns": 5, "before": "make", "after": "take",
    }  # fmt: skip
    assert (busy["busy_ns"], busy["idle_ns"], busy["gaps"]) == (10, 5, 1)
    assert main(["idle", str(used)]) == 0
    assert "66.7%" in capsys.readouterr().out
    assert main(["idle", str(used), "-s", "GPV"]) == 2
    assert "did you mean 'GPU'?" in capsys.readouterr().err
