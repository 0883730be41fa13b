"""JAX's own profiler while a program is recorded, without its Python tracer: the kernels that ran, thread by thread.

A session keeps its events in memory until it ends, so it is ended every few seconds and another one begun: what a
kill leaves is all but the last of them. One session at a time is all that JAX allows: ours gives way to the program's.
Standard library only: this runs inside the user's program.
"""

from __future__ import annotations

import _thread
import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from peephole.record import active
from peephole.record.clocks import same_moment
from peephole.sources.xla.live.log import Log

SESSION_S: Final = 5.0
WHOLE_BYTES: Final = 64 << 20
"""Bytes of profiles until which everything is kept; from then on a second in ten."""
MOST_BYTES: Final = 256 << 20
_SAMPLE_S, _PAUSE_S = 1.0, 9.0


class Profile:
    """Sessions of the profiler, one after the other, as files in the capture."""

    def __init__(self, log: Log, profiler: Any, needs_graphs: Callable[[], bool]) -> None:
        self._log, self._profiler = log, profiler
        self._needs_graphs = needs_graphs
        self._session_of = profiler.ProfilerSession
        self._session: Any = None
        self._lock = _thread.allocate_lock()
        self._wake = _thread.allocate_lock()
        self._count = 0
        self._bytes = 0
        self._theirs = 0
        self._running = False

    def watch(self) -> None:
        """Makes room for sessions that the program begins."""
        profile = self

        def session(*args: Any, **words: Any) -> Any:
            return _Theirs(profile, args, words)

        def server(*args: Any, **words: Any) -> Any:
            profile.end()
            if active.recorder is not None:
                active.recorder.problem("the program serves its own profiler, so kernels are not on the timeline")
            return serve(*args, **words)

        serve = self._profiler.start_server
        self._profiler.ProfilerSession, self._profiler.start_server = session, server

    def begin(self) -> None:
        """Begins the first session, once; called when the program's backend has started."""
        if not self._running and not self._count:
            self._running = True
            self._wake.acquire(blocking=False)
            self._start()
            # not a Thread of threading, which the program would see
            _thread.start_new_thread(self._roll, ())

    def end(self) -> None:
        """Ends the session and writes it."""
        self._running = False
        self._stop()
        with contextlib.suppress(RuntimeError):
            self._wake.release()

    def forked(self) -> None:
        """In a child: the session is its parent's."""
        self._running, self._session, self._lock = False, None, _thread.allocate_lock()

    def _roll(self) -> None:
        while self._running:
            sampled = self._bytes > WHOLE_BYTES
            self._wake.acquire(timeout=_SAMPLE_S if sampled else SESSION_S)
            if not self._running:
                return
            self._stop()
            if self._bytes > MOST_BYTES:
                self._running = False
                _problem(f"the profile has {self._bytes >> 20} MB and was ended: what ran later has no kernels")
                return
            if self._bytes > WHOLE_BYTES:
                if not sampled:
                    _problem("the profile is large: from then on a second in ten was recorded")
                self._wake.acquire(timeout=_PAUSE_S)
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._running and self._session is None and not self._theirs:
                options = self._profiler.ProfileOptions()
                options.python_tracer_level = 0
                # dumps have the graphs already: with each session they would come again
                options.enable_hlo_proto = self._needs_graphs()
                self._session = self._session_of(options)

    def _stop(self) -> None:
        with self._lock:
            session, self._session = self._session, None
            if session is None:
                return
            moment, wall = same_moment()
            data = session.stop()
            if not isinstance(data, bytes):  # releases before it was bytes
                data = data.SerializeToString()
            place = self._place()
            with contextlib.suppress(OSError):
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                partial = place.with_suffix(".part")
                partial.write_bytes(data)
                partial.replace(place)
                self._bytes += len(data)
                self._log.note("profile", file=place.name, perf=moment, wall=wall)

    def _place(self) -> Path:
        self._count += 1
        return self._log.folder / "profile" / f"{self._count:05d}.xplane.pb"

    # the program's own sessions

    def give_way(self) -> None:
        """Ends ours before the program's begins."""
        self._stop()
        self._theirs += 1

    def take_over(self, folder: str | None) -> None:
        """Goes on after a session of the program, and keeps a copy of what it wrote there."""
        self._theirs = max(self._theirs - 1, 0)
        moment, wall = same_moment()
        if folder is not None:
            written = max(Path(folder).rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime_ns, default=None)
            if written is not None:
                place = self._place()
                with contextlib.suppress(OSError):
                    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    shutil.copyfile(written, place)
                    self._bytes += place.stat().st_size
                    self._log.note("profile", file=place.name, perf=moment, wall=wall)
        self._start()


class _Theirs:
    """A session of the program: the real one, and ours is quiet as long as it is there."""

    def __init__(self, profile: Profile, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        profile.give_way()
        self._profile: Profile | None = profile
        try:
            self._real = profile._session_of(*args, **words)
        except BaseException:
            self._over(None)
            raise

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        def call(*args: Any, **words: Any) -> Any:
            try:
                return found(*args, **words)
            finally:
                if name.startswith("stop"):
                    folder = args[0] if name == "stop_and_export" and args else None
                    self._over(None if folder is None else str(folder))

        return call

    def __del__(self) -> None:
        self._over(None)

    def _over(self, folder: str | None) -> None:
        profile, self._profile = self.__dict__.get("_profile"), None
        if profile is not None:
            with contextlib.suppress(Exception):  # the program's session went well or badly by itself
                profile.take_over(folder)


def _problem(why: str) -> None:
    if active.recorder is not None:
        active.recorder.problem(why)
