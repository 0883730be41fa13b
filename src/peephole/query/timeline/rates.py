"""How fast kernels were: their estimated operations and bytes a second, over all of their slices."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, Generic, TypeVar

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
"""By track and name."""
Key = TypeVar("Key")


def rates(
    capture: Capture,
    names: Collection[str],
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> Rates:
    """The rates of kernels and copies of these names, by track and name: work divided by time.

    Of an interval a slice has its part of both. Empty for a capture that is too large.
    """
    work: _Work[tuple[str, str]] = _Work()
    for track, name, found, ns in _rated(capture, names, tracks, interval):
        work.add((track, name), found, ns)
    return work.rates()


def rates_by_name(
    capture: Capture,
    names: Collection[str],
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> dict[str, dict[str, float]]:
    """The same over all of these tracks."""
    work: _Work[str] = _Work()
    for _, name, found, ns in _rated(capture, names, tracks, interval):
        work.add(name, found, ns)
    return work.rates()


class _Work(Generic[Key]):
    """Work and time by key and by what is counted: a rate that a slice does not tell does not slow the others down."""

    def __init__(self) -> None:
        self._sums: dict[Key, dict[str, tuple[float, int]]] = {}

    def add(self, key: Key, found: dict[str, float], ns: int) -> None:
        own = self._sums.setdefault(key, {})
        for name, rate in found.items():
            work, time = own.get(name, (0.0, 0))
            own[name] = (work + rate * ns, time + ns)

    def rates(self) -> dict[Key, dict[str, float]]:
        known = {
            key: {name: work / time for name, (work, time) in own.items() if time} for key, own in self._sums.items()
        }
        return {key: own for key, own in known.items() if own}


def _rated(
    capture: Capture, names: Collection[str], tracks: Collection[int] | None, interval: tuple[int, int] | None
) -> Iterator[tuple[str, str, dict[str, float], int]]:
    """The slices that tell rates: the track's name, their own, the rates, and their ns in the interval."""
    if not names or capture.count("slices") > MOST:
        return
    known = [track for track in all_tracks(capture) if tracks is None or track.id in tracks]
    titles = {track.id: track.name for track in known}
    copying = [track.id for track in known if track.kind == "copy"]
    for frame in capture.scan("slices", ["track", "start", "dur", "name", "context", "args"]):
        texts, args, dur = frame.texts("name"), frame.texts("args"), frame["dur"]
        # the last one is that of a slice without a name
        wanted = np.array([*(text in names for text in texts.values), "" in names])
        keep = (frame["context"] >= 0) | np.isin(frame["track"], copying)
        keep &= wanted[texts.codes] & (args.codes >= 0)
        if tracks is not None:
            keep &= np.isin(frame["track"], list(titles))
        if interval is not None:
            inside, dur = part_in(frame["start"], dur, interval)
            keep &= inside
        for row in np.flatnonzero(keep).tolist():
            found = _rates_in(args[row] or "")
            if found:
                yield titles.get(int(frame["track"][row]), ""), texts[row] or "", found, int(dur[row])


def _rates_in(text: str) -> dict[str, float]:
    facts = json_object(text) or {}
    try:
        return {key: float(facts[key]) for key in KEYS if type(facts.get(key)) in (int, float)}
    except OverflowError:
        return {}
