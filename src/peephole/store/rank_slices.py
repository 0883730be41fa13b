"""The raw slices of all ranks of a run as one table for SQL, read where they lie: nothing is copied, nothing joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from peephole.errors import PeepholeError
from peephole.model.tables import TABLES
from peephole.store.capture import Capture, open_capture
from peephole.store.remote import present
from peephole.store.runs import read_run_table
from peephole.store.tables.schema import arrow_schema

NAME: Final = "rank_slices"
_VIEW: Final = f"""
CREATE VIEW {NAME} AS
SELECT t.rank, s.start + c.base_ns - r.offset_ns
         - round((s.start + c.base_ns - r.clock_ns) * r.drift)::BIGINT AS start_ns,
       s.dur AS dur_ns, s.name, t.name AS track, t.kind, s.depth, s.start AS raw_start_ns, s.args
FROM "rank slices" s
JOIN "rank captures" c ON c.capture = s.capture
JOIN "rank tracks" t ON t.capture = s.capture AND t.id = s.track
JOIN "rank clocks" r ON r.rank = t.rank
"""


def base_of(capture: Capture) -> int:
    """What a time of this capture lacks to be one since 1970; 0 where that is unknown."""
    base = capture.manifest.clocks.get("base_ns")
    if isinstance(base, int) and not isinstance(base, bool):
        return base
    for process in capture.manifest.processes:
        clock = process.get("clock") if isinstance(process, dict) else None
        if (
            isinstance(clock, dict)
            and isinstance(clock.get("time_ns"), int)
            and isinstance(clock.get("perf_counter_ns"), int)
        ):
            return int(clock["time_ns"]) - int(clock["perf_counter_ns"])
    return 0


def register_rank_slices(connection: Any, run: Capture) -> None:
    """Gives a connection the view `rank_slices`: each rank's slices with its number, on the run's clock.

    PeepholeError where a rank's capture is gone. A run in object storage brings all of its ranks here.
    """
    import pyarrow.dataset as ds

    ranks = read_run_table(run.path, "ranks", ["rank", "capture", "offset_ns", "drift", "clock_ns"])
    number_of: dict[str, int] = {}
    owner = [number_of.setdefault(path or "", len(number_of)) for path in ranks.texts("capture")]
    fragments, bases, tracks = [], [], []
    for path, number in number_of.items():
        found = present(run.path, path)
        if not found.exists():
            raise PeepholeError(f"{found} is gone: the slices of that rank cannot be read; the run's tables can.")
        with_slices = open_capture(found)
        bases.append(base_of(with_slices))
        own = [int(rank) for rank, of in zip(ranks["rank"], owner, strict=True) if of == number]
        tracks.append(_tracks(with_slices, number, own))
        if with_slices.count("slices"):
            fragments.append(_fragment(with_slices.file("slices"), number))
    schema = arrow_schema(TABLES["slices"]).append(pa.field("capture", pa.int32()))
    every = ds.FileSystemDataset(fragments, schema, ds.ParquetFileFormat())
    connection.register("rank slices", every)
    connection.register("rank captures", pa.table({"capture": np.arange(len(bases), dtype=np.int32), "base_ns": bases}))
    connection.register("rank tracks", pa.concat_tables(tracks))
    clocks = {name: ranks[name] for name in ("rank", "offset_ns", "drift", "clock_ns")}
    connection.register("rank clocks", pa.table(clocks))
    connection.execute(_VIEW)


def _fragment(path: Path, number: int) -> Any:
    import pyarrow.dataset as ds
    from pyarrow import fs

    return ds.ParquetFileFormat().make_fragment(
        str(path), fs.LocalFileSystem(), partition_expression=ds.field("capture") == number
    )


def _tracks(capture: Capture, number: int, ranks: list[int]) -> pa.Table:
    frame = capture.read("tracks", ["id", "rank", "name", "kind"])
    only = ranks[0] if len(ranks) == 1 else -1  # a capture of one rank need not say so itself
    return pa.table(
        {
            "capture": np.full(len(frame), number, np.int32),
            "id": frame["id"],
            "rank": frame["rank"] if only < 0 else np.full(len(frame), only, np.int32),
            "name": pa.array(list(frame.texts("name")), pa.string()),
            "kind": pa.array(list(frame.texts("kind")), pa.string()),
        }
    )
