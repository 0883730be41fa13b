"""Ranges that the program noted while the history was recorded."""

from __future__ import annotations

import json
from typing import Any, Protocol

from peephole.sources.cuda_memory.entries import number
from peephole.sources.track_rows import TrackRow, TrackRows


class SliceTaker(Protocol):
    """What keeps slices."""

    def slice(self, track: int, time: int, dur: int, name: str, args: str) -> int:
        """A slice; gives its number."""


def annotation_slices(entries: list[dict[str, Any]], base: int, tracks: TrackRows, rows: SliceTaker) -> None:
    """Pairs begins and ends by name and device."""
    open_: dict[tuple[int, str], list[int]] = {}
    last = max((number(entry, "time_us") * 1000 - base for entry in entries), default=0)
    for entry in entries:
        name, device, time = str(entry.get("name", "")), number(entry, "device"), number(entry, "time_us") * 1000 - base
        stage = str(entry.get("stage", "")).upper()
        if stage == "START":
            open_.setdefault((device, name), []).append(time)
        elif open_.get((device, name)):
            begun = open_[device, name].pop()
            rows.slice(_track(tracks, device), begun, max(0, time - begun), name, "{}")
    for (device, name), begins in open_.items():
        for begun in begins:
            args = json.dumps({"open": True})
            rows.slice(_track(tracks, device), begun, max(0, last - begun), name, args)


def _track(tracks: TrackRows, device: int) -> int:
    return tracks.get(("n", device), TrackRow(f"CUDA:{device} annotations", "user", order=device))
