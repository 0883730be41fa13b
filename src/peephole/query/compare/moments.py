"""Moments that two captures have in common, at which their timelines can be aligned."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from peephole.model.plain_names import numbered, plain
from peephole.query.capture.info import span
from peephole.query.ranks.names import step_number
from peephole.query.timeline.group_tracks import group_tracks
from peephole.query.timeline.tracks import markers

if TYPE_CHECKING:
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Frame

_MOST: Final = 500
_MOST_SLICES: Final = 3_000_000
"""Slices of hosts up to which steps are looked for."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment that both sides have, ns since each capture's first moment."""

    kind: Literal["marker", "step", "kernel", "pass"]
    name: str
    a: int
    b: int


def moments(a: Capture, b: Capture) -> list[Moment]:
    """The markers that both sides have (`#2` for the second of a name) and the steps of training, by number."""
    return [*_common("marker", _markers(a), _markers(b)), *_common("step", _steps(a), _steps(b))]


def _common(kind: Literal["marker", "step"], a: dict[str, int], b: dict[str, int]) -> list[Moment]:
    return [Moment(kind, name, time, b[name]) for name, time in a.items() if name in b][:_MOST]


def begin_of(capture: Capture) -> int:
    """The first moment of a capture's timeline, ns on its clock."""
    return (span(capture, contexts=False) or (0, 0))[0]


def _markers(capture: Capture) -> dict[str, int]:
    begin, found = begin_of(capture), markers(capture)
    return {name: time - begin for name, time in zip(numbered(found.name), found.time, strict=True)}


def _steps(capture: Capture) -> dict[str, int]:
    """When each step of training began, by `step 3`."""
    known = any(step_number(plain(text)) >= 0 for text in capture.names())
    tracks = [*group_tracks(capture, "host"), *group_tracks(capture, "kernels")] if known else []
    if sum(row.slices for row in tracks) > _MOST_SLICES:
        return {}
    begin, first = begin_of(capture), dict[int, int]()
    for row in tracks:
        for depth in row.depths:
            for frame in _parts(capture, row.id, depth):
                texts = frame.texts("name")
                own = {code: step_number(plain(text)) for code, text in enumerate(texts.values)}
                for at in np.flatnonzero(np.isin(texts.codes, [code for code in own if own[code] >= 0])).tolist():
                    number, time = own[int(texts.codes[at])], int(frame["start"][at]) - begin
                    first[number] = min(first.get(number, time), time)
    return {f"step {number}": first[number] for number in sorted(first)}


def first_run(capture: Capture, names: Collection[str]) -> int:
    """When something of one of these names first ran, ns since the capture's first moment; -1 for never."""
    begin = begin_of(capture)
    first = -1
    for row in group_tracks(capture, "kernels"):
        for depth in row.depths:
            for frame in _parts(capture, row.id, depth):
                texts = frame.texts("name")
                codes = [code for code, text in enumerate(texts.values) if plain(text) in names]
                at = np.flatnonzero(np.isin(texts.codes, codes))
                if len(at):
                    time = int(frame["start"][at[0]]) - begin
                    first = time if first < 0 else min(first, time)
                    break
    return first


def step_begin(capture: Capture, step: int) -> int:
    """When a pass, by its number, began, ns since the capture's first moment; -1 when that is not known."""
    frame = capture.read("steps", ["id", "start"])
    at = np.flatnonzero(frame["id"] == step)
    start = int(frame["start"][at[0]]) if len(at) else -1
    return start - begin_of(capture) if start >= 0 else -1


def both_moment(kind: Literal["kernel", "pass"], name: str, times: Sequence[int]) -> list[Moment]:
    """A moment of these times; none when a side does not have it."""
    return [Moment(kind, name, times[0], times[1])] if min(times) >= 0 else []


def _parts(capture: Capture, track: int, depth: int) -> Iterator[Frame]:
    found = capture.lanes()
    own = found.of_track(track)
    for lane in range(own.start, own.stop):
        if int(found.depth[lane]) == depth:
            low = int(found.first[lane])
            yield from capture.scan("slices", ["start", "name"], slice(low, low + int(found.count[lane])), 1 << 16)
