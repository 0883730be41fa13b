"""The machine code of object files as text, by objdump where this machine has it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

_FILE: Final = re.compile(rb"^(.+):\s+file format \S+$", re.MULTILINE)
_TOGETHER: Final = 200
"""Files of one call."""
_LONGEST_S: Final = 60


class Disassembly:
    """Begins at once, in another process, while the caller goes on; `of` waits."""

    def __init__(self, objects: Sequence[Path]) -> None:
        self._tool = shutil.which("objdump") or shutil.which("llvm-objdump")
        self._texts: dict[bytes, bytes] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._running: list[Future[dict[bytes, bytes]]] = []
        self.note = "" if self._tool else "objdump is not installed, so object files are kept without their assembly"
        if self._tool and objects:
            self._pool = ThreadPoolExecutor(1, "peephole-objdump")
            for first in range(0, len(objects), _TOGETHER):
                self._running.append(self._pool.submit(self._run, objects[first : first + _TOGETHER]))

    def of(self, path: Path) -> bytes:
        """The assembly of an object file; empty when there is none."""
        for one in self._running:
            self._texts.update(one.result())
        self._running.clear()
        return self._texts.get(bytes(path), b"")

    def close(self) -> None:
        """Lets go of the thread; calls that have not begun do not."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _run(self, objects: Sequence[Path]) -> dict[bytes, bytes]:
        assert self._tool is not None
        words = [self._tool, "-d", "-r", "--no-show-raw-insn", "--", *(str(path.absolute()) for path in objects)]
        try:
            done = subprocess.run(words, capture_output=True, timeout=_LONGEST_S, check=False)
        except (OSError, subprocess.SubprocessError):
            self.note = "objdump failed, so object files are kept without their assembly"
            return {}
        parts = _FILE.split(done.stdout)
        absolute = {bytes(path.absolute()): bytes(path) for path in objects}
        found = {}
        for name, text in zip(parts[1::2], parts[2::2], strict=False):
            if name in absolute:
                found[absolute[name]] = text.strip(b"\n") + b"\n"
        return found
