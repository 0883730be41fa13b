"""Which of torch's files a file is, by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

LOG: Final = "log"
GRAPH: Final = "graph"
CODE: Final = "code"
IR: Final = "ir"
OTHER: Final = ""
PARTS: Final = frozenset((GRAPH, CODE, IR))
"""Files of a TORCH_COMPILE_DEBUG folder."""

_RECORD: Final = re.compile(
    rb"^(?:\[rank\d+\]:\s*)?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{1,9} \d+ [^\]\n]{1,1000}\] \{\"[a-z_]+\": ", re.MULTILINE
)
_MODULE: Final = re.compile(rb"\A\s*class \w+\(torch\.nn\.Module\):[^\S\n]*\n\s+def forward\(")
_WRAPPER: Final = re.compile(
    rb"\A(?:\s|#[^\n]*\n)*(?:# AOT ID: \[|from ctypes import[^\n]*\n(?:[^\n]*\n){0,60}?.*AsyncCompile)"
)
_IR: Final = re.compile(rb"\A\s*\w+: \w*SchedulerNode\(")


def kind_of_head(head: bytes) -> str:
    """The kind of file that begins with these bytes; empty for one that is not torch's."""
    if b'] {"' in head and _RECORD.search(head):  # a folder has thousands of files, and the pattern takes a millisecond
        return LOG
    for kind, pattern in ((GRAPH, _MODULE), (CODE, _WRAPPER), (IR, _IR)):
        if pattern.match(head):
            return kind
    return OTHER


def kind_of(path: Path) -> str:
    """The kind of a file."""
    from peephole.sources import head_of

    return kind_of_head(head_of(path))
