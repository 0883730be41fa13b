"""MLIR: what `--mlir-print-ir-after-all` and its like print, a log or a tree of files, of any tool built on MLIR."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress

_LOG: Final = re.compile(rb"^[^\S\n]*// -----// IR Dump (?:After|Before) ", re.MULTILINE)
_PLAIN: Final = re.compile(
    rb'\A(?:\xef\xbb\xbf)?(?:\s|//[^\n]*\n|[#!][\w$.-]+ = [^\n]*\n)*(?:"?builtin\.module"?|module|func\.func)'
    rb"(?:[ (][^\n]{0,4000})?[{(]"
)
TREE_FILE: Final = re.compile(r"(\d+(?:_\d+)*)_([A-Za-z].*)\.mlir(?:\.gz)?")
"""A file of `--mlir-print-ir-tree-dir`: `165_2_canonicalize.mlir`."""
MOST_FILES: Final = 200_000


class MlirSource:
    """Reads one log, single states, or the files of a tree."""

    name = "mlir"
    formats = (
        FileFormat("MLIR passes (--mlir-print-ir-after-all, -after-change)", ".log .mlir", "lines of IR Dump After"),
        FileFormat("MLIR passes as a tree (--mlir-print-ir-tree-dir=DIR)", "a folder", "files 12_canonicalize.mlir"),
        FileFormat("MLIR (StableHLO and any other dialect)", ".mlir", "a module or function"),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether passes were printed into it, or it is a module."""
        is_log = b"// -----// IR Dump " in head and _LOG.search(head) is not None
        return is_log or bool(_PLAIN.match(head)) or TREE_FILE.fullmatch(path.name) is not None

    def may_be_empty(self, path: Path) -> bool:
        """A state that is still being written."""
        return TREE_FILE.fullmatch(path.name) is not None

    def files_in(self, folder: Path) -> Sequence[Path]:
        """The files of a tree, at any depth."""
        found: list[Path] = []
        for place, inner, names in os.walk(folder):
            inner.sort()
            found += [Path(place, name) for name in sorted(names) if TREE_FILE.fullmatch(name)]
            if len(found) > MOST_FILES:
                break
        return found

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads what is there; CaptureError when nothing can be read."""
        from peephole.sources.mlir.reading import read

        read(paths, sink, progress)


SOURCE = MlirSource()
