"""A client of a scheduler that nobody records: the scheduler's own task stream, fetched at the end."""

from __future__ import annotations

import contextlib
from time import time
from typing import TYPE_CHECKING, Any

from peephole.sources.dask.lanes import Cluster

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder


class ClientTape:
    """Turns a running scheduler's task stream into rows; does nothing when the scheduler is recorded itself."""

    def __init__(self, client: Any, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        self._start = time()
        self._wanted = False

    async def begin(self) -> None:
        """Has the scheduler keep its task stream from now on."""
        local = getattr(getattr(self._client, "cluster", None), "scheduler", None)
        if local is not None and hasattr(local, "_peephole"):
            return
        identity = await self._client.scheduler.identity()
        if identity.get("address") and not _is_here(identity):
            self._wanted = True
            await self._client.scheduler.get_task_stream(start=self._start)

    async def end(self) -> None:
        """Fetches the stream and writes what every worker computed and fetched."""
        if not self._wanted:
            return
        self._wanted = False
        with contextlib.suppress(OSError):  # the scheduler may be gone; then there is nothing to fetch
            import distributed

            stream = await self._client.scheduler.get_task_stream(start=self._start)
            identity = await self._client.scheduler.identity()
            cluster = Cluster(self._recorder, distributed.__version__)
            for address, facts in identity.get("workers", {}).items():
                cluster.worker(address, facts.get("name"), int(facts.get("nthreads") or 1))
            for task in stream:
                self._write(cluster, task)

    def _write(self, cluster: Cluster, task: dict[str, Any]) -> None:
        lane = cluster.worker(str(task.get("worker")))
        from dask.utils import key_split

        op = str(key_split(task.get("key")))
        for span in task.get("startstops") or ():
            start, end = cluster.clock(span["start"]), cluster.clock(span["stop"])
            if span["action"] == "compute":
                args = {"event": "COMPUTE", "command": "task", "op": op, "size": task.get("nbytes") or 0,
                        "details": str(task.get("key"))}  # fmt: skip
                row = lane.thread_row(task.get("thread"))
                self._recorder.slice(lane.track, start, max(0, end - start), op, row, args=args)
            elif span["action"] == "transfer" and span.get("source"):
                source = cluster.worker(str(span["source"]))
                cluster.transfer({"start": span["start"], "stop": span["stop"], "total": 0, "op": op}, source, lane)


def _is_here(identity: dict[str, Any]) -> bool:
    """Whether the scheduler lives in a recorded process and so records itself."""
    return any("peephole" in str(name) for name in identity.get("plugins", ()))
