"""What XLA dumped while a program was recorded."""

from __future__ import annotations

from pathlib import Path

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import no_progress


def read_left(folder: Path, sink: Sink, begin: int) -> None:
    """Hands over the modules in a folder of one process. Those of one operation have their final graph, and no passes:
    JAX compiles many of them on the way."""
    from peephole.sources.xla.reading import Reading
    from peephole.sources.xla.source import XlaSource

    files = XlaSource().files_in(folder)
    if not files:
        return
    try:
        Reading(sink, no_progress, small=False, begin=begin).run(files)
    except CaptureError as error:
        sink.problem(str(error))
