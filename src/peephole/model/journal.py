"""The journal's layout: what a recorded process writes and the store reads. Standard library only.

A process writes into `NAME.peep/journal/pNNNNN/` (NNNNN: the ordinal that it won with mkdir), one series of
segments per thread: `tNNNN.SSSSSS.seg`. A segment is a preallocated, memory-mapped file of 32-byte slots:

    slot 0    header: magic, version, ordinals, counts (HEADER)
    slot 1…   records; the last byte of a record's first slot is its kind and is written last,
              so a record is there whole or not at all; kind 0 is the end

    a slice   exactly one slot (SLICE):     start dur name correlation track depth flags kind
    any other PAYLOAD_LEN u32 | 26 bytes of payload | flags u8 | kind u8, the payload goes on in the next slots

The version in the header is the format's: a record has the columns that there were then (`Column.since`).

Texts are numbered per thread: a TEXT record gives a number its text, number 0 is null (a STRING record, which older
journals have, gives it to the next number). Ids (node, context, step, buffer, correlation) are numbered per process; a
reader adds `ordinal << PROCESS_SHIFT`. Track numbers are per process too and are renumbered by the reader.

When a segment is full or closed its header gets the number of used slots (those after the header) and their CRC-32,
over the bytes [SLOT, SLOT + used * SLOT), and the file is cut to that length where that is safe: a reader reads it
and never maps it. In the segment that was being written when the process died both are 0: it ends at the first kind
0, unless that record has a length and others follow: then a signal handler, or a finalizer, wrote these while the
record was being written, and it is skipped. A row that does not fit into a slice's slot (a correlation above 32 bits)
is written as a record of its table.

What takes long is written when it begins, so that it is there when the process is killed, and again when it ends: of
several rows of `contexts` or `steps` with one id the last one counts, and a slice with FLAG_OPEN (dur: so far) counts
only when no later slice of that process has its track, depth and start; it then gets `"open": true` in its args.
A slice with FLAG_PROVISIONAL, whose time is an estimate, counts only until a SETTLED record of its thread comes or the
process ends in order.

What comes again and again, a kernel of a captured graph, is described once, by a PLAN record, and each time that it
ran is one RUN record of a slot (RUN): the reader makes of it a slice, with the args that follow from the plan's
amounts, and its uses. A plan is JSON: {"plan": number, "track", "name", "context", "amounts": {arg: amount}, "uses":
[[buffer, mode, position], …]}. An amount is a number or a list of steps: a number, a variable (a list with its name)
or a list of a sign (AMOUNTS) and the places of one or two earlier steps; the last one is the amount. The arg is the
amount per second. A use whose buffer is -2 is told by the run: the payload goes on with an i64 for each.

`journal/pNNNNN/open.NNNN` has a slot (MARK) for each row of each track that spans were on: the span that was begun
there last. It is open when no slice has its track, depth and start. A slot whose two starts differ was being written.

`journal/pNNNNN/process.json` says who wrote the folder: {"format", "ordinal", "pid", "parent" (pid), "argv",
"executable", "python", "host", "boot" (id of the machine's boot or null: equal ones share a clock), "born" (when the
process began, in the system's ticks since boot, or null), "clock": {"perf_counter_ns", "time_ns"} read at one moment,
"rank", "started" (perf_counter_ns), "ended" (null until it ended), "clean" (true once it closed its journal)}. All
times are perf_counter_ns of that process.
"""

from __future__ import annotations

import struct
from typing import Final

from peephole.model.tables import FORMAT_VERSION, TABLES, Column, Table

SLOT: Final = 32
MAGIC: Final = b"PEEPJRN1"
HEADER: Final = struct.Struct("<8sHHIIIII")
"""magic, version, process ordinal, thread ordinal, segment number, used slots, CRC-32, events lost after it: their
number, in the four highest bits of it what was short (SHORT)."""
DROPPED_OFFSET: Final = 28
SHORT_SHIFT: Final = 28
DROPPED_MAX: Final = (1 << SHORT_SHIFT) - 1
SHORT: Final = (
    "there was no room on the disk",
    "the process had no file descriptor left",
    "the system had no memory left",
    "the capture's folder was gone",
    "the capture's folder may not be written",
    "an event was too large",
    "the disk failed",
)
"""What was short when events were lost."""
USED_OFFSET: Final = 20

SLICE: Final = struct.Struct("<qqIIIHBB")
"""start, dur, name, correlation, track, depth, flags, kind."""
FLAG_OPEN: Final = 1
"""In a slice's flags: it had not ended yet when this was written."""
FLAG_PROVISIONAL: Final = 2
"""In a slice's flags: its time is an estimate; a final one follows when the process ends in order."""
PREFIX: Final = struct.Struct("<I")
INLINE: Final = 26
"""Bytes of payload that fit into a record's first slot."""
PROCESS_SHIFT: Final = 40

KIND_END: Final = 0
KIND_SLICE: Final = 1
KIND_STRING: Final = 2
"""Payload: the text in UTF-8 (surrogates kept). Only in journals of earlier versions."""
KIND_ARGS: Final = 3
"""Payload: context i64, then JSON: belongs to the next slice of this thread."""
KIND_FREE: Final = 4
"""Payload: buffer i64, time i64."""
KIND_PROBLEM: Final = 5
"""Payload: count i64, reason in UTF-8."""
KIND_FACTS: Final = 6
"""Payload: JSON object for the manifest."""
KIND_PAD: Final = 7
"""Fills the rest of a segment that the next record did not fit into; skipped."""
KIND_SETTLED: Final = 8
"""No payload: the provisional slices of this thread so far are replaced by final ones."""
KIND_TEXT: Final = 9
"""Payload: number u32, then the text in UTF-8 (surrogates kept)."""
KIND_PLAN: Final = 10
"""Payload: JSON, see above. The last one of a number counts from there on."""
KIND_RUN: Final = 11
"""Payload: RUN, then the buffers that the plan leaves open."""
RUN: Final = struct.Struct("<qIIII")
"""start, dur, plan, correlation, number of the text that holds the variables as a JSON object (0: none)."""
OPEN_BUFFER: Final = -2
AMOUNTS: Final = frozenset(("+", "-", "*", "//", "%", "max", "<", "!=", "==", "&", "|", "^", "neg"))
"""What may stand in an amount beside numbers and variables."""

MARK: Final = struct.Struct("<qIIqIHH")
"""A slot of `open.NNNN`: start, name, correlation, start again, track, depth, thread ordinal plus 1 (0: no slot)."""

FIRST_TABLE_KIND: Final = 16
TABLE_KINDS: Final[dict[str, int]] = {name: FIRST_TABLE_KIND + i for i, name in enumerate(TABLES)}
"""Every other row is a record of its table's kind, encoded by `record_format`."""

_CODES: Final = {"bool": "?", "i16": "h", "i32": "i", "i64": "q", "f64": "d", "str": "I"}


def fixed_columns(table: Table, version: int = FORMAT_VERSION) -> tuple[Column, ...]:
    """The columns of fixed width in a journal of that version, in order; a `str` is the number of its text."""
    return tuple(column for column in table.columns if column.type in _CODES and column.since <= version)


def tail_columns(table: Table, version: int = FORMAT_VERSION) -> tuple[Column, ...]:
    """The columns that follow, each as u32 byte length and bytes (UTF-8; `ids` as packed i64)."""
    return tuple(column for column in table.columns if column.type not in _CODES and column.since <= version)


def record_format(table: Table, version: int = FORMAT_VERSION) -> struct.Struct:
    """The fixed part of a row's payload, little endian, unpadded. A null tail column has length 0xFFFFFFFF."""
    return struct.Struct("<" + "".join(_CODES[column.type] for column in fixed_columns(table, version)))


NULL_LENGTH: Final = 0xFFFFFFFF


def slots_for(length: int) -> int:
    """How many slots a record with a payload of that many bytes takes."""
    return 1 if length <= INLINE else 1 + (length - INLINE + SLOT - 1) // SLOT
