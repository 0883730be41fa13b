"""Tapes that the tests write themselves, and what they became."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kept_rows import KeptRows

from peephole.sources.base import no_progress
from peephole.sources.gt import SOURCE


class Kept(KeptRows):
    """What a tape became."""

    @property
    def tracks(self) -> dict[int, str]:
        return {row["id"]: row["name"] for row in self.rows.get("tracks", [])}

    @property
    def kinds(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for row in self.rows.get("tracks", []):
            found.setdefault(row["kind"], []).append(row["name"])
        return found

    @property
    def events(self) -> list[dict[str, Any]]:
        """The tape's own events by number: slice, args and message in one, with the lane's name."""
        messages = {row["slice"]: row for row in self.rows.get("messages", [])}
        found = []
        for row in self.rows.get("slices", []):
            args = json.loads(row["args"])
            if "seq" in args:
                message = messages.pop(row["correlation"])
                for name in ("seq", "event", "command", "op"):
                    assert args[name] == message[name]
                assert args.get("size", -1) == message["size"]
                told = args["event"] in ("SEND", "WORKER_RECV") and "success=False" in args["details"].split()
                assert told is message["failed"]
                found.append({**row, **message, **args, "lane": self.tracks[row["track"]]})
        assert not messages
        return found

    def flow_ends(self) -> list[tuple[str, str, int]]:
        """Lanes of each arrow's two ends, and its bytes."""
        at = {row["correlation"]: self.tracks[row["track"]] for row in self.rows["slices"]}
        return [(at[row["from"]], at[row["to"]], row["bytes"]) for row in self.rows.get("flows", [])]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Kept]:
    """Reads a tape given as text, bytes or path; the file gets a name that says nothing."""

    def reader(*contents: str | bytes | Path) -> Kept:
        paths = []
        for i, content in enumerate(contents):
            path = content if isinstance(content, Path) else tmp_path / f"x{i}"
            if not isinstance(content, Path):
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
            paths.append(path)
        sink = Kept()
        SOURCE.read(paths, sink, no_progress)
        return sink

    return reader


@pytest.fixture
def header() -> str:
    """A tape's header, in words of its own."""
    bar = "=" * 100
    return f"{bar}\nGT2 Dispatcher Instruction Stream\nStarted: 2026-01-02 03:04:05\n{bar}\n\n"
