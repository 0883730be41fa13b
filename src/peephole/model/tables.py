"""The tables of a capture, declared once.

The Arrow schemas (store), the journal's records (record, store), the reference page docs/format.md and the
SQL views all come out of this declaration: a column exists nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

FORMAT_VERSION: Final = 2
"""Version of tables, journal and manifest; a capture with a larger one is refused, a smaller one is read."""

NONE: Final = -1
"""The id, time or number that stands for "there is none" in an integer column."""

GRAPH: Final = "GRAPH"
"""The op of a node whose sources are instructions in order: a graph, its part, or the body of a call."""

ColumnType = Literal["bool", "i16", "i32", "i64", "f64", "str", "text", "bytes", "ids"]
"""str: a text that repeats (dictionary coded). text: one that does not. ids: a list of i64."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, type, unit (or what it points to), one line of documentation, default.

    `since` is the version of the format that brought it: in an older capture its rows have the default, null or an
    empty list. New columns come last, so that an older journal is read with those in front of them.
    """

    name: str
    type: ColumnType
    unit: str
    doc: str
    default: int | float | bool | str | None = None
    since: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """One table: a row is one fact. `order` names the columns that a sealed table is sorted by."""

    name: str
    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    since: int = 1

    def column(self, name: str) -> Column:
        """The column of that name; KeyError names table and column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}")


def _i64(name: str, unit: str, doc: str, default: int | None = None, since: int = 1) -> Column:
    return Column(name, "i64", unit, doc, default, since)


def _i32(name: str, unit: str, doc: str, default: int | None = None) -> Column:
    return Column(name, "i32", unit, doc, default)


def _str(name: str, doc: str, unit: str = "", since: int = 1) -> Column:
    return Column(name, "str", unit, doc, since=since)


def _text(name: str, doc: str, unit: str = "") -> Column:
    return Column(name, "text", unit, doc)


def _ids(name: str, unit: str, doc: str, since: int = 1) -> Column:
    return Column(name, "ids", unit, doc, since=since)


TRACKS: Final = Table(
    "tracks",
    "a lane: device, thread, worker, wave, counter",
    (
        _i32("id", "track", "number of the track in this capture"),
        _str("name", "what the user reads: `CPU:1`, `USER`, `worker_0`"),
        _str(
            "kind",
            "host, thread, gc, user, tiny, device, copy, batch, disk, memory, counter, client, dispatcher, worker, "
            "wave, unit or compile (a compiler's phases)",
        ),
        _i32("parent", "track", "the track that this one is shown under, -1 for none", NONE),
        _i32("order", "", "place among its siblings, smallest first", 0),
        _i32("process", "pid", "process that wrote it, -1 when unknown", NONE),
        _i32("rank", "", "rank in a distributed run, -1 when there is none", NONE),
        _str("host", "machine that wrote it"),
        _str("unit", "unit of a counter's values: `bytes`, `%`"),
    ),
    ("id",),
)

SLICES: Final = Table(
    "slices",
    "something that took time",
    (
        _i32("track", "tracks.id", "lane that it is drawn on"),
        Column("depth", "i16", "", "row within the track: nesting or sub-lane; slices of one row never overlap", 0),
        _i64("start", "ns", "begin on the capture's clock"),
        _i64("dur", "ns", "how long it took; 0 for something without length"),
        _str("name", "kernel, function, pass or message"),
        _i64("context", "contexts.id", "compilation that produced it, -1 for none", NONE),
        _i64("correlation", "", "number by which flows and uses name this slice, 0 for none", 0),
        _text("args", "further facts as a JSON object: flops, bytes, location, open, …"),
    ),
    ("track", "depth", "start"),
)

COUNTERS: Final = Table(
    "counters",
    "a value at a time",
    (
        _i32("track", "tracks.id", "counter that has the value"),
        _i64("time", "ns", "when"),
        Column("value", "f64", "tracks.unit", "the value from then on"),
    ),
    ("track", "time"),
)

MARKERS: Final = Table(
    "markers",
    "a moment with a name",
    (
        _i64("time", "ns", "when"),
        _str("name", "what the program called it"),
        _str("kind", "marker, signal or event"),
        _i32("track", "tracks.id", "lane that it belongs to, -1 for the whole capture", NONE),
        _str("colour", "colour that the program asked for, as #rrggbb or a name"),
        _text("args", "further facts as a JSON object"),
    ),
    ("time",),
)

FLOWS: Final = Table(
    "flows",
    "an arrow from one slice to another",
    (
        _i64("from", "slices.correlation", "where it begins"),
        _i64("to", "slices.correlation", "where it ends"),
        _i64("bytes", "bytes", "size of what moved, -1 when unknown", NONE),
        _str("kind", "launch, message, transfer, async, …"),
    ),
    ("from", "to"),
)

BUFFERS: Final = Table(
    "buffers",
    "memory from alloc to free",
    (
        _i64("id", "buffer", "number of the buffer in this capture"),
        _str("device", "where it lives"),
        _i64("alloc", "ns", "when it was allocated"),
        _i64("free", "ns", "when it was freed, -1 while it lives", NONE),
        _i64("bytes", "bytes", "its size"),
        _str("dtype", "element type"),
        _str("name", "what the program called it"),
    ),
    ("alloc", "id"),
)

USES: Final = Table(
    "uses",
    "a slice reads or writes a buffer",
    (
        _i64("buffer", "buffers.id", "the buffer"),
        _i64("slice", "slices.correlation", "the slice that used it"),
        _str("mode", "read, write or readwrite"),
        Column("position", "i16", "", "place in the kernel's argument list", 0),
    ),
    ("buffer", "slice", "position"),
)

CONTEXTS: Final = Table(
    "contexts",
    "a unit of compilation: schedule, kernel, captured graph",
    (
        _i64("id", "context", "number of the context in this capture"),
        _str("name", "`Schedule 3 Kernels n1`, `r_256_64_4`"),
        _str(
            "kind",
            "callify, schedule, kernel, jit, graph (a captured graph), half (of one that was partitioned: forward, "
            "backward), module, process (one of several that left their modules in folders of their own), function, "
            "rewrites (steps outside any other) or other",
        ),
        _i64("parent", "contexts.id", "context that it was opened in, -1 for none", NONE),
        _str("function", "function that was tracked"),
        _text("keys", "what links it to slices and CALL nodes, a JSON array of texts"),
        _text("stack", "where it was opened, innermost first: JSON array of [file, line, function, source]"),
        _i64("start", "ns", "when it was opened, -1 when unknown", NONE),
        _i64("dur", "ns", "until it was closed, -1 when unknown", NONE),
        _str(
            "compiler",
            "whose passes these are: tinygrad, torch, xla, mlir, chakra (operators that ran) or track_rewrites; null "
            "if unknown",
            since=2,
        ),
    ),
    ("id",),
)

STEPS: Final = Table(
    "steps",
    "one pass over a graph",
    (
        _i64("id", "step", "number of the step in this capture"),
        _i64("context", "contexts.id", "context that it belongs to"),
        _i32("ordinal", "", "place within the context, from 0"),
        Column("depth", "i16", "", "nesting: a step belongs to the last one before it with a smaller depth", 0),
        _str("name", "name of the pass; empty when the program gave none"),
        _str("file", "where it was called"),
        _i32("line", "", "line of that call, -1 when unknown", NONE),
        _i64("root", "nodes.id", "root of the graph that went in, -1 for none", NONE),
        _i64("start", "ns", "begin, -1 when unknown", NONE),
        _i64("dur", "ns", "how long it took, -1 when unknown", NONE),
        _i32("matches", "", "number of rules that fired", 0),
        Column("bottom_up", "bool", "", "rules saw a node before its sources", False),
        Column("walk", "bool", "", "each node was visited once and its replacement not again", False),
        Column("enter_calls", "bool", "", "the pass went into the bodies of calls", False),
        _text("error", "traceback of a rule that raised; null when none did"),
        _i64("after", "nodes.id", "root of the graph that came out, -1 when it is replayed from the matches", NONE, 2),
    ),
    ("context", "ordinal"),
)

MATCHES: Final = Table(
    "matches",
    "one rule that fired",
    (
        _i64("step", "steps.id", "pass in which it fired"),
        _i32("ordinal", "", "place within the step, from 0"),
        _i64("before", "nodes.id", "node that matched"),
        _i64("after", "nodes.id", "what it became, -1 when the rule raised", NONE),
        _str("file", "where the rule is written"),
        _i32("line", "", "line of the rule, -1 when unknown", NONE),
        _i64("dur", "ns", "how long the rule took, -1 when unknown", NONE),
        _ids("removed", "nodes.id", "all nodes that the rule took, empty when `before` says it", 2),
        _ids("added", "nodes.id", "all nodes that the rule put, empty when `after` says it", 2),
    ),
    ("step", "ordinal"),
)

NODES: Final = Table(
    "nodes",
    "a graph node, immutable, shared by all graphs",
    (
        _i64("id", "node", "number of the node in this capture"),
        _str("op", "its operation: `ADD`, `RESHAPE`"),
        _str("dtype", "its element type"),
        _str("arg", "its argument as text"),
        _ids("src", "nodes.id", "its sources, in order; those of a GRAPH are all its instructions"),
        _str("tag", "its tag as text, null for none"),
        _str("shape", "its shape as text, null when unknown"),
        _str("metadata", "tensor operation and line that it came from, null when unknown"),
        _str("name", "name of the instruction, the same from graph to graph; null where nodes have none", since=2),
    ),
    ("id",),
)

ARTIFACTS: Final = Table(
    "artifacts",
    "text or bytes that belong to a context or step",
    (
        _i64("context", "contexts.id", "context that it belongs to, -1 for the whole capture", NONE),
        _i64("step", "steps.id", "step that it belongs to, -1 for none", NONE),
        _str("kind", "source, assembly, oplist, binary, table, error, file or data"),
        _str("language", "`c`, `python`, `text`, `amd`: what to colour it as"),
        _str("name", "what the user reads"),
        Column("content", "bytes", "", "the text in UTF-8, or the bytes"),
    ),
    ("context", "step"),
)

HARDWARE: Final = Table(
    "hardware",
    "a hardware trace or a set of counters of one run of a kernel",
    (
        _str("kernel", "name of the kernel"),
        _i64("context", "contexts.id", "compilation of the kernel, -1 for none", NONE),
        _str("device", "where it ran"),
        _i32("run", "", "which run of the kernel, from 0", 0),
        _str("kind", "sqtt, pmc or pma"),
        _str("unit", "`SE:0`, or empty for the whole device"),
        _str("arch", "`gfx1100`; empty when unknown"),
        _i64("start", "ns", "when the run began, -1 when unknown", NONE),
        _text("props", "further facts as a JSON object: the counters' layout, dispatch sizes, …"),
        Column("content", "bytes", "", "the raw trace as the hardware wrote it"),
    ),
    ("kernel", "run", "unit"),
)

MESSAGES: Final = Table(
    "messages",
    "an event of a tape: what client, dispatcher and workers said",
    (
        _i64("slice", "slices.correlation", "the slice that shows it; its args have the rest of the line"),
        _i64("seq", "", "number on the tape, the order of its run"),
        _str("event", "`RECV`, `WORKER_SEND`, …"),
        _str("command", "`BinaryOp`, `WorkerBatch`, …"),
        _str("op", "what it is about: `matmul`"),
        _i64("size", "bytes", "size of the data, -1 when the tape does not tell", NONE),
        _i64("pair", "seq", "the answer, or what it answers, -1 for none", NONE),
        _i64("of", "seq", "the client's command that it belongs to, -1 when that is not known", NONE),
        Column("late", "bool", "", "a batch that was logged when it was done, answer first", False),
        Column("failed", "bool", "", "it tells of a failure", False),
    ),
    ("slice",),
)

DECISIONS: Final = Table(
    "decisions",
    "something that a pass decided about one or two nodes",
    (
        _i64("step", "steps.id", "pass that decided"),
        _i32("ordinal", "", "place within the step, from 0"),
        _str("kind", "fused, refused, break, recompile or whatever the compiler calls it"),
        _i64("a", "nodes.id", "the node that it is about, -1 for none", NONE),
        _i64("b", "nodes.id", "the other one, -1 for none", NONE),
        _str("reason", "why, in the compiler's own words"),
        _str("file", "where that is written"),
        _i32("line", "", "line of it, -1 when unknown", NONE),
    ),
    ("step", "ordinal"),
    since=2,
)

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        TRACKS,
        SLICES,
        COUNTERS,
        MARKERS,
        FLOWS,
        BUFFERS,
        USES,
        CONTEXTS,
        STEPS,
        MATCHES,
        NODES,
        ARTIFACTS,
        HARDWARE,
        MESSAGES,
        DECISIONS,
    )
}
