"""A capture whose program still writes: snapshots of its journal as tables in a temporary folder."""

from __future__ import annotations

import copy
import shutil
import tempfile
import time
import weakref
from pathlib import Path
from typing import Final

from peephole.errors import PeepholeError
from peephole.store.journal.journals import JournalReader
from peephole.store.journal.state import first_manifest, is_live
from peephole.store.manifest import Manifest
from peephole.store.sealing.build import Builder

_SHARE: Final = 4.0
"""A snapshot that took a second is followed by this many seconds of rest, so that a live view costs a bounded share."""


class LiveJournal:
    """Reads a growing journal. What was read is kept, so a further snapshot decodes only what is new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._work = Path(tempfile.mkdtemp(prefix="peephole-live-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._work, ignore_errors=True)
        self._begin()
        self._generation = 0
        self._resume = 0.0
        self._news = False

    def _begin(self) -> None:
        self._builder = Builder(self._work, first_manifest(self.folder))
        self._reader = JournalReader(self.folder, self._builder)

    def alive(self) -> bool:
        """Whether any process of the capture still runs, one that has joined since the last look too."""
        return any(info.alive() for info in self._reader.processes.values()) or is_live(self.folder)

    def due(self) -> bool:
        """Whether it is time for another look."""
        return time.monotonic() >= self._resume

    def advance(self) -> bool:
        """Reads what is new; True when there is something that no snapshot has."""
        began = time.monotonic()
        self._news = self._reader.advance() or self._news
        if self._reader.stale():
            self._builder.close()
            self._begin()
            self._news = self._reader.advance() or self._news
        self._resume = time.monotonic() + _SHARE * (time.monotonic() - began)
        return self._news

    def snapshot(self) -> tuple[Path, Manifest]:
        """A folder with the tables as of the last `advance`, and its manifest. The one before it is removed then.

        PeepholeError when there is no room for it: the one before is still there.
        """
        began = time.monotonic()
        base = self._builder.manifest
        manifest = self._builder.manifest = copy.deepcopy(base)
        folder = self._work / f"snapshot{self._generation}"
        try:
            folder.mkdir()
            self._reader.describe()
            self._builder.finish(folder=folder, owners=self._reader.tracks.owner)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise PeepholeError(
                f"What {self.folder} holds by now cannot be written to {self._work}: {error.strerror or error}."
            ) from error
        finally:
            self._builder.manifest = base
        shutil.rmtree(self._work / f"snapshot{self._generation - 1}", ignore_errors=True)
        self._generation += 1
        self._news = False
        self._resume = time.monotonic() + _SHARE * (time.monotonic() - began)
        manifest.state = "recording"
        return folder, manifest

    def close(self) -> None:
        """Removes the snapshots."""
        self._builder.close()
        self._remove()
