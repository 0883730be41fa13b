"""Records a process into its journal: what spans, attach modules and everything else in this room write through."""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import threading
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

from peephole.model.journal import (
    FLAG_PROVISIONAL,
    KIND_FACTS,
    KIND_FREE,
    KIND_PROBLEM,
    KIND_SETTLED,
    PROCESS_SHIFT,
    SHORT,
)
from peephole.model.tables import NONE
from peephole.record import process
from peephole.record.marks import Marks
from peephole.record.rows import json_text, text_bytes, text_of
from peephole.record.segment import Mapped, Segment
from peephole.record.writer import Writer

_FREE = struct.Struct("<qq")
_COUNT = struct.Struct("<q")
FLUSH_NS: Final = 200_000_000
_STICKY = frozenset(("tracks", "contexts"))


class Slot:
    """What a thread holds of the recorder; gives its writer back when the thread ends."""

    __slots__ = ("generation", "inside", "lane", "recorder", "writer")

    def __init__(self, recorder: Recorder, writer: Writer) -> None:
        self.recorder = recorder
        self.generation = recorder.generation
        self.writer = writer
        self.lane: Any = None
        """The thread's lane, see lanes.py. It must not point back, so that the slot goes with its thread."""
        self.inside: list[Any] = []
        """Spans that are open in the finalizers that a collection runs, see collection.py."""

    def __del__(self) -> None:
        self.recorder._give_back(self)


class Home:
    """The folder of this process in the capture's journal, won against all others."""

    def __init__(self, capture: str) -> None:
        self.ordinal, self.folder = process.win_folder(capture)
        self.facts = process.describe(self.ordinal)
        process.write_json(os.path.join(self.folder, "process.json"), self.facts)

    def remove(self) -> None:
        """Takes the folder away again: nobody has written into it."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, "process.json"))
            os.rmdir(self.folder)


class Recorder:
    """Writes rows of any table from any thread. Nothing here raises for what the disk or a value does.

    Ids (buffers, contexts, steps, nodes, correlations, tracks) are this process's own; the reader makes them global.
    """

    clock = staticmethod(perf_counter_ns)
    """The capture's clock: nanoseconds, the same for all processes of a machine."""

    def __init__(self, capture: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fspath(capture))
        self.generation = 0
        """Grows with every fork: what a child inherited from an earlier one is its parent's to write."""
        self.closed = False
        self.local = threading.local()
        """Each thread's `slot`."""
        self.lanes: weakref.WeakSet[Any] = weakref.WeakSet()
        """The lanes with spans that may be open when the recording stops."""
        self.process_track = NONE
        """The track that the process's threads are shown under, once there is one."""
        self.flush_at = 0
        """When spans that are open for long are written next."""
        self.nodes: Any = None
        """The nodes seen, see nodes.py."""
        self.default_context: Any = None
        self.default_step: Any = None
        """Where rewrites outside any context or step go, see rewrites.py."""
        # no lock: a handler or finalizer that waits for one may wait for its own thread
        self._writers: list[Writer] = []
        self._free_writers: list[Writer] = []
        self._thread_numbers = itertools.count()
        self._home: dict[str, Home] = {}
        self.marks = Marks(self._open_marks)
        """What is open, for the case that the process is killed."""
        self._parents_marks: list[Marks] = []
        self._tracks: dict[int, dict[str, Any]] = {}
        self._inherited: dict[int, dict[str, Any]] = {}
        self._track_numbers: dict[tuple[str, str, int], int] = {}
        self._unwritten: list[tuple[str, dict[str, Any]]] = []
        self._next_track = itertools.count()
        self.new_correlation: Callable[[], int] = itertools.count(1).__next__
        """Gives a number by which flows and uses can name a slice."""
        self._next_id = itertools.count(1 << 32)  # a source may number its own from 0
        self._exit_callbacks: list[Callable[[], object]] = []
        self._fork_callbacks: list[Callable[[], object]] = []

    # what attach modules call

    def track(self, name: str, kind: str = "host", parent: int = NONE, order: int = 0, unit: str | None = None) -> int:
        """The number of the track of that name, kind and parent; new ones are written."""
        key = (name, kind, parent)
        number = self._track_numbers.get(key)
        if number is None:
            own = next(self._next_track)
            number = self._track_numbers.setdefault(key, own)
            if number == own:  # of two that come at once the first writes it
                try:
                    self._write_track(number, name, kind, parent, order, unit)
                except BaseException:  # of a handler: whoever comes next writes it
                    self._track_numbers.pop(key, None)
                    raise
        return number

    def new_track(
        self,
        name: str,
        kind: str = "host",
        parent: int = NONE,
        order: int = 0,
        unit: str | None = None,
        *,
        own: bool = False,
    ) -> int:
        """The number of a new track, even when there is one of that name: two threads may be called the same.

        An `own` one is this process's alone; the others keep their numbers in forked children.
        """
        number = next(self._next_track)
        self._write_track(number, name, kind, parent, order, unit, own=own)
        return number

    def _write_track(
        self, number: int, name: str, kind: str, parent: int, order: int, unit: str | None, *, own: bool = False
    ) -> None:
        if self._inherited:
            self._bring_track(parent)
        row = {
            "id": number,
            "name": name,
            "kind": kind,
            "parent": parent,
            "order": order,
            "process": os.getpid(),
            "rank": process.rank(),
            "host": process.hostname(),
            "unit": unit,
        }
        if not own:
            self._tracks[number] = row
        self.row("tracks", **row)

    def slice(
        self,
        track: int,
        start_ns: int,
        dur_ns: int,
        name: str,
        depth: int = 0,
        context: int = NONE,
        correlation: int = 0,
        args: dict[str, Any] | None = None,
    ) -> None:
        """Writes something that took time. Slices of one track and depth must not overlap."""
        if self.closed:
            return
        if self._inherited:
            self._bring_track(track)
        writer = self.slot().writer
        if type(name) is not str:
            name = text_of(name)
        try:
            if context == NONE and args is None:
                writer.slice(track, start_ns, dur_ns, name, depth, correlation)
            else:
                text = None if args is None else json_text(args)
                writer.slice_with_args(track, start_ns, dur_ns, name, depth, correlation, context, text)
        except struct.error:
            self.row(
                "slices",
                track=track,
                start=start_ns,
                dur=dur_ns,
                name=name,
                depth=min(depth, 0x7FFF),
                context=context,
                correlation=correlation,
                args=None if args is None else json_text(args),
            )

    def provisional(self, track: int, start_ns: int, dur_ns: int, name: str, context: int, args: str | None) -> None:
        """Writes a slice whose time is an estimate; it counts until `settle`, by the same thread, or an orderly end."""
        if self.closed:
            return
        if self._inherited:
            self._bring_track(track)
        with contextlib.suppress(struct.error):  # out of range, as the final one will say
            flags = FLAG_PROVISIONAL  # lost ones are counted when the final ones are
            self.slot().writer.slice_with_args(track, start_ns, dur_ns, name, 0, 0, context, args, flags, counts=False)

    def settle(self) -> None:
        """Says that this thread's provisional slices are replaced by final ones."""
        if not self.closed:
            self.slot().writer.record(KIND_SETTLED, b"")

    def row(self, table: str, **columns: Any) -> None:
        """Writes a row of any table of model/tables.py; columns that are left out get their default."""
        if self.closed:
            return
        if self._inherited and "track" in columns:
            self._bring_track(columns["track"])
        keep = table in _STICKY and len(self._unwritten) < 100_000
        try:
            written = self.slot().writer.row(table, columns, counts=not keep)
        except (struct.error, OverflowError):
            self.problem(f"a value of {table} was out of range")
            return
        if not written and keep:
            self._unwritten.append((table, columns))

    def free(self, buffer: int, time_ns: int) -> None:
        """Writes when a buffer was freed."""
        if self.closed:
            return
        try:
            payload = _FREE.pack(buffer, time_ns)
        except struct.error:
            self.problem("a value of buffers was out of range")
            return
        self.slot().writer.record(KIND_FREE, payload)

    def problem(self, reason: str, count: int = 1) -> None:
        """Counts something that was lost or not understood; `peephole info` shows it."""
        if not self.closed:
            self.slot().writer.record(KIND_PROBLEM, _COUNT.pack(count) + text_bytes(reason))

    def facts(self, **manifest: Any) -> None:
        """Adds facts to the capture's manifest: frameworks={"tinygrad": "0.14"}, …"""
        if not self.closed:
            self.slot().writer.record(KIND_FACTS, text_bytes(json_text(manifest)))

    def new_id(self) -> int:
        """A number for a context, step, node or buffer, unlike all others of this process."""
        return next(self._next_id)

    def global_id(self, number: int) -> int:
        """How rows of another process name a thing of this one; not for the capture's first process."""
        self.open_process()
        ordinal: int = self._home["home"].ordinal
        return (ordinal << PROCESS_SHIFT) + number

    def on_exit(self, callback: Callable[[], object]) -> None:
        """Calls back before the journal closes, at the end of the recording or of the interpreter; last one first."""
        self._exit_callbacks.append(callback)

    def on_fork(self, callback: Callable[[], object]) -> None:
        """Calls back in a forked child: what was written so far is in the parent's journal, not in the child's."""
        self._fork_callbacks.append(callback)

    # what this room calls

    def begin(self) -> None:
        """Makes the process's folder and this thread's first segment at once instead of with the first event."""
        self.slot().writer.begin()

    def slot(self) -> Slot:
        """The calling thread's slot."""
        try:
            slot: Slot = self.local.slot
        except AttributeError:
            # a handler may have come in between: then its slot counts, and the writer of this one is given back
            slot = self.local.__dict__.setdefault("slot", Slot(self, self._take_writer()))
        return slot

    def flush(self, now: int) -> None:
        """Writes what is known about those of the thread's open spans that began before the last flush.

        That they are open is in the marks; their args are not.
        """
        self.flush_at = now + FLUSH_NS
        lane = self.slot().lane
        for each in () if lane is None else (lane, *lane.family):
            for span in each.stack[1:]:
                if span.start and now - span.start > FLUSH_NS:
                    span.tell(now)

    def close(self) -> int:
        """Ends the journal of this process and gives the number of events that were lost."""
        if self.closed:
            return 0
        for callback in reversed(self._exit_callbacks):
            try:
                callback()
            except Exception as error:  # a source's clean-up may fail in any way; the journal closes all the same
                self.problem(f"{getattr(callback, '__qualname__', 'a callback')} at exit: {error!r}")
        self._write_open_spans()
        own = self.local.slot.writer if hasattr(self.local, "slot") else None
        if self._unwritten:
            self.slot().writer.lose(len(self._unwritten))
        writers = list(self._writers)
        for writer in writers:
            writer.end()
        self.closed = True
        self.generation = -1  # no lane's
        for writer in writers:
            # a segment that another thread is writing stays as it is: its reader stops where that one stopped
            if writer is own or writer in self._free_writers:
                writer.close()
        self._finish_process()
        return sum(writer.dropped for writer in writers)

    def short(self) -> str:
        """Why events were lost: what was short."""
        reasons = dict.fromkeys(SHORT[writer.short] for writer in self._writers if writer.dropped)
        return " and ".join(reasons)

    def forked(self) -> None:
        """Begins a journal of its own in a forked child. The parent's segments are mapped here too: hands off."""
        if self.closed:
            return
        self.generation += 1
        self._writers = []
        self._free_writers = []
        self._home = {}
        self._parents_marks.append(self.marks)  # a frame that forked may be about to write one
        self.marks = Marks(self._open_marks)
        self.local = threading.local()
        self.lanes = weakref.WeakSet()
        self.process_track = NONE
        self._unwritten = []
        self._inherited = dict(self._tracks)
        for callback in self._fork_callbacks:
            try:
                callback()
            except Exception as error:  # as at exit
                self.problem(f"{getattr(callback, '__qualname__', 'a callback')} after fork: {error!r}")

    def _bring_track(self, track: int) -> None:
        """Writes a track that the parent process made, when the child first uses it."""
        row = self._inherited.pop(track, None)
        if row is not None:
            self._bring_track(row["parent"])
            self.row("tracks", **{**row, "process": os.getpid()})

    def open_process(self) -> str:
        """The process's folder, made when the first record comes: a process that records nothing leaves nothing."""
        home = self._home.get("home")
        if home is None:
            made = Home(self.path)
            home = self._home.setdefault("home", made)
            if home is not made:  # another thread, or a handler, has made one meanwhile
                made.remove()
        return home.folder

    def _write_open_spans(self) -> None:
        now = perf_counter_ns()
        lanes: list[Any] = []
        for _ in range(10):
            with contextlib.suppress(RuntimeError):  # another thread has just begun its first span
                lanes = list(self.lanes)
                break
        for lane in lanes:
            for span in list(lane.stack)[1:]:
                span.write_open(now)

    def _finish_process(self) -> None:
        home = self._home.get("home")
        if home is not None:
            home.facts |= {"argv": process.recorded_line(), "ended": perf_counter_ns(), "clean": True}
            with contextlib.suppress(OSError):  # no room or no folder any more: then it did not end cleanly
                process.write_json(os.path.join(home.folder, "process.json"), home.facts)

    def _open_segment(self, thread: int, number: int, size: int) -> Segment:
        if self.closed:
            raise OSError("the journal is closed")
        folder = self.open_process()
        return Segment(
            os.path.join(folder, f"t{thread:04}.{number:06}.seg"), size, self._home["home"].ordinal, thread, number
        )

    def _open_marks(self, number: int, size: int) -> Mapped:
        if self.closed:
            raise OSError("the journal is closed")
        return Mapped(os.path.join(self.open_process(), f"open.{number:04}"), size)

    def _take_writer(self) -> Writer:
        with contextlib.suppress(IndexError):
            return self._free_writers.pop()
        writer = Writer(next(self._thread_numbers), self._open_segment)
        writer.on_resume = self._write_left_over
        self._writers.append(writer)
        return writer

    def _give_back(self, slot: Slot) -> None:
        # a program may start a thread per request: the next one goes on in the same segments
        if slot.generation == self.generation and not self.closed:
            self._free_writers.append(slot.writer)

    def _write_left_over(self) -> None:
        while self._unwritten:
            left, self._unwritten = self._unwritten, []
            for index, (table, columns) in enumerate(left):
                self.row(table, **columns)
                if self._unwritten:
                    self._unwritten += left[index + 1 :]
                    return
