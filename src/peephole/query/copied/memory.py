"""Buffers, uses, flows and counters as columns of a copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.model.tables import NONE
from peephole.query.memory.bands import DeviceMemory
from peephole.query.memory.labels import buffer_labels
from peephole.store.capture import Capture

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CopiedBuffers:
    """The buffers of one device after the other; times count from the origin."""

    devices: list[str]
    counts: list[int]
    peaks: list[int]
    peak_times: list[int]
    id: Ints
    alloc: Ints
    life: Ints
    """1 + ns from alloc to free, 0 for one that was never freed."""
    bytes: Ints
    offset: Ints
    dtype: Ints
    name: Ints
    dtypes: list[str]
    names: list[str]


@dataclass(frozen=True, slots=True)
class CopiedLinks:
    """Rows of `flows` or `uses`: numbers by column, and a text that repeats."""

    columns: dict[str, Ints]
    code: Ints
    texts: list[str]


@dataclass(frozen=True, slots=True)
class CopiedCounters:
    """The values of one counter after the other."""

    tracks: list[int]
    counts: list[int]
    time: Ints
    value: NDArray[np.float64]


def copied_buffers(capture: Capture, devices: dict[str, DeviceMemory], origin: int) -> CopiedBuffers:
    """All buffers."""
    labels = buffer_labels(capture)
    found = list(devices.values())

    def joined(parts: list[Ints]) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)

    rows = joined([device.rows for device in found])
    alloc, free = joined([device.alloc for device in found]), joined([device.free for device in found])
    return CopiedBuffers(
        list(devices),
        [len(device) for device in found],
        [int(device.memory.peak) for device in found],
        [int(device.memory.peak_time) - origin for device in found],
        joined([device.id for device in found]),
        alloc - origin,
        np.where(free == NONE, 0, free - alloc + 1),
        joined([device.size for device in found]),
        joined([device.offset for device in found]),
        labels.dtype.codes[rows].astype(np.int64),
        labels.name.codes[rows].astype(np.int64),
        list(labels.dtype.values),
        list(labels.name.values),
    )


def copied_flows(capture: Capture) -> CopiedLinks:
    """All arrows."""
    return _links(capture, "flows", ("from", "to", "bytes"), "kind")


def copied_uses(capture: Capture) -> CopiedLinks:
    """All uses of buffers."""
    return _links(capture, "uses", ("buffer", "slice", "position"), "mode")


def _links(capture: Capture, table: str, numbers: tuple[str, ...], text: str) -> CopiedLinks:
    frame = capture.read(table, [*numbers, text])
    texts = frame.texts(text)
    columns = {name: frame[name].astype(np.int64) for name in numbers}
    return CopiedLinks(columns, texts.codes.astype(np.int64), list(texts.values))


def copied_counters(capture: Capture, origin: int) -> CopiedCounters:
    """All counters, by track and time."""
    frame = capture.read("counters", ["track", "time", "value"])
    tracks, counts = np.unique(frame["track"], return_counts=True)
    value = np.nan_to_num(frame["value"].astype(np.float64))
    return CopiedCounters(tracks.tolist(), counts.tolist(), frame["time"] - origin, value)


def last_moment(capture: Capture) -> int:
    """When the last slice ended: until then a value holds on the timeline."""
    return capture.span()[1]
