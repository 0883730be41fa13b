"""Rewrites of a running tinygrad into rows, in rounds. Standard library only.

A round reads the matches before the nodes, so that whatever a match names is there, and writes the nodes before the
matches, so that this holds for the journal too wherever it ends. A step is written when it has ended and it is known
when it was, which the range of its context tells; when one of these has not come by the next round, and then once more.
So is a context, whose name comes with its end.

A context is numbered by its place among all that there ever were, since the program may clear tinygrad's lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from peephole.model.tables import NONE
from peephole.sources.tinygrad.contexts import Contexts, unnamed
from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.live.failures import Failures
from peephole.sources.tinygrad.live.groups import Groups
from peephole.sources.tinygrad.live.node_fields import NodeFields
from peephole.sources.tinygrad.live.node_lines import line_of
from peephole.sources.tinygrad.live.packing import (
    AT_ONCE,
    MATCH,
    MATCH_LENGTH,
    MATCH_RECORD,
    NO_LISTS,
    node_packer,
)
from peephole.sources.tinygrad.programs import program_of
from peephole.sources.tinygrad.steps import Range, error_of, metadata_text, place, step_row, step_times
from peephole.sources.tinygrad.text import Texts, fields_of

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder
    from peephole.record.writer import Writer


class _Step:
    """A step that has not ended, or has not been written yet."""

    __slots__ = ("context", "ended", "held", "number", "ordinal", "taken", "tracked", "written")

    def __init__(self, number: int, context: int, ordinal: int, tracked: Any) -> None:
        self.number = number
        self.context = context
        self.ordinal = ordinal
        self.tracked = tracked
        self.taken = 0
        self.written = False
        self.ended = False
        self.held = False


class _Context:
    """A context that may still get steps, or its name, or the time that it took."""

    __slots__ = ("group", "index", "key", "named", "steps", "waiting", "written")

    def __init__(self, index: int, key: Any, group: list[Any]) -> None:
        self.index = index
        self.key = key
        self.group = group
        self.steps = 0
        self.waiting: list[_Step] = []
        self.written = False
        self.named = False


class LiveRewrites:
    """The cursors into tinygrad's lists of rewrites."""

    def __init__(
        self, recorder: Recorder, ops: ModuleType, contexts: Contexts, texts: Texts, *, skip: bool, timed: bool
    ) -> None:
        self._recorder = recorder
        self._ops = ops
        self._timed = timed
        self._contexts = contexts
        self._texts = texts
        self._open: list[_Context] = []
        self._groups = Groups(ops, behind=skip)
        self._next_step = 0
        self._next_node = 0
        self._missing = NONE
        """A node that was not there in the last round, though later ones were."""
        self._writer: Writer | None = None
        self._numbers: dict[int, int] = {}
        """The numbers of the texts of dtypes, args and tags."""
        self._rules: dict[Any, tuple[int, int]] = {}
        self._parents: dict[int, int] = {}
        self._untimed: dict[int, tuple[_Context, list[_Step]]] = {}
        """Contexts and their steps until the context's own range says when they were."""
        self._times: dict[int, tuple[int, int]] = {}
        self._context_times: dict[int, tuple[int, int]] = {}
        self._held: list[_Step] = []
        self._held_before: list[_Step] = []
        """Steps that have ended, until it is known when they were: most are written once then."""
        self._failures = Failures(ops)
        self._nodes = NodeFields(hidden.recorded(ops, "uop_fields"), packed=False)
        self._number_anew()

    def take(self, *, last: bool) -> None:
        """One round; the last one takes everything."""
        groups = self._groups
        for index, key, group in groups.fresh():
            self._parents[index] = self._contexts.opened(index, key)
            context = _Context(index, key, group)
            self._open.append(context)
            if self._timed:
                self._untimed[index] = context, []
        if not self._open:
            return
        active = {id(step) for step in list(self._ops.active_rewrites)}
        ready: list[tuple[_Context, list[tuple[_Step, int, bool]]]] = []
        for context in self._open:
            context.key = groups.key(context.index, context.key)
            ready.append((context, self._look(context, active, last=last)))
        self._take_nodes()
        still: list[_Context] = []
        for context, steps in ready:
            self._write_context(context, last=last)
            for step, end, ended in steps:
                if ended and step.context in self._untimed:
                    step.held = True
                    self._held.append(step)
                else:
                    self._write_step(step, end, ended=ended)
            if last or (context.named and not context.waiting and not groups.grows(context.index)):
                self._end_context(context)
            else:
                still.append(context)
        self._open = still

    def settle(self, *, everything: bool = False) -> None:
        """Writes the steps of the round before whose times did not come; or all of them, since no round may follow."""
        held, self._held_before, self._held = self._held_before, self._held, []
        if everything:
            held += self._held_before
            self._held_before = []
        for step in held:
            if step.held:
                self._write_ended(step)

    def _look(self, context: _Context, active: set[int], *, last: bool) -> list[tuple[_Step, int, bool]]:
        """The steps to write in this round: each with how many of its matches, and whether it has ended."""
        found: list[tuple[_Step, int, bool]] = []
        waiting: list[_Step] = []
        for step in context.waiting:  # they were seen in the round before: one that is not active has ended
            ended = last or id(step.tracked) not in active
            found.append((step, len(step.tracked.matches), ended))
            if not ended:
                waiting.append(step)
        group = context.group
        count = len(group)
        for ordinal in range(context.steps, count):
            step = _Step(self._next_step, context.index, ordinal, group[ordinal])
            self._next_step += 1
            if (known := self._untimed.get(context.index)) is not None:
                known[1].append(step)
            if last:
                found.append((step, len(step.tracked.matches), True))
            else:
                waiting.append(step)
        context.steps = count
        context.waiting = waiting
        return found

    # contexts and steps

    def _write_context(self, context: _Context, *, last: bool) -> None:
        if context.named:
            return
        # it gets its name when it ends; one that failed keeps the one that it began with
        context.named = unnamed(context.key) is None
        if context.named or not context.written or last:
            context.written = True
            self._context_row(context)
            if context.named:
                self._estimate(context)

    def closed(self, index: int, start: int, dur: int, ranges: list[Range]) -> None:
        """Learns when a context and its steps were, and writes them again with that."""
        context, steps = self._untimed.pop(index, (None, []))
        if context is None:
            return
        self._context_times[index] = (start, dur)
        self._context_row(context)
        for step, time in zip(steps, step_times([step.tracked for step in steps], ranges), strict=True):
            if time is not None:
                self._times[step.number] = time
                if step.ended or step.held:
                    self._write_ended(step)

    def _context_row(self, context: _Context) -> None:
        index = context.index
        row = self._contexts.row(index, context.key, self._parents.get(index, NONE), context.group, self._fields())
        if time := self._context_times.get(index):
            row["start"], row["dur"] = time
        self._recorder.row("contexts", **row)

    def _estimate(self, context: _Context) -> None:
        """Learns a kernel's estimates as soon as it is compiled: it may run before its context is done with."""
        program = program_of(context.key, context.group, self._fields(), self._texts, listed=False)
        if program is not None:
            self._contexts.estimates[context.index] = program.estimates

    def _end_context(self, context: _Context) -> None:
        program = program_of(context.key, context.group, self._fields(), self._texts)
        if program is not None:
            if program.error is not None:
                known = [text for rewrite in context.group if (text := self._failures.traceback(rewrite))]
                program.error = known[0] if known else program.error
            for artifact in program.artifacts(context.index):
                self._recorder.row("artifacts", **artifact)

    def _write_ended(self, step: _Step) -> None:
        step.held = False
        self._write_step(step, len(step.tracked.matches), ended=True)

    def _write_step(self, step: _Step, end: int, *, ended: bool) -> None:
        tracked = step.tracked
        if ended or not step.written:
            raised = end and self._fields().may_be(tracked.matches[-1][1], "REWRITE_ERROR")
            error = error_of(tracked.matches, self._fields(), self._texts) if raised else None
            if error is not None:
                error = self._failures.traceback(tracked) or error
            row = step_row(step.number, step.context, step.ordinal, fields_of(tracked), end, error)
            if time := self._times.pop(step.number, None):
                row["start"], row["dur"] = time
            self._recorder.row("steps", **row)
            step.written = True
            step.ended = ended
        if end > step.taken:
            self._take_matches(step, end)

    # matches and nodes: hundreds of thousands, so packed here

    def _take_matches(self, step: _Step, end: int) -> None:
        writer = self._own_writer()
        number, rules, pack = step.number, self._rules, MATCH_RECORD.pack
        ordinal = step.taken
        parts = []
        for before, after, location, took in step.tracked.matches[ordinal:end]:
            rule = rules.get(location)
            if rule is None:
                file, line = place(location)
                rule = rules[location] = (0 if file is None else max(0, writer.intern(file)), line)
            low, high, dur = after & 0xFFFFFFFF, after >> 32, int(took * 1e9)
            head = MATCH_LENGTH, number, ordinal, before, low, high, 0, MATCH, 0
            parts.append(pack(*head, rule[0], rule[1], dur, NO_LISTS))
            ordinal += 1
            if len(parts) == AT_ONCE:
                writer.records(parts)
                parts = []
        writer.records(parts)
        step.taken = end

    def _take_nodes(self) -> None:
        """All nodes that there are now; they are numbered in the order in which they are entered."""
        fields = self._fields().kept
        number = self._next_node
        if fields.get(number) is None and (number := self._after_missing(fields, number)) == NONE:
            return
        writer = self._own_writer()
        since = self._nodes.since
        last = False
        while not last:
            parts: list[bytes] = []
            for at, node in enumerate(map(fields.get, range(number, number + AT_ONCE)), number):
                if type(node) is bytes and at >= since:
                    parts.append(node)
                    continue
                if node is None:  # the last one, or another thread is about to enter it
                    last = True
                    break
                while (record := self._packed(at)) is None:
                    pass
                parts.append(record)
            writer.records(parts)
            number += len(parts)
            self._next_node = number

    def _packed(self, number: int) -> bytes | None:
        """The record of a node, which is kept where that tells the same; None when a text of it had to be learned."""
        nodes, numbers = self._nodes, self._numbers
        op, dtype, src, arg, tag, said = nodes.whole(number)
        try:
            pack, length, middle, size = nodes.formats[len(src)]
            texts = nodes.ops[id(op)], numbers[id(dtype)], numbers[id(arg)], numbers[id(tag)]
            record = pack(length, number, *texts, middle, nodes.said[id(said)], 0, size, *src)
        except KeyError:
            self._learn(op, dtype, len(src), arg, tag, said)
            return None
        if nodes.packed and number >= nodes.since and nodes.own.keys() >= {id(dtype), id(arg), id(tag)}:
            nodes.kept[number] = record
        return record

    def _fields(self) -> NodeFields:
        """The fields of all nodes; the program may have put another dictionary there that is not hidden from it."""
        kept = hidden.recorded(self._ops, "uop_fields")
        if kept is not self._nodes.kept:
            self._nodes = NodeFields(kept, packed=False)
        return self._nodes

    def _number_anew(self) -> None:
        """Goes on with other numbers of texts: what is kept as bytes by now has the old ones."""
        fields = hidden.of(self._ops, "uop_fields")
        if isinstance(fields, hidden.Fields):
            if fields.nodes is not None:
                fields.nodes.forget()
            kept, counted = fields.kept, repr(getattr(self._ops, "ucount", ""))  # "count(42)"
            since = next(reversed(kept), NONE) + 1
            if counted.startswith("count("):  # whoever gets a number from here on finds none of the old ones
                since = max(since, int(counted[6:-1]))
            self._nodes = NodeFields(kept, packed=True, before=fields.nodes, since=since)
            fields.nodes = self._nodes

    def _after_missing(self, fields: Mapping[int, Any], number: int) -> int:
        """The next node that is there, when one is missing in two rounds though later ones are there; else NONE.

        The program took it out before it was seen.
        """
        last = next(reversed(self._fields().kept), NONE)
        if last <= number or self._missing != number:
            self._missing = number if last > number else NONE
            return NONE
        return min(later for later in list(fields) if later > number)

    def _learn(self, op: Any, dtype: Any, sources: int, arg: Any, tag: Any, said: Any) -> None:
        """Numbers the texts of a node."""
        texts, nodes = self._texts, self._nodes
        if id(op) not in nodes.ops:
            nodes.learn(op, self._number(op, texts.op))
        for value, text_of in ((dtype, texts.dtype), (arg, texts.arg), (tag, texts.arg)):
            if id(value) not in self._numbers:
                self._numbers[id(value)] = number = self._number(value, text_of)
                nodes.learn_value(value, number)
        if id(said) not in nodes.said:
            nodes.learn_metadata(said, self._number(said, lambda value: metadata_text(value, line_of)))
        nodes.formats[sources] = node_packer(sources)

    def _number(self, value: Any, text_of: Callable[[Any], str | None]) -> int:
        text = None if value is None else text_of(value)
        return 0 if text is None else max(0, self._own_writer().intern(text))

    def _own_writer(self) -> Writer:
        """This thread's writer; another thread's numbers its texts anew."""
        writer = self._recorder.slot().writer
        if writer is not self._writer:
            if self._writer is not None:
                self._number_anew()
            self._writer = writer
            self._numbers.clear()
            self._rules.clear()
        return writer
