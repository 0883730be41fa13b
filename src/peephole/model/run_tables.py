"""The small tables of a run of many ranks, declared once. They lie in `run/` of its folder, beside `ranks/`."""

from __future__ import annotations

from typing import Final

from peephole.model.tables import NONE, Column, Table

RUN: Final = "run"
"""The folder of these tables in a run's own."""
RANK_CAPTURES: Final = "ranks"
"""The folder of the ranks' captures that a run holds."""


def _ns(name: str, doc: str, default: int | None = None) -> Column:
    return Column(name, "i64", "ns", doc, default)


_RANK: Final = Column("rank", "i32", "", "the rank")
_STEP: Final = Column("step", "i64", "", "number of the training step, -1 outside of any", NONE)

RUN_TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        Table(
            "ranks",
            "a rank of the run",
            (
                _RANK,
                Column("host", "str", "", "machine that it ran on"),
                Column("capture", "str", "", "its capture: a path, relative to the run's folder where it is inside"),
                _ns("offset_ns", "how far its clock was ahead of the run's when its first collective began", 0),
                _ns("bound_ns", "how far off that can be; -1 where nothing bounds it", NONE),
                _ns("clock_ns", "the moment on its own clock at which it was ahead by that much", 0),
                Column("drift", "f64", "ns/ns", "how much faster its clock ran than the run's", 0.0),
                _ns("wait_ns", "how long it waited for others in collectives, added up", 0),
                Column("last", "i32", "", "how many collectives it came to last", 0),
                _ns("caused_ns", "what the others waited for it alone, beyond the second-last arrival", 0),
                _ns("busy_ns", "time in which it computed or communicated", 0),
                _ns("communication_ns", "time in which it communicated", 0),
                _ns("overlap_ns", "time in which it did both", 0),
                Column("slow_steps", "ids", "", "steps in which it made the others wait"),
                _ns("start_ns", "when it began, on the run's clock", NONE),
                _ns("end_ns", "when it ended", NONE),
                _ns("raw_start_ns", "when it began, on its own clock", NONE),
                _ns("raw_end_ns", "when it ended, on its own clock", NONE),
                Column("slices", "i64", "", "slices in its capture", 0),
                Column("computes_on", "str", "", "what counts as computing: devices, operators or threads"),
            ),
            ("rank",),
        ),
        Table(
            "collectives",
            "a collective that several ranks took part in",
            (
                Column("index", "i64", "", "place in the run, by time"),
                Column("group", "str", "", "process group; empty where the trace has none"),
                Column("name", "str", "", "what it was: `gloo:all_reduce`"),
                _STEP,
                Column("last_rank", "i32", "", "rank that came last, -1 where nobody waits for it", NONE),
                _ns("skew_ns", "last arrival after the first"),
                _ns("latency_ns", "shortest duration over ranks: that of one that did not wait"),
                Column("bytes", "i64", "bytes", "size of what was moved, -1 when unknown", NONE),
                _ns("start_ns", "first arrival, on the run's clock"),
                _ns("end_ns", "last end"),
                _ns("caused_ns", "what the others waited for the last rank alone", 0),
                Column("ranks", "i32", "", "how many took part"),
            ),
            ("index",),
        ),
        Table(
            "arrivals",
            "a rank in a collective",
            (
                Column("collective", "i64", "collectives.index", "the collective"),
                _RANK,
                _ns("start_ns", "when the rank came, on the run's clock"),
                _ns("end_ns", "when it was done"),
                _ns("wait_ns", "until the last rank came", 0),
                Column("held", "bool", "", "the rank computed nothing beside its end: it was held up by it", False),
            ),
            ("collective", "rank"),
        ),
        Table(
            "rank_steps",
            "a rank in a training step",
            (
                _RANK,
                _STEP,
                _ns("start_ns", "begin, on the run's clock"),
                _ns("dur_ns", "length"),
                _ns("busy_ns", "time in which it computed or communicated"),
                _ns("communication_ns", "time in which it communicated"),
                _ns("overlap_ns", "time in which it did both"),
                _ns("wait_ns", "time in which it waited for others"),
                _ns("own_ns", "length without the waits"),
                Column("slow", "bool", "", "it made the others wait", False),
                _ns("raw_start_ns", "begin, on the rank's own clock"),
                _ns("raw_end_ns", "end, on the rank's own clock"),
            ),
            ("rank", "step"),
        ),
        Table(
            "rank_collectives",
            "a collective as one rank saw it",
            (
                _RANK,
                Column(
                    "collective", "i64", "collectives.index", "the same on all ranks; -1 where it was not matched", NONE
                ),
                Column("group", "str", "", "process group, with its ranks where the trace says them"),
                Column("place", "i64", "", "place in the order of its group on this rank"),
                Column("name", "str", "", "what it was"),
                Column("bytes", "i64", "bytes", "size of what was moved, -1 when unknown", NONE),
                _ns("raw_start_ns", "when the rank came, on its own clock"),
                _ns("raw_end_ns", "when it was done, on its own clock"),
                Column("held", "bool", "", "the rank computed nothing beside its end: it was held up by it", False),
                Column("peer", "i32", "", "of a send or receive the rank on its other side, as the trace has it", NONE),
            ),
            ("rank", "raw_start_ns"),
        ),
        Table(
            "rank_totals",
            "a kernel or operator of a rank, added up",
            (
                _RANK,
                Column("name", "str", "", "the kernel"),
                Column("count", "i64", "", "how often it ran"),
                _ns("total_ns", "how long together"),
            ),
            ("rank", "name"),
        ),
        Table(
            "rank_gaps",
            "idle time of a rank in a step, by cause",
            (
                _RANK,
                _STEP,
                Column("cause", "str", "", "host, between kernels, before communication, other"),
                Column("count", "i64", "", "how many gaps began in it"),
                _ns("total_ns", "how long together"),
            ),
            ("rank", "step", "cause"),
        ),
        Table(
            "inputs",
            "a file or capture that was given to make the run",
            (
                Column("path", "str", "", "where it was read from"),
                Column("state", "str", "", "read, not read, without a slice, of another run, or there twice"),
                Column("problem", "str", "", "why it is not part of the run"),
                Column("ranks", "ids", "", "ranks that it holds"),
                Column("worker", "str", "", "machine and process that read it"),
                Column("tries", "i32", "", "how often it was begun", 1),
                _ns("dur_ns", "how long reading it took", 0),
                Column("slices", "i64", "", "slices in it", 0),
                Column("content", "str", "", "size and hash of the file: it is known by them under any name", ""),
            ),
            ("path",),
        ),
    )
}
