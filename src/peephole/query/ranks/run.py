"""A run as an answer: ranks, steps and collectives, read from its tables or made of a capture with several ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peephole.errors import PeepholeError
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.summary import RankSummary, summarize
from peephole.query.ranks.tables import run_tables
from peephole.store.capture import Capture
from peephole.store.runs import is_run, read_run_table


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank of a run; times in ns."""

    rank: int
    host: str
    capture: str
    offset_ns: int
    bound_ns: int
    drift: float
    wait_ns: int
    last: int
    caused_ns: int
    busy_ns: int
    communication_ns: int
    overlap_ns: int
    slow_steps: tuple[int, ...]
    start_ns: int
    end_ns: int
    slices: int
    computes_on: str


@dataclass(frozen=True, slots=True)
class RunTable:
    """One table as columns: numbers as arrays, texts as lists."""

    columns: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def ints(self, name: str) -> Ints:
        """A column of numbers."""
        return np.asarray(self.columns[name], np.int64)


@dataclass(frozen=True, slots=True)
class Run:
    """A run's tables, and what could not be said about it."""

    tables: Mapping[str, RunTable]
    problems: tuple[tuple[str, int, str], ...]
    folder: Path

    def ranks(self) -> list[Rank]:
        """The ranks, those that waited least first: a rank that others wait for hardly waits itself."""
        table = self.tables["ranks"]
        names = list(Rank.__slots__)
        rows = [Rank(*values) for values in zip(*(table[name] for name in names), strict=True)]
        return sorted(rows, key=lambda row: (row.wait_ns, row.rank))

    def capture_of(self, rank: int) -> Path | None:
        """Where the capture of a rank is."""
        for row in self.ranks():
            if row.rank == rank:
                path = Path(row.capture)
                return path if path.is_absolute() else self.folder / path
        return None


def open_run(capture: Capture) -> Run:
    """The run that a capture is; PeepholeError where it has one rank only."""
    if is_run(capture.path):
        problems = tuple(
            (str(one.get("reason", "")), int(one.get("count", 1)), str(one.get("example", "")))
            for one in capture.manifest.problems
        )
        return Run({name: _read(capture.path, name) for name in RUN_TABLES}, problems, capture.path)
    summaries = summaries_of(capture)
    if len(summaries) < 2:
        raise PeepholeError(
            f"{capture.name} has one rank: nothing to compare. Make a run of all ranks' files with "
            "`peephole import FILES… -o NAME`."
        )
    found: list[tuple[str, int, str]] = []
    made = run_tables(summaries, lambda reason, count, example: found.append((reason, count, example)))
    return Run({name: _made(columns) for name, columns in made.items()}, tuple(found), capture.path)


def summaries_of(capture: Capture) -> list[RankSummary]:
    """A summary for each rank that the capture's tracks name; of a capture without ranks one, whose rank is -1."""
    frame = capture.read("tracks", ["id", "rank", "host"])
    hosts = dict(zip(frame["rank"].tolist(), frame.texts("host"), strict=True))
    ranks = sorted(rank for rank in set(frame["rank"].tolist()) if rank >= 0)
    if len(ranks) <= 1:
        rank = ranks[0] if ranks else -1
        return [summarize(capture, rank, str(hosts.get(rank) or capture.manifest.host or ""))]
    return [
        summarize(capture, rank, str(hosts[rank] or capture.manifest.host or ""), frame["id"][frame["rank"] == rank])
        for rank in ranks
    ]


def _read(folder: Path, name: str) -> RunTable:
    frame = read_run_table(folder, name)
    columns: dict[str, Any] = {}
    for column in RUN_TABLES[name].columns:
        if column.type == "str":
            columns[column.name] = [text or "" for text in frame.texts(column.name)]
        elif column.type == "ids":
            lists = frame.lists(column.name)
            columns[column.name] = [tuple(lists[row]) for row in range(len(frame))]
        else:
            columns[column.name] = frame[column.name].tolist() if name == "ranks" else frame[column.name]
    return RunTable(columns)


def _made(columns: Mapping[str, Any]) -> RunTable:
    made = {name: values.tolist() if isinstance(values, np.ndarray) and name in ("wait_ns",) else values
            for name, values in columns.items()}  # fmt: skip
    if "slow_steps" in made:
        made["slow_steps"] = [tuple(steps) for steps in made["slow_steps"]]
    return RunTable(made)
