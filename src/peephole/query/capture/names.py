"""The names that a user may ask for: tracks as sources, and the nearest one when a name is not there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final

from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.store.capture import Capture

_PARTS: Final = re.compile(r"[\s@/·]+")
_NEAR: Final = 3
"""Names that are offered in the place of one that is not there."""
_SURE: Final = 0.75
_ALIKE: Final = 0.08
"""How much less like it another name may be to be offered too."""
_DEVICE_KINDS: Final = frozenset(("host", "device", "copy", "batch", "disk", "memory"))
ALL = "ALL"
"""The source that stands for every track."""


@dataclass(frozen=True, slots=True)
class Track:
    """A lane of the timeline."""

    id: int
    name: str
    kind: str
    parent: int
    order: int
    slices: int
    process: int
    rank: int = NONE


def tracks(capture: Capture) -> list[Track]:
    """The tracks, as they are shown: siblings by their order, children after their parent."""
    frame = capture.read("tracks", ["id", "name", "kind", "parent", "order", "process", "rank"])
    lanes = capture.lanes()
    counts: dict[int, int] = {}
    for track, count in zip(lanes.track.tolist(), lanes.count.tolist(), strict=True):
        counts[track] = counts.get(track, 0) + count
    numbers = (frame[name].tolist() for name in ("id", "parent", "order", "process", "rank"))
    found = [
        Track(id, name or "", kind or "", parent, order, counts.get(id, 0), process, rank)
        for id, parent, order, process, rank, name, kind in zip(
            *numbers, frame.texts("name"), frame.texts("kind"), strict=True
        )
    ]
    return _in_order(found)


def _in_order(found: Sequence[Track]) -> list[Track]:
    children: dict[int | None, list[Track]] = {}
    ids = {track.id for track in found}
    for track in found:
        # a parent that is not there, or the track itself, makes no tree; -1 is none, also when a track is called so
        is_there = track.parent in ids and track.parent not in (track.id, NONE)
        children.setdefault(track.parent if is_there else None, []).append(track)
    for siblings in children.values():
        siblings.sort(key=lambda track: (track.order, lane_key(track.kind, track.name), track.rank, track.id))
    ordered: list[Track] = []
    stack = children.get(None, [])[::-1]
    while stack:
        track = stack.pop()
        ordered.append(track)
        stack.extend(children.pop(track.id, [])[::-1])  # once, also where two tracks have one number
    # tracks that are each other's parents are reachable from no root; they are shown all the same
    seen = {track.id for track in ordered}
    return ordered + [track for track in found if track.id not in seen]


def lane_key(kind: str, name: str) -> tuple[str, str]:
    """What devices of one place are sorted by: `GPU:1`, then its queues by name. Other lanes stand as they came."""
    if kind not in _DEVICE_KINDS:
        return "", ""
    device, *rest = plain(name).split(" ")[0].split(":")
    return f"{device}:{rest[0]}" if rest and rest[0].isdigit() else device, plain(name)


def told_apart(known: Sequence[Track]) -> dict[int, str]:
    """What tells a track from others of its name: its owner, rank or process, or else its place among them.

    A track that has its name to itself is not in it, nor does one without anything on it count.
    """
    parents = {track.id: plain(track.name) for track in known}
    alike: dict[str, list[Track]] = {}
    for track in known:
        if track.slices or track.kind == "counter":
            alike.setdefault(plain(track.name), []).append(track)
    found: dict[int, str] = {}
    for several in alike.values():
        if len(several) == 1:
            continue
        owner = _where_they_differ([parents.get(track.parent, "") for track in several])
        rank = [f"rank {track.rank}" if track.rank >= 0 else "" for track in several]
        process = [f"process {track.process}" if track.process >= 0 else "" for track in several]
        both = [" · ".join(filter(None, parts)) for parts in zip(owner, process, strict=True)]
        place = [f"#{number}" for number in range(1, len(several) + 1)]
        words = next((words for words in (owner, rank, process, both) if len(set(words)) == len(several)), place)
        found.update((track.id, word) for track, word in zip(several, words, strict=True) if word)
    return found


def titled(name: str, where: str) -> str:
    """The name of a track, and what it takes to tell it from others."""
    return f"{name} · {where}" if where else name


def _where_they_differ(names: list[str]) -> list[str]:
    """Names that are made of parts ("rank 0 · Spans") without the parts that all of them have in the same place."""
    parts = [name.split(" · ") for name in names]
    if len({len(own) for own in parts}) > 1:
        return names
    differs = [len(set(place)) > 1 for place in zip(*parts, strict=True)]
    return [" · ".join(compress(own, differs)) for own in parts]


def find_tracks(known: Sequence[Track], name: str) -> list[Track]:
    """The tracks of that name, or the one that is told from others so; empty when there is none."""
    name = plain(name)
    found = [track for track in known if plain(track.name) == name]
    if found:
        return found
    where = told_apart(known)
    return [track for track in known if track.id in where and titled(plain(track.name), where[track.id]) == name]


def missing(name: str, known: Iterable[str], what: str, where: str = "in this capture") -> PeepholeError:
    """The error for a name that is not there, with the nearest ones that are."""
    names = [plain(other) for other in known]
    near = _nearest(name, names)
    listed = "`peephole show --ls` lists them." if what in ("source", "track") else _others(len(names))
    *first, last = (repr(other) for other in near or ("",))
    meant = f"{', '.join(first)} or {last}" if first else last
    hint = f"did you mean {meant}?" if near else listed if names else "there are none."
    return PeepholeError(f"There is no {what} {name!r} {where}; {hint}")


def _nearest(name: str, names: Sequence[str]) -> list[str]:
    """The nearest names, best first. What stands before the last word of either is of less account: people write
    `codegen@E_3` and `do_to_program for E_3` for `E_3`."""
    folded = {other.lower(): other for other in reversed(names)}
    asked = name.lower()
    near = difflib.get_close_matches(asked, folded, n=_NEAR, cutoff=0.5)
    words = _PARTS.split(asked)
    if len(words) > 1 and (not near or difflib.SequenceMatcher(None, asked, near[0]).ratio() < _SURE):
        ends = {_PARTS.split(other)[-1]: other for other in reversed(folded)}
        near = [ends[end] for end in difflib.get_close_matches(words[-1], ends, n=_NEAR, cutoff=0.5)] or near
    if near:
        best = difflib.SequenceMatcher(None, asked, near[0]).ratio()
        near = [one for one in near if difflib.SequenceMatcher(None, asked, one).ratio() > best - _ALIKE]
    return [folded[one] for one in near] or [other for other in names if asked in other.lower()][:1]


def _others(count: int) -> str:
    return "it has one other." if count == 1 else f"it has {count:,} others."
