"""Columns of a database's table as arrays, and slices made of them: what readers of SQLite files share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import ColumnValues, Joined, Sink, Strings
from peephole.sources.parted_rows import Ints, PartedRows, together
from peephole.sources.sqlite_file import DAMAGE, SqliteFile, decimal, whole, wording

_NAMES: Final = 1 << 24
"""Texts of a table of names that are held."""


class TableReader:
    """Reads the tables of one file; what is missing or damaged is said and does not end the reading."""

    def __init__(self, file: SqliteFile, sink: Sink) -> None:
        self.file, self._sink = file, sink
        self.folder: Path | None = getattr(sink, "scratch", None)
        """Where files may lie that nobody needs afterwards."""
        self.read: set[str] = set()
        """Tables that were looked at."""

    def numbers(self, table: str, wanted: Sequence[str], optional: Sequence[str] = ()) -> Iterator[dict[str, Ints]]:
        """Columns of whole numbers, some rows at a time; -1 is for what is missing, and a missing column is said."""
        have = self._have(table, wanted)
        if have is None:
            return
        asked = [name for name in (*wanted, *optional) if name in have]
        missing = [name for name in (*wanted, *optional) if name not in have]
        for name in missing:
            if name in wanted:
                self._sink.problem(f"{table} has no column {name}")
        for part in self._parts(table, [whole(name) for name in asked]):
            block = np.array(part, np.int64).reshape(len(part), len(asked))
            columns = {name: np.ascontiguousarray(block[:, at]) for at, name in enumerate(asked)}
            yield columns | {name: np.full(len(part), -1, np.int64) for name in missing}

    def with_text(
        self, table: str, wanted: Sequence[str], optional: Sequence[str], text: str
    ) -> Iterator[tuple[dict[str, Ints], list[str] | None]]:
        """The same with one column of texts, None when it is not there; empty is for what is missing."""
        have = self._have(table, wanted)
        if have is None:
            return
        names = [*wanted, *optional]
        asked = [whole(name) if name in have else "-1" for name in names]
        for name in wanted:
            if name not in have:
                self._sink.problem(f"{table} has no column {name}")
        for part in self._parts(table, [*asked, wording(text) if text in have else "''"]):
            columns = list(zip(*part, strict=True))
            block = np.array(columns[:-1], np.int64)
            yield dict(zip(names, block, strict=True)), list(columns[-1]) if text in have else None

    def decimals(self, table: str, whole_ones: Sequence[str], name: str) -> Iterator[tuple[Ints, NDArray[np.float64]]]:
        """Columns of whole numbers (one row of the array each) and one of any numbers."""
        if self._have(table, [*whole_ones, name], every=True) is None:
            return
        for part in self._parts(table, [*(whole(one) for one in whole_ones), decimal(name)]):
            columns = list(zip(*part, strict=True))
            yield np.array(columns[:-1], np.int64), np.array(columns[-1], np.float64)

    def texts(self, table: str, columns: Sequence[str], most: int = _NAMES) -> Iterator[tuple[Any, ...]]:
        """Rows of a small table: the first column as a number, the others as texts; nothing when it is not there."""
        have = self.file.columns.get(table, ())
        self.read.add(table)
        if not have or columns[0] not in have:
            return
        asked = [whole(columns[0]), *(wording(name) if name in have else "''" for name in columns[1:])]
        given = 0
        for part in self._parts(table, asked):
            yield from part
            given += len(part)
            if given >= most:
                return

    def _have(self, table: str, wanted: Sequence[str], every: bool = False) -> tuple[str, ...] | None:
        have = self.file.columns.get(table)
        self.read.add(table)
        if have is None:
            return None
        # without times nothing can be shown
        needed = wanted if every else [name for name in wanted if name in ("start", "timestamp")]
        if lost := [name for name in needed if name not in have]:
            self._sink.problem(f"{table} has no column {', '.join(lost)}, so it is not shown")
            return None
        return have

    def _parts(self, table: str, expressions: Sequence[str]) -> Iterator[list[Any]]:
        try:
            yield from self.file.rows(table, expressions)
        except DAMAGE as error:
            self._sink.problem(f"{table} is damaged, the rest of it is lost", 1, str(error))


class SliceRows:
    """Appends slices, each with a number of its own."""

    def __init__(self, sink: Sink, first: int = 1) -> None:
        self._sink = sink
        self.next = first
        self.last = 0
        """The latest moment of all."""

    def append(
        self, track: NDArray[np.int32], start: Ints, end: Ints, name: Strings, args: ColumnValues | None = None
    ) -> Ints:
        """Takes slices; gives their numbers. One without an end lasts until the last moment that is known by then."""
        numbers = np.arange(self.next, self.next + len(start), dtype=np.int64)
        self.next += len(start)
        self.last = max(self.last, int(np.maximum(start, end).max(initial=self.last)))
        columns: dict[str, ColumnValues] = {
            "track": track, "start": start, "dur": np.maximum(end - start, 0), "name": used_names(name),
            "correlation": numbers,
        }  # fmt: skip
        if args is not None:
            columns["args"] = args
        self._sink.append("slices", columns)
        return numbers


class Launches:
    """Arrows from what asked for work to the work, joined by numbers that both have."""

    def __init__(self, folder: Path | None) -> None:
        self._asked, self._done = PartedRows(2, folder), PartedRows(2, folder)

    def asked(self, key: Ints, number: Ints) -> None:
        """Slices that may ask for work; a key of 0 is none."""
        self._asked.append(key[key != 0], number[key != 0])

    def done(self, key: Ints, number: Ints) -> None:
        """Slices that are the work."""
        self._done.append(key[key != 0], number[key != 0])

    def finish(self, sink: Sink) -> None:
        """Appends the arrows; work that nobody asked for is counted."""
        if not self._asked.count:  # the calls were not recorded
            self._done.close()
            return
        lost = 0
        for (key, source), (wanted, number) in together(self._asked, self._done):
            if not len(key) or not len(wanted):
                lost += len(wanted)
                continue
            at, good = last_of(key, wanted)  # the last that asked: the innermost call
            lost += int((~good).sum())
            if good.any():
                kinds = Strings(np.zeros(int(good.sum()), np.int32), ["launch"])
                sink.append("flows", {"from": source[at[good]], "to": number[good], "kind": kinds})
        if lost:
            sink.problem("work on a device whose launch is not in the file", lost)


def last_of(keys: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where the last of the keys (some) is that each wanted one equals, and whether there is one."""
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted, "right") - 1
    found = order[np.maximum(at, 0)]
    return found, (at >= 0) & (keys[found] == wanted)


class Names:
    """Texts by the numbers that a database knows them by, as a column."""

    def __init__(self) -> None:
        self.values: list[str] = [""]
        self._codes: dict[int, int] = {}
        self._ids = np.empty(0, np.int64)
        self._places = np.empty(0, np.int32)

    def put(self, number: int, text: str) -> None:
        """Takes a text."""
        self._codes[number] = len(self.values)
        self.values.append(text)

    def get(self, number: int) -> str:
        """The text of a number, empty when there is none."""
        return self.values[self._codes.get(number, 0)]

    def column(self, numbers: Ints) -> Strings:
        """The texts of many."""
        if len(self._ids) != len(self._codes):
            ids = np.fromiter(self._codes, np.int64, len(self._codes))
            places = np.fromiter(self._codes.values(), np.int32, len(self._codes))
            order = np.argsort(ids, kind="stable")
            self._ids, self._places = ids[order], places[order]
        if not len(self._ids):
            return Strings(np.zeros(len(numbers), np.int32), self.values)
        at = np.minimum(np.searchsorted(self._ids, numbers), len(self._ids) - 1)
        return Strings(np.where(self._ids[at] == numbers, self._places[at], 0).astype(np.int32), self.values)


def facts(columns: dict[str, Ints], keys: Mapping[str, Sequence[str]]) -> ColumnValues | None:
    """Args of rows as JSON: for each key one column, or several as a list; what is not known of a row is left out."""
    parts: list[Any] = []
    some: list[tuple[str, Ints]] = []
    for key, names in keys.items():
        known = [name in columns and columns[name] >= 0 for name in names]
        if all(np.all(one) for one in known):
            parts += [f'{"," if parts else "{"}"{key}":{"[" if len(names) > 1 else ""}', columns[names[0]]]
            for name in names[1:]:
                parts += [",", columns[name]]
            if len(names) > 1:
                parts.append("]")
        elif len(names) == 1 and np.any(known[0]):
            some.append((key, columns[names[0]]))
    if not some:
        return Joined([*parts, "}"]) if parts else None
    begun = np.full(len(some[0][1]), bool(parts))
    for key, values in some:
        at = np.where(values < 0, 0, np.where(begun, 1, 2))
        heads = Strings(at.astype(np.int32), ["", f',"{key}":', f'{{"{key}":'])
        parts += [heads, Strings(*_distinct(values))]
        begun |= values >= 0
    return Joined([*parts, "}" if begun.all() else Strings(begun.astype(np.int32), ["{}", "}"])])


def _distinct(values: Ints) -> tuple[NDArray[np.int32], list[str]]:
    """Numbers as texts, each once; an empty one for those below 0."""
    found, at = np.unique(np.maximum(values, -1), return_inverse=True)
    return at.reshape(-1).astype(np.int32), ["" if value < 0 else str(value) for value in found.tolist()]


def distinct_texts(texts: Sequence[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Which one each text is, and the texts, each once; the first is the empty one."""
    places = {"": 0}
    codes = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int32, len(texts))
    return codes, list(places)


def used_names(names: Strings) -> Strings:
    """The same without texts that no row has."""
    codes = np.asarray(names.codes)
    used = np.flatnonzero(np.bincount(codes, minlength=1))
    places = np.zeros(len(names.values), np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    return Strings(places[codes], [names.values[code] for code in used.tolist()])


def distinct_pairs(first: Ints, second: Ints) -> tuple[list[tuple[int, int]], NDArray[np.intp]]:
    """The pairs that there are, and which one each row has."""
    if not len(first):
        return [], np.empty(0, np.intp)
    block = np.stack([first, second], axis=1)
    change = np.append(True, (block[1:] != block[:-1]).any(axis=1))  # neighbours are often alike
    heads, inverse = np.unique(block[change], axis=0, return_inverse=True)
    return [(int(a), int(b)) for a, b in heads], inverse.reshape(-1)[np.cumsum(change) - 1]
