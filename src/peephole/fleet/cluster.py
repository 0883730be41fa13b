"""The same task per rank on a Dask cluster: `dask.distributed` schedules, retries and survives lost workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from peephole.errors import PeepholeError
from peephole.fleet.rank_task import RankDone, RankFile, rank_task

_PATIENCE: Final = 15
"""Seconds that a scheduler gets to answer."""
_RETRIES: Final = 3
_TOPIC: Final = "peephole-ranks"


def told_task(given: RankFile) -> RankDone:
    """The task of a rank, which tells whoever asked for it that it has begun."""
    from distributed import get_worker

    get_worker().log_event(_TOPIC, {"path": given.path})
    return rank_task(given)


@contextmanager
def on_cluster(scheduler: str, files: Sequence[RankFile]) -> Iterator[Iterator[RankDone]]:
    """The results as the cluster gives them; PeepholeError where there is no scheduler."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise PeepholeError("--scheduler needs Dask: pip install distributed") from None
    _check_address(scheduler)
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
        begun: Counter[str] = Counter()
        client.subscribe_topic(_TOPIC, lambda event: begun.update([str(event[1]["path"])]))
        futures = client.map(told_task, list(files), retries=_RETRIES, pure=False)
        by_key = {future.key: file for future, file in zip(futures, files, strict=True)}
        yield _results(as_completed(futures, loop=client.loop), by_key, begun)
    finally:
        client.close()


def _check_address(scheduler: str) -> None:
    """PeepholeError for what is not an address: a client that has one complains again when it is collected."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import backends

    try:
        kind, place = parse_address(scheduler)
        if kind in ("tcp", "tls"):
            parse_host_port(place)
    except ValueError:
        kind = ""
    if kind not in backends:
        raise PeepholeError(f"{scheduler} is not the address of a Dask scheduler, which looks like tcp://HOST:8786.")


def _results(completed: Iterator[Any], files: dict[str, RankFile], begun: Counter[str]) -> Iterator[RankDone]:
    for future in completed:
        path = files[future.key].path
        try:
            done: RankDone = future.result()
        except Exception as error:  # what a worker may raise is not ours to know
            done = RankDone(path, problem=f"{path}: {type(error).__name__} on the cluster ({str(error)[:200]})")
        done.tries = max(begun[path], 1)
        yield done
