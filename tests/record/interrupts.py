"""Lets something happen at every step that Peephole takes: between any two bytecodes of `peephole/record`."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from peephole.record import active

HERE = str(Path(active.__file__).parent) + os.sep


class Steps:
    """Counts the bytecodes of Peephole's that run inside `with`, and calls `interrupt` before the chosen one."""

    def __init__(self, chosen: int, interrupt: Callable[[], object]) -> None:
        self.chosen = chosen
        self.interrupt = interrupt
        self.seen = 0
        self.raised = False

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            self.seen += 1
            if self.seen == self.chosen:
                self.raised = True
                self.interrupt()
                self.raised = False
        return self._trace

    def __enter__(self) -> Steps:
        self._before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 tells of bytecodes only where one asked before settrace
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()  # an interruption that raised has switched them off
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


def at_every_step(work: Callable[[int], object], interrupt: Callable[[int], object], each: int = 1) -> int:
    """Runs `work(step)` again and again, each time with the interruption later, until it is never reached."""
    raised = False
    for step in range(1, 10_000, each):
        # Python 3.13 loses track of the bytecodes for a while after an interruption that raised
        for _ in range(1 + raised):
            steps = Steps(step, lambda step=step: interrupt(step))  # type: ignore[misc]
            with steps:
                work(step)
            if steps.seen >= step:
                break
        else:
            return step - 1
        raised = steps.raised
    raise AssertionError("more than 10,000 steps")


@contextlib.contextmanager
def handler(of: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """A real signal's handler; gives what sends the signal."""
    before = signal.signal(signal.SIGUSR1, lambda *_: of())
    try:
        yield lambda: signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


class Garbage:
    """Collected only by the collector, and does something then."""

    def __init__(self, at_end: Callable[[], object]) -> None:
        self.me = self
        self.at_end = at_end

    def __del__(self) -> None:
        self.at_end()


def collect(at_end: Callable[[], object]) -> None:
    """Lets the collector find a piece of garbage."""
    Garbage(at_end)
    gc.collect(0)
