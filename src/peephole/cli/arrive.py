"""Raw files read by a process of its own, so that the server and the page get ready on another core meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from peephole.cli.target import find_target
from peephole.errors import PeepholeError


def begin(paths: Sequence[Path]) -> Callable[[], Path]:
    """Starts to read the files; what is returned waits for the capture, or raises what its reader says.

    A fork has what was imported to find the format already. Where there is none the files are read when asked for.
    """
    if not hasattr(os, "fork"):
        return lambda: find_target(paths)
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _read(paths, theirs)
    os.close(theirs)

    def wait() -> Path:
        with os.fdopen(ours, "rb") as pipe:
            kind, _, text = os.fsdecode(pipe.read()).partition(":")
        os.waitpid(child, 0)
        if kind == "capture":
            return Path(text)
        raise PeepholeError(text or f"Reading {paths[0]} was interrupted; try `peephole import` on it.")

    return wait


def _read(paths: Sequence[Path], pipe: int) -> None:
    """In the child: makes the capture, says where it is, and ends without the parent's clean-up."""
    try:
        try:
            said = f"capture:{find_target(paths)}"
        except PeepholeError as error:
            said = f"error:{error}"
        with os.fdopen(pipe, "wb") as out:
            out.write(os.fsencode(said))
    except BaseException:
        os._exit(1)
    os._exit(0)
