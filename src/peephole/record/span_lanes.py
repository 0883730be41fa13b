"""Lanes: the tracks of a thread and the spans that are open on each."""

from __future__ import annotations

import os
import threading
from typing import Any

from peephole.model.tables import NONE
from peephole.record import process
from peephole.record.recorder import Recorder


class Lane:
    """A track that spans are stacked on.

    `stack` begins with None, so that its top is what the next span should have for a parent.
    """

    __slots__ = ("__weakref__", "family", "generation", "name", "recorder", "stack", "track")

    def __init__(self, recorder: Recorder, name: str, order: int, family: list[Lane]) -> None:
        self.recorder = recorder
        self.generation = recorder.generation
        self.family = family
        """The thread's further lanes."""
        self.stack: list[Any] = [None]
        self.name = name
        self.track = recorder.new_track(name, "thread", _process_track(recorder), order, own=True)


def main_lane(recorder: Recorder) -> Lane:
    """The calling thread's first lane."""
    slot = recorder.slot()
    if slot.lane is None:
        ident = threading.get_ident()
        main = threading.main_thread().ident == ident
        slot.lane = Lane(recorder, _thread_name(ident), 0 if main else threading.get_native_id(), [])
        recorder.lanes.add(slot.lane)
    lane: Lane = slot.lane
    return lane


def free_lane(main: Lane, *, aside: bool = False) -> Lane:
    """A lane of the same thread that nothing is open on, `aside` from its first; made as tasks overlap."""
    if len(main.stack) == 1 and not aside:
        return main
    family = main.family
    for lane in family:
        if len(lane.stack) == 1:
            return lane
    lane = Lane(main.recorder, f"{main.name} {len(family) + 2}", len(family) + 1, family)
    family.append(lane)
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
