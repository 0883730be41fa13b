"""How fast kernels were: their estimated operations and bytes a second, over all of their slices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from peephole.query.json_text import json_object
from peephole.query.names import tracks as all_tracks
from peephole.query.top import TopRow
from peephole.store.capture import Capture

KEYS: Final = ("flops", "bytes_per_s", "lds_bytes_per_s")
"""Facts in a slice's args that are rates."""
MOST: Final = 2_000_000
"""Slices up to which their args are looked at: each is a text of its own."""

Rates = dict[tuple[str, str], dict[str, float]]


def rates(
    capture: Capture,
    rows: Sequence[TopRow],
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> Rates:
    """The mean rates of the rows by track and name, weighted with time; empty for a capture that is too large."""
    known = [track for track in all_tracks(capture) if tracks is None or track.id in tracks]
    copying = {track.id for track in known if track.kind == "copy"}
    names = {track.name for track in known if track.kind == "copy"}
    wanted = {(row.track, row.name) for row in rows if row.context >= 0 or row.track in names}
    if not wanted or capture.count("slices") > MOST:
        return {}
    names_of = {track.id: track.name for track in known}
    sums: dict[tuple[str, str], dict[str, float]] = {}
    times: dict[tuple[str, str], int] = {}
    for frame in capture.scan("slices", ["track", "start", "dur", "name", "context", "args"]):
        titles, args = frame.texts("name"), frame.texts("args")
        keep = (frame["context"] >= 0) | np.isin(frame["track"], list(copying))
        keep &= args.codes >= 0
        if interval is not None:
            keep &= (frame["start"] >= interval[0]) & (frame["start"] < interval[1])
        for row in np.flatnonzero(keep).tolist():
            key = (names_of.get(int(frame["track"][row]), ""), titles[row] or "")
            if key not in wanted:
                continue
            found = _rates_in(args[row] or "")
            if found:
                dur = int(frame["dur"][row])
                times[key] = times.get(key, 0) + dur
                own = sums.setdefault(key, {})
                for name, value in found.items():
                    own[name] = own.get(name, 0.0) + value * dur
    return {key: {name: value / times[key] for name, value in own.items()} for key, own in sums.items() if times[key]}


def _rates_in(text: str) -> dict[str, float]:
    facts = json_object(text) or {}
    try:
        return {key: float(facts[key]) for key in KEYS if type(facts.get(key)) in (int, float)}
    except OverflowError:
        return {}
