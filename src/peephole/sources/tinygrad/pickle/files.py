"""The files of one run into a sink: which is which is told by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peephole.errors import CaptureError
from peephole.model.collector import no_collecting
from peephole.model.sink import Sink
from peephole.sources.base import Progress
from peephole.sources.pickles.reader import Loaded
from peephole.sources.tinygrad.pickle import reader, release
from peephole.sources.tinygrad.pickle.profile import read_profile
from peephole.sources.tinygrad.pickle.rewrites import Rewrites, Trace
from peephole.sources.tinygrad.text import Texts


def read(paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
    """Reads rewrites, profile or both into the sink; CaptureError when they are something else or two of a kind."""
    # Half a million tuples that live until the end would be searched for cycles again and again.
    with no_collecting():
        _read(paths, sink, progress)


def _read(paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
    trace: Trace | None = None
    profile: Loaded | None = None
    for done, path in enumerate(paths):
        progress(done, len(paths) + 1)
        loaded = reader.load(path)
        if _is_profile(loaded.value):
            if loaded.value and not any(name.startswith("tinygrad.") for name in loaded.classes):
                raise CaptureError(f"{path} is a pickle that holds no profile of tinygrad.")
            if profile is not None:
                raise CaptureError(f"{path} is a second profile; import the files of one run at a time.")
            profile = loaded
        else:
            if trace is not None:
                raise CaptureError(f"{path} is a second file of rewrites; import the files of one run at a time.")
            trace = Trace(loaded, str(path))
    progress(len(paths), len(paths) + 1)
    sink.describe(frameworks={"tinygrad": _version(trace, profile)})
    # a pickle of a run has its objects once; one that is made to be slow has a large one in a million places
    size = sum(one.size for one in (trace, profile) if one is not None)
    texts = Texts(_version(trace, profile), 4 * size + 500_000)
    rewrites = Rewrites(trace, sink, texts) if trace is not None else None
    if profile is not None:
        read_profile(profile.value, sink, texts, rewrites)
    if rewrites is not None:
        rewrites.finish()
    progress(len(paths) + 1, len(paths) + 1)


def _version(trace: Trace | None, profile: Loaded | None) -> str:
    if trace is not None:
        return trace.release
    return release.of_profile(profile.value, profile.classes) if profile is not None else ""


def _is_profile(value: Any) -> bool:
    return type(value) is list
