"""Compiled code as it runs: regions and the kernels in them, on the timeline. Standard library only.

The functions of a wrapper module stand in its globals, so ours are put around them there: C++ kernels, which torch's
profiler does not show, and calls of libraries. To take a kernel's time costs about two microseconds. So the first runs
of a region are recorded with all kernels, and later ones as often as that costs a hundredth of the region's time; the
region itself is recorded each time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import ModuleType
from typing import Any, Final

from peephole.record import active
from peephole.record.recorder import Recorder
from peephole.record.unseen import hide, unseen
from peephole.sources.torch.wrapper import Wrapper

KERNEL_NS: Final = 2_500
"""What it costs to take the time of one kernel."""
FIRST_RUNS: Final = 10
"""Runs of a region that are recorded with all kernels whatever that costs."""
_OPERATORS: Final = ("torch.ops.", "aten.")
SHARE: Final = 0.01
"""Of a region's time, what its kernels' times may cost after that."""


class Running:
    """Puts clocks around the functions of wrapper modules."""

    def __init__(self, recorder: Callable[[], Recorder], begins: Callable[[], None]) -> None:
        self._recorder = recorder
        self.begins = begins
        """Called before the first run of a region."""
        self._local = threading.local()
        self._regions: list[_Region] = []

    def begin(self) -> None:
        """Begins anew, in another recording or process."""
        self._local = threading.local()
        for region in self._regions:
            region.runs = region.timed = 0

    def say_sampled(self) -> None:
        """Says in how many runs of compiled code kernels were timed, where that is not all of them."""
        timed, runs = (sum(getattr(region, name) for region in self._regions) for name in ("timed", "runs"))
        if timed < runs:
            words = f"kernels were timed in {timed:,} of {runs:,} runs of compiled code"
            self._recorder().facts(**{f"sampled {os.getpid()}": f"{words}: counts and times of kernels cover those"})

    def tracks(self) -> tuple[int, int]:
        """The tracks of this thread: of regions, and of kernels."""
        local, recorder = self._local, self._recorder()
        if getattr(local, "of", None) is not recorder:
            thread = threading.current_thread()
            main = thread is threading.main_thread()
            name = "" if main else f" {_name_of(thread)}"
            local.pair = (
                recorder.track(f"torch{name}", "host", order=0 if main else 1),
                recorder.track(f"CPU{name}", "device", order=0 if main else 1),
            )
            local.of = recorder
        pair: tuple[int, int] = local.pair
        return pair

    def watch(self, name: str, context: int, module: ModuleType, wrapper: Wrapper, contexts: dict[str, int]) -> None:
        """Puts clocks around a module's kernels and around its call."""
        call = getattr(module, "call", None)
        if not callable(call):
            return
        region = _Region(self, name, context, len(wrapper.calls))
        self._regions.append(region)
        scope = vars(module)
        for kernel, number in contexts.items():
            function = scope.get(kernel)
            if callable(function) and not hasattr(function, "run"):
                scope[kernel] = _clocked(function, kernel, number, region, self)
        library = scope.get("extern_kernels")
        if library is not None:
            scope["extern_kernels"] = _Library(library, region, context, self)
        for path in dict.fromkeys(call.name for call in wrapper.calls if call.extern):
            if path.startswith(_OPERATORS):
                self._clock_operator(scope, path, region, context)
        scope["call"] = _region_call(call, region, self)

    def _clock_operator(self, scope: dict[str, Any], path: str, region: _Region, context: int) -> None:
        """Puts clocks around `torch.ops.aten.sort.default` as this module calls it."""
        holder, real, (*names, last) = scope, None, path.split(".")
        for name in names:
            real = scope.get(name) if real is None else getattr(real, name, None)
            if real is None:
                return
            if not isinstance(real, _Around):
                real = holder[name] = _Around(real)
            holder = vars(real)
        function = getattr(real, last, None)
        if callable(function) and last not in holder:
            holder[last] = _clocked(function, path, context, region, self)


class _Region:
    """The code of a half: whether the kernels of its current run are recorded."""

    __slots__ = ("_running", "context", "every", "kernels", "name", "on", "runs", "timed")

    def __init__(self, running: Running, name: str, context: int, kernels: int) -> None:
        self.name = name
        self.context = context
        self.kernels = kernels
        self._running = running
        self.on = False
        self.runs = 0
        self.timed = 0
        """Of these runs, how many with their kernels."""
        self.every = 1
        """Of so many runs one is recorded with its kernels."""

    def begins(self) -> bool:
        self.runs += 1
        self.on = self.runs <= FIRST_RUNS or self.runs % self.every == 0
        if self.on:
            self.timed += 1
        elif self.runs == self.timed + 1:
            self._running.say_sampled()  # the first that is left out: a program that is killed has said it
        return self.on

    def ended(self, dur: int) -> None:
        if self.runs == FIRST_RUNS or (self.on and self.runs > FIRST_RUNS):
            self.every = max(1, round(self.kernels * KERNEL_NS / (SHARE * max(dur, 1))))
        self.on = False


def _region_call(call: Callable[..., Any], region: _Region, running: Running) -> Callable[..., Any]:
    @unseen
    def region_call(*args: Any, **words: Any) -> Any:
        try:
            recorder = active.recorder
            if recorder is None or recorder.closed:
                return call(*args, **words)
            if region.begins() and region.runs == 2:
                running.begins()  # the first run may compile the other half
            start = perf_counter_ns()
            result = call(*args, **words)
            dur = perf_counter_ns() - start
            region.ended(dur)
            recorder.slice(running.tracks()[0], start, dur, region.name, 0, region.context)
            return result
        except BaseException as error:
            region.on = False
            hide(error)
            raise

    return region_call


def _clocked(
    function: Callable[..., Any], name: str, context: int, region: _Region, running: Running
) -> Callable[..., Any]:
    @unseen
    def kernel_call(*args: Any, **words: Any) -> Any:
        try:
            if not region.on:
                return function(*args, **words)
            start = perf_counter_ns()
            result = function(*args, **words)
            end = perf_counter_ns()
            recorder = active.recorder
            if recorder is not None:
                recorder.slice(running.tracks()[1], start, end - start, name, 0, context)
            return result
        except BaseException as error:
            hide(error)
            raise

    return kernel_call


class _Library:
    """The kernels of libraries that a module calls, with clocks around them; made when they are first asked for."""

    def __init__(self, library: Any, region: _Region, context: int, running: Running) -> None:
        self.__dict__["_made"] = (library, region, context, running)

    def __getattr__(self, name: str) -> Any:
        library, region, context, running = self.__dict__["_made"]
        function = getattr(library, name)
        if not callable(function):
            return function
        clocked = self.__dict__[name] = _clocked(function, f"extern_kernels.{name}", context, region, running)
        return clocked


class _Around:
    """What a namespace holds, but for what is put into this one."""

    def __init__(self, real: Any) -> None:
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["_real"], name)
        if not callable(found) and not hasattr(found, "__dict__"):
            self.__dict__[name] = found  # a type of data, which the module asks for with every buffer
        return found


def _name_of(thread: threading.Thread) -> str:
    """What a user calls a thread: those of autograd are not Python's own."""
    return "autograd" if isinstance(thread, threading._DummyThread) else thread.name
