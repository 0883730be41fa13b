"""How long a query may take and with how much memory, and how it is ended: by time, by Ctrl-C, by a reader who left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from peephole.errors import PeepholeError

Result = TypeVar("Result")
Gone = Callable[[], bool]
"""Whether nobody waits for the answer any more."""
_SECONDS: Final = 300.0
_MOST: Final = 8_000_000_000
_LEAST: Final = 256_000_000
_TICK: Final = 0.1
_GRACE: Final = 20.0
"""Seconds that a query gets to end itself once it is told to: it takes a tenth of one, but on a machine that is busy.
Who goes away before, leaving it at work, ends in an abort."""


NOT_GONE: Final[Gone] = bool
"""A reader who stays."""


def default_memory() -> int:
    """Bytes that a query may use when nobody says how many: half of the machine's, within reason."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return _MOST // 4
    return max(_LEAST, min(_MOST, machine // 2))


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and bytes of one query; 0: as much as it takes."""

    seconds: float = _SECONDS
    memory: int = -1
    advice: bool = True
    """Whether there are options that a user can give it more with."""

    def __post_init__(self) -> None:
        if self.memory < 0:
            object.__setattr__(self, "memory", default_memory())


SERVER: Final = (30.0, 1_000_000_000)
"""Seconds and bytes of a query in the server, which others use meanwhile."""


def server_limits() -> Limits:
    """The limits of a query that comes over the network."""
    seconds, memory = SERVER
    return Limits(seconds, min(memory, default_memory()), advice=False)


class Watch:
    """Runs the parts of one query in another thread, and ends it when its time is over or nobody wants it any more.

    DuckDB looks for Ctrl-C between two tasks of a query, and one task may last for ever.
    """

    def __init__(self, connection: Any, limits: Limits, gone: Gone = NOT_GONE) -> None:
        self._connection = connection
        self._limits = limits
        self._gone = gone
        self._left = limits.seconds

    def run(self, part: Callable[[], Result]) -> Result:
        """What a part of the query gives; PeepholeError when its time is over. Waiting between parts does not count."""
        done = threading.Event()
        results: list[Result] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                results.append(part())
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        begun = time.monotonic()
        try:
            threading.Thread(target=work, name="sql", daemon=True).start()
        except RuntimeError:
            raise PeepholeError("The SQL cannot be run: the machine has no room for another thread.") from None
        try:
            while not done.wait(_TICK if not self._limits.seconds else max(0.0, min(_TICK, self._remaining(begun)))):
                if self._limits.seconds and self._remaining(begun) <= 0:
                    more = ", or give it more with --limit-time" if self._limits.advice else ""
                    raise PeepholeError(
                        f"The SQL took longer than {self._limits.seconds:g} s and was ended; ask for less{more}."
                    )
                if self._gone():
                    raise PeepholeError("The SQL was ended: nobody waits for its answer any more.")
        except BaseException:
            until = time.monotonic() + _GRACE
            while not done.is_set() and time.monotonic() < until:
                self._connection.interrupt()  # again: it is not heard between two parts of a query
                done.wait(_TICK)
            raise
        self._left = max(self._remaining(begun), 0.001)
        if errors:
            raise errors[0]
        return results[0]

    def _remaining(self, begun: float) -> float:
        return self._left - (time.monotonic() - begun)
