"""The run: tinygrad's profile events, live or pickled, into slices, markers, buffers and uses. Standard library only.

An `exec` point says which buffers a kernel or copy used and with which symbolic values; the range that says how long
it took is another event, which comes just before it (a device that runs on the host), long after it (one with queues
of its own) or never (CPU and PYTHON, which report no times). The two are brought together here, by device and name:

    range ──▶ waiting for its exec ──▶ slice + uses
    exec  ──▶ waiting for its range (only for a device with queues) ──▶ slice + uses, without length when none came
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.tinygrad.buffers import Buffers
from peephole.sources.tinygrad.clock import HOST, SKEW, Offsets, device_of, host_clock, is_own_name, ns, slack
from peephole.sources.tinygrad.contexts import Contexts, link_keys
from peephole.sources.tinygrad.enums import REFERENCE
from peephole.sources.tinygrad.estimates import Estimates, Provisional
from peephole.sources.tinygrad.event_args import numbers, variables_of
from peephole.sources.tinygrad.hardware import Hardware
from peephole.sources.tinygrad.linears import OWN, Ran
from peephole.sources.tinygrad.own_ranges import Known
from peephole.sources.tinygrad.own_ranges import ProfileRangeEvent as OwnRange
from peephole.sources.tinygrad.pairing import (
    Key,
    Waiting,
    copy_bytes,
    exec_keys,
    function_name,
    is_copy,
    range_key,
    says_copy,
    single_spaced,
)
from peephole.sources.tinygrad.speeds import amounts, rates
from peephole.sources.tinygrad.steps import Range
from peephole.sources.tinygrad.symbolic import Amount
from peephole.sources.tinygrad.text import NOT_UNDERSTOOD, Texts, fields_of, label, plain, said
from peephole.sources.tinygrad.tracks import Out, kind_of, order_of
from peephole.sources.tinygrad.user_frames import user_line

_NEVER: Final = 1 << 62
_MOST_INNER: Final = 200_000
_LONGEST_WAIT: Final = 30_000_000_000

ContextEnded = Callable[[int, int, int, list[Range]], None]
"""Told when a context's own range has come: context, begin, length, and the ranges within it."""


class Timeline:
    """Takes events in the order in which tinygrad appended them; `finish` writes what still waited."""

    def __init__(
        self,
        out: Out,
        texts: Texts,
        contexts: Contexts,
        free: Callable[[int, int], None] | None = None,
        closed: ContextEnded | None = None,
        provisional: Provisional | None = None,
    ) -> None:
        self.offsets = Offsets()
        self.runs: dict[int, Ran] = {}
        """Exec point, by its `id`, to what a file's rewrites say that it ran."""
        self._closed = closed
        self._inner: list[Range] = []
        self._out = out
        self._texts = texts
        self._contexts = contexts
        self._buffers = Buffers(out, texts, free)
        self._hardware = Hardware(out, self.offsets, contexts)
        self._ranges = Waiting()
        self._execs = Waiting()
        self._untimed: deque[Any] = deque()
        self._compiled: set[int] = set()
        self._turns: dict[str | bytes, int] = {}
        self._unaligned: list[Any] = []
        self._estimates = (
            None if provisional is None else Estimates(provisional, Timeline(provisional, texts, contexts))
        )
        self._waiting: set[str] = set()
        self._unknown: dict[str, int] = {}
        self._takes: dict[str, Callable[[Any], None]] = {
            "ProfileRangeEvent": self._range,
            "ProfilePointEvent": self._point,
            "ProfileGraphEvent": self._align,
            "ProfileDeviceEvent": self.offsets.learn,
            "ProfileProgramEvent": self._hardware.program,
            "ProfileSQTTEvent": lambda event: self._hardware.trace("sqtt", event),
            "ProfilePMCEvent": lambda event: self._hardware.trace("pmc", event),
            "ProfilePMAEvent": lambda event: self._hardware.trace("pma", event),
        }

    def event(self, event: Any) -> None:
        """Takes one event; one that is not understood is counted, never fatal."""
        take = self._takes.get(type(event).__name__)
        if take is None:
            self._count(f"unknown event {type(event).__name__[:60]}")
            return
        if self._untimed:
            self._try(self._write_untimed, event)
        self._try(take, event)

    def _try(self, take: Callable[..., None], event: Any, *more: Any) -> None:
        try:
            take(event, *more)
        except NOT_UNDERSTOOD as error:
            self._count(f"{type(event).__name__} not understood: {str(error)[:60]}")

    def age(self, now: int) -> None:
        """Ends a round of a live run, by when its device events are in.

        Writes ranges whose exec would have come long ago: the trials of a search, which are not counted.
        """
        self._release()
        if self._estimates is not None:
            self._estimates.write(now, self.offsets, self._execs)
        if self._texts.release != REFERENCE:
            return
        for key in self._ranges:
            if host_clock(device_of(self._ranges.first(key))):
                self._pass(key, now - _LONGEST_WAIT)

    def finish(self) -> None:
        """Writes what waited for something that did not come."""
        while self._untimed:
            self._try(self._write_exec, self._untimed.popleft())
        unaligned, self._unaligned = self._unaligned, []
        self._waiting.clear()
        if self._estimates is not None:
            for device in self._estimates.adopt(self.offsets, unaligned, self._execs):
                self._count(f"kernels of {device} on an estimated clock")
        for event in unaligned:
            self._try(self._take_aligned, event)
        for event in self._ranges.drain():
            self._try(self._write_range, event, None)
        for event in self._execs.drain():
            self._try(self._write_exec, event)
        if self._estimates is not None:
            self._estimates.settle()
        self._buffers.finish()
        self._hardware.finish()
        for reason, count in self._unknown.items():
            self._out.problem(reason, count)
        self._unknown.clear()

    def _write_untimed(self, event: Any) -> None:
        fields = fields_of(event)
        time = fields.get("en") or fields.get("ts")
        if time is None or fields.get("name") in ("alloc", "free"):
            return
        until = ns(time)  # the lanes of one call have one time
        while self._untimed and ns(self._untimed[0].ts) < until:
            self._write_exec(self._untimed.popleft(), until)

    def _count(self, reason: str) -> None:
        self._unknown[reason] = self._unknown.get(reason, 0) + 1

    # ranges

    def _range(self, event: Any) -> None:
        if device_of(event) in HOST:
            self._write_range(event, None)
        else:
            self._align(event)

    def _align(self, event: Any) -> None:
        device = device_of(event)
        if not host_clock(device) and (device in self._waiting or not self.offsets.knows(device)):
            self._unaligned.append(event)
            self._waiting.add(device)
            if self._estimates is not None:
                self._estimates.fresh.append(event)
        else:
            self._take_aligned(event)

    def _release(self) -> None:
        """Takes the ranges of the devices that have said their offset."""
        known = {device for device in self._waiting if self.offsets.knows(device)}
        if not known:
            return
        self._waiting -= known
        unaligned, self._unaligned = self._unaligned, []
        for event in unaligned:
            if device_of(event) in known:
                self._try(self._take_aligned, event)
            else:
                self._unaligned.append(event)
        if self._estimates is not None and not self._unaligned:
            self._estimates.settle()

    def _take_aligned(self, event: Any) -> None:
        key = range_key(event)
        if key is None or is_own_name(device_of(event)):  # no exec point is about it
            self._write_range(event, None)
            return
        if key[0] == "copy" and host_clock(
            event.device
        ):  # done at once: one that was followed by another was not timed
            while (later := self._execs.second(key)) is not None and ns(later.ts) <= self._start(event):
                self._write_exec(self._execs.take(key))
        executed = self._execs.first(key)
        if executed is None:
            self._ranges.put(event, (key,))
        elif self._start(event) + SKEW >= ns(executed.ts):
            self._write_range(event, self._execs.take(key))
        else:  # it began before anything that was counted: an upload of a program, a trial
            self._write_range(event, None)

    def _pass(self, key: Key, begun: int) -> None:
        """Writes the ranges that began before that moment: runs that are not counted, a search's trials, have no exec.

        They would otherwise be taken for the run that the next exec is about.
        """
        while (first := self._ranges.first(key)) is not None and self._start(first) < begun:
            self._write_range(self._ranges.take(key), None)

    def _start(self, event: Any) -> int:
        if type(event).__name__ == "ProfileGraphEvent":
            return min(ns(event.sigs[entry.st_id]) + self.offsets.of(entry.device) for entry in event.ents)
        return ns(event.st) + self.offsets.of(event.device)

    def sketch(self, event: Any) -> None:
        """Writes a range alone, nothing of what belongs to it."""
        self._write_range(event, None)

    def _write_range(self, event: Any, executed: Any) -> None:
        if type(event).__name__ == "ProfileGraphEvent":
            self._write_graph(event, executed)
            return
        fields = fields_of(event)
        device, name = event.device, event.name
        offset = self.offsets.of(device, says_copy(event))
        if says_copy(event) and kind_of(device) == "device":
            device += ":COPY"
        start = ns(event.st)
        end = fields.get("en")
        dur = max(0, ns(end) - start) if end is not None else 0
        title, context, args = self._describe(name, fields.get("profile_key"), dur, executed)
        if type(event) is OwnRange and executed is not None and is_copy(executed):
            title = single_spaced(executed.arg["name"])  # as where nobody timed it
        if end is None:
            args["open"] = True
        elif device == "TINY" and self._closed is not None:
            self._within(name, title, context, start, dur)
        self._slice(device, start + offset, dur, title, context, args, executed, until=start + offset + slack(device))

    def _within(self, name: Any, title: str, context: int, start: int, dur: int) -> None:
        """Keeps the ranges of steps until that of their context comes, which ends after all of them."""
        inner = self._inner
        if type(name) is str:
            inner.append((title, start, dur))
            if len(inner) > _MOST_INNER:  # ranges outside any context, which never comes for them
                del inner[: _MOST_INNER // 2]
        elif context != NONE and self._closed is not None:
            self._compiled.add(context)
            first = len(inner)
            while first and inner[first - 1][1] >= start:
                first -= 1
            self._closed(context, start, dur, inner[first:])
            del inner[first:]

    def _describe(self, name: Any, key: Any, dur: int, executed: Any) -> tuple[str, int, dict[str, Any]]:
        """Title, context and args of a slice from an event's name, as VIZ links them."""
        links = self._contexts.by_key
        if type(name) is str:
            title = plain(name)
            context = links.get(key, NONE) if type(key) is bytes else NONE
            if context == NONE and type(key) is not bytes:
                context = self._contexts.called(title)
            return self._contexts.name(context, title), context, self._speed(context, dur, executed)
        args: dict[str, Any] = {}
        title = label(name.display_name)
        context = self._context_of(title, name.keys)
        fields = fields_of(name)
        value = fields.get("ret")
        if type(value) is str:
            args = said(value)
        elif type(value) is int:
            args["bytes"] = value
            if dur:
                args["bytes_per_s"] = int(value * 1e9 / dur)
        place = user_line(fields.get("tb"))
        if place is not None:
            args["location"] = place
        return title, context, args

    def _context_of(self, title: str, keys: Any) -> int:
        """The context that a range belongs to; for its own range, of several with one key, the next in turn."""
        owner = self._contexts.owner(keys)
        if owner != NONE:
            return owner
        for key in link_keys(keys):
            found = self._contexts.all_by_key.get(key)
            if found:
                if not self._contexts.is_own_range(title, found[0]):
                    return found[-1]
                turn = self._turns.get(key, 0)
                self._turns[key] = turn + 1
                return found[min(turn, len(found) - 1)]
        return NONE

    def _speed(self, context: int, dur: int, executed: Any) -> dict[str, Any]:
        variables = fields_of(executed).get("arg", {}).get("var_vals") if executed is not None else None
        return rates(self._contexts.estimates.get(context), dur, variables, self._texts)

    # what runs again and again

    def repeated(self, known: Known) -> tuple[str, int, dict[str, Amount] | None]:
        """Title and context of a kernel, and what its args are rates of; None for these when they cannot be told."""
        title, context, _ = self._describe(known[1], known[2], 0, None)
        return title, context, amounts(self._contexts.estimates.get(context), self._texts)

    def adopt(self, compiled: Sequence[tuple[int, str, tuple[str | bytes, ...]]], estimates: Any) -> None:
        """Takes contexts of another process: number in the capture, name and keys; the last is what was asked for."""
        for context, name, keys in compiled:
            self._contexts.adopt(context, name, keys)
            self._compiled.add(context)
        if estimates is not None and compiled:
            self._contexts.estimates[compiled[-1][0]] = estimates

    def track(self, device: str) -> int:
        """The number of a device's track."""
        return self._out.track(device, kind_of(device), order_of(device), None)

    @property
    def unallocated(self) -> set[int]:
        """tinygrad's numbers of buffers that do not say which one is meant."""
        return self._buffers.unallocated

    # points

    def _point(self, event: Any) -> None:
        name = event.name
        if name == "exec":
            self._exec(event)
        elif name == "alloc":
            self._buffers.alloc(event.device, event.key, event.arg, event.ts)
        elif name == "free":
            self._buffers.free(event.device, event.key, event.ts)
        elif name == "marker":
            arg = event.arg
            colour = arg.get("color")
            self._out.row(
                "markers",
                time=ns(event.ts),
                name=label(arg["name"]),
                kind="marker",
                colour=colour if type(colour) is str else None,
            )
        elif name == "JSON":
            content = self._texts.any(event.arg).encode("utf-8", "replace")
            self._out.row("artifacts", kind="data", language="text", name=label(event.key)[:200], content=content)
        elif name != "start":
            self._count(f"unknown point {label(name)[:60]}")

    def _exec(self, event: Any) -> None:
        if type(event.device) is not str:
            raise ValueError("an exec point has no device")
        keys = exec_keys(event)
        begun = ns(event.ts) - slack(event.device)
        for key in keys:
            self._pass(key, begun)
            if self._ranges.first(key) is not None:
                self._write_range(self._ranges.take(key), event)
                return
        if host_clock(event.device) and self._texts.release == REFERENCE:
            self._untimed.append(event)  # the next event says until when its buffers had been allocated
        else:
            self._execs.put(event, keys)

    def _write_exec(self, event: Any, until: int = _NEVER) -> None:
        """A kernel or copy that nobody timed: it is there, with what it used, without length."""
        name = single_spaced(event.arg["name"])
        context = self._ran(event, function_name(name), until)
        device = f"{event.device}:COPY" if is_copy(event) else event.device
        self._slice(device, ns(event.ts), 0, self._contexts.name(context, name), context, {}, event, until=until)

    def _ran(self, event: Any, name: str, until: int) -> int:
        """The context of the kernel that an exec point names; NONE where several have that name and could be meant."""
        found = self._contexts.all_by_key.get(name, [])
        ran = self.runs.get(id(event))
        if ran is not None and (ran is OWN or ran.context in found):
            return ran.context
        if len(found) > 1:  # it had been compiled by then, and takes these buffers
            found = [
                context
                for context in found
                if context in self._compiled and self._buffers.fit(self._contexts.takes.get(context), event, until)
            ]
        return found[0] if len(found) == 1 else NONE

    # captured graphs

    def _write_graph(self, event: Any, executed: Any) -> None:
        entries = []
        for entry in event.ents:
            offset = self.offsets.of(entry.device, says_copy(entry))
            start, end = ns(event.sigs[entry.st_id]) + offset, ns(event.sigs[entry.en_id]) + offset
            entries.append((entry, start, max(0, end - start)))
        first = min(start for _, start, _ in entries)
        last = max(start + dur for _, start, dur in entries)
        device = f"{event.ents[0].device.split(':')[0]} Graph"
        self._slice(
            device, first, last - first, f"batched {len(entries)}", NONE, {}, executed, until=first + slack(device)
        )
        flows = event.deps if isinstance(event.deps, list) and len(event.deps) == len(entries) else []
        numbers = [self._out.new_correlation() if flows else 0 for _ in entries]
        for at, (entry, start, dur) in enumerate(entries):
            title, context, args = self._describe(entry.name, fields_of(entry).get("profile_key"), dur, executed)
            self._slice(entry.device, start, dur, title, context, args, None, numbers[at])
        for at, before in enumerate(flows):
            for other in before:
                if type(other) is int and 0 <= other < len(numbers):
                    self._out.row("flows", **{"from": numbers[other], "to": numbers[at], "kind": "dependency"})

    # rows

    def _slice(
        self,
        device: str,
        start: int,
        dur: int,
        name: str,
        context: int,
        args: dict[str, Any],
        executed: Any,
        correlation: int = 0,
        until: int = _NEVER,
    ) -> None:
        uses: list[tuple[int, str, int]] = []
        if executed is not None:
            uses = self._uses(executed, until, args)
            if is_copy(executed):
                self._moved(executed, uses, dur, args)
            if uses and not correlation:
                correlation = self._out.new_correlation()
        self._out.row(
            "slices",
            track=self._out.track(device, "host" if is_own_name(device) else kind_of(device), order_of(device), None),
            start=start,
            dur=dur,
            name=name,
            context=context,
            correlation=correlation,
            args=json.dumps(args, separators=(",", ":")) if args else None,
        )
        for buffer, mode, position in uses:
            self._out.row("uses", buffer=buffer, slice=correlation, mode=mode, position=position)

    def _moved(self, executed: Any, uses: list[tuple[int, str, int]], dur: int, args: dict[str, Any]) -> None:
        moved = args.get("bytes") or copy_bytes(executed, (self._buffers.size(buffer) for buffer, _, _ in uses))
        if moved is not None:
            args["bytes"] = moved
            if dur:
                args["bytes_per_s"] = int(moved * 1e9 / dur)

    def _uses(self, executed: Any, until: int, args: dict[str, Any]) -> list[tuple[int, str, int]]:
        arg, begun = executed.arg, ns(executed.ts)
        outputs, inputs = numbers(arg.get("outputs")), numbers(arg.get("inputs"))
        variables = arg.get("var_vals")
        if isinstance(variables, dict) and variables:
            args["variables"] = variables_of(variables)
        uses = []
        told = self._texts.release == REFERENCE and host_clock(executed.device)
        ran = self.runs.get(id(executed))
        known = ran.arguments if ran is not None and len(ran.arguments) == len(arg.get("bufs") or ()) else ()
        for position, key in enumerate(arg.get("bufs") or ()):
            if known:
                buffer = self._buffers.passed(key, known[position], executed.device, begun, until)
            else:
                buffer = self._buffers.used(key, begun, until, told=told)
            if buffer == NONE:
                continue
            written, read = position in outputs, position in inputs
            mode = "readwrite" if written and read else "write" if written else "read"
            uses.append((buffer, mode, min(position, 0x7FFF)))
        return uses
