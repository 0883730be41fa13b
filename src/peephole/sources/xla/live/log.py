"""What a recorded process notes about JAX beside XLA's dumps: a line of JSON for each fact, in the capture at once.

Standard library only: this runs inside the user's program.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from peephole.model.left_files import LEFT
from peephole.sources.xla.noted import NAME


class Log:
    """Appends to the file of one process; what cannot be written is left out."""

    def __init__(self, capture: str) -> None:
        self.folder = Path(capture, LEFT, "xla", str(os.getpid()))

    def note(self, kind: str, **facts: Any) -> None:
        """Adds a line. One call of the system: it is there after a kill, and threads do not mix."""
        line = json.dumps({"kind": kind, **facts}, ensure_ascii=False) + "\n"
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            number = os.open(self.folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(number, line.encode("utf-8", "replace"))
            finally:
                os.close(number)
