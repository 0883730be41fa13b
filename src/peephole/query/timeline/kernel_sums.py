"""Kernels of one name kept apart: what the runs of each context took on some tracks, as Top has it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from peephole.model.tables import NONE
from peephole.query.calls.functions import Functions
from peephole.query.calls.tree import by_function, call_tree
from peephole.query.timeline.context_runs import COUNTED, context_serials
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class KernelSum:
    """The runs of one context, or of a name that no context has made."""

    name: int
    """Number in `Capture.names()`."""
    context: int
    serial: int
    """2 for the second context of its name."""
    total: int
    count: int


def kernels_apart(capture: Capture) -> bool:
    """Whether several contexts have one name, and the slices are few enough to be counted by context."""
    serials = context_serials(capture)
    return any(serial > 1 for serial in serials.values()) and capture.count("slices") <= COUNTED


def kernel_sums(capture: Capture, tracks: Collection[int], interval: tuple[int, int] | None) -> list[KernelSum]:
    """What ran on these tracks, by kernel, most time first."""
    functions = Functions(capture, by_kernel=True)
    found = by_function(call_tree(capture, tracks, interval, together="kernels", functions=functions))
    names, nameless = functions.name_numbers(), len(functions.names) - 1
    contexts = {number: context for (_, context), number in functions.kernels.items()}
    serials, sums = context_serials(capture), found.sums
    rows = []
    for at in np.argsort(-sums.total, kind="stable").tolist():
        number = int(found.function[at])
        name, context = int(names[number]), contexts.get(number, NONE)
        if name < nameless:
            rows.append(KernelSum(name, context, serials.get(context, 1), int(sums.total[at]), int(sums.count[at])))
    return rows
