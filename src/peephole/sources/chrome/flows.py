"""Flow events to arrows: each end is bound to the slice that it points at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink
from peephole.sources.chrome.batch import EventBatch
from peephole.sources.chrome.binding import SLICE, bind, runs_of

_STEPS: Final = b"stf"
"""The phases of an arrow: its begin, a point on its way, its end."""
_STEP_OF: Final = np.array([_STEPS.find(byte) for byte in range(256)], np.int8)
_COLUMNS: Final = ("file", "category", "name", "id", "time", "step", "track", "around")


class Flows:
    """Keeps slices (20 bytes each, in a file) and flow events, and joins them when the file has ended.

    Slices are numbered 1, 2, … as they come, which is their correlation number.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._events: list[tuple[NDArray[Any], ...]] = []

    def slices(self, tracks: Any, starts: Any, durs: Any) -> None:
        """Remembers where slices are."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="flows.")  # noqa: SIM115 - until close
        records = np.empty(len(starts), SLICE)
        records["track"], records["start"], records["dur"] = tracks, starts, durs
        self._file.write(records.data)

    def events(self, file: int, batch: EventBatch, rows: NDArray[np.int64], tracks: NDArray[np.int32]) -> None:
        """Takes the s, t and f events of a batch, which are of the file of that number."""
        phase = batch.phase[rows]
        around = (phase != ord("f")) | batch.encloses[rows]
        step = _STEP_OF[phase]
        key = (np.full(len(rows), file, np.int32), batch.category[rows], batch.name[rows], batch.id[rows])
        self._events.append((*key, batch.ts[rows], step, tracks, around))

    def finish(self, sink: Sink, text: Callable[[int], str]) -> None:
        """Appends the arrows, whose kind is the `text` of their category; ends that point at nothing are counted."""
        if self._events:
            columns = dict(zip(_COLUMNS, map(np.concatenate, zip(*self._events, strict=True)), strict=True))
            self._events.clear()
            self._join(sink, columns, text)

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            self._file.close()

    def _join(self, sink: Sink, columns: dict[str, NDArray[Any]], text: Callable[[int], str]) -> None:
        key = [columns[name] for name in _COLUMNS[:4]]
        order = np.lexsort(key)
        bounds = runs_of([column[order] for column in key])
        flow = np.empty(len(order), np.int64)
        # an arrow is known by its first event, so that arrows come in the order of the file
        flow[order] = np.repeat(np.minimum.reduceat(order, bounds[:-1]), np.diff(bounds))
        order = np.lexsort((columns["step"], columns["time"], flow))
        flow, category, time, step, track = (
            c[order] for c in (flow, columns["category"], columns["time"], columns["step"], columns["track"])
        )
        bound = np.zeros(len(order), np.int64)
        if self._file is not None:
            self._file.flush()
            bound = bind(self._file, time, track, columns["around"][order], folder=self._folder)
        # an event goes on from the begin before it, unless that or itself points at nothing
        begins = step == 0
        last = np.maximum.accumulate(np.where(begins, np.arange(len(order)), -1))
        good = (last >= 0) & (bound > 0) & (bound[last] > 0) & (flow[last] == flow)
        lost = int((~begins & ~good).sum())
        kept = np.flatnonzero(good)
        ends = ~begins[kept]
        rows = kept[ends]
        if lost:
            sink.problem("flow whose end or begin has no slice", lost)
        if len(rows):
            kinds = [text(code) or "flow" for code in category[rows].tolist()]
            sources = bound[kept[np.flatnonzero(ends) - 1]]
            sink.append("flows", {"from": sources, "to": bound[rows], "kind": kinds})
