"""Who made what an operator reads: data flow out of tensors, storages and the order in which operators ran.

An operator reads a tensor of whoever gave it back last; where somebody has written into its storage since, of that one
too. Inside another operator it reads what is outside through that operator, which therefore reads it as well.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from peephole.model.tables import NONE
from peephole.sources.chakra.operators import Operator, Tensor, tensors


@dataclass(slots=True)
class Flow:
    """What each operator reads."""

    children: dict[int, list[Operator]] = field(default_factory=dict)
    """By the number of the operator that called them, in order; NONE for those that nobody called."""
    made_by: dict[tuple[int, Tensor], list[int]] = field(default_factory=dict)
    """For an operator and a tensor that it reads, the operators that made it; none when it was there before."""
    homes: dict[tuple[int, Tensor], int] = field(default_factory=dict)
    """For those that nobody made, the operator around the reader that allocated it by itself; NONE: there before."""
    further: dict[int, dict[int | Tensor, None]] = field(default_factory=dict)
    """What is read inside an operator and comes from outside: operators, or tensors that were there before."""


class DataFlow:
    """Works it out."""

    def __init__(self, operators: list[Operator]) -> None:
        self._by_number = {one.number: one for one in operators}
        self._parents = {one.number: self._parent(one) for one in operators}
        self.found = Flow()
        self._wrote: dict[tuple[int, int], tuple[int, int]] = {}
        """By tensor and storage, who gave it back last, and when."""
        self._stored: dict[int, tuple[int, int]] = {}
        """By storage, who made it,"""
        self._changed: dict[int, tuple[int, int]] = {}
        """and who wrote into it last."""
        self._clock = 0

    def run(self) -> Flow:
        """The flow of all operators."""
        ordered = sorted(self._by_number.values(), key=lambda one: one.number)
        last = {one.number: one.number for one in ordered}
        for one in reversed(ordered):
            parent = self._parents[one.number]
            if parent != NONE:
                last[parent] = max(last[parent], last[one.number])
        running: list[tuple[int, int]] = []
        for one in ordered:
            self.found.children.setdefault(self._parents[one.number], []).append(one)
            while running and running[0][0] < one.number:
                self._end(-heapq.heappop(running)[1])
            self._begin(one)
            # of two that end together the inner one ends first
            heapq.heappush(running, (last[one.number], -one.number))
        return self.found

    def _parent(self, one: Operator) -> int:
        """The operator that called one, if it is there and began before."""
        return one.parent if one.parent in self._by_number and one.parent < one.number else NONE

    def _begin(self, one: Operator) -> None:
        above = self._above(one.number)
        for tensor in tensors(one.inputs):
            if (one.number, tensor) in self.found.made_by:
                continue
            makers = list(dict.fromkeys(self._outside(maker, above) for maker in self._makers(tensor)))
            self.found.made_by[one.number, tensor] = [maker for maker in makers if maker != NONE]
            for maker in makers:
                self._pass_through(one.number, maker)
            if not makers:
                home = self._home(tensor, above)
                self.found.homes[one.number, tensor] = home
                if home == NONE:
                    self._pass_through(one.number, tensor)

    def _end(self, number: int) -> None:
        one = self._by_number[number]
        self._clock += 1
        given = tensors(one.inputs)
        numbers, storages = {tensor.number for tensor in given}, {tensor.storage for tensor in given}
        for tensor in one.outputs:
            self._wrote[tensor.number, tensor.storage] = number, self._clock
            if tensor.storage not in storages:  # not a view of what it was given
                self._stored[tensor.storage] = number, self._clock
            if one.writes and tensor.number in numbers:
                self._changed[tensor.storage] = number, self._clock

    def _makers(self, tensor: Tensor) -> list[int]:
        made = self._wrote.get((tensor.number, tensor.storage)) or self._stored.get(tensor.storage)
        changed = self._changed.get(tensor.storage)
        found = [made[0]] if made else []
        if changed and (not made or changed[1] > made[1]):
            found.append(changed[0])
        return found

    def _above(self, number: int) -> list[int]:
        found = [number]
        while found[-1] != NONE:
            found.append(self._parents[found[-1]])
        return found

    def _outside(self, maker: int, above: list[int]) -> int:
        """The operator around a maker that is called by one around the reader; NONE when the reader is inside it."""
        if maker in above:
            return NONE
        while self._parents[maker] not in above:
            maker = self._parents[maker]
        return maker

    def _home(self, tensor: Tensor, above: list[int]) -> int:
        """The innermost operator around a reader that gives a tensor back which it was not given."""
        for number in above[1:-1]:
            one = self._by_number[number]
            if any(out.storage == tensor.storage >= 0 for out in one.outputs):
                given = any(own.storage == tensor.storage for own in tensors(one.inputs))
                return NONE if given else number
        return NONE

    def _pass_through(self, number: int, source: int | Tensor) -> None:
        """Operators around a reader, up to where the source is, read it too."""
        home = NONE if isinstance(source, Tensor) else self._parents[source]
        around = self._parents[number]
        while around not in (home, NONE):
            self.found.further.setdefault(around, {})[source] = None
            around = self._parents[around]
