"""Nsight Systems' SQLite export (`nsys export --type sqlite`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress
from peephole.sources.sqlite_file import SqliteFile, tables_of


class NsightSource:
    """Reads one export, or several of one run (a file per rank): their tracks stay apart."""

    name = "nsight"
    formats = (
        FileFormat(
            "Nsight Systems, exported to SQLite (nsys export --type sqlite)",
            ".sqlite",
            "SQLite with StringIds and CUPTI_… or NVTX_EVENTS",
        ),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is SQLite with the tables of an export."""
        tables = tables_of(head, path)
        return any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in tables) or (
            "StringIds" in tables and ("NVTX_EVENTS" in tables or "TARGET_INFO_SYSTEM_ENV" in tables)
        )

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the files."""
        from peephole.sources.nsight.session import Session

        track, number, buffer = 0, 1, 1
        base: int | None = None
        for done, path in enumerate(paths):
            progress(done, len(paths))
            with SqliteFile(path) as file:
                session = Session(file, sink, track, number, buffer, base)
                track, number, buffer = session.read_all()
                base = session.base if base is None else base
        sink.describe(clocks={"unit": "session", "base_ns": base}, frameworks={"nsight": ""})


SOURCE = NsightSource()
