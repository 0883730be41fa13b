"""How fast kernels were: their estimated operations and bytes a second, over all of their slices."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.calls.functions import Functions
from peephole.query.calls.titles import track_titles
from peephole.query.timeline.interval import part_in
from peephole.store.capture import Capture

KEYS: Final = ("flops", "bytes_per_s", "lds_bytes_per_s")
"""Facts in a slice's args that are rates."""
MOST: Final = 2_000_000
"""Slices up to which their args are looked at."""

Rates = dict[tuple[str, str], dict[str, float]]
"""By title of the track and name."""
Floats = NDArray[np.float64]
_PART: Final = 1 << 16


def rates(
    capture: Capture,
    names: Collection[str],
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
    *,
    apart: bool = False,
) -> Rates:
    """The rates of kernels and copies of these names, by track and name: work divided by time.

    `apart`: tracks of one name are several. Of an interval a slice has its part of both. Empty for a
    capture that is too large.
    """
    functions = Functions(capture)
    wanted = np.array([text in names for text in functions.names])
    if not names:
        return {}
    found = _work(capture, functions, tracks, interval, wanted, apart)
    return {(title, functions.names[number]): own for (title, number), own in found.items()}


def rates_by_function(
    capture: Capture,
    functions: Functions,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> dict[int, dict[str, float]]:
    """The same over all of these tracks, by the number of a function that occurs there."""
    return {number: own for (_, number), own in _work(capture, functions, tracks, interval, None).items()}


def rates_by_track(
    capture: Capture,
    functions: Functions,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> dict[tuple[str, int], dict[str, float]]:
    """The same by track and function; the functions are those of a sum over the same tracks."""
    return _work(capture, functions, tracks, interval, np.ones(len(functions.names), np.bool_), apart=True)


def _work(
    capture: Capture,
    functions: Functions,
    tracks: Collection[int] | None,
    interval: tuple[int, int] | None,
    wanted: NDArray[np.bool_] | None,
    apart: bool = False,
) -> dict[tuple[str, int], dict[str, float]]:
    """Work divided by time; a rate that a slice does not tell does not slow the others down.

    Of the names that are `wanted` by track, else of all of them over all tracks.
    """
    linked = capture.count("contexts") > 0
    copying = _copying(capture)
    if capture.count("slices") > MOST or not (linked or len(copying)):
        return {}
    known = track_titles(capture, apart)
    ids, titles, title_of = known.ids, known.titles, known.title_of
    lanes = capture.lanes()
    sums: dict[str, tuple[Floats, Floats]] = {}
    limit = len(functions.names) + len(functions.kernels)
    size = limit * (1 if wanted is None else len(titles))
    for row in range(0, capture.count("slices"), _PART):
        past = min(row + _PART, capture.count("slices"))
        start, dur, name, context = capture.slice_rows(row, past, linked)
        track = lanes.track[np.searchsorted(lanes.first, np.arange(row, past), "right") - 1]
        keep = np.isin(track, copying) | (context >= 0 if context is not None else False)
        if wanted is not None:
            keep &= wanted[name]
        if tracks is not None:
            keep &= np.isin(track, np.fromiter(tracks, np.int64))
        if interval is not None:
            inside, dur = part_in(start, dur, interval)
            keep &= inside
        if not keep.any():
            continue
        at = np.flatnonzero(keep)
        own = None if context is None else context[at]
        key = functions.numbers(name[at], row, past, own).astype(np.int64)
        if wanted is not None:
            key += title_of[np.searchsorted(ids, track[at])].astype(np.int64) * limit
        time = dur[at].astype(np.float64)
        for fact, rate in capture.args_numbers(row + at, KEYS).items():
            told = ~np.isnan(rate)
            if told.any():
                work, ns = sums.setdefault(fact, (np.zeros(size), np.zeros(size)))
                np.add.at(work, key[told], rate[told] * time[told])
                np.add.at(ns, key[told], time[told])
    found: dict[tuple[str, int], dict[str, float]] = {}
    for fact, (work, ns) in sums.items():
        for at_key in np.flatnonzero(ns).tolist():
            title, number = divmod(at_key, limit)
            one = found.setdefault((titles[title] if wanted is not None else "", number), {})
            one[fact] = float(work[at_key] / ns[at_key])
    return found


def _copying(capture: Capture) -> NDArray[np.int64]:
    """The tracks that copies are on."""
    frame = capture.read("tracks", ["id", "kind"])
    kinds = frame.texts("kind")
    ids: NDArray[np.int64] = frame["id"][kinds.codes == kinds.code("copy")].astype(np.int64)
    return ids
