"""Folded stacks, a line each: `track;outer;inner 1234`, ns. What flamegraph.pl, inferno and speedscope read."""

from __future__ import annotations

from typing import BinaryIO

from peephole.render.stacks import label, stacks, whole_tree
from peephole.store.capture import Capture


def write_collapsed(capture: Capture, file: BinaryIO) -> int:
    """Writes the stacks that have time of their own; gives the number of slices."""
    tree, slices = whole_tree(capture)
    names = [_frame(name) for name, _ in tree.functions]
    for stack in stacks(tree):
        if stack.own > 0:
            frames = ";".join([_frame(stack.track), *(names[number] for number in stack.functions)])
            file.write(f"{frames} {stack.own}\n".encode("utf-8", "replace"))
    return slices


def _frame(name: str) -> str:
    """A name without what parts frames."""
    return label(name).replace(";", ":")
