"""Makes a run of many ranks' files, or adds ranks to one: a task per rank (a pool, or Dask), then the small tables."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from peephole.errors import PeepholeError
from peephole.fleet.content import alike
from peephole.fleet.members import READ, members
from peephole.fleet.pool import in_pool
from peephole.fleet.rank_task import RankDone, RankFile
from peephole.model.folder import safe_name
from peephole.model.run_tables import RANK_CAPTURES, RUN_TABLES
from peephole.model.urls import is_remote
from peephole.query.ranks.kept import kept_summaries
from peephole.query.ranks.run import open_run
from peephole.query.ranks.summary import RankSummary
from peephole.query.ranks.tables import run_tables
from peephole.store import remote
from peephole.store.capture import Capture, open_capture
from peephole.store.runs import is_run, write_run_table
from peephole.store.writer import CaptureWriter

Told = Callable[[RankDone, int, int], None]
"""What came of a rank, how many are done, of how many."""


Out = TypeVar("Out", bound=str | Path)
"""Where a run goes: a folder here, or an address in object storage."""


def make_run(
    given: Sequence[str | Path],
    out: Out,
    told: Told = lambda one, done, of: None,
    scheduler: str | None = None,
    replace: bool = False,
) -> Out:
    """The run made of these ranks, at `out`, whole or not at all; what cannot be read is listed in it.

    Where `out` is a run already they are added to it, unless it is to be replaced: its own ranks count, and a file
    whose content it has is left as it is.
    """
    before = None if replace else find_run(out)
    with _written(out, replace or before is not None, before is not None) as (writer, place, tag):
        kept, known, world = _carried(before, writer, {*map(_full, given)}) if before else ([], [], 0)
        contents = {row["content"] for row in known if row["state"] == READ and row["content"]}
        files = [
            RankFile(
                path,
                place,
                f"{len(known) + number}-{tag}{safe_name(path.rstrip('/').rpartition('/')[2])}",
                tuple(contents) if is_remote(path) else alike(Path(path), contents),
            )
            for number, path in enumerate(dict.fromkeys(map(_full, given)))
        ]
        done: list[RankDone] = []
        with _tasks(files, scheduler) as results:
            for result in results:
                done.append(result)
                told(result, len(done), len(files))
        order = {file.path: number for number, file in enumerate(files)}
        done.sort(key=lambda one: order[one.path])
        again = {one.path for one in done}
        done = [one for one in done if not one.there]
        found = members(kept, world, done, writer.problem)
        if not found.summaries:
            raise PeepholeError(_nothing(done))
        _drop_strangers(place, done, {id(summary) for summary in found.summaries})
        groups = max(summary.groups for summary in found.summaries)
        writer.describe(source="ranks", world_size=found.world, group_count=groups)
        known = [row for row in known if row["state"] == READ or row["path"] not in again]
        inputs = {name: [*(row[name] for row in known), *column] for name, column in found.inputs.items()}
        for state, problem, path in zip(inputs["state"], inputs["problem"], inputs["path"], strict=True):
            if problem and state == READ:
                writer.problem("files of which a part could not be read", 1, f"{path.rpartition('/')[2]}: {problem}")
        tables = {**run_tables(found.summaries, writer.problem), "inputs": inputs}
        for table, columns in tables.items():
            write_run_table(writer.scratch, table, columns)
    return out


def find_run(out: str | Path) -> Capture | None:
    """The run that is at a place already, None where there is nothing; PeepholeError where something else is."""
    if isinstance(out, str) and is_remote(out):
        if not remote.there(out):
            return None
        path = remote.bring_capture(out)
    elif not Path(out).exists():
        return None
    else:
        path = Path(out)
    if not is_run(path):
        raise PeepholeError(f"{out} exists already and is not a run; choose another name with -o, or replace it with "
                            "--force.")  # fmt: skip
    return open_capture(path)


def _carried(
    before: Capture, writer: CaptureWriter, again: set[str]
) -> tuple[list[RankSummary], list[dict[str, Any]], int]:
    """The ranks of a run that are added to: their summaries, the inputs that it was made of, its world size. What was
    not read and is given again is said when it was tried."""
    run = open_run(before)
    table = run.tables["inputs"]
    names = [column.name for column in RUN_TABLES["inputs"].columns]
    rows = [dict(zip(names, values, strict=True)) for values in zip(*(table[name] for name in names), strict=True)]
    for row in rows:
        if row["state"] != READ and row["path"] not in again:
            writer.problem("files that are not part of the run, given earlier", 1, f"{row['path']}: {row['problem']}")
    held = before.path / RANK_CAPTURES
    if held.is_dir():
        # the same files under a second name: nothing is copied, and the old run stays whole until the new one is there
        shutil.copytree(held, writer.scratch / RANK_CAPTURES, copy_function=_linked, dirs_exist_ok=True)
    world, groups = (before.manifest.extra.get(name) for name in ("world_size", "group_count"))
    summaries = kept_summaries(run)
    for summary in summaries:
        summary.groups = groups if isinstance(groups, int) else 0
    return summaries, rows, world if isinstance(world, int) else 0


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one that knows no links
        shutil.copy2(source, target)


@contextmanager
def _written(out: str | Path, replace: bool, added: bool) -> Iterator[tuple[CaptureWriter, str, str]]:
    """What the run is written with, where its ranks' captures go, and what the names of new ones begin with."""
    if not is_remote(str(out)):
        path = Path(out)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with CaptureWriter(path, replace) as writer:
            (writer.scratch / RANK_CAPTURES).mkdir(mode=0o700)
            yield writer, str(writer.scratch.resolve()), ""
        return
    url, tag = str(out).rstrip("/"), f"{secrets.token_hex(4)}-"
    try:
        with tempfile.TemporaryDirectory(prefix="peephole-run-") as scratch:
            local = Path(scratch) / url.rpartition("/")[2]
            with CaptureWriter(local) as writer:
                yield writer, url, tag
            remote.put(local, url)
    except BaseException:
        remote.remove_where(f"{url}/{RANK_CAPTURES}", lambda name: tag in name)
        raise
    if replace and not added:
        remote.remove_where(f"{url}/{RANK_CAPTURES}", lambda name: tag not in name)


def _drop_strangers(place: str, done: Sequence[RankDone], joined: set[int]) -> None:
    """Removes the captures that were made of inputs which are not part of the run."""
    made: dict[bool, set[str]] = {True: set(), False: set()}
    for one in done:
        for summary in one.summaries:
            if summary.capture.startswith(f"{RANK_CAPTURES}/"):  # not one that stays where it is
                made[id(summary) in joined].add(summary.capture.rpartition("/")[2])
    strangers = made[False] - made[True]
    if strangers and is_remote(place):
        remote.remove_where(f"{place}/{RANK_CAPTURES}", strangers.__contains__)
        return
    for name in strangers:
        shutil.rmtree(f"{place}/{RANK_CAPTURES}/{name}")


def _full(given: str | Path) -> str:
    return str(given) if is_remote(str(given)) else str(Path(given).resolve())


def _nothing(done: Sequence[RankDone]) -> str:
    first = next((one.problem for one in done if one.problem), "")
    return first if len(done) == 1 and first else f"None of the {len(done)} files could be read; the first: {first}"


def _tasks(files: Sequence[RankFile], scheduler: str | None) -> AbstractContextManager[Iterator[RankDone]]:
    """The ranks' results as they come: from a cluster, or a pool of processes."""
    if scheduler is None:
        return in_pool(files)
    from peephole.fleet.cluster import on_cluster

    return on_cluster(scheduler, files)
