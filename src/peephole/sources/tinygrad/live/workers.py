"""tinygrad's compile workers, recorded as the program is, so that it may go on using them. Standard library only.

A worker is a process that tinygrad starts and hands kernels to (`tinygrad.engine.worker`): it joins the recording as
every Python process does that is started from a recorded one. What is added here:

    program   task ──▶ (task, the stack that it comes from) ──▶   worker: compiles it with that stack below its own,
              result, contexts of it  ◀── (result, contexts) ◀──  writes all that it knows before it answers

The program links its kernels to these contexts, by their numbers in the capture.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.text import NOT_UNDERSTOOD

if TYPE_CHECKING:
    from peephole.sources.tinygrad.live.follow import Follower

Compiled = tuple[int, str, tuple[str | bytes, ...]]
"""A context: its number in the capture, its name and what links to it."""
_FRAMES: Final = 30
_COMPILES: Final = "_compile_kernel"

_find: Callable[[], Follower | None] = lambda: None  # noqa: E731
_below: tuple[Any, ...] = ()
"""In a worker: the stack, in the program, of what is compiled."""


def share_pool(worker: ModuleType, find: Callable[[], Follower | None]) -> None:
    """Makes the pool of workers record; before anybody else has the function that gives it."""
    global _find  # noqa: PLW0603
    if "_peephole" in vars(worker):
        return
    vars(worker)["_peephole"] = True
    _find = find
    begin, pool_of = worker._init_worker, worker.get_worker_pool

    @functools.wraps(begin)
    def _init_worker() -> None:
        begin()
        _track_again()

    pools: dict[int, _Pool] = {}

    @functools.wraps(pool_of)
    def get_worker_pool() -> Any:
        pool = pool_of()
        if pool is None or _find() is None:
            return pool
        known = pools.get(id(pool))
        if known is None or known._pool is not pool:
            known = pools[id(pool)] = _Pool(pool)
        return known

    worker._init_worker = _init_worker  # type: ignore[attr-defined]
    worker.get_worker_pool = get_worker_pool  # type: ignore[attr-defined]


def are_recorded() -> bool:
    """Whether processes that are started from here record themselves into this capture."""
    return os.environ.get("PEEPHOLE", "0") not in ("", "0") and "PEEPHOLE_CAPTURE" in os.environ


def worker_name() -> str | None:
    """What the lanes of this process stand under when it is a worker."""
    process = sys.modules.get("multiprocessing.process")
    name = "" if process is None else process.current_process().name
    return f"compile worker {os.getpid()}" if name.startswith("_Worker") else None


def _track_again() -> None:
    """tinygrad switches its own tracking off in a worker; ours starts no viewer and writes no pickle there."""
    follower = _find()
    if follower is not None and follower.followed.rewrites:
        hidden.of(follower.followed.helpers, "VIZ").value = -1
        hidden.of(follower.followed.ops, "TRACK_MATCH_STATS").value = 2
        helpers: Any = follower.followed.helpers
        stack_of: Callable[..., tuple[Any, ...]] = helpers.get_stacktrace

        @functools.wraps(stack_of)
        def get_stacktrace(frame: Any, max_frames: int = _FRAMES) -> tuple[Any, ...]:
            own = stack_of(frame, max_frames)
            for at, place in enumerate(own):
                if place[2] == "_task" and place[0] == _task.__code__.co_filename:
                    return (*own[:at], *_below)[:max_frames]
            return own

        helpers.get_stacktrace = get_stacktrace


class _Pool:
    """tinygrad's pool, with our words to and from the workers."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def imap_unordered(self, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        """The results of a function that workers call, in the order in which they come."""
        follower = _find()
        if follower is None or not follower.followed.rewrites:
            results: Iterator[Any] = self._pool.imap_unordered(function, tasks)
            return results
        stack = follower.followed.helpers.get_stacktrace(sys._getframe(0))
        return _Results(self._pool.imap_unordered(_task, ((function, task, stack) for task in tasks)))


class _Results:
    """What the workers answered, without our part of it."""

    def __init__(self, answers: Iterator[tuple[Any, list[Compiled]]]) -> None:
        self._answers = answers

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        result, compiled = next(self._answers)
        follower = _find()
        if follower is not None and compiled:
            follower.adopt(compiled, _estimates(result))
        return result


def _task(asked: tuple[Callable[[Any], Any], Any, tuple[Any, ...]]) -> tuple[Any, list[Compiled]]:
    """In a worker: the result of a task, and the contexts that it opened, which are written by then."""
    global _below
    function, task, _below = asked
    follower = _find()
    if follower is None or not follower.followed.rewrites:
        return function(task), []
    ops = follower.followed.ops
    first = len(hidden.recorded(ops, "tracked_keys"))
    if function.__name__ != _COMPILES:  # it rewrites before it opens a group: not into that of the task before it
        key = f"{function.__name__.strip('_')} n{first + 1}"
        ops.add_trace_group(follower.followed.helpers.TracingKey(key, (key,)))
    try:
        return function(task), follower.caught_up(first)
    except BaseException:
        follower.caught_up(first)
        raise


def _estimates(result: Any) -> Any:
    """tinygrad's estimates of a program, out of what a task gives: (number, program) or (number, (program, time))."""
    try:
        program = result[1][0] if isinstance(result[1], tuple) else result[1]
        return program.src[0].arg.estimates
    except NOT_UNDERSTOOD:
        return None
