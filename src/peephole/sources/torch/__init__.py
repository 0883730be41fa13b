"""torch.compile: what a stock program compiles (`live`), what its logs say (`log`), and the rows of both (`rows`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.sources.base import FileFormat

if TYPE_CHECKING:  # attach loads this package inside the user's program
    from peephole.model.sink import Sink
    from peephole.sources.base import Progress


class Torch:
    """Reads TORCH_TRACE logs (a file, a folder, those of several ranks) and torch_compile_debug folders."""

    name = "torch"
    takes_along = ("chrome",)
    formats = (
        FileFormat("logs of torch.compile (TORCH_TRACE=DIR)", ".log, a folder", "records of the structured log"),
        FileFormat("what TORCH_COMPILE_DEBUG=1 leaves", "a folder", "printed graphs, wrappers, Inductor's IR"),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether there is a record of the structured log, or one of the files of a debug folder."""
        from peephole.sources.torch.log.sniff import kind_of_head

        return bool(kind_of_head(head))

    def files_in(self, folder: Path) -> Sequence[Path]:
        """The logs of a folder; of a debug folder what Inductor wrote there too."""
        from peephole.sources.torch.log.folder import files_in

        return files_in(folder)

    def may_be_beside(self, head: bytes) -> bool:
        """Whether a Chrome trace is one of torch.profiler's."""
        return b'"schemaVersion"' in head

    def runs(self, paths: Sequence[Path]) -> list[list[Path]]:
        """Logs of one folder are one run, as are those of several ranks; a trace is of the logs that it lies beside."""
        from peephole.sources.torch.log.folder import runs

        return runs(paths)

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads logs of one run, and traces of torch.profiler beside them."""
        from peephole.sources.torch.log.reader import read

        read(paths, sink, progress)


SOURCE = Torch()
