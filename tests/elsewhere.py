"""The command line on a system that is not Linux, as far as that can be played here: what Windows lacks is gone."""

from __future__ import annotations

import os
import sys
from typing import Any

ABSENT = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"}
CALLS = ("fork", "forkpty", "O_TMPFILE", "O_DIRECTORY", "sched_getaffinity", "sched_setaffinity", "getuid", "geteuid",
         "getpgid", "killpg", "setsid", "mkfifo", "memfd_create", "posix_spawn", "register_at_fork", "pidfd_open",
         "sendfile", "fchmod", "getpgrp", "getloadavg", "posix_fallocate", "posix_fadvise")  # fmt: skip


def play() -> None:
    """Takes it all away."""
    for name in ABSENT:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Absent)
    for name in CALLS:
        if hasattr(os, name):
            delattr(os, name)
    os.open = no_folders


class Absent:
    """Finds none of the modules that are not there."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuses them, and says nothing of others."""
        if name in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


really_open = os.open


def no_folders(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """As Windows has it: a folder cannot be opened, and there is no /proc."""
    if isinstance(path, (str, bytes, os.PathLike)):
        text = os.fsdecode(path)
        if text.startswith("/proc/"):
            raise FileNotFoundError(2, "No such file or directory", text)
        if os.path.isdir(text):  # noqa: PTH112
            raise PermissionError(13, "Permission denied", text)
    return really_open(path, flags, mode, dir_fd=dir_fd)


if __name__ == "__main__":
    play()
    from peephole.cli.main import main

    sys.exit(main(sys.argv[1:]))
