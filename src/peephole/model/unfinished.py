"""What is being written lies hidden beside its place until it is whole, and goes with its writer. Standard library.

A file that is not finished has no name at all where the system can do that, so that nothing is left of it even when its
writer is killed. A folder must have one (`.NAME.work`): its writer holds a lock on it, and whoever writes into the same
place next removes those that nobody holds any more.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR
from types import TracebackType
from typing import IO, Final, Self

WORK: Final = ".work"


class Busy(Exception):
    """Somebody else is writing there."""


class WorkFolder:
    """A folder beside a target that becomes the target, or goes. Busy when another process makes the same target.

    With `shared` several may make the same target at the same time, each in a folder of its own. OSError when it cannot
    be made.
    """

    def __init__(self, target: Path, shared: bool = False) -> None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(target.parent)
        self._target = target
        while True:
            self.path = self._made(shared)
            self._lock = _locked(self.path, wait=shared)
            if self._lock is not None:
                break
            if not shared and self.path.exists() and not _abandoned(self.path):
                raise Busy(f"{target} is being written by another command")

    def _made(self, shared: bool) -> Path:
        if shared:
            return Path(tempfile.mkdtemp(prefix=f".{self._target.name}.", suffix=WORK, dir=self._target.parent))
        path = self._target.with_name(f".{self._target.name}{WORK}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            if not _abandoned(path):
                raise Busy(f"{self._target} is being written by another command") from None
            path.mkdir(mode=0o700)
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Removes what is left of it; may be called again."""
        lock, self._lock = self._lock, None
        if lock is not None:
            if _same(lock, self.path):  # else it has become the target
                shutil.rmtree(self.path, ignore_errors=True)
            os.close(lock)


def sweep(folder: Path) -> None:
    """Removes the work folders in a folder whose writers are gone."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(".") and entry.name.endswith(WORK) and entry.is_dir(follow_symlinks=False):
                _abandoned(Path(entry.path))


def _abandoned(path: Path) -> bool:
    """Whether nobody holds a work folder any more, or it is gone; it is removed then."""
    try:
        lock = _lock(path, wait=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if lock is None:
        return False
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)
    return True


def _locked(path: Path, wait: bool) -> int | None:
    """A lock on a folder that we have just made; None when a sweeper was quicker than we."""
    try:
        lock = _lock(path, wait)
    except FileNotFoundError:
        return None
    if lock is not None and not _same(lock, path):
        os.close(lock)
        return None
    return lock


def _lock(path: Path, wait: bool) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder, and so locks none
        return os.open(os.devnull, os.O_RDONLY)
    try:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(fd)
        return None
    except (ImportError, OSError):  # a system or a disk without locks
        pass
    return fd


def _same(fd: int, path: Path) -> bool:
    try:
        return not S_ISDIR(os.fstat(fd).st_mode) or os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


@contextlib.contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file to write into that gets its name, in place of an earlier one, when the block ends without error.

    A link leads to the file that it names. What is there and not a file (a device, a pipe) is never replaced: it is
    written to.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve() if path.is_symlink() else path
    folder = path.parent if path.parent.name else Path()
    scratch = folder / f".{path.name}.{os.getpid()}"
    unnamed = getattr(os, "O_TMPFILE", 0)
    fd = -1
    if unnamed:
        with contextlib.suppress(OSError):  # not every disk can
            fd = os.open(folder, unnamed | os.O_RDWR, mode)
    try:
        with open(fd, "w+b") if fd >= 0 else _open(scratch, mode) as file:  # noqa: PTH123
            yield file
            file.flush()
            if fd >= 0:
                _name(fd, folder, scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _name(fd: int, folder: Path, path: Path) -> None:
    """Gives an unnamed file its name."""
    # with a folder's descriptor Python follows the link that /proc has, and without one it does not
    beside = os.open(folder, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=beside, follow_symlinks=True)
    finally:
        os.close(beside)


def _open(path: Path, mode: int) -> IO[bytes]:
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode), "w+b")  # noqa: PTH123
