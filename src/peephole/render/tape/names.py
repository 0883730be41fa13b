"""A tape whose names are written with the characters that a picture's fonts have."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from peephole.query.tape.tape import Tape


def spelled(tape: Tape, lacking: Collection[str]) -> Tape:
    r"""The tape with some characters written as `\u65e5`: names that fonts lack would all be the same boxes."""
    table = {ord(c): c.encode("unicode_escape").decode() for c in lacking}
    return replace(
        tape,
        name=tape.name.translate(table),
        lanes=tuple(replace(lane, name=lane.name.translate(table)) for lane in tape.lanes),
        ops=tuple(name.translate(table) for name in tape.ops),
        events=tuple(name.translate(table) for name in tape.events),
        families=tuple(name.translate(table) for name in tape.families),
        signals=tuple(replace(signal, name=signal.name.translate(table)) for signal in tape.signals),
    )
