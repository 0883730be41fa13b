"""The task of one rank: import its file where it is, sum it up. Runs in a pool's process or on a Dask worker."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from peephole.errors import PeepholeError
from peephole.fleet.content import content_of
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
    known: tuple[str, ...] = ()
    """Contents that are in the run already, of those that this one may have."""

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
    content: str = ""
    """What it is known by under any name."""
    there: bool = False
    """Whether a file of that content is in the run already: then nothing of it was read."""
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
            near = _near(given, Path(scratch))
            done.content = content_of(near)
            done.there = done.content in given.known
            if done.there:
                return done
            path, place = _captured(given, near, Path(scratch))
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


def _near(given: RankFile, scratch: Path) -> Path:
    """The input where it can be read here."""
    from peephole.store import remote

    if not is_remote(given.path):
        return Path(given.path)
    if remote.is_capture_url(given.path):
        return remote.fetch_folder(given.path, _into(given, scratch))
    return remote.fetch(given.path, scratch)


def _into(given: RankFile, scratch: Path) -> Path:
    """Where its capture is made."""
    return scratch / f"{given.name}{SUFFIX}" if is_remote(given.run) else Path(given.run) / given.place


def _captured(given: RankFile, near: Path, scratch: Path) -> tuple[Path, str]:
    """The rank's capture where it can be read here, and what the run calls it."""
    from peephole.ingest import import_files
    from peephole.store import remote

    far, goes_far = is_remote(given.path), is_remote(given.run)
    if not far and not goes_far and is_capture(near):
        return near, given.path  # it stays where it is
    found = near if is_capture(near) else import_files([near], _into(given, scratch), replace=True)
    if goes_far:
        remote.put(found, f"{given.run}/{given.place}")
    return found, given.place


def _world(capture: Capture) -> int:
    known = capture.manifest.extra.get("world_size")
    return known if isinstance(known, int) and not isinstance(known, bool) else -1
