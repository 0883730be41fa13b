"""The columns of a copy: slices, what they were recorded with, counters, buffers, uses and flows."""

from __future__ import annotations

from peephole.query.copied.memory import (
    copied_buffers,
    copied_counters,
    copied_flows,
    copied_uses,
    last_moment,
)
from peephole.query.copied.slices import (
    CopiedSlices,
    coarse_levels,
    copied_args,
    copied_buckets,
    copied_slices,
)
from peephole.query.memory.bands import read_devices
from peephole.share.asking import without_homes
from peephole.share.packing import pack_table, to_text
from peephole.share.parts import Parts
from peephole.store.capture import Capture


def add_slices(parts: Parts, capture: Capture, span: tuple[int, int], rows: int, size: int) -> int:
    """The slices, or as fine a picture of them as there is room for: its level, 0 for all of them, -1 for none."""
    text = to_text(_slices(copied_slices(capture, span[0]), span[0]))
    if len(text) <= parts.room:
        parts.keep(f"{rows:,} slices", parts.add_text(["slices"], text))
        return 0
    for level in coarse_levels(capture, span[1] - span[0]):
        text = to_text(_slices(copied_buckets(capture, span[0], level), span[0]))
        if len(text) <= parts.room:
            parts.keep(f"{rows:,} slices from afar", parts.add_text(["slices"], text))
            parts.keep("Single slices: their times, links and sums of a range", -1, size)
            return level
    parts.keep(f"{rows:,} slices", -1, size)
    return -1


def _slices(found: CopiedSlices, origin: int) -> bytes:
    columns = {"track": found.track, "depth": found.depth, "count": found.count, "gap": found.gap, "dur": found.dur,
               "name": found.name}  # fmt: skip
    if found.context is not None:
        columns["context"] = found.context
    if found.correlation is not None:
        columns["correlation"] = found.correlation
    columns |= found.entries or {}
    return pack_table(columns, {"origin": str(origin), "level": found.level, "levels": found.levels})


def add_args(parts: Parts, capture: Capture) -> int:
    """What slices were recorded with; bytes, -1 without room."""
    found = copied_args(capture)
    texts = [
        without_homes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass") for text in found.texts
    ]
    return parts.add(["args"], pack_table({"code": found.code}, {"texts": texts}))


def add_counters(parts: Parts, capture: Capture, origin: int) -> int:
    """The values of counters; bytes, -1 without room."""
    found = copied_counters(capture, origin)
    facts = {"tracks": found.tracks, "counts": found.counts, "end": last_moment(capture) - origin}
    return parts.add(["counters"], pack_table({"time": found.time, "value": found.value}, facts))


def add_buffers(parts: Parts, capture: Capture, span: tuple[int, int]) -> int:
    """All buffers; bytes, -1 without room."""
    found = copied_buffers(capture, read_devices(capture, span[1]), span[0])
    facts = {
        "devices": found.devices, "counts": found.counts, "peaks": found.peaks, "peakTimes": found.peak_times,
        "dtypes": found.dtypes, "names": found.names, "until": span[1] - span[0], "end": last_moment(capture) - span[0],
    }  # fmt: skip
    columns = {"id": found.id, "alloc": found.alloc, "life": found.life, "bytes": found.bytes, "offset": found.offset,
               "dtype": found.dtype, "name": found.name}  # fmt: skip
    return parts.add(["buffers"], pack_table(columns, facts))


def add_uses(parts: Parts, capture: Capture) -> int:
    """Which slice used which buffer; bytes, -1 without room."""
    found = copied_uses(capture)
    return parts.add(["uses"], pack_table({**found.columns, "mode": found.code}, {"modes": found.texts}))


def add_flows(parts: Parts, capture: Capture) -> int:
    """The arrows between slices; bytes, -1 without room."""
    found = copied_flows(capture)
    return parts.add(["flows"], pack_table({**found.columns, "kind": found.code}, {"kinds": found.texts}))
