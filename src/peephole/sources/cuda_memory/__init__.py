"""PyTorch's CUDA memory snapshot (`torch.cuda.memory._dump_snapshot`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import FileFormat, Progress, each_alone

_KEYS: Final = (b"\x08segments", b"X\x08\x00\x00\x00segments", b"\rdevice_traces", b"X\r\x00\x00\x00device_traces")
"""How the keys that such a file has look in a pickle."""
_FIRST: Final = 4096


class CudaMemorySource:
    """Reads one snapshot: the allocator's events, its segments and blocks."""

    name = "cuda_memory"
    formats = (
        FileFormat(
            "PyTorch's CUDA memory snapshot (torch.cuda.memory._dump_snapshot)",
            ".pickle .pkl",
            "a pickled dict with segments and device_traces",
        ),
    )

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether it is a pickle that begins with a dictionary that has one of the keys."""
        return head[:1] == b"\x80" and b"}" in head[:16] and any(key in head[:_FIRST] for key in _KEYS)

    def runs(self, paths: Sequence[Path]) -> list[list[Path]]:
        """Each snapshot alone."""
        return each_alone(paths)

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the snapshot; CaptureError when it is not plain data of that form."""
        from peephole.model.collector import no_collecting
        from peephole.sources.cuda_memory.snapshot import read_snapshot
        from peephole.sources.pickles import reader

        if len(paths) != 1:
            raise CaptureError("One memory snapshot is one process: import them one by one.")
        progress(0, 2)
        loaded = reader.load(paths[0], reader.nothing, "memory snapshot")
        progress(1, 2)
        with no_collecting():
            read_snapshot(loaded.value, sink, str(paths[0]))
        progress(2, 2)


SOURCE = CudaMemorySource()
