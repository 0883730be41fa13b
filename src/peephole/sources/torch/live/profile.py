"""torch's own profile on the capture's clock: operations of every thread, and the memory of its allocator.

Standard library only. Whenever a profiler of torch ends, whoever began it, what it saw is written; with
PEEPHOLE_TORCH_PROFILE=1 one of ours runs from the first compiled code on, and gives way to the program's own. In a rank
of several one runs from the moment on at which the ranks have found each other, unless that variable is 0.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.torch.live.compilations import Compilations
from peephole.sources.torch.live.hooks import failed, wrap

_COMPILED: Final = re.compile(r"Torch-Compiled Region: (\S+)")
_MOST: Final = 2_000_000
"""Events of one profile that are written."""
_TOGETHER: Final = 50
"""Steps of a rank whose events are written together."""


class Profile:
    """Takes over what torch's profiler saw."""

    def __init__(self, at: Compilations) -> None:
        self.at = at
        self.wanted = os.environ.get("PEEPHOLE_TORCH_PROFILE", "0") not in ("", "0")
        self._own: Any = None
        self._mine = False
        self._ends = False
        self._steps = 0
        self._step_track = NONE
        self._step_begun = 0

    def watch(self, module: ModuleType) -> list[str]:
        """Watches torch.autograd.profiler; gives what is not there."""
        begins = wrap(module, "_prepare_profiler", self._other_begins)
        ends = wrap(module, "_disable_profiler", lambda args, words: True, self._ended)
        return [] if begins and ends else ["_disable_profiler"]

    # ours

    def joined(self, ranks: int) -> None:
        """The process is one of so many ranks: what each did, and when, is what such a recording is made for."""
        if ranks < 2 or os.environ.get("PEEPHOLE_TORCH_PROFILE") == "0" or self._own is not None:
            return
        importlib.import_module("torch.profiler")  # it is there, and most programs have not loaded it
        self.begin(memory=False)
        optimizer = sys.modules.get("torch.optim.optimizer")
        if optimizer is not None and self._step_begun == 0:
            optimizer.register_optimizer_step_post_hook(self._stepped)
        self._step_begun = time.perf_counter_ns()

    def _stepped(self, *_: Any) -> None:
        """A training step ended. What was seen is written every few steps, so that a long run needs no more memory."""
        now = time.perf_counter_ns()
        if self._own is None:  # the program's own profiler knows its steps
            return
        if self._step_track == NONE:
            self._step_track = self.at.recorder.track("steps", "host", order=9)
        begun, self._step_begun = self._step_begun, now
        self.at.recorder.slice(self._step_track, begun, now - begun, f"step {self._steps}")
        self._steps += 1
        if self._steps % _TOGETHER == 0 and threading.current_thread() is threading.main_thread():
            self.end()
            self.begin(memory=False)

    def begin(self, memory: bool = True) -> None:
        """Starts a profiler of ours, in the main thread, once; it is asked for by name."""
        if self._own is not None or threading.current_thread() is not threading.main_thread():
            return
        self.wanted = False
        profiler = sys.modules.get("torch.profiler")
        if profiler is None:
            return
        self._mine = True
        try:
            own = profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=memory)
            own.start()
            self._own = own
        finally:
            self._mine = False
        if not self._ends:
            self._ends = True
            self.at.recorder.on_exit(self.end)

    def end(self) -> None:
        """Ends ours, if it runs."""
        own, self._own = self._own, None
        if own is not None:
            own.stop()

    def _other_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        if not self._mine:
            self.end()

    # what was seen

    def _ended(self, state: Any, result: Any, raised: BaseException | None) -> None:
        tree = getattr(result, "experimental_event_tree", None)
        if raised is None and tree is not None:
            offset = _offset()
            _Written(self.at, offset).events(tree())


class _Written:
    """Writes the events of one profile."""

    def __init__(self, at: Compilations, offset: int) -> None:
        self.at = at
        self.recorder = at.recorder
        self.offset = offset
        self.tracks: dict[int, int] = {}
        self.living: dict[tuple[int, str], int] = {}
        self.first = NONE
        self.frees: list[tuple[int, int]] = []

    def events(self, roots: list[Any]) -> None:
        left = _MOST
        stack = [(root, 0) for root in reversed(roots)]
        memory: list[Any] = []
        while stack and left:
            event, depth = stack.pop()
            left -= 1
            if event.tag.name == "Allocation":
                memory.append(event)
            else:
                self._slice(event, depth)
            stack += [(child, depth + 1) for child in reversed(event.children)]
        for event in sorted(memory, key=lambda one: one.start_time_ns):
            self._memory(event)
        if stack:
            self.recorder.problem("a profile of torch has more events than are kept", len(stack))

    def _slice(self, event: Any, depth: int) -> None:
        thread = event.start_tid
        track = self.tracks.get(thread)
        if track is None:
            if self.first == NONE:
                self.first = thread
            name = "aten" if thread == self.first else f"aten autograd {thread}"
            track = self.tracks[thread] = self.recorder.track(name, "host", order=10 + len(self.tracks))
        name = event.name
        context = NONE
        found = _COMPILED.match(name)
        if found:
            known = self.at.known(found[1])
            context = NONE if known is None else known.id
        start = event.start_time_ns + self.offset
        self.recorder.slice(track, start, max(event.duration_time_ns, 0), name, depth, context)

    def _memory(self, event: Any) -> None:
        fields = event.extra_fields
        pointer, size = fields.ptr, fields.alloc_size
        device = str(fields.device).upper().replace("CPU:0", "CPU")
        when = event.start_time_ns + self.offset
        if size > 0:
            buffer = self.living[pointer, device] = self.recorder.new_id()
            self.recorder.row("buffers", id=buffer, device=device, alloc=when, bytes=size, name=None)
        else:
            known = self.living.pop((pointer, device), None)
            if known is not None:
                self.recorder.free(known, when)


def _offset() -> int:
    """What to add to torch's times, which count from 1970, to get the capture's."""
    best = None
    for _ in range(5):
        before = time.perf_counter_ns()
        epoch = time.time_ns()
        after = time.perf_counter_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2 - epoch)
    assert best is not None
    return best[1]


def when_code_runs(profile: Profile) -> Callable[[], None]:
    """What is called before compiled code runs."""

    def begins() -> None:
        if profile.wanted:
            try:
                profile.begin()
            except Exception as error:
                profile.wanted = False
                failed("profiler", error)

    return begins
