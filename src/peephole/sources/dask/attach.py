"""Attaches to Dask distributed in the program that imports it. Standard library only, besides the program's own Dask.

Dask's configuration lists modules that schedulers, workers and clients load when they start, and calls `dask_setup`
with each of them. This module puts itself on those lists:

    scheduler   a plugin records submissions, dispatches, results, releases, failures, joining and leaving workers
    worker      a plugin tells the scheduler what it fetched from other workers, as an event of Dask's own
    client      gives a scheduler that nobody records, and its workers, such plugins, and takes what they hear
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from peephole.record import active

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

MODULE: Final = __name__
ROLES: Final = ("scheduler", "worker", "client")
MARK: Final = "_peephole"


def attach(_recorder: Recorder) -> None:
    """Puts this module on the lists, once."""
    import logging

    import dask.config

    # Dask tells of each module that it loads: what the program prints stays what it was
    logging.getLogger("distributed.preloading").addFilter(_is_not_ours)
    for role in ROLES:
        key = f"distributed.{role}.preload"
        listed = dask.config.get(key, default=None)
        listed = [listed] if isinstance(listed, str) else list(listed or [])
        if MODULE not in listed:
            dask.config.set({key: [*listed, MODULE]})


def _is_not_ours(record: Any) -> bool:
    return MODULE not in record.getMessage()


async def dask_setup(server: Any) -> None:
    """What Dask calls with each scheduler, worker and client that starts."""
    try:
        await _set_up(server)
    except Exception as error:  # a version of Dask may differ in any way; it would print this into the program's output
        if active.recorder is not None:
            active.recorder.problem(f"Dask's {type(server).__name__} is not recorded ({error!r})"[:300])


async def _set_up(server: Any) -> None:
    import distributed
    from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

    recorder = active.recorder
    if hasattr(server, MARK):
        return
    if isinstance(server, distributed.Scheduler):
        if recorder is not None:
            from peephole.sources.dask.scheduler import SchedulerTape

            kind = type("PeepholeSchedulerPlugin", (SchedulerTape, SchedulerPlugin), {"name": "peephole"})
            plugin = kind(server, recorder, distributed.__version__)
            setattr(server, MARK, plugin)
            server.add_plugin(plugin, name="peephole")
    elif isinstance(server, distributed.Worker):
        from peephole.sources.dask.worker import WorkerTape

        plugin = type("PeepholeWorkerPlugin", (WorkerTape, WorkerPlugin), {"name": "peephole"})(server)
        setattr(server, MARK, plugin)
        await server.plugin_add(plugin=plugin, name="peephole")
    elif recorder is not None:
        from peephole.sources.dask.client import ClientTape

        setattr(server, MARK, ClientTape(server, recorder))
        await getattr(server, MARK).begin()


async def dask_teardown(server: Any) -> None:
    """What Dask calls when one of them closes."""
    tape = getattr(server, MARK, None)
    if tape is not None and hasattr(tape, "end"):
        await tape.end()
