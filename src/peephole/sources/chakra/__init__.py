"""Execution traces of torch's ExecutionTraceObserver and of Chakra: operators and their data flow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress

_SCHEMA: Final = re.compile(rb'"schema"\s*:\s*"[^"]*chakra[^"]*"')
_NODE: Final = re.compile(rb'"(?:ctrl_deps|ctrlDeps|data_deps|dataDeps|rf_id)"\s*:')

_LISTED: Final = re.compile(rb'\{\s*"workload_graph"\s*:\s*\[')


def kind_of(head: bytes) -> str:
    """Which form of execution trace a file is in, by its first bytes; empty for none."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        if b'"traceEvents"' in head:
            return ""
        if _SCHEMA.search(head) or (b'"nodes"' in head and _NODE.search(head)):
            return "json"
        listed = _LISTED.match(text) is not None
        return "messages" if _NODE.search(head) and (listed or b'"id"' in head) else ""
    from peephole.sources.chakra.messages import is_trace

    return "proto" if is_trace(head) else ""


class ChakraSource:
    """Reads one execution trace, with the profile that was recorded beside it."""

    name = "chakra"
    takes_along = ("chrome",)
    formats = (
        FileFormat(
            "torch's execution trace (ExecutionTraceObserver), with torch.profiler's trace beside it",
            ".json .json.gz",
            "a schema of chakra, nodes with ctrl_deps",
        ),
        FileFormat(
            "Chakra execution trace", ".et .json", "messages of version or attributes, then of nodes; a workload_graph"
        ),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is one of them."""
        return bool(kind_of(head))

    def may_be_beside(self, head: bytes) -> bool:
        """Whether a Chrome trace is one of torch.profiler's."""
        return b'"schemaVersion"' in head

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the traces, and links profiles with them; CaptureError when nothing in them is an operator."""
        from peephole.sources.chakra.reading import read

        read(paths, sink, progress)


SOURCE = ChakraSource()
