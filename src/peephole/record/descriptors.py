"""Descriptors that may not be ours any more: the program may close all of them by number and open others.

Between two steps of Python a signal handler, a finalizer or another thread may do so. What is called here with a
descriptor is called only when that is still the file's, and nothing of Python runs between the look and the call.
"""

from __future__ import annotations

import contextlib
import errno
import operator
import os
from collections.abc import Callable
from itertools import compress
from typing import Any, Final

_INODE: Final = operator.itemgetter(1, 2)
Identity = tuple[int, int]
"""What tells a file from all others: its number and its device's."""


def identity(path: str) -> Identity:
    """Which file is at that path."""
    found: Identity = _INODE(os.stat(path))
    return found


def with_own(fd: int, file: Identity, call: Callable[..., Any], *args: Any, of: Any = None) -> list[Any]:
    """[what `call(fd, *args)` gives], or [] and no call when the descriptor is not that file's.

    With `of` the call is `call(of, *args)`.
    """
    # map, compress and list are C: no step of Python is taken between fstat and the call
    ours = map(file.__eq__, map(_INODE, map(os.fstat, (fd,))))
    try:
        return list(map(call, compress((fd if of is None else of,), ours), *((value,) for value in args)))
    except OSError as error:
        if error.errno == errno.EBADF:
            return []
        raise


def close(fd: int, file: Identity) -> None:
    """Closes a descriptor if it is still that file's."""
    with contextlib.suppress(OSError):
        with_own(fd, file, os.close)


def put(path: str, content: bytes, mode: int = 0o600) -> None:
    """Writes a new file that its owner alone may read; an OSError leaves none behind."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
    try:
        file = identity(path)
        while content:
            written = with_own(fd, file, os.write, content)
            if not written:
                raise OSError(errno.EBADF, "the program closed the descriptor")
            content = content[written[0] :]
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    finally:
        with contextlib.suppress(NameError):
            close(fd, file)
