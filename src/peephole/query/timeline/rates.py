"""How fast kernels were: their estimated operations and bytes a second, over all of their slices."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from peephole.model.json_text import json_object
from peephole.query.capture.names import tracks as all_tracks
from peephole.query.timeline.interval import part_in
from peephole.store.capture import Capture

KEYS: Final = ("flops", "bytes_per_s", "lds_bytes_per_s")
"""Facts in a slice's args that are rates."""
MOST: Final = 2_000_000
"""Slices up to which their args are looked at: each is a text of its own."""

Rates = dict[tuple[str, str], dict[str, float]]


def rates(
    capture: Capture,
    names: Collection[str],
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> Rates:
    """The mean rates of kernels and copies of these names, by track and name, weighted with time.

    Empty for a capture that is too large.
    """
    if not names or capture.count("slices") > MOST:
        return {}
    known = [track for track in all_tracks(capture) if tracks is None or track.id in tracks]
    titles = {track.id: track.name for track in known}
    copying = [track.id for track in known if track.kind == "copy"]
    sums: Rates = {}
    times: dict[tuple[str, str], int] = {}
    for frame in capture.scan("slices", ["track", "start", "dur", "name", "context", "args"]):
        texts, args = frame.texts("name"), frame.texts("args")
        # the last one is that of a slice without a name
        wanted = np.array([*(text in names for text in texts.values), "" in names])
        keep = (frame["context"] >= 0) | np.isin(frame["track"], copying)
        keep &= wanted[texts.codes] & (args.codes >= 0)
        if tracks is not None:
            keep &= np.isin(frame["track"], list(titles))
        if interval is not None:
            # a rate is that of the whole run, also of one that the interval cuts
            keep &= part_in(frame["start"], frame["dur"], interval)[0]
        for row in np.flatnonzero(keep).tolist():
            found = _rates_in(args[row] or "")
            if found:
                key = (titles.get(int(frame["track"][row]), ""), texts[row] or "")
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
