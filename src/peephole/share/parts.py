"""What goes into a copy, part by part, as far as the limit allows; what is inside and what was left out, with sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from peephole.share.packing import pack_replies, to_text

_ELEMENT = 80
"""Bytes of the element that a part stands in."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is inside, or that was left out."""

    what: str
    bytes: int
    """What it takes in the file, or on the disk where it was left out; -1 when unknown."""


@dataclass
class Parts:
    """The parts of a copy."""

    limit: int
    used: int = 0
    texts: list[bytes] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Of each name the part that holds it."""
    inside: list[Item] = field(default_factory=list)
    left_out: list[Item] = field(default_factory=list)

    @property
    def room(self) -> int:
        """Bytes that are left."""
        return self.limit - self.used

    def add(self, names: Iterable[str], part: bytes) -> int:
        """Puts a part in and gives what it takes, or -1 when there is no room for it."""
        text = to_text(part)
        return self.add_text(names, text) if len(text) + _ELEMENT <= self.room else -1

    def add_text(self, names: Iterable[str], text: bytes) -> int:
        """Puts a part in that is a text already."""
        numbers = dict.fromkeys(names, len(self.texts))
        assert not numbers.keys() & self.numbers.keys(), "a part would hide another"
        self.numbers |= numbers
        self.texts.append(text)
        self.used += len(text) + _ELEMENT
        return len(text) + _ELEMENT

    def keep(self, what: str, taken: int, size: int = -1) -> bool:
        """Notes what a part was: inside when it took something, else left out. Whether it is inside."""
        if taken >= 0:
            self.inside.append(Item(what, taken))
        else:
            self.left_out.append(Item(what, size))
        return taken >= 0


def add_replies(parts: Parts, groups: Iterable[str], replies: Mapping[str, bytes]) -> int:
    """Puts replies in, found by these groups (`web/src/data/copy/replies.ts`); -1 when there is no room."""
    return parts.add((f"replies:{group}" for group in groups), pack_replies(replies))
