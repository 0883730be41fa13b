"""Which recorder is active in this process, if any; it follows the process through forks and to its end."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any, Final

from peephole.record import collection, process
from peephole.record.recorder import Recorder

recorder: Recorder | None = None
"""The active recorder; None when nothing is recorded. Read it as `active.recorder`, it changes."""

_hooked = False
_multiprocessing_told = False
_mine: tuple[int, str] | None = None

_CHEAP_BYTES: Final = 8 << 20
_SEAL: Final = (
    "import sys; from pathlib import Path; from peephole.store.journal.seal import seal; seal(Path(sys.argv[1]))"
)


def start(path: str | os.PathLike[str]) -> Recorder:
    """Makes a recorder for a capture that exists active and gives it."""
    global recorder, _hooked  # noqa: PLW0603 - one recorder per process is what this module is for
    if not _hooked:
        _hooked = True
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
        atexit.register(_at_exit)
    with contextlib.suppress(OSError):
        # loaded now: there may be no descriptor for it later
        import peephole.record.events  # noqa: F401
    collection.watch()
    recorder = Recorder(path)
    return recorder


def finish_here(path: str) -> None:
    """Makes this process the one that seals the capture when it ends, if that is quick."""
    global _mine  # noqa: PLW0603
    _mine = (os.getpid(), path)


def stop() -> None:
    """Ends the active recording, if there is one, and says on stderr when events were lost."""
    global recorder  # noqa: PLW0603
    ending = recorder
    if ending is None:
        return
    lost = ending.close()
    recorder = None
    collection.forget()
    if lost:
        _say(f"{lost} events were lost: {ending.short()}; {ending.path} has the others")
    if _mine == (os.getpid(), ending.path):
        _seal(ending.path)
        if sys.stderr is not None and sys.stderr.isatty():
            _say(f"recorded {ending.path}; open it with `peephole serve {ending.path}`")


def _seal(path: str) -> None:
    """Seals a small capture in a process of its own, so that this one loads no heavy library. Opening would too."""
    with contextlib.suppress(OSError):
        files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        if sum(map(os.path.getsize, files)) > _CHEAP_BYTES or process.is_being_written(path) or not sys.executable:
            return
        # no subprocess here: what it imports makes Python forget, at exit, that it should die by a KeyboardInterrupt
        command = [sys.executable, "-c", _SEAL, path]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PEEPHOLE")}
        quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        os.waitpid(os.posix_spawn(command[0], command, environment, file_actions=quiet), 0)


def _say(sentence: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # the program may have closed it
            print(f"peephole: {sentence}", file=sys.stderr)


def _at_exit() -> None:
    # first among the functions that are registered at exit, so it runs after the program's own
    with contextlib.suppress(Exception):  # the program has ended well or badly by itself; the journal is there
        stop()
    collection.end()


def _before_fork() -> None:
    global _multiprocessing_told  # noqa: PLW0603
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _multiprocessing_told:
        # its children leave with os._exit after their own finalizers
        _multiprocessing_told = True
        util.register_after_fork(_after_fork, _finalize_child)


def _finalize_child(_: Any) -> None:
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, stop, exitpriority=-1000)


def _after_fork() -> None:
    if recorder is not None:
        recorder.forked()
