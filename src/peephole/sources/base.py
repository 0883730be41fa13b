"""What a source is: something that knows its own bytes and turns them into rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from peephole.model.sink import Sink

Progress = Callable[[int, int], None]
"""Called now and then with how much is done and how much there is, in any unit; (n, 0) when the end is unknown."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of file that a source reads: a line of `peephole import --formats`."""

    name: str
    files: str
    """What such files are usually called; nothing depends on it."""
    known_by: str
    """What in the content tells that it is one."""


class Source(Protocol):
    """One producer of traces. `sources/NAME` holds it as `SOURCE`."""

    name: str
    """`tinygrad`, `gt`, `chrome`: what the manifest calls it."""

    @property
    def formats(self) -> Sequence[FileFormat]:
        """What it reads, for who asks what can be opened."""

    def sniff(self, head: bytes, path: Path) -> bool:
        """Whether a file is this source's, by its first 64 KiB (gunzipped when it is gzipped), never by its name."""

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads files that belong together into the sink; CaptureError when they are not what they seemed."""


class LeavesFiles(Protocol):
    """A source may also have this: its producer leaves files at a known place, so that they need not be named."""

    def left_behind(self) -> Sequence[Path]:
        """The latest files of one run at the producer's own place; empty when there are none."""

    def complete(self, paths: Sequence[Path]) -> Sequence[Path]:
        """The given files and those that belong to them and lie next to them."""


class ReadsFolders(Protocol):
    """A source may also have this: its producer leaves a folder of files, which can be named as a whole."""

    def files_in(self, folder: Path) -> Sequence[Path]:
        """The files of a folder that belong together, in order; empty when it is not one of this producer's."""


class LeavesEmptyFiles(Protocol):
    """A source that reads folders may also have this: a file of its folder may be empty."""

    def may_be_empty(self, path: Path) -> bool:
        """Whether an empty file is one of this producer's, by its name."""


class TakesAlong(Protocol):
    """A source may also have this: files of other sources may be given beside its own, and are linked with them."""

    takes_along: tuple[str, ...]
    """Names of those sources. `read` gets all files, its own first."""

    def may_be_beside(self, head: bytes) -> bool:
        """Whether a file of theirs that begins so may be of the same run, where nobody said that it is."""


class ComesInRuns(Protocol):
    """A source may also have this: not every file of it belongs to the others, since one run is one or two files."""

    def runs(self, paths: Sequence[Path]) -> list[list[Path]]:
        """Its files, those of one run together, in the order in which they were given."""


def each_alone(paths: Sequence[Path]) -> list[list[Path]]:
    """The runs of a source for which one file is one run."""
    return [[path] for path in paths]


def no_progress(_done: int, _total: int) -> None:
    """A progress that shows nothing."""
