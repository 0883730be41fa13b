"""How often each name is on the timeline and how long it took together: on all tracks, on some, of a kernel."""

from __future__ import annotations

from functools import cached_property

from peephole.model.plain_names import plain
from peephole.query.capture.grammar import Query
from peephole.query.timeline.context_runs import runs_of_contexts
from peephole.store.capture import Capture

Times = dict[str, tuple[int, int]]
"""Slices of a name and their ns."""


class SliceTimes:
    """Sums over the slices of a capture, made when they are first asked for."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    @cached_property
    def _tracks(self) -> tuple[list[int], list[str]]:
        frame = self._capture.read("tracks", ["id", "name"])
        return frame["id"].tolist(), [plain(name or "") for name in frame.texts("name")]

    def by_name(self) -> Times:
        """Of every name, on all tracks."""
        return self._sums(None)

    def on_tracks(self, query: Query) -> Times:
        """Of every name, on the tracks that the query holds for."""
        return self._sums(self._wanted(query))

    def by_context(self, query: Query | None = None) -> dict[int, tuple[int, int]] | None:
        """Of every context's slices on devices, those that the query holds for: the runs of a kernel.

        None when there are too many to count.
        """
        found = runs_of_contexts(self._capture, None if query is None else self._wanted(query))
        return None if found is None else {context: (runs.count, runs.total) for context, runs in found.items()}

    def _wanted(self, query: Query) -> set[int]:
        ids, names = self._tracks
        mask = query.mask([""] * len(ids), {"track": names})
        return {id_ for id_, own in zip(ids, mask.tolist(), strict=True) if own}

    def _sums(self, tracks: set[int] | None) -> Times:
        capture = self._capture
        if not capture.count("slices"):
            return {}
        lanes = capture.lanes()
        every = zip(lanes.track.tolist(), lanes.depth.tolist(), strict=True)
        wanted = [lane for lane in every if tracks is None or lane[0] in tracks]
        t0, t1 = capture.span()
        found = capture.sums(wanted, [0] * len(wanted), t0, t1 + 1)
        result: Times = {}
        rows = zip(capture.names(), found.name_count[0].tolist(), found.name_time[0].tolist(), strict=False)
        for name, count, ns in rows:
            if count:
                text = plain(name)
                before = result.get(text, (0, 0))
                result[text] = (before[0] + count, before[1] + ns)
        return result
