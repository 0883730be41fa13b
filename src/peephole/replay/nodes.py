"""The nodes of a capture as flat columns, read once and shared by all replays of it."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.tables import NONE
from peephole.replay.rules import Rules

if TYPE_CHECKING:
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Texts

SPARE: Final = 256
"""Room for dtypes that only a replay makes, and for the error node's op."""


class NodeTable:
    """Every node by its row: what it is (`own`), its sources as rows, and the texts behind the codes.

    `own` packs op, dtype, arg and tag into one number, so that two nodes are equal when their own numbers and their
    sources are:  own = ((op * dtypes + dtype) * args + arg) * tags + tag, each code shifted by one so that 0 is null.
    `under` gives the same nodes as a compiler's rules take them.
    """

    def __init__(self, capture: Capture) -> None:
        self.rules = Rules()
        self._capture = weakref.ref(capture)
        frame = capture.read("nodes", ["id", "op", "dtype", "arg", "src", "tag"])
        self.ids: NDArray[np.int64] = frame["id"]
        self.largest = int(self.ids[-1]) if len(self.ids) else 0
        lists = frame.lists("src")
        self.op_names = _Names(frame.texts("op"))
        self.dtype_names = _Names(frame.texts("dtype"))
        self.arg_names = _Names(frame.texts("arg"))
        self.tag_names = _Names(frame.texts("tag"))
        self._dtypes = len(self.dtype_names.values) + SPARE
        self._args = len(self.arg_names.values) + SPARE
        self._tags = len(self.tag_names.values) + SPARE
        if (len(self.op_names.values) + SPARE) * self._dtypes * self._args * self._tags >= 1 << 62:
            raise CaptureError(
                f"{capture.name} holds more different ops, dtypes, args and tags than can be told apart."
            )
        own = frame.texts("op").codes.astype(np.int64) + 1
        own = own * self._dtypes + (frame.texts("dtype").codes.astype(np.int64) + 1)
        own = own * self._args + (frame.texts("arg").codes.astype(np.int64) + 1)
        own = own * self._tags + (frame.texts("tag").codes.astype(np.int64) + 1)
        self.op_radix = self._dtypes * self._args * self._tags
        self._all_own: NDArray[np.int64] = np.ascontiguousarray(own)
        self._own = self._all_own.data
        self._texts: dict[int, tuple[str, str, str | None, str | None]] = {}
        self._offsets = np.ascontiguousarray(lists.offsets).data
        self._sources = np.ascontiguousarray(self.rows(lists.values)).data

    def __len__(self) -> int:
        return len(self.ids)

    def under(self, rules: Rules) -> NodeTable:
        """The same nodes under a compiler's rules: args that it takes for one are one."""
        same = copy.copy(self)
        same.rules = rules
        merged = rules.same_args(self.arg_names.values)
        if merged:
            arg = self._all_own // self._tags % self._args
            first = np.arange(self._args, dtype=np.int64)
            first[list(merged)] = list(merged.values())
            same._all_own = self._all_own + (first[arg] - arg) * self._tags
            same._own = same._all_own.data
            same._texts = {}
        return same

    @cached_property
    def recorded_shapes(self) -> Texts:
        """The shapes that were recorded with the nodes, by row."""
        capture = self._capture()
        assert capture is not None, "whoever asks about a capture holds it"
        return capture.read("nodes", ["shape"]).texts("shape")

    def rows(self, ids: NDArray[np.int64] | Sequence[int]) -> NDArray[np.int64]:
        """The rows of these node ids; -1 for an id that the capture does not hold."""
        wanted = np.asarray(ids, dtype=np.int64)
        if not len(self.ids):
            return np.full(len(wanted), NONE, dtype=np.int64)
        if self.largest - int(self.ids[0]) == len(self.ids) - 1:
            # one process numbers its nodes without a gap
            place = wanted - self.ids[0]
            return np.where((place >= 0) & (place < len(self.ids)), place, NONE)
        place = np.searchsorted(self.ids, wanted)
        place[place == len(self.ids)] = 0
        return np.where(self.ids[place] == wanted, place, NONE).astype(np.int64)

    @property
    def owns(self) -> memoryview[int]:
        """What every node is, without its sources."""
        return self._own

    def own(self, row: int) -> int:
        """What the node is, without its sources."""
        return self._own[row]

    def sources(self, row: int) -> list[int]:
        """Rows of its sources, in order."""
        return self._sources[self._offsets[row] : self._offsets[row + 1]].tolist()

    def pack(self, op: int, dtype: int, arg: int, tag: int) -> int:
        """The own number of these codes."""
        return ((op * self._dtypes + dtype) * self._args + arg) * self._tags + tag

    def unpack(self, own: int) -> tuple[int, int, int, int]:
        """The codes of op, dtype, arg and tag."""
        rest, tag = divmod(own, self._tags)
        rest, arg = divmod(rest, self._args)
        op, dtype = divmod(rest, self._dtypes)
        return op, dtype, arg, tag

    def texts(self, own: int) -> tuple[str, str, str | None, str | None]:
        """Op, dtype, arg and tag as texts."""
        known = self._texts.get(own)
        if known is None:
            op, dtype, arg, tag = self.unpack(own)
            known = self._texts[own] = (
                self.op_names.values[op] or "",
                self.dtype_names.values[dtype] or "",
                self.arg_names.values[arg],
                self.tag_names.values[tag],
            )
        return known

    def reachable(self, starts: Iterable[int], known: Container[int] = ()) -> list[int]:
        """Rows reachable from these, sources before users; what is known, with all that it reaches, is left out."""
        done: set[int] = set()
        order: list[int] = []
        offsets, sources = self._offsets, self._sources
        stack = [row for row in starts if row >= 0]
        stack.reverse()
        while stack:
            row = stack.pop()
            if row < 0:
                # the second visit of ~row: its sources are out
                order.append(~row)
            elif row not in done and row not in known:
                done.add(row)
                stack.append(~row)
                stack.extend(s for s in sources[offsets[row] : offsets[row + 1]].tolist() if s >= 0 and s not in done)
        return order


class _Names:
    """Texts by code; code 0 is null, new ones may be added."""

    def __init__(self, texts: Texts) -> None:
        self.values: list[str | None] = [None, *texts.values]
        self._codes: dict[str, int] | None = None

    def code(self, value: str | None) -> int:
        """The code of a text, made when there is none."""
        if value is None:
            return 0
        if self._codes is None:
            self._codes = {text: i for i, text in enumerate(self.values) if text is not None}
        found = self._codes.get(value)
        if found is None:
            found = self._codes[value] = len(self.values)
            self.values.append(value)
        return found
