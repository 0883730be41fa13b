"""What the workers' plugin tells the scheduler: what it fetched from others, and failures. Standard library only."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from peephole.sources.dask.scheduler import TOPIC


class WorkerTape:
    """A mixin for Dask's WorkerPlugin: hands over failures and the worker's own log of transfers."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._last: Any = None

    def transition(self, key: Any, start: str, finish: str, **_more: Any) -> None:
        """A task changed its state: what came from elsewhere is in memory now, or it failed."""
        if (start == "flight" and finish == "memory") or finish == "error":
            # a version of Dask may differ in any way, and would print what this raises into the program's output
            with suppress(Exception):
                if finish == "error":
                    self._tell_failure(key)
                else:
                    self._tell()

    def _tell_failure(self, key: Any) -> None:
        """The scheduler's plugin does not hear of it when the task is tried again."""
        words = str(self._worker.state.tasks[key].exception_text or "failed")[:2000]
        self._worker.log_event(TOPIC, {"worker": self._worker.address, "failed": (key, words)})

    def _tell(self) -> None:
        new = []
        for entry in reversed(self._worker.transfer_incoming_log):
            if entry is self._last:
                break
            new.append(entry)
        if not new:
            return
        self._last = new[0]
        transfers = [
            {
                "start": entry["start"],
                "stop": entry["stop"],
                "who": entry["who"],
                "total": entry["total"],
                "keys": list(entry["keys"])[:64],
            }
            for entry in reversed(new)
        ]
        self._worker.log_event(TOPIC, {"worker": self._worker.address, "transfers": transfers})

    async def end(self) -> None:
        """Hands over the rest when the worker closes."""
        with suppress(Exception):  # as above
            self._tell()
