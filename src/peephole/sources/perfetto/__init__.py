"""Perfetto's own format (`.pftrace`, `.perfetto-trace`): Chrome, Android, the Perfetto SDK, rocprofv3 write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress
from peephole.sources.gunzip import GZIP_MAGIC, Gunzip
from peephole.sources.scans.wire import Malformed, fields, varint

_PACKET: Final = 0x0A
"""How each record begins: field 1, bytes."""
_LOOKED_AT: Final = 64
"""Packets of the head that are looked at."""
_TELLING: Final = 6
"""A packet of larger field numbers alone is one of Perfetto's: XLA's XSpace, whose records begin alike, has none."""


class PerfettoSource:
    """Reads one trace, or several that belong together: their tracks stay apart."""

    name = "perfetto"
    formats = (
        FileFormat(
            "Perfetto protobuf: Chrome, Android, the Perfetto SDK, rocprofv3",
            ".pftrace .perfetto-trace",
            "a row of trace packets",
        ),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is a row of packets: field 1, and in it fields that a TracePacket has."""
        from peephole.sources.perfetto.packet_names import NAMES, SCALARS

        at = told = sound = 0
        while at < len(head) and sound < _LOOKED_AT:
            try:
                if head[at] != _PACKET:
                    break
                size, begin = varint(head, at + 1)
                for number, value in fields(head[begin : begin + size]):
                    if isinstance(value, bytes) if number in SCALARS else number in NAMES and isinstance(value, int):
                        return told > 0 and sound > 0
                    # the third is the user's number, which a plane of XLA has as a message
                    told += number == 3 or (number > _TELLING and (number in NAMES or number in SCALARS))
            except Malformed:
                break
            at = begin + size
            sound += 1
        # the first packet may be longer than the head
        return told > 0 and (sound > 0 or at == 0)

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the files, one after the other."""
        from peephole.sources.perfetto.reader import Reader

        total = sum(path.stat().st_size for path in paths)
        track, number, done = 0, 1, 0
        clocks: dict[str, Any] = {}
        for path in paths:
            try:
                with path.open("rb") as file:
                    stream: Gunzip | BinaryIO = Gunzip(file) if file.read(2) == GZIP_MAGIC else file
                    file.seek(0)
                    reader = Reader(sink, str(path), track, number)
                    reader.read(stream.read, lambda file=file, done=done: progress(done + file.tell(), total))  # type: ignore[misc]
            except OSError as error:
                raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error
            if isinstance(stream, Gunzip) and stream.damage:
                sink.problem(stream.damage, 1, str(path))
            if not reader.packets:
                raise CaptureError(f"{path} begins like a Perfetto trace and holds no whole packet: it is cut off.")
            track, number = reader.finish(), reader.number
            clocks = clocks or reader.clocks.facts()
            done += path.stat().st_size
        sink.describe(clocks=clocks, frameworks={"perfetto": ""})


SOURCE = PerfettoSource()
