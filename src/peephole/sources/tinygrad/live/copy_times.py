"""Times copies where tinygrad reports no times. Standard library only.

A copy is run by one function of the engine (`exec_copy` of 0.13 and 0.14, a `BufferCopy` before) that calls a method of
an allocator, inside captured JITs too. The engine says that it is a copy and where to, the method is where the bytes
move: an allocator is called for other things as well, and the engine looks things up and allocates on its way.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any, Final

from peephole.record.unseen import hide, unseen
from peephole.sources.tinygrad.live import hidden, matching
from peephole.sources.tinygrad.own_ranges import Ran

_ALLOCATORS: Final = (
    ("tinygrad.runtime.ops_cpu", "CPUAllocator"),
    ("tinygrad.runtime.ops_python", "PythonAllocator"),
    ("tinygrad.runtime.ops_npy", "NpyAllocator"),
    ("tinygrad.runtime.ops_disk", "DiskAllocator"),
    ("tinygrad.runtime.ops_null", "NullAllocator"),
)
_METHODS: Final = ("_copyin", "_copyout", "_transfer")
_DEVICES: Final = frozenset(("CPU", "PYTHON", "NPY", "DISK", "NULL"))
Span = tuple[int, int]


class _Moved(threading.local):
    """When bytes moved within the copy that this thread is at, None for a move that tinygrad timed itself."""

    spans: list[Span | None] | None = None
    """None outside of any copy."""


_moved: Final = _Moved()


def time_copies(ran: deque[Ran]) -> None:
    """Makes the copies of the devices that are loaded, and report no times, append to `ran`."""
    for module, name in _ALLOCATORS:
        allocator = getattr(sys.modules.get(module), name, None)
        if allocator is not None and "_peephole" not in vars(allocator):
            allocator._peephole = True
            for method in _METHODS:
                _time_method(allocator, method)
    realize = sys.modules.get("tinygrad.engine.realize")
    if realize is None or "_peephole" in vars(realize) or realize.__spec__._initializing:  # type: ignore[union-attr]
        return
    if hasattr(realize, "pm_exec"):
        _time_calls(realize.pm_exec, ran)
    elif hasattr(realize, "BufferCopy"):
        for runner in (realize.BufferCopy, realize.BufferXfer):
            _time_runner(runner, ran)
    else:
        return
    vars(realize)["_peephole"] = True


def _time_method(allocator: Any, name: str) -> None:
    move = getattr(allocator, name, None)
    if move is None:
        return
    told = bool({"cpu_profile", "hcq_profile"} & set(move.__code__.co_names))

    @unseen
    @functools.wraps(move)
    def timed(*args: Any, **kwargs: Any) -> Any:
        try:
            spans = _moved.spans
            if spans is None:
                return move(*args, **kwargs)
            start = perf_counter_ns()
            try:
                return move(*args, **kwargs)
            finally:
                spans.append(None if told else (start, perf_counter_ns()))
        except BaseException as error:
            hide(error)
            raise

    setattr(allocator, name, timed)


def _time_calls(engine: Any, ran: deque[Ran]) -> None:
    """For the matcher that runs a schedule's calls; it is the instance's method that is replaced, not the class's."""
    ops = sys.modules["tinygrad.uop.ops"]
    kind: Any = type(engine)
    rewrite = kind.rewrite
    profile = hidden.of(sys.modules["tinygrad.helpers"], "PROFILE")
    # within no pass it would only count, for a table that is printed when it is asked for
    plain = rewrite if "TRACK_MATCH_STATS" in os.environ else matching.plain_rewrite(kind)
    copy, passes = ops.Ops.COPY, ops.active_rewrites

    @unseen
    def timed(call: Any, *args: Any) -> Any:
        try:
            if call.src[0].op is not copy or not profile.value:
                return rewrite(engine, call, *args) if passes else plain(engine, call, *args)
            spans: list[Span | None] = []
            outer, _moved.spans = _moved.spans, spans
            try:
                done = rewrite(engine, call, *args)
            finally:
                _moved.spans = outer
            _note(spans, _devices(call.src[1]), _devices(call.src[2]), ran)
            return done
        except BaseException as error:
            hide(error)
            raise

    engine.rewrite = timed


def _time_runner(runner: Any, ran: deque[Ran]) -> None:
    copy = runner.copy
    profile = hidden.of(sys.modules["tinygrad.helpers"], "PROFILE")

    @unseen
    @functools.wraps(copy)
    def timed(self: Any, dest: Any, src: Any) -> Any:
        try:
            if not profile.value:
                return copy(self, dest, src)
            spans: list[Span | None] = []
            outer, _moved.spans = _moved.spans, spans
            try:
                done = copy(self, dest, src)
            finally:
                _moved.spans = outer
            _note(spans, (dest.device,), (src.device,), ran)
            return done
        except BaseException as error:
            hide(error)
            raise

    runner.copy = timed


def _note(spans: list[Span | None], to: Sequence[str], source: Sequence[str], ran: deque[Ran]) -> None:
    """Tells of a copy that was made; one that failed is none."""
    found = [span for span in spans if span is not None]
    if not found or len(found) != len(spans) or not _DEVICES.issuperset(name.split(":")[0] for name in (*to, *source)):
        return
    if len(to) == 1:  # by way of the host: out of one device and into another
        found = [(found[0][0], found[-1][1])]
    if len(found) != len(to) or len(source) not in (1, len(to)):
        return
    for at, (start, end) in enumerate(found):
        known = f"{to[at]}:COPY", f"{source[at % len(source)]} -> {to[at]}", None
        ran.append((known, start, end))


def _devices(node: Any) -> tuple[str, ...]:
    device = node.device
    return device if type(device) is tuple else (device,)
