"""Follows tinygrad's lists while the program runs, and fills or clears them. Standard library only.

    tracked_keys, tracked_ctxs, uop_fields         ─▶ LiveRewrites ─▶ contexts, steps, matches, nodes
    cpu_events, *.profile_events, kernels of ours  ─▶ Timeline     ─▶ slices, markers, buffers, uses

Nothing is taken out of the lists: tinygrad uses their lengths as keys. The program may do it, or has lists of
its own (`hidden.py`): they are read by places that stay (`lists.py`). Names of groups, and of the ranges that belong
to them, are replaced just after they were appended, so an event is taken one round after it was seen.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import perf_counter_ns
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from peephole.model.tables import NONE
from peephole.sources.tinygrad.clock import ns
from peephole.sources.tinygrad.contexts import Contexts, unnamed
from peephole.sources.tinygrad.estimates import Provisional
from peephole.sources.tinygrad.live import hidden, repeats, workers
from peephole.sources.tinygrad.live.installation import origin
from peephole.sources.tinygrad.live.lists import Reader
from peephole.sources.tinygrad.live.rewrites import LiveRewrites
from peephole.sources.tinygrad.own_ranges import ProfileRangeEvent, Ran
from peephole.sources.tinygrad.text import Texts, label
from peephole.sources.tinygrad.timeline import Timeline

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

_ROUND_S: Final = 0.08
_LONGEST_NAMING_NS: Final = 2_000_000_000
_LONGEST_HURRY_S: Final = 1.0


class Followed:
    """tinygrad's modules and what of them is followed."""

    def __init__(
        self, helpers: ModuleType, device: ModuleType, ops: ModuleType, *, rewrites: bool, profile: bool
    ) -> None:
        self.helpers = helpers
        self.device = device
        self.ops = ops
        self.rewrites = rewrites
        self.profile = profile


class LiveOut:
    """Rows into the recorder, in the form that the timeline hands them over."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._tracks: dict[str, int] = {}
        self._worker = workers.worker_name()
        self.row = recorder.row
        self.problem = recorder.problem
        self.new_correlation = recorder.new_correlation

    def track(self, name: str, kind: str, order: int, unit: str | None) -> int:
        """The number of a track."""
        number = self._tracks.get(name)
        if number is None:
            parent = NONE if self._worker is None else self._recorder.track(self._worker, "host", NONE, order)
            number = self._tracks[name] = self._recorder.track(name, kind, parent, order, unit)
        return number


class Follower:
    """The thread that follows, and the last rounds at the exit."""

    def __init__(self, recorder: Recorder, followed: Followed, before: Follower | None = None) -> None:
        """`before` is the one of an earlier recording: what that one has recorded is not recorded again."""
        self.followed = followed
        self.recorder = recorder
        self.ran: deque[Ran] = deque() if before is None else before.ran  # what times the kernels knows this one
        self._thread: threading.Thread | None = None
        self._failed = False
        self.ran.clear()
        self._begin(behind=before is not None)

    def _begin(self, *, behind: bool) -> None:
        """Cursors at the beginning, or behind what a forked child's parent, or an earlier recording, has recorded."""
        self._tasks: SimpleQueue[tuple[Callable[[], None], threading.Event] | None] = SimpleQueue()
        texts = Texts()
        texts.release = _release(self.followed)
        contexts = Contexts()
        followed = self.followed
        self._rewrites = LiveRewrites(self.recorder, followed.ops, contexts, texts, skip=behind, timed=followed.profile)
        closed = self._rewrites.closed if self.followed.rewrites else None
        out = LiveOut(self.recorder)
        provisional = Provisional(self.recorder, out)
        self._timeline = Timeline(out, texts, contexts, self.recorder.free, closed, provisional)
        self._events = [Reader(find, behind=behind) for find in self._lists()]
        self._program = [(Reader(find, behind=behind), *of) for find, *of in self._lists_of_the_program()]
        self._ends = [events.at for events in self._events]
        self._seen = self._ends[0]
        self._rewriting, self._profiling = self.followed.rewrites, self.followed.profile
        if self._profiling:
            repeats.follow(repeats.Book(self.recorder, self._timeline, linked=self._rewriting))

    def start(self) -> None:
        """Begins to follow."""
        self._thread = threading.Thread(target=self._run, args=(self._tasks,), name="peephole-tinygrad", daemon=True)
        self._thread.start()

    def finish_rewrites(self) -> None:
        """Takes what is left of the rewrites, where tinygrad would write its pickle."""
        _switch_off(self.followed.ops, "TRACK_MATCH_STATS")
        self._do(self._last_rewrites)
        self._untrack()

    def finish_profile(self) -> None:
        """Takes what is left of the run, where tinygrad would write its pickle: devices are still open here."""
        device = self.followed.device
        try:
            opened = [device.Device[name] for name in device.Device._opened_devices]
            for one in opened:
                one.synchronize()
            for one in opened:
                one._at_profile_finalize()
        except Exception as error:  # a device may be in any state; what was recorded is kept
            self.recorder.problem(f"a device could not finish its profile: {type(error).__name__}: {error}")
        repeats.follow(None)
        _switch_off(self.followed.helpers, "PROFILE")
        self._do(self._last_events)
        self._untrack()

    def _untrack(self) -> None:
        """Switches VIZ off when both are done, as tinygrad does: it would look for source lines to the very end."""
        ops, helpers = self.followed.ops, self.followed.helpers
        switches = [hidden.of(ops, "TRACK_MATCH_STATS"), hidden.of(helpers, "PROFILE")]
        if not any(getattr(switch, "value", 0) for switch in switches):
            _switch_off(helpers, "VIZ")

    def close(self) -> None:
        """Ends the following before the journal closes; the program may go on, as it would without us."""
        repeats.follow(None)
        self._do(self._last)
        self._tasks.put(None)
        _switch_off(self.followed.ops, "TRACK_MATCH_STATS")
        _switch_off(self.followed.helpers, "PROFILE")
        self._untrack()

    def caught_up(self, first: int) -> list[tuple[int, str, tuple[str | bytes, ...]]]:
        """Takes all that there is, in a worker between two tasks; the contexts from that one on, for `adopt`."""
        self._do(self._so_far)
        compiled = []
        for index, key in enumerate(hidden.recorded(self.followed.ops, "tracked_keys")[first:], first):
            keys = tuple(one for one in key.keys[:20] if type(one) in (str, bytes))
            compiled.append((self.recorder.global_id(index), label(key.display_name), keys))
        return compiled

    def adopt(self, compiled: Sequence[tuple[int, str, tuple[str | bytes, ...]]], estimates: Any) -> None:
        """Links kernels to the contexts of a worker that compiled them."""
        self._timeline.adopt(compiled, estimates)

    def hurry(self) -> None:
        """Takes what there is before a sudden end, as far as that is quick: whatever state the program is in."""
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            done = threading.Event()
            self._tasks.put((self._last, done))
            done.wait(_LONGEST_HURRY_S)

    def forked(self) -> None:
        """Goes on in a forked child, with what is new there."""
        self.ran.clear()
        self._begin(behind=True)
        self.start()

    def _do(self, task: Callable[[], None]) -> None:
        """Has the thread do something, and waits: rows that replace each other must come from one thread."""
        thread = self._thread
        if thread is None or not thread.is_alive() or thread is threading.current_thread():
            task()
            return
        done = threading.Event()
        self._tasks.put((task, done))
        while not done.wait(0.5):
            if not thread.is_alive():
                task()
                return

    def _run(self, tasks: SimpleQueue[tuple[Callable[[], None], threading.Event] | None]) -> None:
        self._guard(self._describe)
        while True:
            try:
                asked = tasks.get(timeout=_ROUND_S)
            except Empty:
                self._round()
                continue
            if asked is None:
                return
            asked[0]()
            asked[1].set()

    def _round(self) -> None:
        # what an event is linked to, its context, is taken after the event was seen with its final name
        self._guard(self._look)
        self._take_rewrites(last=False)
        self._take_events()
        self._guard(self._rewrites.settle)

    def _last(self) -> None:
        self._last_rewrites()
        self._last_events()

    def _so_far(self) -> None:
        if self._profiling:
            self._ends = [events.end() for events in self._events]
        self._take_rewrites(last=True)
        self._take_events()
        self._settle()

    def _last_rewrites(self) -> None:
        self._round()
        self._take_rewrites(last=True)
        self._settle()
        self._rewriting = False

    def _last_events(self) -> None:
        if self._profiling:
            self._ends = [events.end() for events in self._events]
        self._take_rewrites(last=False)
        self._take_events()
        if self._profiling:
            self._profiling = False
            self._guard(self._timeline.finish)

    def _settle(self) -> None:
        self._guard(lambda: self._rewrites.settle(everything=True))

    def _take_rewrites(self, *, last: bool) -> None:
        if self._rewriting:
            self._guard(lambda: self._rewrites.take(last=last))

    def _take_events(self) -> None:
        if self._profiling:
            self._guard(self._read_events)

    def _describe(self) -> None:
        package = sys.modules["tinygrad"]
        self.recorder.facts(frameworks={"tinygrad": origin(package, _release(self.followed))}, source="tinygrad")

    def _guard(self, call: Callable[[], object]) -> None:
        """A tinygrad unlike the ones we know must not bring the program down, nor say so in every round."""
        try:
            call()
        except Exception as error:
            if not self._failed:
                self._failed = True
                self.recorder.problem(f"tinygrad could not be followed: {type(error).__name__}: {error}")

    def _lists(self) -> tuple[Callable[[], list[Any]], ...]:
        """Where the host's events, the devices' and the buffers' are: the program may put another list there."""
        if not self.followed.profile:
            none: list[Any] = []
            return (lambda: none,) * 3
        helpers, device = self.followed.helpers, self.followed.device
        return (
            lambda: hidden.of(helpers, "cpu_events"),
            lambda: hidden.of(device.Compiled, "profile_events"),
            lambda: hidden.of(device.Buffer, "profile_events"),
        )

    def _lists_of_the_program(self) -> list[tuple[Callable[[], list[Any]], Any, str]]:
        """Where the program may put events of its own, when that is not where tinygrad's are."""
        if not self.followed.profile or not hidden.is_hidden():
            return []
        helpers, device = self.followed.helpers, self.followed.device
        of = (helpers, "cpu_events"), (device.Compiled, "profile_events"), (device.Buffer, "profile_events")
        return [(functools.partial(getattr, owner, name), owner, name) for owner, name in of]

    def _look(self) -> None:
        """Sees how far the lists can be read: the host's to what was there a round ago and has its name by now."""
        ends = [events.end() for events in self._events]  # the host's first: what these rely on is then in the others
        ends[0], self._seen = self._seen, ends[0]
        host = self._events[0]
        for place, event in enumerate(host.between(ends[0]), host.at):
            if _being_named(event):
                ends[0] = place
                break
        self._ends = ends

    def _read_events(self) -> None:
        timeline = self._timeline
        host, devices, buffers = (events.take(end) for events, end in zip(self._events, self._ends, strict=True))
        for event in buffers:
            timeline.event(event)
        ran = self.ran
        for _ in range(len(ran)):
            try:
                timeline.event(ProfileRangeEvent(ran.popleft()))
            except IndexError:  # the program wrote it itself meanwhile
                break
        for event in host:
            timeline.event(event)
        for event in devices:
            timeline.event(event)
        for program, owner, name in self._program:
            for event in program.take(program.end()):
                if not hidden.was_mirrored(owner, name, event):
                    timeline.event(event)
        timeline.age(perf_counter_ns())


def _switch_off(module: ModuleType, name: str) -> None:
    """Sets one of tinygrad's switches to 0, in a tinygrad that has it."""
    if hasattr(module, name):
        hidden.of(module, name).value = 0


def _being_named(event: Any) -> bool:
    """Whether a range belongs to a group that has ended and is about to get its name; not all do."""
    name = getattr(event, "name", None)
    if type(name) is str or name is None or unnamed(name) is None:
        return False
    end = event.en
    return end is not None and perf_counter_ns() - ns(end) < _LONGEST_NAMING_NS


def _release(followed: Followed) -> str:
    """The known release whose ways this one has, told by its classes as for a pickle."""
    if hasattr(followed.ops, "rewrite_group"):
        return "0.14.0"
    return "0.13.0" if hasattr(followed.ops, "CallInfo") else "0.12.0"
