"""What XLA and JAX write: dumps of HLO after each pass, kernels, profiles. A folder of them, or single files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress

_PLANE: Final = re.compile(rb'"/(?:host|device):')
MOST_FILES: Final = 200_000
"""Files of a folder that are read."""


class XlaSource:
    """Reads a folder of dumps with or without profiles in it, or such files by themselves."""

    name = "xla"
    takes_along = ("mlir", "chrome")
    formats = (FileFormat("dumps of XLA (--xla_dump_to=DIR)", "a folder, .txt, .hlo.pb", "HLO as text or proto"),)

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether a file is HLO as text or proto, or a profile."""
        from peephole.sources.xla.files import is_known
        from peephole.sources.xla.sniffing import is_module_text, is_proto

        # kernels and tables of a dump say nothing of XLA; given together with the rest they are known by their names
        return is_module_text(head) or is_proto(head) or is_known(path)

    def may_be_beside(self, head: bytes) -> bool:
        """Whether it is MLIR, or a Chrome trace of XLA's profiler, whose processes have such names."""
        return head.lstrip()[:1] not in (b"{", b"[") or _PLANE.search(head) is not None

    def may_be_empty(self, path: Path) -> bool:
        """A dump that is still being written."""
        from peephole.sources.xla.files import is_known

        return is_known(path)

    def files_in(self, folder: Path) -> Sequence[Path]:
        """The files of a dump or a profile, at any depth, by the names that XLA and JAX give."""
        from peephole.sources.xla.files import TRACES, is_known

        found: list[Path] = []
        traces: list[Path] = []
        for place, inner, names in os.walk(folder):
            inner.sort()
            found += [Path(place, name) for name in sorted(names) if is_known(Path(place, name))]
            traces += [Path(place, name) for name in sorted(names) if name.endswith(TRACES)]
            if len(found) > MOST_FILES:
                break
        has_profile = any(path.name.endswith(".xplane.pb") for path in found)
        return found if has_profile or not found else found + traces

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads what is there; CaptureError when nothing is."""
        from peephole.sources.xla.reading import Reading

        Reading(sink, progress).run(paths)
