"""What the manifest says about a tape, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from peephole.store.capture import Capture

_FURTHEST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class TapeFacts:
    """The facts of a tape; what the manifest says in another way than it should is left out."""

    engine: str = ""
    resolution: int = 1
    """ns that its times are rounded to"""
    plain: Mapping[str, str] | None = None
    """Which event a slice without facts is, by the kind of its track."""
    offsets: tuple[int | None, ...] | None = None
    """When each session began, None where that is not said; None when no sessions are told."""


def tape_facts(capture: Capture) -> TapeFacts:
    """The facts of a capture's tape."""
    told = capture.manifest.extra.get("tape")
    if not isinstance(told, dict):
        return TapeFacts()
    engine, plain, sessions = told.get("engine"), told.get("plain"), told.get("sessions")
    return TapeFacts(
        engine if isinstance(engine, str) else "",
        _whole(told.get("resolution"), 1) or 1,
        {kind: str(event) for kind, event in plain.items()} if isinstance(plain, dict) else None,
        tuple(_offset(session) for session in sessions) if isinstance(sessions, list) else None,
    )


def _offset(session: Any) -> int | None:
    return _whole(session.get("offset"), -_FURTHEST) if isinstance(session, dict) else None


def _whole(value: Any, least: int) -> int | None:
    return value if type(value) is int and least <= value < _FURTHEST else None
