"""The stacks of call trees as tools for flame graphs want them: frames from the outermost in, and the time on top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from peephole.model.plain_names import plain
from peephole.query.calls.titles import track_titles
from peephole.query.calls.tree import CallTree, call_tree
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Stack:
    """Functions that called each other, and what the last one of them took by itself."""

    track: str
    functions: tuple[int, ...]
    """Numbers in `CallTree.functions`, the outermost first."""
    count: int
    own: int
    """ns"""


def stacks(tree: CallTree) -> Iterator[Stack]:
    """All stacks, track by track."""
    path: list[int] = []
    sums = tree.sums
    for node in tree.order().tolist():
        depth = int(tree.depth[node])
        del path[max(depth - 1, 0) :]
        if depth:
            path.append(int(tree.function[node]))
            track = tree.titles[int(tree.title[node])]
            yield Stack(track, tuple(path), int(sums.count[node]), int(sums.self[node]))


def whole_tree(capture: Capture) -> tuple[CallTree, int]:
    """The call trees of a capture, one for each track, and how many slices they are made of."""
    tree = call_tree(capture, titled=track_titles(capture, apart=True))
    return tree, int(tree.sums.count[: len(tree.titles)].sum())


def label(name: str) -> str:
    """A function's name as data of one line."""
    return " ".join(plain(name).split()) or "(no name)"


def file_and_line(place: str) -> tuple[str, int]:
    """A place's file and line; 0 when it has none."""
    file, _, line = place.rpartition(":")
    return (file, int(line)) if file and line.isascii() and line.isdigit() and len(line) < 10 else (place, 0)
