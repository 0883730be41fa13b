"""A run as an answer: ranks, steps and collectives, read from its tables or made of a capture with several ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from peephole.errors import PeepholeError
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.summary import RankSummary, summarize
from peephole.query.ranks.tables import run_tables
from peephole.store.capture import Capture
from peephole.store.remote import present
from peephole.store.runs import is_run, read_run_table, run_counts, run_rows
from peephole.store.tables.frame import Frame


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank of a run; times in ns."""

    rank: int
    host: str
    capture: str
    offset_ns: int
    bound_ns: int
    clock_ns: int
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


class RunTable:
    """One table as columns, numbers as arrays and texts as lists; each is read when it is first asked for."""

    def __init__(self, name: str, columns: Mapping[str, Any], folder: Path | None = None) -> None:
        self.name = name
        self._columns = dict(columns)
        self._folder = folder

    def __len__(self) -> int:
        if self._folder is not None:
            return run_rows(self._folder, self.name)
        return len(next(iter(self._columns.values())))

    def __contains__(self, name: str) -> bool:
        return name in self._columns or self._folder is not None

    def __getitem__(self, name: str) -> Any:
        if name not in self._columns and self._folder is not None:
            self._columns[name] = _column(read_run_table(self._folder, self.name, [name]), self.name, name)
        return self._columns[name]

    def ints(self, name: str) -> Ints:
        """A column of numbers."""
        return np.asarray(self[name], np.int64)

    def between(self, by: str, low: int, high: int, names: Sequence[str]) -> dict[str, Ints]:
        """Columns of numbers, of the rows whose column `by` lies between two values."""
        if self._folder is not None and names and names[0] not in self._columns:
            frame = read_run_table(self._folder, self.name, [*names], (by, low, high))
            return {name: np.asarray(frame[name], np.int64) for name in names}
        values = self.ints(by)
        keep = (values >= low) & (values <= high)
        return {name: self.ints(name)[keep] for name in names}


@dataclass(frozen=True)
class Run:
    """A run's tables, and what could not be said about it."""

    tables: Mapping[str, RunTable]
    problems: tuple[tuple[str, int, str], ...]
    folder: Path

    @cached_property
    def _ranks(self) -> list[Rank]:
        table = self.tables["ranks"]
        rows = [Rank(*values) for values in zip(*(table[name] for name in Rank.__slots__), strict=True)]
        return sorted(rows, key=lambda row: (row.wait_ns, row.rank))

    @cached_property
    def _by_rank(self) -> dict[int, Rank]:
        return {row.rank: row for row in self._ranks}

    def ranks(self) -> list[Rank]:
        """The ranks, those that waited least first: a rank that others wait for hardly waits itself."""
        return list(self._ranks)

    def rank(self, number: int) -> Rank | None:
        """A rank by its number."""
        return self._by_rank.get(number)

    def capture_of(self, rank: int) -> Path | None:
        """Where the capture of a rank is; one in object storage is brought here. None where it is gone."""
        row = self.rank(rank)
        if row is None:
            return None
        try:
            return present(self.folder, row.capture)
        except PeepholeError:
            return None


def open_run(capture: Capture) -> Run:
    """The run that a capture is; PeepholeError where it has one rank only."""
    if is_run(capture.path):
        problems = tuple(
            (str(one.get("reason", "")), int(one.get("count", 1)), str(one.get("example", "")))
            for one in capture.manifest.problems
        )
        return Run({name: RunTable(name, {}, capture.path) for name in RUN_TABLES}, problems, capture.path)
    summaries = summaries_of(capture)
    if len(summaries) < 2:
        summaries = _members(capture) or summaries
    if len(summaries) < 2:
        raise PeepholeError(
            f"{capture.name} has one rank: nothing to compare. Make a run of all ranks' files with "
            "`peephole import FILES… -o NAME`."
        )
    found: list[tuple[str, int, str]] = []
    made = run_tables(summaries, lambda reason, count, example: found.append((reason, count, example)))
    return Run({name: RunTable(name, _plain(columns)) for name, columns in made.items()}, tuple(found), capture.path)


def step_rows(run: Run, step: int, last: int | None = None) -> Ints:
    """The rows of `rank_steps` that are of a step, or of all to the last; PeepholeError where there is none."""
    every = run.tables["rank_steps"].ints("step")
    rows = np.flatnonzero(every == step if last is None else (every >= step) & (every <= last))
    if not len(rows):
        known = np.unique(every).tolist()
        where = f"steps {known[0]} to {known[-1]} are there" if known else "no step was recorded"
        raise PeepholeError(f"There is no step {step if last is None else f'from {step} to {last}'}; {where}.")
    return rows


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


def rank_count(capture: Capture) -> int:
    """How many ranks `open_run` would find; the run's own table or the capture's tracks say it."""
    if is_run(capture.path):
        return run_counts(capture.path)["ranks"]
    if not capture.count("tracks"):
        return 0
    numbered = capture.read("tracks", ["rank"])["rank"]
    many = len(np.unique(numbered[numbered >= 0]))
    return many if many > 1 else max(many, len(_member_tracks(capture)))


def _members(capture: Capture) -> list[RankSummary]:
    """A summary for each worker of a cluster, or for each process with a device of its own: ranks that nobody numbered.

    They are numbered by name, and share the capture's clock.
    """
    host = capture.manifest.host
    every = _member_tracks(capture)
    return [summarize(capture, rank, host, np.array(tracks)) for rank, tracks in enumerate(every)]


def tracks_of(run: Run, capture: Capture, rank: int) -> Ints:
    """The tracks of a rank in the capture that it is in."""
    frame = capture.read("tracks", ["id", "rank"])
    members = (
        _member_tracks(capture)
        if run.folder.resolve() == capture.path.resolve() and not (frame["rank"] >= 0).any()
        else []
    )
    if len(members) > 1:
        return np.array(members[rank], np.int64)
    return np.asarray(frame["id"][(frame["rank"] == rank) | (frame["rank"] < 0)], np.int64)


def _member_tracks(capture: Capture) -> list[list[int]]:
    """The tracks of each member: a worker's own in the order of their names, or all of a process by its number."""
    frame = capture.read("tracks", ["id", "kind", "process", "name"])
    kinds, names = frame.texts("kind"), frame.texts("name")
    lanes = capture.lanes()
    used = set(lanes.track[lanes.count > 0].tolist())
    groups: dict[tuple[int, str, int], list[int]] = {}
    workers = any(kind == "worker" for kind in kinds)
    rows = list(zip(frame["id"].tolist(), kinds, frame["process"].tolist(), names, strict=True))
    devices = {process for track, kind, process, _ in rows if track in used and kind in ("device", "copy", "batch")}
    for track, kind, process, name in rows:
        if track in used and (kind == "worker" if workers else process >= 0 and process in devices):
            key = (len(name or ""), name or "", track) if workers else (0, "", process)
            groups.setdefault(key, []).append(track)
    return [groups[key] for key in sorted(groups)]


def _column(frame: Frame, table: str, name: str) -> Any:
    kind = RUN_TABLES[table].column(name).type
    if kind == "str":
        return [text or "" for text in frame.texts(name)]
    if kind == "ids":
        lists = frame.lists(name)
        return [tuple(lists[row]) for row in range(len(frame))]
    return frame[name].tolist() if table == "ranks" else frame[name]


def _plain(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that were made just now, as those read from a file are."""
    made = dict(columns)
    if "slow_steps" in made:
        made = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in made.items()}
        made["slow_steps"] = [tuple(steps) for steps in made["slow_steps"]]
    return made
