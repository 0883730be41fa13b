"""`peephole.record`: a recording that a program begins and ends itself."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any, Self

from peephole.record import active, place
from peephole.startup import watch

_VARIABLES = ("PEEPHOLE", "PEEPHOLE_CAPTURE")


class record:
    """Records the program inside `with record("name.peep"):`, with its threads and the processes that it starts.

    Without a name the capture goes to the user's folder. An earlier capture of that name is replaced. When the
    program is being recorded already, everything goes into that capture. `path` says where it is.
    """

    def __init__(self, name: str | os.PathLike[str] | None = None) -> None:
        self._name = name
        self.path = ""

    def table(self, name: str) -> Any:
        """A table of what was recorded as a pyarrow.Table, once the recording has ended."""
        from peephole.store.capture import open_capture

        return open_capture(self.path).table(name)

    def _repr_html_(self) -> str | None:
        """What a notebook shows of it."""
        if not self.path or (active.recorder is not None and active.recorder.path == self.path):
            return None
        import importlib

        # by name: a notebook stands right of every room, and this is imported by all of them
        cell = importlib.import_module("peephole.notebook.cell").CaptureCell(self.path)
        html: str = cell._repr_html_()
        return html

    def __enter__(self) -> Self:
        self._outer = active.recorder is not None
        if active.recorder is not None:
            self.path = active.recorder.path
            return self
        self.path = place.begin_capture(self._name, place.program_name(), list(sys.argv))
        self._environment = {name: os.environ.get(name) for name in _VARIABLES}
        recorder = active.start(self.path)
        recorder.begin()
        os.environ["PEEPHOLE"] = "1"
        os.environ["PEEPHOLE_CAPTURE"] = self.path
        active.finish_here(self.path)
        watch(recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._outer:
            return
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        active.stop()
