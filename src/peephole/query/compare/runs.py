"""How long everything took in one capture: the durations of each kernel, copy, host phase and message."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.plain_names import plain
from peephole.query.timeline.group_tracks import GROUPS, group_tracks

if TYPE_CHECKING:
    from peephole.query.timeline.tracks import TimelineTrack
    from peephole.store.capture import Capture

WARMING: Final = ("kernels", "copies")
"""Groups in which the first run of a name is left out of sums as well."""
EXACT: Final = 3_000_000
"""Slices up to which every duration is looked at; beyond, a part of each name's."""
SAMPLE: Final = 4096
"""Durations of one name that are held beyond that."""
HELD: Final = 2_000_000
"""Durations that are held of a group, however many names it has."""
_LEAST: Final = 16
_PART: Final = 1 << 20
_ARGS: Final = 2_000_000
"""Slices up to which their args are looked at for work done."""
_EVER: Final = (-(1 << 61), 1 << 61)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one thing. The first is left out of the durations where there are others: it warms up."""

    group: str
    name: str
    context: int
    count: int
    """All of them."""
    total: int
    """ns, all of them."""
    dur: NDArray[np.float64]
    """ns in the order of time, the first left out; a sample of them where there are very many."""
    flops: float = 0.0
    """Operations of one run, as the compiler estimates them, in four digits; 0 when unknown."""
    bytes: float = 0.0

    @property
    def warm(self) -> float:
        """ns of all of them but the first, where that is left out of the durations."""
        return float(self.dur.sum()) if self.count - 1 <= len(self.dur) else float(self.total)


@dataclass(frozen=True, slots=True)
class RunTable:
    """All of a capture's."""

    runs: tuple[Runs, ...]
    totals: dict[str, int]
    """ns by group, what runs inside something else not counted twice, and of kernels and copies no first run."""
    exact: bool


def run_table(capture: Capture) -> RunTable:
    """The runs of everything that took time, by group, name and, of kernels, the context that produced them."""
    tracks = {group: group_tracks(capture, group) for group in GROUPS}
    exact = sum(row.slices for rows in tracks.values() for row in rows) <= EXACT
    found: list[Runs] = []
    totals: dict[str, int] = {}
    for group, rows in tracks.items():
        if not rows:
            continue
        if exact:
            own, warming = _exact(capture, group, rows)
            found += own
            outermost = [(row.id, row.depths[0]) for row in rows]
            taken = int(capture.sums(outermost, [0] * len(rows), *_EVER).time.sum())
            totals[group] = max(taken - (warming if group in WARMING else 0), 0)
        else:
            some, totals[group] = _sampled(capture, group, rows)
            found += some
    return RunTable(tuple(found), totals, exact)


def _stretches(capture: Capture, rows: list[TimelineTrack]) -> list[tuple[int, int]]:
    """The rows of slices of these tracks; neighbours together."""
    lanes = capture.lanes()
    found: list[tuple[int, int]] = []
    for track in sorted(row.id for row in rows):
        own = lanes.of_track(track)
        if own.stop > own.start:
            first, past = int(lanes.first[own.start]), int(lanes.first[own.stop - 1] + lanes.count[own.stop - 1])
            if found and found[-1][1] == first:
                first = found.pop()[0]
            found.append((first, past))
    return [(at, min(at + _PART, past)) for first, past in found for at in range(first, past, _PART)]


def _exact(capture: Capture, group: str, rows: list[TimelineTrack]) -> tuple[list[Runs], int]:
    """The runs of a group, and the time of those that are left out as the first."""
    linked = group == "kernels" and capture.count("contexts") > 0
    parts = [(row, *capture.slice_rows(row, past, linked)) for row, past in _stretches(capture, rows)]
    if not parts:
        return [], 0
    start, dur, name = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
    context = np.concatenate([part[4] for part in parts]) if linked else np.full(len(start), -1, np.int64)
    order = np.lexsort((start, context, name))
    name, context, dur = name[order], context[order], dur[order]
    place = np.concatenate([np.arange(part[0], part[0] + len(part[1])) for part in parts])[order]
    new = np.append(True, (name[1:] != name[:-1]) | (context[1:] != context[:-1]))
    bounds = np.append(np.flatnonzero(new), len(name)).tolist()
    work = _work(capture, group, place, dur)
    texts = [*map(plain, capture.names()), ""]
    found, warming = [], 0
    for low, high in pairwise(bounds):
        own = dur[low:high]
        warming += int(own[0]) if high - low > 1 else 0
        flops, moved = (_digits(column[low:high]) for column in work)
        found.append(
            Runs(
                group, texts[int(name[low])], int(context[low]), high - low, int(own.sum()),
                own[1 if high - low > 1 else 0 :].astype(np.float64), flops, moved,
            )
        )  # fmt: skip
    return found, warming


def _work(
    capture: Capture, group: str, rows: NDArray[np.int64], dur: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each of these slices did: operations and bytes, NaN where it does not say."""
    nothing = np.full(len(rows), np.nan)
    if group not in ("kernels", "copies") or not len(rows) or capture.count("slices") > _ARGS:
        return nothing, nothing
    order = np.argsort(rows)
    keys = ("flops", "bytes_per_s", "bytes")
    told = capture.args_numbers(rows[order], keys)
    columns = {key: np.full(len(rows), np.nan) for key in keys}
    for key in keys:
        columns[key][order] = told[key]
    moved = columns["bytes"] if group == "copies" else columns["bytes_per_s"] * dur / 1e9
    return columns["flops"] * dur / 1e9, moved


def _digits(values: NDArray[np.float64]) -> float:
    """The middle of these, in four digits: a rate times a time is not exact."""
    known = values[~np.isnan(values)]
    middle = float(np.median(known)) if len(known) else 0.0
    return float(f"{middle:.4g}")


def sample_size(counts: NDArray[np.int64]) -> int:
    """How many durations of each name to hold, so that those of all names, which ran so often, stay few."""
    size = SAMPLE
    while size > _LEAST and int(np.minimum(counts, size).sum()) > HELD:
        size //= 2
    return size


def _sampled(capture: Capture, group: str, rows: list[TimelineTrack]) -> tuple[list[Runs], int]:
    """The same by name alone, of names with many runs a part that is spread evenly: a bounded number is held."""
    texts = [*capture.names(), ""]
    lanes = [(row.id, depth) for row in rows for depth in row.depths]
    sums = capture.sums(lanes, [0] * len(lanes), *_EVER)
    count, total = sums.name_count[0], sums.name_time[0]
    share = np.minimum(1.0, sample_size(count) / np.maximum(count, 1))
    chance = np.random.default_rng(20)
    kept: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    for row, past in _stretches(capture, rows):
        start, dur, name, _ = capture.slice_rows(row, past)
        keep = chance.random(len(name)) < share[name]
        kept.append((name[keep].astype(np.int64), start[keep], dur[keep]))
    name, start, dur = (np.concatenate(column) for column in zip(*kept, strict=True))
    name = np.where(name < 0, len(texts) - 1, name)
    order = np.lexsort((start, name))
    name, dur = name[order], dur[order]
    bounds = np.searchsorted(name, np.arange(len(texts) + 1))
    found = []
    for number in np.flatnonzero(count).tolist():
        own = dur[bounds[number] : bounds[number + 1]].astype(np.float64)
        own = own[1:] if len(own) > 1 and share[number] >= 1 else own
        found.append(Runs(group, plain(texts[number]), -1, int(count[number]), int(total[number]), own))
    outermost = {(row.id, row.depths[0]) for row in rows}
    return found, sum(int(time) for lane, time in zip(lanes, sums.time, strict=True) if lane in outermost)
