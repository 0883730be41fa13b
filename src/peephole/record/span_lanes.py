"""Lanes: the tracks of a thread and the spans that are open on each."""

from __future__ import annotations

import contextlib
import os
import threading
from heapq import heappop, heappush
from typing import Any

from peephole.model.tables import NONE
from peephole.record import process
from peephole.record.marks import Place
from peephole.record.recorder import Recorder


class Lane:
    """A track that spans are stacked on.

    `stack` begins with None, so that its top is what the next span should have for a parent.
    """

    # fmt: off
    __slots__ = (
        "__weakref__", "family", "free", "generation", "marks", "name", "order", "recorder", "stack", "thread", "track",
    )
    # fmt: on

    def __init__(self, recorder: Recorder, name: str, order: int, main: Lane | None, thread: int) -> None:
        self.recorder = recorder
        self.generation = recorder.generation
        self.family: list[Lane] = [] if main is None else main.family
        """The thread's further lanes."""
        self.free: list[tuple[int, int, Lane]] = [] if main is None else main.free
        """A heap of those of the family that nothing is open on; by track too, for a handler may make a second lane of
        the same order, and lanes have none."""
        self.order = 0 if main is None else order
        """Which of the family it is; 0 for the thread's first."""
        self.stack: list[Any] = [None]
        self.name = name
        self.thread = thread
        """The ordinal of the writer whose texts name its spans."""
        self.marks: list[Place] = []
        """Where the span of each depth is marked."""
        self.track = recorder.new_track(name, "thread", _process_track(recorder), order, own=True)

    def mark(self, depth: int) -> Place:
        """Where the span of that depth is marked."""
        marks = self.marks
        while len(marks) <= depth:  # a handler may make one more than there are rows: it is never looked at
            marks.append(self.recorder.marks.place(self.track, len(marks), self.thread))
        return marks[depth]

    def drop(self, of: Any) -> None:
        """Takes a span off the stack, wherever it is."""
        with contextlib.suppress(ValueError):
            self.stack.remove(of)  # what it opened goes on: a generator or a task that outlives it

    def release(self) -> None:
        """Makes a lane that nothing is open on free for the next; call it when what was has its end."""
        if self.order and len(self.stack) == 1:
            heappush(self.free, (self.order, self.track, self))

    def heal(self) -> None:
        """Takes off what has ended and is still on top: an exception came in between."""
        while (top := self.stack[-1]) is not None and top._lane is not self:
            self.drop(top)
            self.release()


def main_lane(recorder: Recorder) -> Lane:
    """The calling thread's first lane."""
    slot = recorder.slot()
    if slot.lane is None:
        ident = threading.get_ident()
        order = 0 if threading.main_thread().ident == ident else threading.get_native_id()
        lane = Lane(recorder, _thread_name(ident), order, None, slot.writer.thread)
        if slot.lane is None:  # a handler may have come in between
            slot.lane = lane
            recorder.lanes.add(lane)
    found: Lane = slot.lane
    return found


def free_lane(main: Lane, *, aside: bool = False) -> Lane:
    """A lane of the same thread that nothing is open on, `aside` from its first; made as tasks overlap."""
    if len(main.stack) == 1 and not aside:
        return main
    with contextlib.suppress(IndexError):
        while True:
            _, _, lane = heappop(main.free)
            if len(lane.stack) == 1:
                return lane
    order = len(main.family) + 1
    lane = Lane(main.recorder, f"{main.name} {order + 1}", order, main, main.thread)
    main.family.append(lane)
    main.recorder.lanes.add(lane)
    return lane


def _process_track(recorder: Recorder) -> int:
    if recorder.process_track == NONE:
        program = os.path.basename(process.command_line()[0]) or "python"
        recorder.process_track = recorder.new_track(f"{program} {os.getpid()}", "host", own=True)
    return recorder.process_track


def _thread_name(ident: int) -> str:
    # current_thread() would enter a thread that Python did not start into the program's list of threads
    for thread in threading.enumerate():
        if thread.ident == ident:
            return thread.name
    return f"thread {threading.get_native_id()}"
