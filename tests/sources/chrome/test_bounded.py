"""Memory of an import does not grow with the number of slices; arrows and rows are what they are in memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from peephole.sources.chrome.binding import SLICE, bind
from peephole.store.sealing import long_lanes, slice_table, spool
from peephole.store.tables import lanes
from peephole.store.writer import CaptureWriter

# The chunks of the spool, which may take up to a fixed size, go to the disk at once: only what grows is left.
IMPORT = """
import sys
from pathlib import Path
from peephole.model.sink import Strings
from peephole.sources.chrome.batch import EventBatch
from peephole.sources.chrome.flows import Flows
from peephole.store.sealing import spool
from peephole.store.writer import CaptureWriter
import numpy as np

def anonymous():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("RssAnon")) * 1024

few, many, each, held = 3 << 21, 4 << 21, 1 << 17, []
spool.SliceSpool.__init__.__defaults__ = (0, False)
with CaptureWriter(Path(sys.argv[1])) as writer:
    flows = Flows(writer.scratch)
    one = np.zeros(2, np.int32)
    batch = EventBatch(np.frombuffer(b"sf", np.uint8), np.array([50, 950]), *[one] * 8, one > 0, [])
    flows.events(0, batch, np.arange(2), np.array([0, 1], np.int32))
    row = np.arange(each)
    for first in range(0, many, each):
        begin, dur, track = (first + row) * 100, np.where(row % 2, 50, 120), (row % 2).astype(np.int32)
        flows.slices(track, begin, dur)
        writer.append("slices", {"track": track, "start": begin, "dur": dur, "name": Strings(row % 7, list("abcdefg")),
                                 "correlation": first + row + 1, "args": ["{}"] * each})
        if first >= few - each:
            held.append(anonymous())
    flows.finish(writer, str)
    flows.close()
    held.append(anonymous())
    print((min(held[-8:]) - min(held[:8])) / (many - few))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_slices(tmp_path: Path) -> None:
    """What is held after six and after eight million slices were read, and when their arrows are bound."""
    command = [sys.executable, "-c", IMPORT, str(tmp_path / "t.peep")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    # bytes a slice: keeping the slices took 32. Until here buffers find their size: some 140 MB after five million
    assert float(done.stdout) < 8


def _direct(slices: np.ndarray, time: int, track: int, around: bool) -> int:
    rows = [
        (int(s["start"]), -int(s["dur"]), number + 1) for number, s in enumerate(slices) if int(s["track"]) == track
    ]
    rows.sort()
    if not around:
        return next((number for start, _, number in rows if start >= time), 0)
    begun = [row for row in rows if row[0] <= time][-256:]
    return next((number for start, dur, number in reversed(begun) if start - dur >= time), 0)


@pytest.mark.parametrize("chunk", [7, 100, 5000])
def test_events_bind_alike_however_slices_are_cut(chunk: int) -> None:
    rng = np.random.default_rng(chunk)
    slices = np.empty(2000, SLICE)
    slices["track"] = rng.integers(0, 3, 2000)
    slices["start"] = rng.integers(0, 300, 2000)
    slices["dur"] = np.where(rng.random(2000) < 0.05, 200, rng.integers(0, 3, 2000))
    events = [
        (
            int(rng.integers(-5, 520)),
            str(rng.choice(["s", "t", "f"])),
            int(rng.integers(0, 4)),
            bool(rng.random() < 0.5),
        )
        for _ in range(300)
    ]
    with tempfile.TemporaryFile() as file:
        file.write(slices.tobytes())
        file.flush()
        time, track = (np.array([event[i] for event in events]) for i in (0, 2))
        around = np.array([phase != "f" or inner for _, phase, _, inner in events])
        found = bind(file, time, track, around, chunk).tolist()
    assert found == [_direct(slices, time, track, phase != "f" or inner) for time, phase, track, inner in events]
    assert 0 < sum(number > 0 for number in found) < len(found)


def test_long_lanes_are_laid_out_as_short_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same slices at once and window by window: the same table, byte for byte."""
    rng = np.random.default_rng(3)
    start = np.concatenate([np.sort(rng.integers(0, 20_000, 3000)) for _ in range(4)])
    dur = rng.integers(0, 40, len(start))
    track = rng.integers(0, 2, len(start)).astype(np.int32)
    written = []
    for long in (1 << 30, 10):
        monkeypatch.setattr(slice_table, "LONG", long)
        monkeypatch.setattr(long_lanes, "PART", 512)
        monkeypatch.setattr(spool, "CHUNK", 1 << 11)
        path = tmp_path / f"{long}.peep"
        with CaptureWriter(path) as writer:
            writer.append("tracks", {"id": [0, 1], "name": ["a", "b"], "kind": ["thread"] * 2})
            for at in range(0, len(start), 1000):
                own = slice(at, at + 1000)
                args = [f'{{"n":{i}}}' for i in range(at, at + len(start[own]))]
                columns = {"track": track[own], "start": start[own], "dur": dur[own], "args": args}
                writer.append("slices", columns)
        written.append((path / "slices.parquet").read_bytes())
    assert written[0] == written[1]
    assert pq.read_table(tmp_path / "10.peep" / "slices.parquet").column("depth").to_numpy().max() > 1


def test_rows_go_on_where_they_ended() -> None:
    rng = np.random.default_rng(4)
    start = np.sort(rng.integers(0, 500, 400))
    dur = rng.integers(1, 30, 400)
    ends, parts = np.zeros(0, np.int64), []
    for at in range(0, 400, 33):
        rows, ends = lanes.more_sublanes(start[at : at + 33], dur[at : at + 33], ends)
        parts.append(rows)
    assert np.concatenate(parts).tolist() == lanes.sublanes(start, dur).tolist()
