"""CaptureWriter: a sink whose rows become a sealed capture, all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from peephole.errors import CaptureError, PeepholeError
from peephole.model.sink import ColumnValues
from peephole.model.unfinished import Busy, WorkFolder
from peephole.store.manifest import FILE, Manifest
from peephole.store.sealing.build import Builder


class CaptureWriter:
    """Takes rows of any table in any order and leaves a sealed capture at `path` when it is closed without error.

    An earlier capture there gives way, unless it is not to be replaced. PeepholeError when another process is writing
    one of that name.
    """

    def __init__(self, path: str | os.PathLike[str], replace: bool = True) -> None:
        self._replace = replace
        self.path = Path(path)
        self.manifest = Manifest(name=self.path.name.removesuffix(".peep"))
        self.manifest.created = datetime.now(UTC).isoformat(timespec="seconds")
        if self.path.exists() and not (self.path / FILE).is_file() and not _is_empty(self.path):
            raise CaptureError(f"{self.path} is there already and is not a capture: choose another name.")
        self._work = self._begun()
        self._folder = self._work.path
        self._builder = Builder(self._folder, self.manifest, bounded=True)
        self._closed = False

    def _begun(self) -> WorkFolder:
        try:
            return WorkFolder(self.path)
        except Busy as error:
            raise PeepholeError(f"{error}; wait for it, or choose another name.") from None
        except OSError as error:
            raise PeepholeError(f"{self.path} cannot be written: {error.strerror or error}.") from None

    @property
    def scratch(self) -> Path:
        """A folder for temporary files, gone when the capture is there."""
        return self._folder

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows; a column that is left out gets its default."""
        self._builder.append(table, columns)

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood or was lost."""
        self.manifest.problem(reason, count, example)

    def describe(self, **facts: Any) -> None:
        """Adds facts to the manifest."""
        self.manifest.describe(facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def abort(self) -> None:
        """Leaves nothing behind."""
        self._closed = True
        self._builder.close()
        self._work.close()

    def close(self) -> None:
        """Sorts, writes and moves the capture to its place."""
        if self._closed:
            return
        self._closed = True
        try:
            self._builder.finish()
            self._builder.close()
            self.manifest.state = "sealed"
            self.manifest.write(self._folder)
            self._folder.chmod(0o700)
            if self.path.exists() and not self._replace:
                raise PeepholeError(f"{self.path} has come meanwhile: choose another name.")
            if self.path.exists():
                with WorkFolder(self.path, shared=True) as old:
                    self.path.rename(old.path / "old")
                    self._folder.rename(self.path)
            else:
                self._folder.rename(self.path)
            self._work.close()
        except OSError as error:
            self.abort()
            raise PeepholeError(f"{self.path} cannot be written: {error.strerror or error}.") from None
        except BaseException:
            self.abort()
            raise


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
