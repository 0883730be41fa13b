"""A compiler of the tests' own: passes that edit a list of named instructions in place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from peephole.store.writer import CaptureWriter


@dataclass(frozen=True)
class Instr:
    """One instruction; `src` are names, `body` the graph that it calls."""

    name: str
    op: str
    src: tuple[str, ...] = ()
    arg: str | None = None
    shape: str | None = None
    metadata: str | None = None
    body: Graph | None = None


@dataclass(frozen=True)
class Graph:
    """Instructions in order."""

    name: str | None
    items: tuple[Instr, ...]

    def __iter__(self) -> Any:
        return iter(self.items)

    def named(self, name: str) -> Instr:
        return next(item for item in self.items if item.name == name)

    def without(self, *names: str) -> Graph:
        return replace(self, items=tuple(item for item in self.items if item.name not in names))

    def put(self, item: Instr, before: str | None = None) -> Graph:
        """With an instruction in place of the one of its name, or in front of another, or at the end."""
        if any(own.name == item.name for own in self.items):
            return replace(self, items=tuple(item if own.name == item.name else own for own in self.items))
        at = next((i for i, own in enumerate(self.items) if own.name == before), len(self.items))
        return replace(self, items=(*self.items[:at], item, *self.items[at:]))

    def rewired(self, old: str, new: str, but: Iterable[str] = ()) -> Graph:
        """Whoever reads `old` reads `new`."""
        but = {new, *but}
        items = (
            item if item.name in but else replace(item, src=tuple(new if s == old else s for s in item.src))
            for item in self.items
        )
        return replace(self, items=tuple(items))

    def contents(self) -> dict[str, tuple[str, str | None, tuple[str, ...]]]:
        return {item.name: (item.op, item.arg, item.src) for item in self.items}


@dataclass
class Match:
    """A rule: names of what it hangs on and of what it took and put, each as it was, or is, in a graph."""

    before: tuple[Graph, str]
    after: tuple[Graph, str] | None = None
    removed: list[tuple[Graph, str]] = field(default_factory=list)
    added: list[tuple[Graph, str]] = field(default_factory=list)
    line: int = 1


class Book:
    """The nodes of a capture: equal ones are one."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}

    def node(self, **fields: Any) -> int:
        key = tuple(sorted((name, tuple(v) if isinstance(v, list) else v) for name, v in fields.items()))
        if key not in self._known:
            self._known[key] = len(self.rows)
            self.rows.append({"id": len(self.rows), **fields})
        return self._known[key]

    def graph(self, graph: Graph, out: dict[str, int] | None = None) -> int:
        """The root of a graph; `out` gets the node of each instruction."""
        nodes: dict[str, int] = {} if out is None else out
        for item in graph:
            self._instruction(graph, item.name, nodes)
        listed = [nodes[item.name] for item in graph]
        return self.node(op="GRAPH", name=graph.name, src=listed, arg=None, shape=None, metadata=None)

    def partition(self, graphs: Iterable[Graph]) -> int:
        inner = [self.graph(graph) for graph in graphs]
        return self.node(op="GRAPH", name=None, src=inner, arg=None, shape=None, metadata=None)

    def at(self, graph: Graph, name: str) -> int:
        nodes: dict[str, int] = {}
        self._instruction(graph, name, nodes)
        return nodes[name]

    def _instruction(self, graph: Graph, name: str, nodes: dict[str, int]) -> None:
        known = {item.name: item for item in graph}
        stack = [name]
        while stack:
            item = known[stack[-1]]
            waiting = [s for s in item.src if s not in nodes]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            src = [nodes[s] for s in item.src]
            if item.body is not None:
                src.append(self.graph(item.body))
            facts = {"arg": item.arg, "shape": item.shape, "metadata": item.metadata}
            nodes[item.name] = self.node(op=item.op, name=item.name, src=src, **facts)


@dataclass
class Pass:
    """A step: the graph that went in, the one that came out (None: not recorded), the matches."""

    name: str
    before: int
    after: int = -1
    matches: list[Match] = field(default_factory=list)
    decisions: list[tuple[str, int, int, str]] = field(default_factory=list)


def write(path: Path, book: Book, passes: list[Pass], kind: str = "graph") -> Path:
    """A capture with one context."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("step", "ordinal", "before", "after", "removed", "added", "line")
    }
    decisions: dict[str, list[Any]] = {
        name: [] for name in ("step", "ordinal", "kind", "a", "b", "reason", "file", "line")
    }
    for step, one in enumerate(passes):
        for ordinal, match in enumerate(one.matches):
            rows["step"].append(step)
            rows["ordinal"].append(ordinal)
            rows["before"].append(book.at(*match.before))
            rows["after"].append(-1 if match.after is None else book.at(*match.after))
            rows["removed"].append([book.at(*at) for at in match.removed])
            rows["added"].append([book.at(*at) for at in match.added])
            rows["line"].append(match.line)
        for ordinal, (what, a, b, reason) in enumerate(one.decisions):
            values = (step, ordinal, what, a, b, reason, "fusion.py", 7)
            for name, value in zip(decisions, values, strict=True):
                decisions[name].append(value)
    with CaptureWriter(path) as writer:
        writer.append("contexts", {"id": [0], "name": ["main"], "kind": [kind]})
        columns = ("id", "op", "name", "src", "arg", "shape", "metadata")
        writer.append("nodes", {name: [row[name] for row in book.rows] for name in columns})
        steps = range(len(passes))
        writer.append(
            "steps",
            {
                "id": list(steps),
                "context": [0] * len(passes),
                "ordinal": list(steps),
                "name": [one.name for one in passes],
                "file": ["passes.py"] * len(passes),
                "line": [10 + i for i in steps],
                "root": [one.before for one in passes],
                "after": [one.after for one in passes],
                "matches": [len(one.matches) for one in passes],
            },
        )
        if rows["step"]:
            writer.append("matches", {**rows, "file": ["rules.py"] * len(rows["step"])})
        if decisions["step"]:
            writer.append("decisions", decisions)
    return path
