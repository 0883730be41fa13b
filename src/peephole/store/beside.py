"""Work in a second thread, for what leaves Python's lock alone: coding Parquet, compressing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Beside:
    """Does something beside what is done within its `with`; leaving that waits for it, and raises what it raised."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="peephole-beside", daemon=True)

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # handed to the thread that waits for it
            self._error = error

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join()
        if kind is None:
            self.wait()

    def wait(self) -> None:
        """Returns when it is done."""
        self._thread.join()
        if self._error is not None:
            raise self._error
