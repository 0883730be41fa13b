"""Rewrites of a running tinygrad into rows, in rounds. Standard library only.

A round reads the matches before the nodes, so that whatever a match names is there, and writes the nodes before the
matches, so that this holds for the journal too wherever it ends. A step is written when it has ended, or when it has
not ended by the next round and then once more; so is a context, whose name comes with its end.
"""

from __future__ import annotations

import struct
from types import ModuleType
from typing import TYPE_CHECKING, Any

from peephole.model.tables import NONE
from peephole.sources.tinygrad.contexts import Contexts, unnamed
from peephole.sources.tinygrad.packing import MATCH, MATCH_LENGTH, MATCH_RECORD, NODE, Batch, node_length, node_record
from peephole.sources.tinygrad.programs import program_of
from peephole.sources.tinygrad.steps import Range, error_of, metadata_text, place, step_row, step_times
from peephole.sources.tinygrad.text import Texts, fields_of

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder
    from peephole.record.writer import Writer


class _Step:
    """A step that has not ended, or has not been written yet."""

    __slots__ = ("context", "ended", "number", "ordinal", "taken", "tracked", "written")

    def __init__(self, number: int, context: int, ordinal: int, tracked: Any) -> None:
        self.number = number
        self.context = context
        self.ordinal = ordinal
        self.tracked = tracked
        self.taken = 0
        self.written = False
        self.ended = False


class _Context:
    """A context that may still get steps, or its name."""

    __slots__ = ("index", "key", "named", "steps", "waiting", "written")

    def __init__(self, index: int, key: Any) -> None:
        self.index = index
        self.key = key
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
        self._next_context = len(ops.tracked_keys) if skip else 0
        self._next_step = 0
        self._next_node = 0
        self._writer: Writer | None = None
        self._ops_numbers: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._metadata_numbers: dict[int, int] = {}
        self._keep: list[Any] = []
        self._rules: dict[Any, tuple[int, int]] = {}
        self._parents: dict[int, int] = {}
        self._steps_of: dict[int, list[_Step]] = {}
        """The steps of each context until its own range says when they were."""
        self._times: dict[int, tuple[int, int]] = {}
        self._context_times: dict[int, tuple[int, int]] = {}
        self._formats: dict[int, tuple[struct.Struct, int]] = {}

    def take(self, *, last: bool) -> None:
        """One round; the last one takes everything."""
        ops = self._ops
        keys, groups = ops.tracked_keys, ops.tracked_ctxs
        count = min(len(keys), len(groups))
        for index in range(self._next_context, count):
            key = keys[index]
            self._parents[index] = self._contexts.opened(index, key)
            self._open.append(_Context(index, key))
        self._next_context = count
        if not self._open:
            return
        active = {id(step) for step in list(ops.active_rewrites)}
        busy = set(getattr(ops, "active_group", ()))
        ready: list[tuple[_Context, list[tuple[_Step, int, bool]]]] = []
        for context in self._open:
            ready.append((context, self._look(context, groups[context.index], active, last=last)))
        self._take_nodes()
        still: list[_Context] = []
        for context, steps in ready:
            self._write_context(context, keys[context.index], last=last)
            for step, end, ended in steps:
                self._write_step(step, end, ended=ended)
            done = context.named and not context.waiting and context.index not in busy and context.index != count - 1
            if done or last:
                self._end_context(context, keys[context.index], groups[context.index])
            else:
                still.append(context)
        self._open = still

    def _look(
        self, context: _Context, group: list[Any], active: set[int], *, last: bool
    ) -> list[tuple[_Step, int, bool]]:
        """The steps to write in this round: each with how many of its matches, and whether it has ended."""
        found: list[tuple[_Step, int, bool]] = []
        waiting: list[_Step] = []
        for step in context.waiting:  # they were seen in the round before: one that is not active has ended
            ended = last or id(step.tracked) not in active
            found.append((step, len(step.tracked.matches), ended))
            if not ended:
                waiting.append(step)
        for ordinal in range(context.steps, len(group)):
            step = _Step(self._next_step, context.index, ordinal, group[ordinal])
            self._next_step += 1
            if self._timed:
                self._steps_of.setdefault(context.index, []).append(step)
            if last:
                found.append((step, len(step.tracked.matches), True))
            else:
                waiting.append(step)
        context.steps = len(group)
        context.waiting = waiting
        return found

    # contexts and steps

    def _write_context(self, context: _Context, key: Any, *, last: bool) -> None:
        if context.named:
            return
        # it gets its name, which is another object, when it ends; some keep the one that they began with
        context.named = unnamed(key) is None
        if context.named or not context.written or (last and key is not context.key):
            context.written = True
            context.key = key
            self._context_row(context.index, key)
            if context.named:
                self._estimate(context, key)

    def closed(self, context: int, start: int, dur: int, ranges: list[Range]) -> None:
        """Learns when a context and its steps were, and writes them again with that."""
        steps = self._steps_of.pop(context, [])
        self._context_times[context] = (start, dur)
        self._context_row(context, self._ops.tracked_keys[context])
        for step, time in zip(steps, step_times([step.tracked for step in steps], ranges), strict=True):
            if time is not None:
                self._times[step.number] = time
                if step.ended:
                    self._write_step(step, len(step.tracked.matches), ended=True)

    def _context_row(self, index: int, key: Any) -> None:
        row = self._contexts.row(index, key, self._parents.get(index, NONE))
        if time := self._context_times.get(index):
            row["start"], row["dur"] = time
        self._recorder.row("contexts", **row)

    def _estimate(self, context: _Context, key: Any) -> None:
        """Learns a kernel's estimates as soon as it is compiled: it may run before its context is done with."""
        program = program_of(
            key, self._ops.tracked_ctxs[context.index], self._ops.uop_fields, self._texts, listed=False
        )
        if program is not None:
            self._contexts.estimates[context.index] = program.estimates

    def _end_context(self, context: _Context, key: Any, group: list[Any]) -> None:
        program = program_of(key, group, self._ops.uop_fields, self._texts)
        if program is not None:
            for artifact in program.artifacts(context.index):
                self._recorder.row("artifacts", **artifact)

    def _write_step(self, step: _Step, end: int, *, ended: bool) -> None:
        tracked = step.tracked
        if ended or not step.written:
            error = error_of(tracked.matches, self._ops.uop_fields, self._texts) if end else None
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
        batch = Batch(writer)
        number, rules, add, pack = step.number, self._rules, batch.add, MATCH_RECORD.pack
        ordinal = step.taken
        for match in step.tracked.matches[ordinal:end]:
            location = match[2]
            rule = rules.get(location)
            if rule is None:
                file, line = place(location)
                rule = rules[location] = (0 if file is None else max(0, writer.intern(file)), line)
            before, after, took = match[0], match[1], int(match[3] * 1e9)
            low, high = after & 0xFFFFFFFF, after >> 32
            add(pack(MATCH_LENGTH, number, ordinal, before, low, high, 0, MATCH, 0, rule[0], rule[1], took))
            ordinal += 1
        batch.write()
        step.taken = end

    def _take_nodes(self) -> None:
        """All nodes that there are now; they are numbered in the order in which they are entered."""
        fields = self._ops.uop_fields
        number, end = self._next_node, len(fields)
        if number == end:
            return
        writer = self._own_writer()
        batch = Batch(writer)
        add, numbers, text = batch.add, self._numbers, self._text_number
        op_numbers, formats = self._ops_numbers, self._formats
        texts = self._texts
        while number < end:
            node = fields.get(number)
            if node is None:  # another thread is between numbering and entering it
                break
            op, dtype, src, arg, tag = node[:5]
            op_text = op_numbers.get(id(op))
            if op_text is None:
                op_text = text(op, texts.op, op_numbers)
            dtype_text = numbers.get(id(dtype))
            if dtype_text is None:
                dtype_text = text(dtype, texts.dtype, numbers)
            arg_text: int | None = 0
            if arg is not None:
                arg_text = numbers.get(id(arg))
                if arg_text is None:
                    arg_text = text(arg, texts.arg, numbers)
            tag_text: int | None = 0
            if tag is not None:
                tag_text = numbers.get(id(tag))
                if tag_text is None:
                    tag_text = text(tag, texts.arg, numbers)
            meta_text = self._metadata(node[5]) if len(node) > 5 and node[5] is not None else 0
            form = formats.get(len(src))
            if form is None:
                form = formats[len(src)] = (node_record(len(src)), node_length(len(src)))
            add(
                form[0].pack(
                    form[1],
                    number,
                    op_text,
                    dtype_text,
                    arg_text,
                    tag_text,
                    0,
                    0,
                    NODE,
                    0,
                    meta_text,
                    len(src) * 8,
                    *src,
                )
            )
            number += 1
        batch.write()
        self._next_node = number

    def _text_number(self, value: Any, text_of: Any, numbers: dict[int, int]) -> int:
        """The number of an object's text, made once; what is in `uop_fields` stays alive, and so its id is its own."""
        text = text_of(value)
        number = numbers[id(value)] = 0 if text is None else max(0, self._own_writer().intern(text))
        return number

    def _metadata(self, value: Any) -> int:
        number = self._metadata_numbers.get(id(value))
        if number is None:
            self._keep.append(value)
            number = self._text_number(value, metadata_text, self._metadata_numbers)
        return number

    def _own_writer(self) -> Writer:
        """This thread's writer; another thread's numbers its texts anew."""
        writer = self._recorder.slot().writer
        if writer is not self._writer:
            self._writer = writer
            for numbers in (self._ops_numbers, self._numbers, self._metadata_numbers, self._rules):
                numbers.clear()
        return writer
