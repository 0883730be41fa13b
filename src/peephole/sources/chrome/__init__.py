"""Chrome trace JSON, the common tongue of profilers: torch.profiler, viztracer, JAX, clang, Chromium, node, …"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress
from peephole.sources.gunzip import GZIP_MAGIC, Gunzip, ReadAhead

if TYPE_CHECKING:  # numpy: not for a command that only asks what a file is
    from peephole.sources.chrome.mapper import Mapper
    from peephole.sources.chrome.reader import ByteReader

_EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_PHASE: Final = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),=]"')
_PREFACE: Final = 16 << 20
_PIECE: Final = 8 << 20
"""Bytes that are unpacked ahead."""
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file of two bytes a letter begins, which a redirection on Windows makes."""
_LAST_BASE: Final = 1 << 61
"""Nanoseconds since the epoch until the year 2043; what is larger is no time of day."""


class ChromeSource:
    """Reads one trace file, or several that belong together (one per rank) on one clock."""

    name = "chrome"
    formats = (
        FileFormat(
            "Chrome trace JSON: torch.profiler, viztracer, JAX, clang, Chromium",
            ".json .json.gz",
            "traceEvents, or an array of events with ph",
        ),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is JSON that speaks of trace events."""
        if head[:2] in _WIDE:
            head = head.decode("utf-16", "replace").encode()
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if start == b"{":
            return bool(_EVENTS.search(head) or _PHASE.search(head)) or _late_events(path)
        return start == b"[" and bool(_PHASE.search(head))

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the files; each rank's processes stay apart."""
        from peephole.sources.chrome.batch import Interner
        from peephole.sources.chrome.mapper import Mapper
        from peephole.sources.chrome.reader import TraceReader

        intern = Interner()
        total = sum(path.stat().st_size for path in paths)
        done = 0
        base: int | None = None
        facts: dict[str, object] = {}
        with contextlib.closing(Mapper(sink, intern)) as mapper:
            for number, path in enumerate(paths):
                with _open(path) as (stream, position):
                    before = done

                    def advanced(_count: int, before: int = before, position: BinaryIO = position) -> None:
                        progress(before + position.tell(), total)

                    reader = TraceReader(stream, sink, intern, str(path), advanced)
                    mapper.new_file(number)
                    begun = False
                    for batch in reader.batches():
                        if not begun:
                            base = _begin(mapper, reader.facts, base)
                            begun = True
                        mapper.take(batch)
                    facts |= reader.facts
                    if damage := getattr(stream, "damage", None):
                        sink.problem(damage, 1, str(path))
                done += path.stat().st_size
            mapper.finish()
        sink.describe(
            clocks={"unit": "trace", "base_ns": base},
            frameworks=_frameworks(facts),
            extra={
                key: value
                for key, value in facts.items()
                if isinstance(value, str | int | float) and key != "traceName"
            }
            | _world(facts),
        )


def _begin(mapper: Mapper, facts: dict[str, object], base: int | None) -> int | None:
    """Tells the mapper whose file begins; gives the base of all times, that of the first file that has one."""
    info = facts.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    mapper.tracks.rank = rank if isinstance(rank, int) and 0 <= rank < 1 << 31 else -1
    host = facts.get("host_name")
    mapper.tracks.host = host if isinstance(host, str) else None
    own = facts.get("baseTimeNanoseconds")
    if not isinstance(own, int) or not 0 <= own < _LAST_BASE:
        mapper.offset = 0
        return base
    mapper.offset = 0 if base is None else own - base
    return own if base is None else base


def _world(facts: dict[str, object]) -> dict[str, int]:
    """How many ranks the run had that a file is of, where it says so."""
    info = facts.get("distributedInfo")
    known = info if isinstance(info, dict) else {}
    named = {"world_size": known.get("world_size"), "group_count": known.get("pg_count")}
    return {name: value for name, value in named.items() if isinstance(value, int) and 0 < value < 1 << 31}


def _frameworks(facts: dict[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    if "schemaVersion" in facts and "trace_id" in facts:
        found["torch.profiler"] = str(facts["schemaVersion"])
    meta = facts.get("viztracer_metadata")
    if isinstance(meta, dict):
        found["viztracer"] = str(meta.get("version", ""))
    return found


def _late_events(path: Path) -> bool:
    """Whether `traceEvents` comes after a long preface, within the first 16 MB."""
    try:
        with _open(path) as (stream, _):
            return bool(_EVENTS.search(stream.read(_PREFACE)))
    except CaptureError:
        return False


@contextlib.contextmanager
def _open(path: Path) -> Iterator[tuple[ByteReader, BinaryIO]]:
    """The stream, unzipped and in UTF-8, and the file whose position tells how far it is."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP_MAGIC
            file.seek(0)
            wide = (Gunzip(file) if zipped else file).read(2) in _WIDE
            file.seek(0)
            with contextlib.ExitStack() as open_until:
                stream: Any = (
                    open_until.enter_context(contextlib.closing(ReadAhead(Gunzip(file), _PIECE))) if zipped else file
                )
                yield codecs.EncodedFile(stream, "utf-8", "utf-16", "replace") if wide else stream, file
    except OSError as error:
        raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error


SOURCE = ChromeSource()
