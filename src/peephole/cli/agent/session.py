"""One agent's session: which capture is meant, how large an answer may be, where the page is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from peephole.cli.agent.commands import rows
from peephole.cli.agent.pages import Pages
from peephole.cli.agent.places import view_there
from peephole.cli.agent.sizes import LARGEST, LIMIT, page_of, plain
from peephole.errors import PeepholeError
from peephole.model.folder import PACKED_SUFFIX, SUFFIX, captures_folder, find_captures, is_capture

Arguments = dict[str, Any]
_HEAD: Final = 400
"""Characters of an answer that are not its rows."""


class Session:
    """What the tools share."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    def capture(self, given: Arguments, name: str = "capture") -> Path:
        """The capture that a call means: by path or name, the newest without either. Nothing is imported for it."""
        wanted = given.get(name)
        if not wanted:
            found = find_captures(captures_folder())
            if not found:
                raise PeepholeError("There is no capture yet; record one with `peephole run script.py`.")
            return found[0]
        path = Path(wanted)
        if path.exists() and is_capture(path):
            return path
        for ending in (SUFFIX, PACKED_SUFFIX):
            nearby = captures_folder() / f"{wanted}{ending}"
            if Path(wanted).name == wanted and nearby.exists():
                return nearby
        if path.is_file():
            raise PeepholeError(f"{wanted} is not a capture; make one of it with `peephole import {wanted}`.")
        raise PeepholeError(f"There is no capture {wanted!r}; the tool `captures` lists them.")

    def ask(self, given: Arguments, command: str, *words: str, view: str = "", **place: str | int) -> Arguments:
        """A command's rows about a capture, cut to a size, with the way to the rest and to the page."""
        path = self.capture(given)
        return self.answer(given, rows(command, *words, str(path)), path, view, **place)

    def answer(
        self, given: Arguments, found: list[dict[str, Any]], path: Path, view: str = "", **place: str | int
    ) -> Arguments:
        """Rows as an answer."""
        offset = max(given.get("offset", 0), 0)
        taken, after = page_of(found, offset, self.limit(given) - _HEAD)
        answer: Arguments = {**self.about(path, view, **place), "rows": taken, "of": len(found)}
        if after >= 0:
            answer["left_out"] = f"{len(found) - after} more rows; ask again with offset={after}"
        return answer

    def about(self, path: Path, view: str = "", **place: str | int) -> Arguments:
        """What every answer says: the capture, its units, where a person sees it."""
        about: Arguments = {"capture": plain(path.name), "units": "times in ns, sizes in bytes"}
        there = view_there(path, view) if view and self.pages.wanted else ""
        if there and (address := self.pages.address(path, there, **(place if there == view else {}))) is not None:
            about["page"] = address
        return about

    @staticmethod
    def limit(given: Arguments) -> int:
        """Characters that an answer may have."""
        wanted: int = given.get("max_chars", LIMIT)
        return min(max(wanted, 500), LARGEST)
