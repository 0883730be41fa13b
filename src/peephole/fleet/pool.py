"""The task of each rank in a pool of processes. A process that dies costs its ranks' time: they run again, alone."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from peephole.fleet.rank_task import RankDone, RankFile, rank_task
from peephole.model.urls import is_remote

_TRIES: Final = 3
_FEW: Final = 8 << 20
"""Bytes of text that are read here before two processes have begun."""
_PACKED: Final = 15
"""How many times as long as its file a compressed trace is."""


@contextmanager
def in_pool(files: Sequence[RankFile]) -> Iterator[Iterator[RankDone]]:
    """The results as they come; few ranks, or small ones, are done one after the other, in this process."""
    workers = min(os.cpu_count() or 1, len(files))
    if workers < 2 or len(files) < 4 or _small(files):
        yield map(_here, files)
        return
    with _processes(workers) as pool:
        try:
            yield _results(pool, files, workers)
        finally:
            pool.shutdown(cancel_futures=True)


def _small(files: Sequence[RankFile]) -> bool:
    """Whether there is little to read in all of them: plain files, whose sizes are known."""
    total = 0
    for file in files:
        path = Path(file.path)
        if is_remote(file.path) or path.is_dir():
            return False
        try:
            total += path.stat().st_size * (_PACKED if path.suffix == ".gz" else 1)
        except OSError:  # its reader says why
            continue
        if total > _FEW:
            return False
    return True


def _results(pool: Executor, files: Sequence[RankFile], workers: int) -> Iterator[RankDone]:
    futures = {pool.submit(rank_task, file): file for file in files}
    again = []
    for future in as_completed(futures):
        try:
            yield future.result()
        except (BrokenProcessPool, OSError, MemoryError):
            again.append(futures[future])
    if not again:
        return
    # one rank may have ended the process of others: each now has one to itself
    with ThreadPoolExecutor(workers) as threads:
        yield from threads.map(_alone, again)


def _alone(file: RankFile) -> RankDone:
    problem = ""
    for number in range(2, _TRIES + 1):
        with _processes(1) as pool:
            try:
                done = pool.submit(rank_task, file).result()
            except BrokenProcessPool:
                problem = f"{file.path}: the process that read it was killed, {number} times"
            except (OSError, MemoryError) as error:
                problem = f"{file.path}: {_words(error)}"
            else:
                done.tries = number
                return done
    return RankDone(file.path, problem=problem, tries=_TRIES)


def _here(file: RankFile) -> RankDone:
    try:
        return rank_task(file)
    except (OSError, MemoryError) as error:
        return RankDone(file.path, problem=f"{file.path}: {_words(error)}")


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


def _processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
