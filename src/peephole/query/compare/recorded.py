"""One recording as it is compared: what it compiled, what ran, what it held. From a capture, or kept as a baseline."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from peephole.query.compare.compiled import Compiled, compiled_of
from peephole.query.compare.memory import Peak, peaks
from peephole.query.compare.runs import RunTable, run_table
from peephole.query.memory.buffers import devices

if TYPE_CHECKING:
    from peephole.store.capture import Capture
    from peephole.store.manifest import Manifest

_kept: weakref.WeakKeyDictionary[Capture, Recorded] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Origin:
    """Where a recording is from, as its manifest says it and a baseline keeps it."""

    source: str
    frameworks: dict[str, str]
    host: str
    program: str
    created: str
    clean: bool
    dropped: int


@dataclass(frozen=True)
class Recorded(Origin):
    """All that is compared of one recording."""

    name: str
    compiled: Compiled
    runs: RunTable
    peaks: tuple[Peak, ...]
    messages: dict[str, int] = field(default_factory=dict)
    """Of a tape: how many there were of each kind."""
    path: str = ""
    capture: weakref.ref[Capture] | None = None
    """None for a baseline, which has hashes and figures alone."""
    live: bool = False
    """Whether it was still being recorded."""

    @property
    def open(self) -> Capture | None:
        """The capture, while it is at hand."""
        return None if self.capture is None else self.capture()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to compare."""
        return not (self.compiled.units or self.runs.runs or self.peaks or self.messages)


def origin_of(given: Origin | Manifest) -> dict[str, Any]:
    """The fields of an origin, by name."""
    return {one.name: getattr(given, one.name) for one in fields(Origin)}


def recorded(capture: Capture) -> Recorded:
    """A capture as it is compared, made once while it is open and does not grow."""
    found = _kept.get(capture)
    if found is not None and not capture.live:
        return found
    found = Recorded(
        **origin_of(capture.manifest),
        name=capture.name,
        compiled=compiled_of(capture),
        runs=run_table(capture),
        peaks=tuple(peaks(capture, devices(capture))),
        messages=_messages(capture),
        path=str(capture.path.resolve()),
        capture=weakref.ref(capture),
        live=capture.live,
    )
    _kept[capture] = found
    return found


def _messages(capture: Capture) -> dict[str, int]:
    if not capture.count("messages"):
        return {}
    frame = capture.read("messages", ["event", "command", "op"])
    columns = (frame.texts(name) for name in ("event", "command", "op"))
    return dict(Counter(" ".join(part for part in row if part) for row in zip(*columns, strict=True)))
