"""rocpd, the SQLite that rocprofv3 writes (`HOST/PID_results.db`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress
from peephole.sources.sqlite_file import SqliteFile, tables_of

_TABLE: Final = re.compile(
    r"rocpd_(string|info_\w+?|region|kernel_dispatch|memory_copy|event|metadata)(_[0-9A-Fa-f_-]{16,})?"
)


class RocpdSource:
    """Reads one database, or several of one run (a database per process); a database may hold several runs."""

    name = "rocpd"
    formats = (FileFormat("rocpd, the SQLite of rocprofv3", ".db", "SQLite with tables rocpd_…"),)

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is SQLite with rocpd's tables."""
        return any(_TABLE.fullmatch(name) for name in tables_of(head, path))

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the databases; all times are of one clock."""
        from peephole.sources.rocpd.session import Session, suffixes

        track, number, buffer = 0, 1, 1
        for done, path in enumerate(paths):
            progress(done, len(paths))
            with SqliteFile(path) as file:
                for suffix in suffixes(file):
                    session = Session(file, sink, suffix, track, number, buffer)
                    track, number, buffer = session.read_all()
                if file.unfinished():
                    sink.problem("the database was still being written: what lies beside it in its log is not read")
        sink.describe(clocks={"unit": "boot"}, frameworks={"rocprofv3": ""})


SOURCE = RocpdSource()
