"""The nodes of a capture as flat columns, read once and shared by all replays of it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Texts

_BOOLS: Final = re.compile(r"\b(?:True|False)\b")
_NUMBERS: Final = ("ParamArg(", "(")

SPARE: Final = 256
"""Room for dtypes that only a replay makes, and for the error node's op."""


class NodeTable:
    """Every node by its row: what it is (`own`), its sources as rows, and the texts behind the codes.

    `own` packs op, dtype, arg and tag into one number, so that two nodes are equal when their own numbers and their
    sources are:  own = ((op * dtypes + dtype) * args + arg) * tags + tag, each code shifted by one so that 0 is null.
    """

    def __init__(self, capture: Capture) -> None:
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
        own = own * self._args + _merged(self.arg_names.values)[frame.texts("arg").codes + 1]
        own = own * self._tags + (frame.texts("tag").codes.astype(np.int64) + 1)
        self.op_radix = self._dtypes * self._args * self._tags
        self._own = np.ascontiguousarray(own).data
        self._texts: dict[int, tuple[str, str, str | None, str | None]] = {}
        self._offsets = np.ascontiguousarray(lists.offsets).data
        self._sources = np.ascontiguousarray(self.rows(lists.values)).data

    def __len__(self) -> int:
        return len(self.ids)

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


def _merged(values: Sequence[str | None]) -> NDArray[np.int64]:
    """The code to use for each arg: Python takes False for 0 and True for 1, and so does tinygrad when it interns."""
    codes = np.arange(len(values), dtype=np.int64)
    known: dict[str, int] = {}
    for code, text in enumerate(values):
        if text is not None and text.startswith(_NUMBERS) and text[-1] == ")":
            codes[code] = known.setdefault(_BOOLS.sub(_number, text), code)
    return codes


def _number(found: re.Match[str]) -> str:
    return "1" if found[0] == "True" else "0"
