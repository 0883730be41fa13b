"""The names that a user may ask for: tracks as sources, and the nearest one when a name is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.store.capture import Capture

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


def tracks(capture: Capture) -> list[Track]:
    """The tracks, as they are shown: siblings by their order, children after their parent."""
    frame = capture.read("tracks", ["id", "name", "kind", "parent", "order", "process"])
    lanes = capture.lanes()
    counts: dict[int, int] = {}
    for track, count in zip(lanes.track.tolist(), lanes.count.tolist(), strict=True):
        counts[track] = counts.get(track, 0) + count
    numbers = (frame[name].tolist() for name in ("id", "parent", "order", "process"))
    found = [
        Track(id, name or "", kind or "", parent, order, counts.get(id, 0), process)
        for id, parent, order, process, name, kind in zip(
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
        siblings.sort(key=lambda track: (track.order, track.id))
    ordered: list[Track] = []
    stack = children.get(None, [])[::-1]
    while stack:
        track = stack.pop()
        ordered.append(track)
        stack.extend(children.pop(track.id, [])[::-1])  # once, also where two tracks have one number
    # tracks that are each other's parents are reachable from no root; they are shown all the same
    seen = {track.id for track in ordered}
    return ordered + [track for track in found if track.id not in seen]


def told_apart(known: Sequence[Track]) -> dict[int, str]:
    """What tells a track from others of its name: what it belongs to, its process, or else its place among them.

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
        process = [f"process {track.process}" if track.process >= 0 else "" for track in several]
        both = [" · ".join(filter(None, parts)) for parts in zip(owner, process, strict=True)]
        place = [f"#{number}" for number in range(1, len(several) + 1)]
        words = next((words for words in (owner, process, both) if len(set(words)) == len(several)), place)
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


def find_tracks(known: Iterable[Track], name: str) -> list[Track]:
    """The tracks of that name; empty when there is none."""
    return [track for track in known if plain(track.name) == plain(name)]


def missing(name: str, known: Iterable[str], what: str, where: str = "in this capture") -> PeepholeError:
    """The error for a name that is not there, with the nearest one that is."""
    names = [plain(other) for other in known]
    folded = {other.lower(): other for other in reversed(names)}
    near = [folded[other] for other in difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)]
    near = near or [other for other in names if name.lower() in other.lower()]
    listed = "`peephole show --ls` lists them." if what in ("source", "track") else _others(len(names))
    hint = f"did you mean {near[0]!r}?" if near else listed if names else "there are none."
    return PeepholeError(f"There is no {what} {name!r} {where}; {hint}")


def _others(count: int) -> str:
    return "it has one other." if count == 1 else f"it has {count:,} others."
