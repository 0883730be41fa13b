"""Ranges that we timed ourselves, in the form of tinygrad's. Standard library only."""

from __future__ import annotations

from peephole.sources.tinygrad.clock import Nanoseconds

Known = tuple[str, str, bytes | None]
"""Device, name and program key."""
Ran = tuple[Known, int, int]
"""What ran, begin and end in ns."""


class ProfileRangeEvent:
    """A range of ours, with the fields of tinygrad's."""

    __slots__ = ("device", "en", "name", "profile_key", "st")

    def __init__(self, ran: Ran) -> None:
        self.device, self.name, self.profile_key = ran[0]
        self.st, self.en = Nanoseconds(ran[1]), Nanoseconds(ran[2])
