"""rewrites.pkl into rows: contexts, steps, matches and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.sink import Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.pickles.reader import Loaded
from peephole.sources.tinygrad.contexts import Contexts
from peephole.sources.tinygrad.linears import Ran, calls_of_runs
from peephole.sources.tinygrad.pickle import release
from peephole.sources.tinygrad.pickle.columns import Columns
from peephole.sources.tinygrad.programs import Program, program_of, takes_of
from peephole.sources.tinygrad.steps import Range, error_of, metadata_text, place, step_row, step_times
from peephole.sources.tinygrad.text import Texts, fields_of

_CHUNK = 500_000
_OPS_OF_ARGS: Final = {
    "ConstFloat": ("CONST",),
    "InvalidType": ("CONST",),
    "KernelInfo": ("SINK",),
    "ProgramInfo": ("PROGRAM",),
    "CallInfo": ("CALL", "FUNCTION"),
    "BufferizeOpts": ("STAGE", "BUFFERIZE"),
}
"""Classes of args that only these ops have, in every release: ops are pickled by numbers, which differ."""


class Trace:
    """A pickled trace, its parts checked as far as the rows rely on them."""

    def __init__(self, loaded: Loaded, where: str) -> None:
        value = loaded.value
        # 0.11 pickled a bare tuple
        parts = (
            value
            if type(value) is tuple
            else tuple(fields_of(value).get(k) for k in ("keys", "rewrites", "uop_fields"))
        )
        if len(parts) != 3 or not _is_list(parts[0]) or not _is_list(parts[1]) or not isinstance(parts[2], dict):
            raise CaptureError(f"{where} holds no rewrites of tinygrad.")
        self.keys: list[Any] = [key for key in parts[0] if hasattr(key, "display_name") and hasattr(key, "keys")]
        self.rewrites: list[list[Any]] = [steps if _is_list(steps) else [] for steps in parts[1]]
        self.fields: dict[int, tuple[Any, ...]] = parts[2]
        self.size = loaded.size
        _check_shared(self.rewrites, where)
        _check_shared([fields_of(step).get("matches") for steps in self.rewrites for step in steps], where)
        if len(self.keys) != len(self.rewrites):
            raise CaptureError(f"{where} holds {len(self.keys)} names for {len(self.rewrites)} groups of rewrites.")
        self.release = release.of_rewrites(self.rewrites, loaded.classes)


class Rewrites:
    """Writes a trace's rows; contexts and steps last, since the profile says when they were."""

    def __init__(self, trace: Trace, sink: Sink, texts: Texts) -> None:
        self.contexts = Contexts()
        self._trace = trace
        self._sink = sink
        self._texts = texts
        self._rows = Columns(sink)
        self._contexts: list[dict[str, Any]] = []
        self._steps: list[list[dict[str, Any]]] = []
        self._kernels: dict[tuple[int, ...], int] = {}
        matches = Matches()
        number = 0
        for index, (key, group) in enumerate(zip(trace.keys, trace.rewrites, strict=True)):
            parent = self.contexts.opened(index, key)
            self._contexts.append(self.contexts.row(index, key, parent, group, trace.fields))
            steps: list[dict[str, Any]] = []
            for ordinal, step in enumerate(group):
                fields = fields_of(step)
                found = fields.get("matches")
                count = matches.add(number, found if _is_list(found) else ())
                error = error_of(found, trace.fields, texts) if count else None
                steps.append(step_row(number, index, ordinal, fields, count, error))
                number += 1
            self._steps.append(steps)
            self._program(index, program_of(key, group, trace.fields, texts))
        sink.append("matches", matches.columns())
        if matches.broken:
            sink.problem("a match is not made of two nodes and a place", matches.broken)
        _check_sources(trace)
        for columns in _nodes(trace.fields, sink, texts):
            sink.append("nodes", columns)
        if astray := _misnamed(trace.fields, texts):
            sink.problem(
                f"operations are numbered otherwise than in tinygrad {texts.release}, so that their names and what is "
                "told of them may be wrong; `peephole run` records them by name",
                astray,
            )

    def runs(self, events: Sequence[Any]) -> dict[int, Ran]:
        """What the exec points among a run's events ran, by their `id`."""
        parents = [row["parent"] for row in self._contexts]
        trace = self._trace
        return calls_of_runs(events, trace.rewrites, parents, trace.fields, self._kernels, self._texts)

    def closed(self, context: int, start: int, dur: int, ranges: list[Range]) -> None:
        """Learns when a context and its steps were."""
        self._contexts[context].update(start=start, dur=dur)
        times = step_times(self._trace.rewrites[context], ranges)
        for row, time in zip(self._steps[context], times, strict=True):
            if time is not None:
                row.update(start=time[0], dur=time[1])

    def finish(self) -> None:
        """Writes contexts and steps."""
        for row in self._contexts:
            self._rows.row("contexts", **row)
        for steps in self._steps:
            for row in steps:
                self._rows.row("steps", **row)
        self._rows.flush()

    def _program(self, context: int, program: Program | None) -> None:
        if program is not None:
            self.contexts.estimates[context] = program.estimates
            if program.parts:
                self._kernels.setdefault(program.parts, context)
            takes = takes_of(program, self._trace.fields, self._texts)
            if takes is not None:
                self.contexts.takes[context] = takes
            for artifact in program.artifacts(context):
                self._rows.row("artifacts", **artifact)


class Matches:
    """Columns of matches; file and line are looked up once for each rule."""

    def __init__(self) -> None:
        self.step: list[int] = []
        self.ordinal: list[int] = []
        self.before: list[int] = []
        self.after: list[int] = []
        self.dur: list[int] = []
        self.rule: list[int] = []
        self.rules: dict[Any, int] = {}
        self.broken = 0

    def add(self, step: int, found: Iterable[Any]) -> int:
        """Takes a step's matches; gives how many there were."""
        ordinal = 0
        rules = self.rules
        for match in found:
            try:
                before, after, location = match[0], match[1], match[2]
                seconds = match[3] if len(match) > 3 else None
                if type(before) is not int or type(after) is not int:
                    raise TypeError
                rule = place(location)
                dur = int(seconds * 1e9) if isinstance(seconds, (float, int)) else NONE
            except (TypeError, IndexError, KeyError, ValueError, OverflowError):
                self.broken += 1
                continue
            code = rules.get(rule)
            if code is None:
                code = rules[rule] = len(rules)
            self.step.append(step)
            self.ordinal.append(ordinal)
            self.before.append(before)
            self.after.append(after)
            self.dur.append(dur)
            self.rule.append(code)
            ordinal += 1
        return ordinal

    def columns(self) -> dict[str, Any]:
        """What the sink takes."""
        files: dict[str, int] = {}
        file_of = [-1 if file is None else files.setdefault(file, len(files)) for file, _ in self.rules]
        line_of = [line for _, line in self.rules]
        rule = np.array(self.rule, np.int64)
        return {
            "step": numbers(self.step),
            "ordinal": numbers(self.ordinal),
            "before": numbers(self.before),
            "after": numbers(self.after),
            "file": Strings(numbers(file_of)[rule], list(files)),
            "line": numbers(line_of)[rule],
            "dur": numbers(self.dur),
        }


def numbers(values: list[int]) -> NDArray[np.int64]:
    """Numbers as a column; CaptureError when one of them is none, or larger than any that tinygrad writes."""
    if set(map(type, values)) <= {int}:
        with suppress(OverflowError):
            return np.array(values, np.int64)
    raise CaptureError("The rewrites name a node or a line by something that is no number: the file is damaged.")


def _nodes(fields: dict[int, Any], sink: Sink, texts: Texts) -> Iterator[dict[str, Any]]:
    """The columns of all nodes, in parts."""
    items = iter(fields.items())
    while part := list(islice(items, _CHUNK)):
        whole = [item for item in part if _is_node(*item)]
        if len(whole) < len(part):
            sink.problem("a node is not made of op, dtype, sources, arg and tag", len(part) - len(whole))
        nodes = [node for _, node in whole]
        sources = list(chain.from_iterable(node[2] for node in nodes))
        yield {
            "id": numbers([number for number, _ in whole]),
            "src": (np.cumsum([0, *(len(node[2]) for node in nodes)], dtype=np.int64), numbers(sources)),
            "op": _texts([node[0] for node in nodes], texts.op),
            "dtype": _texts([node[1] for node in nodes], texts.dtype),
            "arg": _texts([node[3] for node in nodes], texts.arg),
            "tag": _texts([node[4] for node in nodes], texts.arg),
            "metadata": _texts([node[5] if len(node) > 5 else None for node in nodes], metadata_text),
        }


def _misnamed(fields: dict[int, Any], texts: Texts) -> int:
    """How many nodes have an arg that nodes of their name never have: the pickle is of a checkout, not of a release."""
    expected: dict[type, tuple[str, ...] | None] = {}
    count = 0
    for number, node in fields.items():
        if _is_node(number, node):
            kind = type(node[3])
            if kind not in expected:
                expected[kind] = _OPS_OF_ARGS.get(kind.__name__)
            ops = expected[kind]
            count += ops is not None and texts.op(node[0]) not in ops
    return count


def _is_node(number: Any, node: Any) -> bool:
    return type(number) is int and type(node) is tuple and len(node) >= 5 and type(node[2]) is tuple


def _texts(values: list[Any], text_of: Callable[[Any], str | None]) -> Strings:
    """A text column: few objects are shared by many nodes, so each object's text is made once."""
    places, firsts, codes = np.unique(np.array(list(map(id, values)), np.int64), return_index=True, return_inverse=True)
    known: dict[str, int] = {}
    own = np.empty(len(places), np.int32)
    for at, first in enumerate(firsts.tolist()):
        value = values[first]
        text = None if value is None else text_of(value)
        own[at] = -1 if text is None else known.setdefault(text, len(known))
    return Strings(own[codes], list(known))


def _check_sources(trace: Trace) -> None:
    """CaptureError when the nodes have more sources than the file has bytes: many name one long list of them."""
    count = sum(len(node[2]) for number, node in trace.fields.items() if _is_node(number, node))
    if count > trace.size + 1_000_000:
        raise CaptureError(
            f"The rewrites have {count:,} sources of nodes in {trace.size:,} bytes: the file is damaged."
        )


def _check_shared(lists: list[Any], where: str) -> None:
    """CaptureError when a list stands in several places: tinygrad writes each once, and a few bytes name it again."""
    long = [id(value) for value in lists if _is_list(value) and value]
    if again := len(long) - len(set(long)):
        raise CaptureError(f"{where} has the same list of rewrites in {again + 1} places: it is damaged.")


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return type(value) is list
