"""Samples to slices: what neighbours have in common, from the outermost frame on, is one slice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from peephole.model.sink import Sink, Strings
from peephole.sources.track_rows import TrackRow, TrackRows


class Frames:
    """Frames by number: a name, and the args of its slices."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.args: list[str | None] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, name: str, file: str = "", line: int = 0) -> int:
        """The number of a frame."""
        place = f"{file}:{line}" if file and line > 0 else file
        key = (name, place)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.names)
            self.names.append(name or "(anonymous)")
            self.args.append(json.dumps({"location": place}, ensure_ascii=False) if place else None)
        return found


class SliceList:
    """Slices of all tracks, appended at the end."""

    def __init__(self, frames: Frames) -> None:
        self.frames, self.tracks = frames, TrackRows()
        self._rows: list[tuple[int, int, int, int, int]] = []

    def thread(self, key: Any, name: str, process: int = -1) -> int:
        """The track of a thread."""
        return self.tracks.get(key, TrackRow(name, "thread", order=len(self.tracks), process=process))

    def add(self, track: int, depth: int, start: int, end: int, frame: int) -> None:
        """A slice."""
        self._rows.append((track, depth, start, max(0, end - start), frame))

    def append_to(self, sink: Sink) -> None:
        """Appends slices and tracks."""
        if self._rows:
            track, depth, start, dur, frame = (list(column) for column in zip(*self._rows, strict=True))
            columns: dict[str, Any] = {"track": track, "depth": depth, "start": start, "dur": dur}
            columns |= {"name": Strings(frame, self.frames.names), "args": [self.frames.args[f] for f in frame]}
            sink.append("slices", columns)
        self.tracks.finish(sink)


class Samples:
    """The samples of one track, in the order of time."""

    def __init__(self, slices: SliceList, track: int) -> None:
        self._slices, self._track = slices, track
        self._open: list[tuple[int, int]] = []
        self._end = 0

    def add(self, stack: Sequence[int], start: int, end: int) -> None:
        """A stack, outermost frame first, that was there from one moment to another."""
        same = 0
        if start <= self._end:
            for (frame, _), other in zip(self._open, stack, strict=False):
                if frame != other:
                    break
                same += 1
        self._close(same)
        self._open += [(frame, start) for frame in stack[same:]]
        self._end = end

    def _close(self, keep: int) -> None:
        while len(self._open) > keep:
            frame, start = self._open.pop()
            self._slices.add(self._track, len(self._open), start, self._end, frame)

    def finish(self) -> None:
        """Ends what is open."""
        self._close(0)
