"""Buffers of a run: memory from alloc to free, and how much each device held. Standard library only."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final

from peephole.model.tables import NONE
from peephole.record.unseen import hide, unseen
from peephole.sources.tinygrad.clock import ns
from peephole.sources.tinygrad.event_args import numbers
from peephole.sources.tinygrad.text import Texts, arguments
from peephole.sources.tinygrad.tracks import Out, kind_of, order_of

if TYPE_CHECKING:
    from peephole.sources.tinygrad.linears import Argument
    from peephole.sources.tinygrad.programs import Takes

_LARGEST: Final = 1 << 60
_LIVES: Final = 28


class Buffers:
    """Turns alloc and free events into rows of buffers and counters.

    A live recorder writes a buffer when it is allocated and its end when it is freed (`free` is given then); a reader
    of files writes it once, when it is complete.
    """

    def __init__(self, out: Out, texts: Texts, free: Any = None) -> None:
        self._out = out
        self._texts = texts
        self._free = free
        self._alive: dict[tuple[str, int], dict[str, Any]] = {}
        self._held: dict[str, int] = {}
        self._lives: dict[int, list[list[int]]] = {}
        """tinygrad's number to [our number, when allocated, when freed or NONE], each time that it was allocated."""
        self._facts: dict[int, tuple[int, str]] = {}
        self._allocs: list[tuple[int, int, str, int]] = []
        """When, tinygrad's number, the device and our number of each allocation."""
        self.unallocated: set[int] = set()
        """tinygrad's numbers that were used before there was such a buffer: they do not say which one is meant."""
        self._keys: dict[tuple[int, int], int] = {}
        """The node and lane of a buffer to tinygrad's number."""

    def alloc(self, device: str, key: int, arg: Any, time: Any) -> None:
        """Takes an alloc event."""
        if type(device) is not str or type(key) is not int:
            raise ValueError("a buffer has no device or no number")
        dtype = arg["dtype"]
        # 0.11 said the bytes itself, and the dtype as a text
        size = arg["nbytes"] if "nbytes" in arg else int(arg["sz"]) * item_size(dtype, self._texts.release)
        if not 0 <= size < _LARGEST:
            raise ValueError("a buffer's size is out of range")
        lives = self._lives.setdefault(key, [])
        number = len(self._facts) if self._free is None else life_number(key, len(lives))
        name = dtype if type(dtype) is str else self._texts.dtype(dtype)
        self._facts[number] = (size, name)
        at = ns(time)
        lives.append([number, at, NONE])
        self._allocs.append((at, key, device, number))
        row = {
            "id": number,
            "device": device,
            "alloc": at,
            "bytes": size,
            "dtype": name,
        }
        self._alive[device, key] = row
        self._count(device, size, at)
        if self._free is not None:
            self._out.row("buffers", **row)

    def free(self, device: str, key: int, time: Any) -> None:
        """Takes a free event."""
        row = self._alive.pop((device, key), None) if type(device) is str and type(key) is int else None
        if row is None:
            raise ValueError("a buffer is freed that was not allocated")
        at = ns(time)
        self._lives[key][-1][2] = at
        self._count(device, -row["bytes"], at)
        if self._free is not None:
            self._free(row["id"], at)
        else:
            self._out.row("buffers", **row, free=at)

    def number(self, key: Any, begun: int, until: int) -> int:
        """The buffer that a kernel used which began then; NONE for one that was not allocated by `until`.

        Outputs are allocated after it began.
        """
        for number, alloc, freed in self._lives.get(key, ()) if type(key) is int else ():
            if alloc <= until and (freed == NONE or freed > begun):
                return number
        return NONE

    def used(self, key: Any, begun: int, until: int, *, told: bool) -> int:
        """The same where nothing is known about the argument; `told` when what is used has been allocated by `until`.

        A view has no allocation, and its number is that of the next buffer: a number that was used before there was
        a buffer of it does not say which of the two is meant.
        """
        if type(key) is not int or key in self.unallocated:
            return NONE
        found = self.number(key, begun, until)
        if found == NONE and told:
            self.unallocated.add(key)
        return found

    def passed(self, key: Any, argument: Argument, device: str, begun: int, until: int) -> int:
        """The buffer that a call was given whose arguments are known; of a view the one that it is a part of."""
        place = argument.buffer
        if not argument.is_view:
            if place[0] != NONE and type(key) is int:
                self._keys[place] = key
            return self.number(key, begun, until)
        if place[0] == NONE:
            return NONE
        if place not in self._keys:  # its first use allocates it
            first = bisect_left(self._allocs, (begun,))
            last = bisect_left(self._allocs, (until + 1,), first)
            fresh = [
                key
                for _, key, on, number in self._allocs[first:last]
                if on == device and self._facts[number][0] == argument.bytes
            ]
            if len(fresh) == 1:
                self._keys[place] = fresh[0]
        return self.number(self._keys.get(place), begun, until)

    def fit(self, takes: Takes | None, executed: Any, until: int) -> bool:
        """Whether an exec point may be one of a kernel that takes these buffers; None: nobody knows which."""
        if takes is None:
            return True
        outs, ins, dtypes = takes
        arg, begun = executed.arg, ns(executed.ts)
        keys = arg.get("bufs") or ()
        if len(keys) != len(dtypes) or numbers(arg.get("outputs")) != outs or numbers(arg.get("inputs")) != ins:
            return False
        for key, dtype in zip(keys, dtypes, strict=True):
            buffer = self.number(key, begun, until)
            if dtype is not None and buffer != NONE and self.dtype(buffer) != dtype:
                return False
        return True

    def size(self, number: int) -> int:
        """The bytes of a buffer by our number."""
        return self._facts[number][0]

    def dtype(self, number: int) -> str:
        """The dtype of a buffer by our number."""
        return self._facts[number][1]

    def finish(self) -> None:
        """Writes the buffers that are still alive."""
        if self._free is None:
            for row in self._alive.values():
                self._out.row("buffers", **row)
        self._alive.clear()

    def _count(self, device: str, change: int, time: int) -> None:
        held = self._held[device] = self._held.get(device, 0) + change
        name = f"{device} Memory"
        track = self._out.track(name, kind_of(name), order_of(name), "bytes")
        self._out.row("counters", track=track, time=time, value=float(held))


def life_number(key: int, life: int) -> int:
    """Our number of a living program's buffer: its own there, and how often it had been allocated before."""
    return key | life << _LIVES


def credit_whole_buffers(buffer: Any) -> None:
    """Makes tinygrad say of a view which buffer it is a part of, where it would give it the next buffer's number.

    That number is how many allocations and frees there were. It stays so when the program clears their list: tinygrad
    would begin at 0 again, with the numbers of buffers that are still there.
    """
    own = vars(buffer).get("trace_num")
    if type(own) is not property or own.fget is None or "_peephole" in vars(buffer):
        return
    number = own.fget

    @unseen
    def trace_num(self: Any) -> int:
        try:
            base = self.base
            if (ever := getattr(buffer.profile_events, "ever", None)) is not None and not hasattr(base, "_trace_num"):
                base._trace_num = ever()
            return int(number(base))
        except BaseException as error:
            hide(error)
            raise

    buffer.trace_num = property(trace_num)
    buffer._peephole = True


def item_size(dtype: Any, release: str) -> int:
    """Bytes of one element, from a live dtype or any release's pickled one."""
    size = getattr(dtype, "itemsize", None)
    if type(size) is int:
        return size
    args = arguments(dtype)
    if len(args) > 2 and type(args[1]) is int and 0 <= args[1] < 1 << 20:
        return args[1] if release == "0.11.0" else (args[1] + 7) // 8  # bytes, later bits
    raise ValueError("a dtype has no size")
