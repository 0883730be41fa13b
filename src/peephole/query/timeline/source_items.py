"""What a source holds, item by item: the compilations of the compiler's track, the names on any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.compilers import assumed_name, compiler_named
from peephole.compilers.protocol import Compiler
from peephole.model.plain_names import numbered, plain
from peephole.query.capture.contexts import Context, contexts
from peephole.query.capture.names import Track, tracks
from peephole.query.timeline.top import TopRow, top
from peephole.replay.work import work_of_contexts
from peephole.store.capture import Capture

COMPILER: Final = "tiny"
"""The kind of the track on which a compiler's work is."""
RUNS: Final = frozenset(("device", "copy", "batch", "disk"))
"""Kinds of tracks on which what was compiled runs."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A context as an item: `name` is its own, with `#2` behind it for the second of that name."""

    name: str
    context: Context
    steps: int
    matches: int


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs of one name on a source."""

    rows: tuple[TopRow, ...]
    contexts: tuple[Compiled, ...]
    """What they were compiled in."""


def compiler_source(capture: Capture) -> str | None:
    """What contexts are listed under when no track shows the compiler's work; None when one does, or there are none."""
    if not capture.count("contexts") or any(track.kind == COMPILER and track.slices for track in tracks(capture)):
        return None
    named = set(capture.read("contexts", ["compiler"]).texts("compiler"))
    found = {compiler_named(name or assumed_name(capture)).track for name in named}
    return found.pop() if len(found) == 1 else Compiler.track


def compiled(capture: Capture) -> list[Compiled]:
    """Every context with how much was done in it, in the order in which they were opened."""
    work = work_of_contexts(capture.read("steps", ["context", "matches"]))
    every = contexts(capture)
    names = numbered(one.name for one in every)
    return [Compiled(name, one, *work.get(one.id, (0, 0))) for name, one in zip(names, every, strict=True)]


def runs(capture: Capture, name: str, tracks: list[Track], interval: tuple[int, int] | None = None) -> Runs:
    """The runs of that name on those tracks, summed up by track, and the contexts that they were compiled in."""
    chosen = {track.id for track in tracks}
    rows = tuple(row for row in top(capture, None, chosen, interval).rows if plain(row.name) == plain(name))
    linked: set[int] = set()
    if any(row.context >= 0 for row in rows):
        for frame in capture.scan("slices", ["track", "name", "context"]):
            names = frame.texts("name")
            codes = [code for code, text in enumerate(names.values) if plain(text) == plain(name)]
            own = np.isin(names.codes, codes) & np.isin(frame["track"], list(chosen))
            linked.update(frame["context"][own].tolist())
    return Runs(rows, tuple(item for item in compiled(capture) if item.context.id in linked))
