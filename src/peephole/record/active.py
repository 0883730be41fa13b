"""Which recorder is active in this process, if any; it follows the process through forks and to its end."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any

from peephole.record.recorder import Recorder

recorder: Recorder | None = None
"""The active recorder; None when nothing is recorded. Read it as `active.recorder`, it changes."""

_hooked = False
_multiprocessing_told = False


def start(path: str | os.PathLike[str]) -> Recorder:
    """Makes a recorder for a capture that exists active and gives it."""
    global recorder, _hooked  # noqa: PLW0603 - one recorder per process is what this module is for
    if not _hooked:
        _hooked = True
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
        atexit.register(_at_exit)
    recorder = Recorder(path)
    return recorder


def stop() -> None:
    """Ends the active recording, if there is one, and says on stderr when events were lost."""
    global recorder  # noqa: PLW0603
    ending = recorder
    if ending is None:
        return
    lost = ending.close()
    recorder = None
    if lost and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # the program may have closed its stderr
            print(f"peephole: {lost} events were lost: no room for {ending.path}", file=sys.stderr)


def _at_exit() -> None:
    # first among the functions that are registered at exit, so it runs after the program's own
    stop()


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
