"""The same task per rank on a Dask cluster: `dask.distributed` schedules, retries and survives lost workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from peephole.errors import PeepholeError
from peephole.fleet.rank_task import RankDone, RankFile, rank_task

_PATIENCE: Final = 15
"""Seconds that a scheduler gets to answer."""
_RETRIES: Final = 3


@contextmanager
def on_cluster(scheduler: str, files: Sequence[RankFile]) -> Iterator[Iterator[RankDone]]:
    """The results as the cluster gives them; PeepholeError where there is no scheduler."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise PeepholeError("--scheduler needs Dask: pip install 'peephole[dask]'") from None
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PeepholeError(
            f"There is no Dask scheduler at {scheduler} ({type(error).__name__}); start one with `dask scheduler`."
        ) from None
    try:
        if not client.scheduler_info()["workers"]:
            raise PeepholeError(
                f"The Dask scheduler at {scheduler} has no workers; start one with `dask worker {scheduler}`."
            )
        futures = client.map(rank_task, list(files), retries=_RETRIES, pure=False)
        yield _results(
            as_completed(futures, loop=client.loop),
            {future.key: file for future, file in zip(futures, files, strict=True)},
        )
    finally:
        client.close()


def _results(completed: Iterator[object], files: dict[str, RankFile]) -> Iterator[RankDone]:
    for future in completed:
        try:
            yield future.result()  # type: ignore[attr-defined]
        except Exception as error:
            path = files[future.key].path  # type: ignore[attr-defined]
            yield RankDone(path, [], problem=f"{path}: {type(error).__name__} on the cluster")
