"""The facts of each event as JSON: what a reader of slices finds in their `args`."""

from __future__ import annotations

import re
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

import numpy as np

from peephole.model.sink import Joined, Strings
from peephole.sources.gt.columns import Codes, Columns, Ints

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")
"""Text that JSON writes as it is."""


def event_args(columns: Columns, op: Codes, ops: list[str]) -> Joined:
    """A JSON object per event: what its line says. How events belong together is in the table `messages`.

    All but number and details is the same for many of them, and is written once.
    """
    details = columns.details
    if _PLAIN.fullmatch("".join(details)) is None:
        details = [quoted(text)[1:-1] for text in details]
    # one column at a time, so that no product leaves 63 bits
    kind = np.zeros(len(columns), np.int64)
    for column in (columns.event, columns.source, columns.command, op, _distinct(columns.size + 1)):
        kind = _distinct(kind * np.int64(int(column.max(initial=0)) + 1) + column)
    first = np.empty(int(kind.max(initial=-1)) + 1, np.int64)
    first[kind] = np.arange(len(kind))
    heads = [_head(columns, row, ops[op[row]]) for row in first.tolist()]
    return Joined(('{"seq":', columns.seq, Strings(kind, heads), details, '"}'))


def _head(columns: Columns, row: int, op: str) -> str:
    who, size = columns.who.values[columns.source[row]], int(columns.size[row])
    event, command = columns.events.values[columns.event[row]], columns.commands.values[columns.command[row]]
    source, _, own = who.partition(" ")
    role = {"CLIENT": "client", "WORKER": "worker"}.get(source)
    said = f'"{role}":{quoted(own)}' if role else f'"source":{quoted(who)}'
    much = f'"size":{size},' if size >= 0 else ""
    return f',"event":{quoted(event)},"command":{quoted(command)},{said},"op":{quoted(op)},{much}"details":"'


def _distinct(values: Ints) -> Ints:
    """Numbers from 0 on, equal for equal values; the values are from 0 on too."""
    most = int(values.max(initial=0))
    if most > 8 * len(values) + 1024:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    # few are possible: a table of them is quicker than sorting
    table = np.zeros(most + 1, np.int64)
    table[values] = 1
    return (np.cumsum(table) - 1)[values]
