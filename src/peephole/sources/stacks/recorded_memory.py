"""memray's recordings, read with memray's own reader where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.stacks.sampled import Frames, Samples, SliceList
from peephole.sources.track_rows import TrackRow

_BYTE: Final = 1000
"""Nanoseconds that a byte is shown as in the tree of what held the memory at its peak."""


def read_memray(path: Path, sink: Sink) -> None:
    """Memory over time as counters, and who held it at its peak as a call tree; CaptureError without memray."""
    try:
        from memray import FileReader
    except ImportError:
        raise CaptureError(
            f"{path} looks like a recording of memray, whose package is not installed here: pip install memray."
        ) from None
    frames = Frames()
    slices = SliceList(frames)
    try:
        with FileReader(str(path)) as reader:
            meta = reader.metadata
            first = int(meta.start_time.timestamp() * 1000)
            heap = slices.tracks.get("heap", TrackRow("heap", "counter", unit="bytes"))
            resident = slices.tracks.get("rss", TrackRow("resident memory", "counter", unit="bytes"))
            rows: list[tuple[int, int, float]] = []
            for moment in reader.get_memory_snapshots():
                time = (int(moment.time) - first) * 10**6
                rows += [(heap, time, float(moment.heap)), (resident, time, float(moment.rss))]
            held: dict[tuple[int, ...], int] = {}
            for record in reader.get_high_watermark_allocation_records(merge_threads=True):
                stack = tuple(frames.number(*frame) for frame in reversed(list(record.stack_trace())))
                held[stack] = held.get(stack, 0) + int(record.size)
    except (OSError, ValueError, RuntimeError) as error:
        raise CaptureError(f"{path} cannot be read as a recording of memray: {str(error)[:200]}.") from None
    if rows:
        track, times, values = (list(column) for column in zip(*rows, strict=True))
        sink.append("counters", {"track": track, "time": times, "value": values})
    samples, at = Samples(slices, slices.thread("peak", "bytes at the peak (1 µs is a byte)")), 0
    for stack in sorted(held):
        samples.add(stack, at, at + held[stack] * _BYTE)
        at += held[stack] * _BYTE
    samples.finish()
    slices.append_to(sink)
    sink.describe(clocks={"unit": "recording", "base_ns": first * 10**6}, frameworks={"memray": ""},
                  sampled_stacks="what held the memory at its peak: a byte is a microsecond")  # fmt: skip
