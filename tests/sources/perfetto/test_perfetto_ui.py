"""What Perfetto's own engine says of a file is what Peephole says: a trace of every feature, and our export of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.capture_rows import rows
from tests.perfetto_engine import ask, perfetto_ui
from tests.sources.perfetto import traces
from tests.sources.perfetto.test_perfetto import imported

from peephole.render.perfetto import write_perfetto
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

_SLICES = """select coalesce(thread.name, track.name, ''), slice.ts, slice.dur, slice.name, slice.depth from slice
  join track on slice.track_id = track.id left join thread_track on thread_track.id = track.id
  left join thread using (utid)"""
_COUNTERS = (
    "select counter_track.name, ts, value from counter join counter_track on counter.track_id = counter_track.id"
)
_FLOWS = "select a.name, b.name from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id"
NAMED = ("main", "worker", "stream 7", "queue")


def ours(capture: Capture) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    names = {track["id"]: track["name"] for track in rows(capture, "tracks")}
    names = {track: name if name in NAMED else "" for track, name in names.items()}
    found = rows(capture, "slices")
    by_number = {row["correlation"]: row["name"] for row in found}
    slices = Counter((names[s["track"]], s["start"], s["dur"], s["name"], s["depth"]) for s in found)
    names = {track["id"]: track["name"] for track in rows(capture, "tracks")}
    counters = Counter((names[c["track"]], c["time"], float(c["value"])) for c in rows(capture, "counters"))
    return slices, counters, Counter((by_number[f["from"]], by_number[f["to"]]) for f in rows(capture, "flows"))


def theirs(page: Any) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    # an instant is a slice without length there
    slices = [(t, int(ts), int(dur), name, int(depth)) for t, ts, dur, name, depth in ask(page, _SLICES)]
    counters = Counter((name, int(ts), float(value)) for name, ts, value in ask(page, _COUNTERS))
    known = Counter((t if t in NAMED else "", ts, dur, name, depth) for t, ts, dur, name, depth in slices)
    return known, counters, Counter((a, b) for a, b in ask(page, _FLOWS))


@pytest.mark.browser
@pytest.mark.slow
def test_the_engine_of_perfetto_agrees(chromium: BrowserContext, tmp_path: Path) -> None:
    capture = imported(traces.features(), tmp_path / "t.pftrace")
    slices, counters, flows = ours(capture)
    slices[("main", traces.T0 + 150, 0, "mark", 2)] += 1
    with perfetto_ui(chromium, tmp_path / "t.pftrace") as page:
        own = theirs(page)
        assert own[0] == slices
        assert own[1] == counters
        assert own[2] == flows
    old = imported(traces.old_events(), tmp_path / "old.pftrace")
    with perfetto_ui(chromium, tmp_path / "old.pftrace") as page:
        expected = ours(old)
        expected[0][("", traces.T0 + 125, 0, "now", 1)] += 1
        own = theirs(page)
        assert own[0] == expected[0]
        assert own[2] == expected[2]
    with (tmp_path / "out.pftrace").open("wb") as file:
        write_perfetto(capture, file)
    with perfetto_ui(chromium, tmp_path / "out.pftrace") as page:
        own = theirs(page)
        assert own[0] == slices
        assert own[1] == counters
        assert own[2] == flows
        wrong = ask(page, "select name, value from stats where severity = 'error' and value > 0")
        assert wrong == []
