"""Makes a run of many ranks' files: a task per rank (a pool, or Dask), then the small tables out of their summaries."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from peephole.errors import PeepholeError
from peephole.fleet.rank_task import RankDone, RankFile, rank_task
from peephole.model.folder import safe_name
from peephole.model.run_tables import RANK_CAPTURES
from peephole.query.ranks.summary import RankSummary
from peephole.query.ranks.tables import Problem, run_tables
from peephole.store.runs import write_run_table
from peephole.store.writer import CaptureWriter

Told = Callable[[int, int], None]
"""How many ranks are done, of how many."""


def make_run(
    paths: Sequence[Path],
    out: Path,
    told: Told = lambda done, of: None,
    scheduler: str | None = None,
    replace: bool = False,
) -> Path:
    """The run made of these ranks, at `out`, whole or not at all; what cannot be read is listed in it."""
    if out.exists() and not replace:
        raise PeepholeError(f"{out} exists already; choose another name with -o, or replace it with --force.")
    out.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with CaptureWriter(out, replace) as writer:
        held = writer.scratch / RANK_CAPTURES
        held.mkdir(mode=0o700)
        names = [f"{number}-{safe_name(path.name)}" for number, path in enumerate(paths)]
        files = [RankFile(str(p.resolve()), str(held.resolve()), name) for p, name in zip(paths, names, strict=True)]
        done: list[RankDone] = []
        with _tasks(files, scheduler) as results:
            for result in results:
                done.append(result)
                told(len(done), len(files))
        done.sort(key=lambda one: one.path)
        writer.describe(source="ranks")
        summaries = _chosen(done, writer.problem)
        if not summaries:
            raise PeepholeError(_nothing(done))
        for summary in summaries:
            summary.capture = _place(writer.scratch, Path(summary.capture))
        for table, columns in run_tables(summaries, writer.problem).items():
            write_run_table(writer.scratch, table, columns)
    return out


def _place(folder: Path, capture: Path) -> str:
    """A capture's path as it is written down: within the run's folder, which may be moved, or where it is."""
    try:
        return capture.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(capture)


def _chosen(done: Sequence[RankDone], problem: Problem) -> list[RankSummary]:
    """The summaries of one run, by rank: strangers, doubles and what could not be read are listed."""
    for one in done:
        if one.problem:
            problem("files that are not part of the run: they cannot be read", 1, one.problem)
    read = [one for one in done if one.summaries]
    worlds = Counter(one.world for one in read if one.world > 0)
    world = worlds.most_common(1)[0][0] if worlds else 0
    found: dict[int, RankSummary] = {}
    nameless = 0
    for one in read:
        if one.world > 0 and one.world != world:
            problem(
                "files of another run: they have another world size", 1, f"{Path(one.path).name}: world {one.world}"
            )
            continue
        for summary in one.summaries:
            if summary.rank < 0:
                while nameless in found:
                    nameless += 1
                summary.rank = nameless
            if summary.rank in found:
                problem(
                    "ranks that are there twice: the first one counts", 1, f"rank {summary.rank}: {Path(one.path).name}"
                )
            else:
                found[summary.rank] = summary
    missing = [rank for rank in range(min(world, 1 << 20)) if rank not in found]
    if missing and found:
        problem("ranks of the run that no file is of", len(missing), f"rank {missing[0]}")
    return [found[rank] for rank in sorted(found)]


def _nothing(done: Sequence[RankDone]) -> str:
    first = next((one.problem for one in done if one.problem), "")
    return first if len(done) == 1 and first else f"None of the {len(done)} files could be read; the first: {first}"


@contextmanager
def _tasks(files: Sequence[RankFile], scheduler: str | None) -> Iterator[Iterator[RankDone]]:
    """The ranks' results as they come: from a cluster, a pool of processes, or one after the other."""
    if scheduler is not None:
        from peephole.fleet.cluster import on_cluster

        with on_cluster(scheduler, files) as results:
            yield results
        return
    workers = min(os.cpu_count() or 1, len(files))
    if workers < 2 or len(files) < 4:
        yield map(rank_task, files)
        return
    import multiprocessing

    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(rank_task, file) for file in files]
        try:
            yield (future.result() for future in as_completed(futures))
        finally:
            pool.shutdown(cancel_futures=True)
