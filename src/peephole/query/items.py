"""What a source holds, item by item: the compilations of the compiler's track, the names on any other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.contexts import Context, contexts, work_of_contexts
from peephole.query.names import Track, plain
from peephole.query.top import TopRow, top
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


def compiled(capture: Capture) -> list[Compiled]:
    """Every context with how much was done in it, in the order in which they were opened."""
    work = work_of_contexts(capture.read("steps", ["context", "matches"]))
    seen: Counter[str] = Counter()
    found = []
    for context in contexts(capture):
        seen[context.name] += 1
        name = context.name if seen[context.name] == 1 else f"{context.name}#{seen[context.name]}"
        found.append(Compiled(name, context, *work.get(context.id, (0, 0))))
    return found


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
            linked.update(np.unique(frame["context"][own]).tolist())
    return Runs(rows, tuple(item for item in compiled(capture) if item.context.id in linked))
