"""The rows of compilations while a log is read: contexts, steps, nodes, decisions, markers, artifacts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from peephole.model.sink import Sink
from peephole.model.tables import GRAPH, NONE
from peephole.sources.torch.log.fx_text import Graph
from peephole.sources.torch.rows import COMPILER, MARKERS

_BATCH: Final = 4096
_BYTES: Final = 16 << 20


@dataclass(slots=True)
class Step:
    """A pass; its id is its own from the beginning, since decisions name it."""

    id: int
    name: str
    depth: int = 0
    root: int = NONE
    after: int = NONE
    start: int = NONE
    dur: int = NONE
    file: str = ""
    line: int = NONE


@dataclass(slots=True)
class Context:
    """A unit of compilation whose rows are written at the end."""

    id: int
    name: str
    kind: str
    parent: int = NONE
    function: str = ""
    keys: list[str] = field(default_factory=list)
    stack: list[list[Any]] = field(default_factory=list)
    """Innermost first."""
    start: int = NONE
    end: int = NONE
    steps: list[Step] = field(default_factory=list)

    def seen(self, time: int) -> None:
        """Something of it happened."""
        if time >= 0:
            self.start = time if self.start < 0 else min(self.start, time)
            self.end = max(self.end, time)


class Book:
    """Numbers everything, and hands rows on in batches."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.contexts: list[Context] = []
        self._numbers = 0
        self._steps = 0
        self._known: dict[bytes, int] = {}
        self._roots: dict[bytes, int] = {}
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._held = 0
        self._ordinals: dict[int, int] = {}

    # contexts and steps

    def context(self, name: str, kind: str, parent: int = NONE) -> Context:
        """A new context."""
        context = Context(self._numbers, name, kind, parent)
        self._numbers += 1
        self.contexts.append(context)
        return context

    def step(self, context: Context, name: str, depth: int = 0) -> Step:
        """A new step at the end of a context."""
        step = Step(self._steps, name, depth)
        self._steps += 1
        context.steps.append(step)
        return step

    def drop(self, group: Context) -> None:
        """Takes the context of the only process out: there is nothing to tell it from."""
        self.contexts.remove(group)
        for context in self.contexts:
            context.parent = NONE if context.parent == group.id else context.parent

    # nodes

    def graph(self, graph: Graph, text: bytes | str = b"") -> int:
        """The root of a graph; of the same text once."""
        data = text.encode() if isinstance(text, str) else text
        key = blake2b(data, digest_size=16).digest()
        if not data or key not in self._roots:
            self._roots[key] = self._graph(graph, None)
        return self._roots[key]

    def over(self, roots: Sequence[int]) -> int:
        """A GRAPH over graphs: a partition."""
        return self._node(GRAPH, None, None, None, None, None, tuple(roots))

    def add(self, op: str, name: str, src: Sequence[int], **facts: str | None) -> int:
        """A node by its fields; the one that is there when there is one."""
        get = facts.get
        return self._node(op, name, get("arg"), get("dtype"), get("shape"), get("metadata"), tuple(src))

    def _graph(self, graph: Graph, name: str | None) -> int:
        parts = {name: self._graph(part, name) for name, part in graph.parts.items()}
        nodes: dict[str, int] = {}
        listed: list[int] = []
        for item in graph.instructions:
            src = tuple(nodes[source] for source in item.src if source in nodes)
            if item.body in parts:
                src += (parts[item.body],)
            nodes[item.name] = self._node(item.op, item.name, item.arg, item.dtype, item.shape, item.metadata, src)
            listed.append(nodes[item.name])
        return self._node(GRAPH, name, None, None, None, None, tuple(listed))

    def _node(
        self,
        op: str,
        name: str | None,
        arg: str | None,
        dtype: str | None,
        shape: str | None,
        metadata: str | None,
        src: tuple[int, ...],
    ) -> int:
        fields = (op, name, arg, dtype, shape, metadata, src)
        key = blake2b(repr(fields).encode("utf-8", "surrogatepass"), digest_size=12).digest()
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self._known)
            self._add("nodes", (number, *fields))
        return number

    # facts

    def decide(self, context: Context, step: Step, kind: str, reason: str, file: str, line: int) -> None:
        """A decision of a step."""
        ordinal = self._ordinals.get(step.id, 0)
        self._ordinals[step.id] = ordinal + 1
        self._add("decisions", (step.id, ordinal, kind, reason, file or None, line))

    def moment(self, context: Context | None, track: int, time: int, kind: str, facts: dict[str, Any]) -> None:
        """A marker on the timeline; nothing without a time."""
        if time >= 0:
            args = {"context": context.name, **facts} if context else facts
            text = json.dumps(args, ensure_ascii=False, default=str)
            self._add("markers", (time, MARKERS.get(kind, kind), "event", track, text))

    def artifact(self, context: int, kind: str, language: str, name: str, content: bytes, step: int = NONE) -> None:
        """Text that belongs to a context."""
        self._held += len(content)
        self._add("artifacts", (context, step, kind, language, name, content))
        if self._held > _BYTES:
            self._flush("artifacts")
            self._held = 0

    def slice(self, track: int, start: int, dur: int, name: str, context: int, args: str | None) -> None:
        """Something that took time."""
        self._add("slices", (track, start, dur, name, context, args))

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= _BATCH:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._rows.pop(table, [])
        if rows:
            self.sink.append(table, dict(zip(_COLUMNS[table], map(list, zip(*rows, strict=True)), strict=True)))

    def finish(self) -> None:
        """Writes what is left, contexts and steps last."""
        for table in list(self._rows):
            self._flush(table)
        if self.contexts:
            self.sink.append("contexts", _columns(_CONTEXT, (_context_row(one) for one in self.contexts)))
        steps = [
            (step.id, context.id, ordinal, *(getattr(step, name) for name in _STEP[3:]))
            for context in self.contexts
            for ordinal, step in enumerate(context.steps)
        ]
        if steps:
            self.sink.append("steps", _columns(_STEP, steps))


_COLUMNS: Final = {
    "nodes": ("id", "op", "name", "arg", "dtype", "shape", "metadata", "src"),
    "decisions": ("step", "ordinal", "kind", "reason", "file", "line"),
    "markers": ("time", "name", "kind", "track", "args"),
    "artifacts": ("context", "step", "kind", "language", "name", "content"),
    "slices": ("track", "start", "dur", "name", "context", "args"),
}
_CONTEXT: Final = ("id", "name", "kind", "parent", "function", "keys", "stack", "start", "dur", "compiler")
_STEP: Final = ("id", "context", "ordinal", "depth", "name", "file", "line", "root", "after", "start", "dur")


def _context_row(context: Context) -> tuple[Any, ...]:
    stack = json.dumps(context.stack, ensure_ascii=False) if context.stack else None
    dur = context.end - context.start if context.start >= 0 else NONE
    keys = json.dumps(context.keys, ensure_ascii=False) if context.keys else None
    head = (context.id, context.name, context.kind, context.parent, context.function or None)
    return (*head, keys, stack, context.start, dur, COMPILER)


def _columns(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
