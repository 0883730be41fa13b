"""What GT's tapes look like. Standard library only: a command that asks what a file is does not wait for more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress
from peephole.sources.gt import grammar
from peephole.sources.gt.text import encoding_of, plain

_MONITOR: Final = re.compile(r'^[^\S\n]*\{(?=[^\n]*"seq":)(?=[^\n]*"event":)(?=[^\n]*"command":)', re.MULTILINE)


class GtSource:
    """Tapes of the GT dispatcher."""

    name = "gt"
    formats = (FileFormat("GT tape, and the lines of its monitor", ".log .jsonl", "lines of a tape"),)

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether a line of the head is a tape's event, a tape's title or a line of the monitor."""
        text = head.decode(encoding_of(head), errors="replace").lstrip("\ufeff")
        if "\x1b" in text:
            text = plain(text.encode(errors="replace")).decode()
        if grammar.TITLE in text or is_monitor(text):
            return True
        # without a bar there is no need for the pattern, which takes a millisecond
        return "|" in text and grammar.EVENT_LINE.search(text) is not None

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Turns tapes into rows: each run of each file becomes a session of its own."""
        from peephole.sources.gt.reader import read_tapes

        read_tapes(paths, sink, progress)


def is_monitor(text: str) -> bool:
    """Whether a line of the text is one of the monitor's."""
    return '"seq":' in text and _MONITOR.search(text) is not None
