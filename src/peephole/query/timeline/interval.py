"""A stretch of time as the user names it: by markers or by times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.query.capture.info import span
from peephole.query.capture.names import missing
from peephole.store.capture import Capture

_UNITS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME: Final = re.compile(r"(\d{1,30}(?:\.\d+)?)\s*(ns|us|µs|ms|s)")
_CLOCK: Final = re.compile(r"-?\d{1,30}")
_FURTHEST: Final = 1 << 63
"""ns: times are 64-bit numbers."""


def find_interval(capture: Capture, ends: Sequence[str]) -> tuple[int, int]:
    """Begin and end in ns on the capture's clock; the end of the capture when only a begin is given.

    An end is a marker's name (its first occurrence), a time since the first event (`1.5ms`), or a number: a time in
    ns on the capture's clock, as JSON output prints it.
    """
    if not 1 <= len(ends) <= 2:
        raise PeepholeError("An interval has a begin and an end: --interval A B.")
    whole = span(capture)
    if whole is None:
        raise PeepholeError("This capture has no times, so there is no interval to choose.")
    begin = _moment(capture, ends[0], whole[0])
    # one further, so that what happens at the very last moment is inside
    end = _moment(capture, ends[1], whole[0]) if len(ends) == 2 else whole[1] + 1
    if end < begin:
        raise PeepholeError(f"The interval ends before it begins: {ends[1]!r} is earlier than {ends[0]!r}.")
    return begin, end


def find_moment(capture: Capture, text: str) -> int:
    """A moment in ns on the capture's clock, named as an end of an interval is."""
    whole = span(capture)
    if whole is None:
        raise PeepholeError("This capture has no times, so there is no moment to choose.")
    return _moment(capture, text, whole[0])


def part_in(
    start: NDArray[Any], dur: NDArray[Any], interval: tuple[int, int]
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which slices overlap the interval, and how long they are in it: as `Capture.sums` has it.

    The one rule of an interval: what overlaps counts, with the part inside. It holds its begin and not its end; one
    that ends where it begins is a single ns.
    """
    begin, past = interval[0], max(interval[1], interval[0] + 1)
    end = start + dur
    inside = (start < past) & ((start >= begin) | (end > begin))
    return inside, np.minimum(end, past) - np.maximum(start, begin)


def _moment(capture: Capture, text: str, origin: int) -> int:
    frame = capture.read("markers", ["time", "name"])
    names = [plain(name) for name in frame.texts("name")]
    if text in names:
        return int(frame["time"][names.index(text)])
    if found := _TIME.fullmatch(text.strip()):
        moment = origin + round(float(found[1]) * _UNITS[found[2]])
    elif _CLOCK.fullmatch(text.strip()):
        moment = int(text)
    else:
        raise missing(text, dict.fromkeys(names), "marker or time")
    if not -_FURTHEST <= moment < _FURTHEST:
        raise PeepholeError(f"The time {text!r} is further than any clock goes.")
    return moment
