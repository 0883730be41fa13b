"""The nodes of a capture by content: equal graphs have equal hashes, whatever their numbers and the run's counters."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from peephole.compilers import assumed_name, compiler_named
from peephole.model.tables import NONE
from peephole.query.compare.by_content.hash_loops import Hashes, Ints, Loops
from peephole.query.compare.by_content.text_hashes import mixed, text_hash, text_hashes, without_accidents

if TYPE_CHECKING:
    from peephole.compilers.protocol import Compiler
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Frame, Texts

NUMBERS: Final = "numbers of buffers"
COUNTERS: Final = "counters in names"
_NOWHERE: Final = np.uint64(0)
_SPARSE: Final = 16
"""Numbers that may be for each that is, up to which they are marked and not sorted."""
_kept: weakref.WeakKeyDictionary[Capture, Content] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class MatchColumns:
    """The matches of a capture, sorted by step."""

    step: Ints
    before: Hashes
    after: Hashes
    file: NDArray[np.int32]
    files: list[str]
    line: Ints


class Content:
    """Hashes of the graphs of one capture, those of a context with its numbers by rank.

    A hash is made of op, dtype, argument, tag, shape and the sources' hashes in order; the name of an instruction
    counts where nothing else tells it from others: when it has no sources. Node numbers count nowhere.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = weakref.ref(capture)
        self.normalised: set[str] = set()
        frame = capture.read("nodes", ["id", "op", "dtype", "arg", "src", "tag", "shape", "name"])
        self.ids: Ints = frame["id"]
        lists = frame.lists("src")
        self.offsets: Ints = lists.offsets
        self.sources: Ints = rows_of(self.ids, lists.values)
        self.loops = Loops(self.offsets, self.sources)
        self._words, self._number, self._op = self._own(frame, _compilers(capture))
        self.base: Hashes = self.loops.forward(self._words)
        self.numbered = self.loops.spread(self._number >= 0)
        if self.numbered.any():
            self.normalised.add(NUMBERS)
        self._out = np.zeros(len(self.ids), np.uint64)

    def _own(self, frame: Frame, compilers: list[Compiler]) -> tuple[Hashes, Ints, NDArray[np.int32]]:
        """The word of each node, the number that was taken out of it (-1 for none), and its op."""
        op, arg, name = frame.texts("op"), frame.texts("arg"), frame.texts("name")
        args = len(arg.values) + 1
        pairs, place = distinct((op.codes.astype(np.int64) + 1) * args + (arg.codes + 1))
        words, numbers = np.zeros(len(pairs), np.uint64), np.full(len(pairs), NONE, np.int64)
        for at, pair in enumerate(pairs.tolist()):
            op_code, arg_code = pair // args - 1, pair % args - 1
            if arg_code < 0:
                continue
            text, found = arg.values[arg_code], NONE
            for compiler in compilers:
                short, found = compiler.comparable(op.values[op_code] if op_code >= 0 else "", text)
                if short != text and found < 0:
                    self.normalised.add(COUNTERS)
                text = short
                if found >= 0:
                    break
            words[at], numbers[at] = text_hash(without_accidents(text, self.normalised)), found
        leaf = np.diff(self.offsets) == 0
        own_name = np.where(leaf, _hashes(name), _NOWHERE)
        others = [_hashes(frame.texts(column)) for column in ("dtype", "tag", "shape")]
        return mixed(_hashes(op), words[place], *others, own_name), numbers[place], op.codes

    def in_context(self, starts: Ints) -> Callable[[Ints], Hashes]:
        """The hashes of what these rows reach, as one context sees them: its numbers by their order among its own."""
        rows = self.loops.reach(starts, self.numbered)
        if not len(rows):
            return lambda wanted: _taken(self.base, wanted)
        number, op = self._number[rows], self._op[rows].astype(np.uint64)
        own = number >= 0
        order = np.lexsort((number[own], op[own]))
        ranked = np.zeros(len(rows), np.uint64)
        ops, numbers = op[own][order], number[own][order]
        new_op = np.append(True, ops[1:] != ops[:-1])
        new = new_op | np.append(True, numbers[1:] != numbers[:-1])
        count = np.cumsum(new)
        first = np.maximum.accumulate(np.where(new_op, count, 0))
        rank = np.empty(len(order), np.uint64)
        rank[order] = (count - first + 1).astype(np.uint64)
        ranked[own] = rank
        words = mixed(self._words[rows], ranked)
        self.loops.again(rows, words, self.numbered, self.base, self._out)
        mine = self._out[rows]

        def hashes(wanted: Ints) -> Hashes:
            found = _taken(self.base, wanted)
            inside = wanted >= 0
            inside[inside] = self.numbered[wanted[inside]]
            if inside.any():
                at = np.minimum(np.searchsorted(rows, wanted[inside]), len(rows) - 1)
                found[inside] = np.where(rows[at] == wanted[inside], mine[at], found[inside])
            return found

        return hashes

    def rows(self, ids: Ints) -> Ints:
        """The rows of these node ids, -1 for one that is not there."""
        return rows_of(self.ids, ids)


def content_of(capture: Capture) -> Content:
    """The content of a capture, hashed once while it is open."""
    found = _kept.get(capture)
    if found is None or (capture.live and len(found.ids) != capture.count("nodes")):
        found = _kept[capture] = Content(capture)
    return found


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """The different ones of these numbers from 0 on, ascending, and the place of each number among them."""
    size = int(keys.max()) + 1 if len(keys) else 0
    if size > _SPARSE * len(keys):
        return np.unique(keys, return_inverse=True)
    # a mark for each number that there may be: no sorting
    there = np.zeros(size, np.bool_)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def rows_of(ids: Ints, wanted: Ints) -> Ints:
    """The places of these numbers in an ascending column, -1 for one that is not there."""
    if not len(ids):
        return np.full(len(wanted), NONE, np.int64)
    first, last = int(ids[0]), int(ids[-1])
    if last - first == len(ids) - 1:
        place = wanted - first
        return np.where((place >= 0) & (place < len(ids)), place, NONE)
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[place] == wanted, place, NONE)


def _taken(hashes: Hashes, rows: Ints) -> Hashes:
    if not len(hashes):
        return np.zeros(len(rows), np.uint64)
    return np.where(rows >= 0, hashes[np.maximum(rows, 0)], _NOWHERE)


def _hashes(texts: Texts) -> Hashes:
    return np.append(text_hashes(texts.values), _NOWHERE)[texts.codes]


def _compilers(capture: Capture) -> list[Compiler]:
    """The compilers whose contexts these are."""
    known = {name for name in capture.read("contexts", ["compiler"]).texts("compiler").values if name}
    return [compiler_named(name) for name in sorted(known or {assumed_name(capture)})]
