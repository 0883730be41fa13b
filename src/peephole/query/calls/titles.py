"""Which tracks are one in sums and call trees: those of one name, or each for itself under a title of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.query.capture.names import titled, told_apart, tracks
from peephole.store.capture import Capture
from peephole.store.tables.lanes import runs

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Titles:
    """What the tracks of a capture are called."""

    ids: Ints
    """Numbers of the tracks, ascending."""
    titles: list[str]
    """All different."""
    title_of: NDArray[np.int32]
    """The place in `titles` of each of `ids`."""
    names: dict[str, str]
    """The names of tracks whose title is more than that."""

    def name(self, number: int) -> str:
        """The name of the tracks of a title, which other titles may have too."""
        title = self.titles[number]
        return self.names.get(title, title)


def track_titles(capture: Capture, apart: bool = False) -> Titles:
    """The titles of all tracks; those of one name have one, or else, `apart`, each that has slices its own."""
    frame, lanes = capture.read("tracks", ["id", "name"]), capture.lanes()
    texts = frame.texts("name")
    values = {text: number for number, text in enumerate(dict.fromkeys([*texts.values, ""]))}
    number = np.array([*(values[text] for text in texts.values), values[""]], np.int32)[texts.codes]
    ids, first = np.unique(frame["id"], return_index=True)
    number = number[first]
    # slices of tracks that nothing else is known of
    used = lanes.track[runs(lanes.track)[:-1]].astype(np.int64)
    unknown = used[~np.isin(used, ids)]
    for id in unknown.tolist():
        values.setdefault(f"track {id}", len(values))
    more = np.array([values[f"track {id}"] for id in unknown.tolist()], np.int32)
    order = np.argsort(np.concatenate([ids, unknown]), kind="stable")
    ids, number = np.concatenate([ids, unknown])[order], np.concatenate([number, more])[order]
    found, names = list(values), dict[str, str]()
    used_names = number[np.isin(ids, used)]
    if apart and len(set(used_names.tolist())) < len(used_names):  # np.unique would load numpy.ma
        where = told_apart(tracks(capture))
        for place, id in enumerate(ids.tolist()):
            if id in where:
                name = found[number[place]]
                title = titled(name, where[id])
                names.setdefault(title, name)
                number[place] = values.setdefault(title, len(values))
        found = list(values)
    return Titles(ids, found, number, names)
