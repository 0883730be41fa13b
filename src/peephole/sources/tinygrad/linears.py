"""What each exec point of a file ran, and on what, by the order in which tinygrad runs what it compiled.

A run of a schedule, and the capture of a JIT, end their compilation with a pass over the calls in the order in which
they will run, compiled. The exec points that follow name one call after the other; later runs of a captured JIT name
all of its calls again. A run is linked only as a whole: when every one of its names is the expected one (a JIT's
buffers too, which stay the same but for its inputs), and nothing else could have run there.

The calls also say which of their arguments are parts of a larger buffer, mostly the memory planner's: tinygrad gives
such a view the number that the next buffer gets too.

    pass over A B C ─▶ exec A, exec B, exec C ─▶ (JIT) exec A, exec B, exec C ─▶ pass over D …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from peephole.model.tables import NONE
from peephole.sources.tinygrad.buffers import item_size
from peephole.sources.tinygrad.pairing import function_name, is_copy, single_spaced
from peephole.sources.tinygrad.programs import are_numbers
from peephole.sources.tinygrad.text import Texts, fields_of, label

_RUN: Final = "optimize local size"
_JIT: Final = "View graphed linear"
_COPY: Final = "copy"
_MOST_CALLS: Final = 1_000_000
_MOST_MOVES: Final = 100
_SAME: Final = frozenset(("CONTIGUOUS", "CONTIGUOUS_BACKWARD", "RESHAPE", "UNSHARD", "DETACH", "AFTER"))
"""Ops on a buffer that leave it the same one."""


class Argument(NamedTuple):
    """What a kernel or copy is given at one place."""

    buffer: tuple[int, int]
    """Node and lane of the buffer that it is or is a part of: one node may stand for a buffer on each of several
    devices. The node is NONE for what only the run decides."""
    is_view: bool
    bytes: int
    """The size of that buffer; NONE when it is not known."""


class Ran(NamedTuple):
    """What an exec point ran."""

    context: int
    """The one of its kernel or NONE."""
    arguments: tuple[Argument, ...]


class Call(NamedTuple):
    """One call of a pass: what its exec points are called, the context of its kernel, the nodes that it is given."""

    name: str
    context: int
    given: tuple[int, ...]


Linear = tuple[Call, ...]

OWN: Final = Ran(NONE, ())
"""A kernel of tinygrad's own that no context made: to learn a device's clock it runs one when the profile ends."""
_OWN_NAME: Final = "E"


def calls_of_runs(
    events: Sequence[Any],
    groups: Sequence[Sequence[Any]],
    parents: Sequence[int],
    fields: Mapping[int, Any],
    kernels: Mapping[tuple[int, ...], int],
    texts: Texts,
) -> dict[int, Ran]:
    """What each exec point ran, by the point's `id`, where it is certain.

    `kernels` says which context made a program, by the nodes that the program consists of.
    """
    passes = _passes(groups, parents)
    ranges = [event for event in events if _pass_name(event)]
    if passes is None or [name for name, _ in passes] != [_pass_name(event) for event in ranges]:
        return {}
    reader = _Reader(fields, kernels, texts)
    of_range = {id(event): (name, root) for event, (name, root) in zip(ranges, passes, strict=True)}
    found: dict[int, Ran] = {}
    jits: list[_Jit] = []
    captured: Linear | None = None
    left: list[list[Any]] = []
    for started, calls in _stretches(events, of_range):
        linear = reader.linear(started[1]) if started is not None else ()
        left = []
        if linear is None:
            continue
        at = 0
        if started is not None and started[0] == _JIT:
            captured = linear
        elif not _runs(linear, calls, 0):
            continue
        else:
            at = reader.link(linear, calls, 0, found)
        if captured is not None and at < len(calls):  # it runs at once, but for copies of its inputs
            if not _runs(captured, calls, at):
                continue
            jits.append(_Jit(captured, reader, calls, at))
            at = reader.link(captured, calls, at, found)
            captured = None
        while at < len(calls):
            fitting = {jit.linear for jit in jits if jit.runs(calls, at)}
            if len(fitting) != 1:
                break
            at = reader.link(fitting.pop(), calls, at, found)
        left = calls[at:]
    if all(_is_own(run) for run in left):
        found.update((id(event), OWN) for run in left for event in run)
    return found


class _Jit:
    """A captured JIT: the same calls each time, with the same buffers but for its inputs."""

    def __init__(self, linear: Linear, reader: _Reader, calls: list[list[Any]], at: int) -> None:
        self.linear = linear
        self._reader = reader
        self._keys = [self._given(call, run) for call, run in zip(linear, calls[at:], strict=False)]

    def runs(self, calls: list[list[Any]], at: int) -> bool:
        """Whether the calls from there on are its own."""
        if not self.linear or not _runs(self.linear, calls, at):
            return False
        given = (self._given(call, run) for call, run in zip(self.linear, calls[at:], strict=False))
        return all(one == other for one, other in zip(self._keys, given, strict=False))

    def _given(self, call: Call, run: list[Any]) -> list[Any]:
        """tinygrad's numbers of the buffers that are not its inputs."""
        return [
            key if type(key) is int else NONE
            for lane, event in enumerate(run)
            for number, key in zip(call.given, event.arg.get("bufs") or (), strict=False)
            if self._reader.argument(number, lane).buffer[0] != NONE
        ]


def _passes(groups: Sequence[Sequence[Any]], parents: Sequence[int]) -> list[tuple[str, int]] | None:
    """Name and root of the passes over calls, as they came; None where that is not known.

    A pass outside of any context is listed with the context before it, so that the order of the contexts is the
    passes' own, unless a context and another within it both have some.
    """
    found: list[tuple[str, int]] = []
    with_some: set[int] = set()
    for index, group in enumerate(groups):
        own = [fields_of(step) for step in group]
        passes = [(str(step["name"]), step.get("sink")) for step in own if step.get("name") in (_RUN, _JIT)]
        if not passes:
            continue
        above = parents[index]
        while above != NONE:
            if above in with_some:
                return None
            above = parents[above]
        with_some.add(index)
        found.extend((name, root if type(root) is int else NONE) for name, root in passes)
    return found


def _pass_name(event: Any) -> str | None:
    name = getattr(event, "name", None)
    return name if type(name) is str and name in (_RUN, _JIT) and getattr(event, "device", None) == "TINY" else None


def _stretches(
    events: Iterable[Any], of_range: Mapping[int, tuple[str, int]]
) -> Iterator[tuple[tuple[str, int] | None, list[list[Any]]]]:
    """What ran after each pass and before the next one: calls, each with the exec points of its devices."""
    started: tuple[str, int] | None = None
    calls: list[list[Any]] = []
    for event in events:
        pass_ = of_range.get(id(event))
        if pass_ is not None:
            yield started, calls
            started, calls = pass_, []
        elif type(event).__name__ == "ProfilePointEvent" and event.name == "exec":
            # the exec points of one call, one for each device, have one time
            if calls and _when(calls[-1][0]) == _when(event):
                calls[-1].append(event)
            else:
                calls.append([event])
    yield started, calls


def _when(event: Any) -> Any:
    time = event.ts
    args = getattr(time, "args", None)
    return args if args else time


def _runs(linear: Linear, calls: list[list[Any]], at: int) -> bool:
    return len(calls) - at >= len(linear) and all(
        call.name == _name(event) for call, run in zip(linear, calls[at:], strict=False) for event in run
    )


def _is_own(run: list[Any]) -> bool:
    """Whether a call that no pass accounts for can be tinygrad's own: one number into one buffer."""
    return all(
        _name(event) == _OWN_NAME and len(event.arg.get("bufs") or ()) == 1 and not event.arg.get("inputs")
        for event in run
    )


def _name(event: Any) -> str:
    return _COPY if is_copy(event) else function_name(single_spaced(event.arg["name"]))


class _Reader:
    """Reads passes out of the graph."""

    def __init__(self, fields: Mapping[int, Any], kernels: Mapping[tuple[int, ...], int], texts: Texts) -> None:
        self._fields = fields
        self._kernels = kernels
        self._texts = texts
        self._calls = 0
        self._arguments: dict[tuple[int, int], Argument] = {}

    def linear(self, root: int) -> Linear | None:
        """The calls of a pass in order; None where one of them is of a kind that is not known."""
        op, src, _ = self._node(root)
        self._calls += len(src)
        if op != "LINEAR" or self._calls > _MOST_CALLS:  # a hostile file may have many passes over one long list
            return None
        calls: list[Call] = []
        for number in src:
            call, parts, _ = self._node(number)
            if call != "CALL" or not parts:
                return None
            op, inner, arg = self._node(parts[0])
            given = tuple(number for number in parts[1:] if not self._is_variable(number))
            if op == "PROGRAM":
                info = fields_of(arg)
                places = info.get("globals")
                if not are_numbers(places) or not all(0 <= place < len(given) for place in places):
                    return None
                context = self._kernels.get(inner, NONE)
                calls.append(Call(function_name(label(info.get("name"))), context, tuple(given[at] for at in places)))
            elif op == "COPY":
                calls.append(Call(_COPY, NONE, given))
            elif op == "CUSTOM_FUNCTION" and arg == "graph" and inner:
                calls.append(Call(function_name(f"batched {len(self._node(inner[0])[1])}"), NONE, given))
            elif op != "CUSTOM_FUNCTION" or arg != "validate":  # that one has no exec point
                return None
        return tuple(calls)

    def link(self, linear: Linear, calls: list[list[Any]], at: int, found: dict[int, Ran]) -> int:
        """Says of the exec points of a whole run what they ran, and gives where the next run begins."""
        for call, run in zip(linear, calls[at:], strict=False):
            for lane, event in enumerate(run):
                found[id(event)] = Ran(call.context, tuple(self.argument(number, lane) for number in call.given))
        return at + len(linear)

    def _is_variable(self, number: int) -> bool:
        """Whether an argument is a symbolic variable with its value."""
        op, src, _ = self._node(number)
        return op == "AFTER" and self._node(src[0])[0] == "PARAM"

    def argument(self, number: int, lane: int) -> Argument:
        """What a call is given by a node, on one of its devices."""
        found = self._arguments.get((number, lane))
        if found is None:
            found = self._arguments[number, lane] = self._buffer(number, lane)
        return found

    def _buffer(self, number: int, lane: int) -> Argument:
        is_view = False
        for _ in range(_MOST_MOVES):
            op, src, arg = self._node(number)
            if op == "BUFFER":
                return Argument((number, lane), is_view, self._size(number, src))
            if op == "MSTACK" and 0 <= lane < len(src):  # a buffer of each device's own
                number, lane = src[lane], 0
            elif op == "MSELECT" and type(arg) is int and src:
                number, lane = src[0], arg
            elif op in ("", "PARAM") or not src:
                break
            else:
                is_view = is_view or op not in _SAME
                number = src[0]
        return Argument((NONE, 0), is_view, NONE)

    def _size(self, number: int, src: tuple[int, ...]) -> int:
        op, _, count = self._node(src[0]) if src else ("", (), None)
        if op != "CONST" or type(count) is not int:
            return NONE
        return count * item_size(self._fields[number][1], self._texts.release)

    def _node(self, number: int) -> tuple[str, tuple[int, ...], Any]:
        node = self._fields.get(number)
        if type(node) is not tuple or len(node) < 5 or not are_numbers(node[2]):
            return "", (), None
        return self._texts.op(node[0]), node[2], node[3]
