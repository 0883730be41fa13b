"""What XLA dumped, and JAX told, while a program was recorded."""

from __future__ import annotations

from pathlib import Path

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.base import no_progress


def read_left(folder: Path, sink: Sink, begin: int) -> None:
    """Hands over the modules in a folder of one process, and the profile on the capture's clock. Modules of one
    operation have their final graph, and no passes: JAX compiles many of them on the way."""
    from peephole.sources.xla.noted import NAME, Noted, read_notes
    from peephole.sources.xla.reading import Reading
    from peephole.sources.xla.source import XlaSource

    notes = folder / NAME
    noted = read_notes(notes) if notes.is_file() else Noted()
    files = list(XlaSource().files_in(folder))
    for own, since in noted.dumped:
        # a folder of the program's own, which may have dumps of other runs
        files += [path for path in XlaSource().files_in(own) if path.stat().st_mtime_ns >= since]
    if not files and not noted.compiled:
        return
    try:
        Reading(sink, no_progress, small=False, begin=begin, noted=noted).run(files)
    except CaptureError as error:
        sink.problem(str(error))
