"""Raw files read by a process of its own, so that the server and the page get ready on another core meanwhile."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from peephole.cli.target import find_target
from peephole.errors import PeepholeError

_BOTH_NEED = ("peephole.store.capture", "peephole.store.writer")


class Reading:
    """Files that are being read. Where there is no fork they are read when the capture is asked for."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._child = 0
        self._pipe = -1

    def start(self) -> None:
        """Starts to read the files; no thread may run yet. What both processes need is imported once, before they
        part."""
        if not hasattr(os, "fork"):
            return
        for name in _BOTH_NEED:
            importlib.import_module(name)
        sys.stdout.flush()
        sys.stderr.flush()
        self._pipe, theirs = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            _read(self._paths, theirs)
        os.close(theirs)

    def wait(self) -> Path:
        """The capture, when it is there; raises what its reader says."""
        if self._child == 0:
            return find_target(self._paths)
        with os.fdopen(self._pipe, "rb") as pipe:
            kind, _, text = os.fsdecode(pipe.read()).partition(":")
        os.waitpid(self._child, 0)
        if kind == "capture":
            return Path(text)
        raise PeepholeError(text or f"Reading {self._paths[0]} was interrupted; try `peephole import` on it.")


def _read(paths: Sequence[Path], pipe: int) -> None:
    """In the child: makes the capture, says where it is, and ends without the parent's clean-up."""
    # the server's socket above all: nobody listens there any more when the server has gone
    os.closerange(3, pipe)
    os.closerange(pipe + 1, 1024)
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
