"""The task of one rank: import its file where it is, sum it up. Runs in a pool's process or on a Dask worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, is_capture
from peephole.query.ranks.run import summaries_of
from peephole.query.ranks.summary import RankSummary
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class RankFile:
    """A rank's input: a raw file or a capture, and where its capture goes if it is made."""

    path: str
    into: str
    name: str
    """What its capture is called there: no two inputs have the same."""


@dataclass(slots=True)
class RankDone:
    """What came of an input: the summaries of the ranks in it, or the sentence that says why there are none."""

    path: str
    summaries: list[RankSummary]
    world: int = -1
    """How many ranks the run had, where the file says it: all of one run say the same."""
    problem: str = ""


def rank_task(given: RankFile) -> RankDone:
    """Imports and sums up one input; nothing raises, since one damaged rank must not end the run."""
    from peephole.ingest import import_files
    from peephole.store.capture import open_capture

    path = Path(given.path)
    try:
        if is_capture(path):
            capture = open_capture(path)
        else:
            out = Path(given.into) / f"{given.name}{SUFFIX}"
            capture = open_capture(import_files([path], out, replace=True))
        found = summaries_of(capture)
        return RankDone(given.path, found, _world(capture))
    except (PeepholeError, OSError, MemoryError) as error:
        return RankDone(given.path, [], problem=str(error) or type(error).__name__)


def _world(capture: Capture) -> int:
    known = capture.manifest.extra.get("world_size")
    return known if isinstance(known, int) and not isinstance(known, bool) else -1
