"""Rows of the small tables on their way to the sink: contexts, steps, decisions, artifacts, with their numbers."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, Final

from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.gunzip import GZIP_MAGIC, Gunzip

MOST_TEXT: Final = 64 << 20
"""Bytes of a file that are kept."""
_BATCH: Final = 4096


class Rows:
    """Takes rows of one compiler one by one and hands them over together."""

    def __init__(self, sink: Sink, compiler: str) -> None:
        self.sink, self._compiler = sink, compiler
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._contexts, self._steps, self._buffers = itertools.count(), itertools.count(), itertools.count()
        self.tracks = itertools.count()
        self._ordinals: dict[int, int] = {}
        self._decided: dict[int, int] = {}

    def _add(self, table: str, **row: Any) -> None:
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= _BATCH:
            self._hand_over(table)

    def context(self, name: str, kind: str, parent: int = NONE, **further: Any) -> int:
        """A new context; its id. `further` are its other columns."""
        number = next(self._contexts)
        columns = {
            "function": None,
            "keys": None,
            "stack": None,
            "start": NONE,
            "dur": NONE,
            "compiler": self._compiler,
        }
        columns |= further
        self._add("contexts", id=number, name=name, kind=kind, parent=parent, **columns)
        return number

    def step(self, context: int, name: str, depth: int, root: int, after: int) -> int:
        """A new step of a context; its id."""
        number = next(self._steps)
        ordinal = self._ordinals.get(context, 0)
        self._ordinals[context] = ordinal + 1
        self._add("steps", id=number, context=context, ordinal=ordinal, depth=depth, name=name, root=root, after=after)
        return number

    def decision(
        self, step: int, kind: str, a: int, b: int, reason: str, file: str | None = None, line: int = NONE
    ) -> None:
        """What a step decided about two nodes, and where the program asked for it."""
        ordinal = self._decided.get(step, 0)
        self._decided[step] = ordinal + 1
        columns = {"kind": kind, "a": a, "b": b, "reason": reason, "file": file, "line": line}
        self._add("decisions", step=step, ordinal=ordinal, **columns)

    def marker(self, time: int, name: str, **args: Any) -> None:
        """Something that happened at a moment."""
        self._add("markers", time=time, name=name, kind="event", args=json.dumps(args))

    def track(self, name: str, kind: str, parent: int = NONE, process: int = NONE, host: str | None = None) -> int:
        """A new track; its number."""
        number = next(self.tracks)
        self._add("tracks", id=number, name=name, kind=kind, parent=parent, order=number, process=process, host=host)
        return number

    def slice(self, track: int, start: int, dur: int, name: str, context: int) -> None:
        """Something that took time."""
        self._add("slices", track=track, depth=0, start=start, dur=dur, name=name, context=context)

    def artifact(self, context: int, kind: str, language: str, name: str, content: bytes, step: int = NONE) -> None:
        """Text or bytes of a context."""
        self._add(
            "artifacts",
            context=context,
            step=step,
            kind=kind,
            language=language,
            name=name,
            content=content[:MOST_TEXT],
        )

    def buffer(self, device: str, alloc: int, free: int, size: int, dtype: str, name: str) -> int:
        """Memory of a device; its number."""
        number = next(self._buffers)
        self._add(
            "buffers", id=number, device=device, alloc=alloc, free=free, bytes=size, dtype=dtype or None, name=name
        )
        return number

    def finish(self) -> None:
        """Hands over what is left."""
        for table in list(self._rows):
            self._hand_over(table)

    def _hand_over(self, table: str) -> None:
        rows = self._rows.pop(table, [])
        if rows:
            self.sink.append(table, {name: [row[name] for row in rows] for name in rows[0]})


def content_of(path: Path) -> bytes:
    """The bytes of a file, gunzipped where it is gzipped."""
    with path.open("rb") as file:
        head = file.read(2)
        file.seek(0)
        return bytes(Gunzip(file).read(MOST_TEXT)) if head == GZIP_MAGIC else file.read()
