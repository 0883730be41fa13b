"""Sampled stacks of other profilers: speedscope, pyinstrument, .cpuprofile, folded stacks, perf script, memray."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress, each_alone

_COUNT: Final = re.compile(rb"[0-9]+(?:\.[0-9]+)?")
_PERF: Final = re.compile(
    rb"\S[^\n]{0,300}?[^\S\n]-?\d+(?:/-?\d+)?[^\S\n]+(?:\[\d+\][^\S\n]+)?\d+\.\d+:\s"
    rb"(?:[^\n]*\n\s+[0-9a-f]+ |[^\n]{0,300}?\S:\s+[0-9a-f]+ [^\n]{0,4000}\([^\n()]*\)\s*(?:\n|\Z))"
)
"""The head of a sample with its first frame in the line below, or in the same one where no callers were recorded."""
_LZ4: Final = b"\x04\x22\x4d\x18"


def kind_of(head: bytes) -> str:
    """Which of the formats a file is of, by its first bytes; empty for none of them."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"memray\x00", _LZ4)):
        return "memray"
    if text.startswith(b"{"):
        if b"speedscope" in head or (b'"profiles"' in head and b'"frames"' in head):
            return "speedscope"
        if b'"sample_count"' in head and (b'"start_call_stack"' in head or b'"root_frame"' in head):
            return "pyinstrument"
        older = b'"functionName"' in head and re.match(rb'\{\s*"head"', text)
        return "cpuprofile" if (b'"callFrame"' in head or older) and b'"traceEvents"' not in head else ""
    if _PERF.match(re.sub(rb"\A(?:#[^\n]*\n|[^\S\n]*\n)+", b"", text)):
        return "perf"
    lines = [line for line in head.split(b"\n")[: -1 if head.count(b"\n") > 1 else None] if line.strip()][:200]
    whole = bool(lines) and b"\x00" not in head and all(map(_folded, lines))
    return "folded" if whole and any(b";" in line for line in lines) else ""


def _folded(line: bytes) -> bool:
    """Whether a line is a stack and a number; py-spy writes samples that had no stack as a number after its blank."""
    line = line.rstrip()
    stack, blank, count = max(line.rpartition(b" "), line.rpartition(b"\t"), key=lambda parts: len(parts[0]))
    return bool(blank) and _COUNT.fullmatch(count) is not None and (not stack or bool(stack.strip(b"; \t\r\v\f")))


class StacksSource:
    """Reads one profile."""

    name = "stacks"
    formats = (
        FileFormat("speedscope: py-spy, pyinstrument, …", ".speedscope.json", "its schema, profiles and frames"),
        FileFormat(
            "pyinstrument: -r session, -r json", ".pyisession .json", "sample_count with start_call_stack or root_frame"
        ),
        FileFormat("Chrome's and node's CPU profile", ".cpuprofile", "nodes with a callFrame, samples"),
        FileFormat("folded stacks: py-spy --format raw, stackcollapse", ".folded .txt", "lines of a;b;c 12"),
        FileFormat("perf script", ".txt", "samples with indented frames"),
        FileFormat("memray (where its package is installed)", ".bin", "memray's first bytes"),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is one of them."""
        return bool(kind_of(head))

    def runs(self, paths: Sequence[Path]) -> list[list[Path]]:
        """Each profile alone."""
        return each_alone(paths)

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the profile; CaptureError when it is not what it seemed."""
        from peephole.sources import head_of
        from peephole.sources.gunzip import GZIP_MAGIC, Gunzip
        from peephole.sources.stacks import profiles, recorded_memory

        if len(paths) != 1:
            raise CaptureError("One profile is one run: import them one by one.")
        path = paths[0]
        kind = kind_of(head_of(path))
        progress(0, 2)
        if kind == "memray":
            recorded_memory.read_memray(path, sink)
            return
        try:
            with path.open("rb") as file:
                zipped = file.read(2) == GZIP_MAGIC
                file.seek(0)
                data = Gunzip(file).read(1 << 32) if zipped else file.read()
        except OSError as error:
            raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error
        profiles.READERS[kind](data, sink, str(path))
        progress(2, 2)


SOURCE = StacksSource()
