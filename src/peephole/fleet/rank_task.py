"""The task of one rank: import its file where it is, sum it up. Runs in a pool's process or on a Dask worker."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, is_capture
from peephole.model.run_tables import RANK_CAPTURES
from peephole.model.urls import is_remote
from peephole.query.ranks.run import summaries_of
from peephole.query.ranks.summary import RankSummary
from peephole.sources.chrome.rank import rank_in_name
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class RankFile:
    """A rank's input: a raw file or a capture, here or in object storage, and where its capture goes if it is made."""

    path: str
    run: str
    """The run's folder while it is made, or its address in object storage."""
    name: str
    """What its capture is called there: no two inputs have the same."""

    @property
    def place(self) -> str:
        """Where its capture lies within the run."""
        return f"{RANK_CAPTURES}/{self.name}{SUFFIX}"


@dataclass(slots=True)
class RankDone:
    """What came of an input: the summaries of the ranks in it, or the sentence that says why there are none."""

    path: str
    summaries: list[RankSummary] = field(default_factory=list)
    world: int = -1
    """How many ranks the run had, where the file says it: all of one run say the same."""
    problem: str = ""
    parts: str = ""
    """What of the file could not be read, where the rest of it was."""
    worker: str = ""
    tries: int = 1
    dur_ns: int = 0


def rank_task(given: RankFile) -> RankDone:
    """Imports and sums up one input. What cannot be read is said, not raised, since one damaged rank must not end the
    run; what may go better another time (OSError, MemoryError) is raised, and whoever runs the task tries again."""
    from peephole.store.capture import open_capture

    begun = time.perf_counter_ns()
    done = RankDone(given.path, worker=f"{socket.gethostname()}:{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(prefix="peephole-rank-") as scratch:
            path, place = _captured(given, Path(scratch))
            capture = open_capture(path)
            done.summaries, done.world = summaries_of(capture), _world(capture)
            done.parts = "; ".join(str(one.get("reason", "")) for one in capture.manifest.problems[:3])
            number = rank_in_name(given.path) if len(done.summaries) == 1 else None
            for summary in done.summaries:
                summary.capture = place
                if summary.rank < 0 and number is not None:
                    summary.rank = number
    except PeepholeError as error:
        done.problem = str(error)
    done.dur_ns = time.perf_counter_ns() - begun
    return done


def _captured(given: RankFile, scratch: Path) -> tuple[Path, str]:
    """The rank's capture where it can be read here, and what the run calls it."""
    from peephole.ingest import import_files
    from peephole.store import remote

    far, goes_far = is_remote(given.path), is_remote(given.run)
    if not far and not goes_far and is_capture(Path(given.path)):
        return Path(given.path), given.path  # it stays where it is
    into = scratch / f"{given.name}{SUFFIX}" if goes_far else Path(given.run) / given.place
    if far and remote.is_capture_url(given.path):
        found = remote.fetch_folder(given.path, into)
    elif not far and is_capture(Path(given.path)):
        found = Path(given.path)
    else:
        raw = remote.fetch(given.path, scratch) if far else Path(given.path)
        found = import_files([raw], into, replace=True)
    if goes_far:
        remote.put(found, f"{given.run}/{given.place}")
    return found, given.place


def _world(capture: Capture) -> int:
    known = capture.manifest.extra.get("world_size")
    return known if isinstance(known, int) and not isinstance(known, bool) else -1
