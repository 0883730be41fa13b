"""FX graphs as they are at a moment, written as nodes. Standard library only.

A node is written once for each content: name, target, arguments, type, sources. What is known about an FX node is kept
as long as FX has not replaced its arguments, so a graph that did not change costs one look per node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from peephole.model.tables import GRAPH
from peephole.record.recorder import Recorder
from peephole.sources.torch.live.node_texts import Arguments, Origins, op_text, type_of
from peephole.sources.torch.rows import GET_ATTR, PLACEHOLDER


class _Known:
    """What an FX node was when it was written last."""

    __slots__ = ("args", "body", "id", "kwargs", "name", "sources", "target", "value")

    def __init__(self, node: Any, value: Any, sources: list[Any], number: int, body: bool) -> None:
        self.args, self.kwargs = node._args, node._kwargs
        self.target, self.name = node.target, node.name
        self.value = value
        self.sources = sources
        self.id = number
        self.body = body
        """It stands for a graph, which may have changed."""

    def holds(self, node: Any) -> bool:
        return (
            self.args is node._args
            and self.kwargs is node._kwargs
            and self.target is node.target
            and self.name == node.name
        )


class FxNodes:
    """The nodes that a recording has written, by content."""

    def __init__(self, recorder: Recorder, home: str) -> None:
        self.origins = Origins(home)
        self._ids: dict[tuple[Any, ...], int] = {}
        self._known: dict[Any, _Known] = {}
        self._altered: set[Any] = set()
        """FX nodes that were written anew since their graph was last seen as a whole."""
        self._dtypes: dict[Any, str] = {}
        self.inherited: dict[str, str] = {}
        """Of the current compilation: where nodes come from that rules put in the place of others, by name."""
        self.begin(recorder)

    def begin(self, recorder: Recorder) -> None:
        """Writes into another recording from now on."""
        self.recorder = recorder
        self.reset()
        recorder.on_fork(self.reset)

    def reset(self) -> None:
        """Forgets all: what was written so far is in another journal."""
        self._ids.clear()
        self.forget()

    def forget(self) -> None:
        """Lets go of the FX nodes, not of what was written."""
        self._known.clear()
        self._altered.clear()

    def add(self, *, op: str, src: list[int], **fields: Any) -> int:
        """The number of a node of that content."""
        key = (op, tuple(src), *(fields.get(name) for name in _FIELDS))
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = self.recorder.new_id()
            self.recorder.row("nodes", id=number, op=op, src=src, **fields)
        return number

    def graph(self, graph: Any, name: str) -> int:
        """The number of a graph as it is now."""
        known = self._known
        altered = {node for node in self._altered if node.graph is graph}
        changed = set(altered)
        ids = []
        for node in graph.nodes:
            own = known.get(node)
            if (
                own is not None
                and own.args is node._args
                and own.kwargs is node._kwargs
                and own.target is node.target
                and own.name == node.name
                and own.value is _value(node)
                and not own.body
                and (not changed or changed.isdisjoint(own.sources))
            ):
                ids.append(own.id)
                continue
            before = -1 if own is None else own.id
            number = self._write(node)
            if number != before:
                changed.add(node)
            ids.append(number)
        self._altered -= altered
        return self.add(op=GRAPH, name=name, src=ids)

    def of(self, node: Any) -> int:
        """The number of one FX node as it is now; what it reads may be as it was when it was last seen."""
        own = self._known.get(node)
        if own is not None and own.holds(node):
            return own.id
        number = self._write(node)
        if own is not None and number != own.id:
            self._altered.add(node)
        return number

    def is_same(self, node: Any) -> bool:
        """Whether an FX node is as it was when it was last seen."""
        own = self._known.get(node)
        return own is not None and own.holds(node)

    def seen(self, node: Any) -> int:
        """The number of an FX node as it was when it was last seen; -1 when it never was."""
        own = self._known.get(node)
        return -1 if own is None else own.id

    def _write(self, node: Any) -> int:
        stack = [node]
        while stack:  # sources first; no recursion, graphs are deep
            top = stack[-1]
            own = self._known.get(top)
            if top is not node and own is not None and own.holds(top):
                stack.pop()
                continue
            arguments = Arguments(type(top))
            text = arguments.text(top._args, top._kwargs)
            waiting = [s for s in dict.fromkeys(arguments.sources) if s not in self._known and s not in stack]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            sources = [self._known[s].id for s in arguments.sources if s in self._known]
            self._put(top, text, arguments.sources, sources)
        return self._known[node].id

    def _put(self, node: Any, text: str | None, sources: list[Any], ids: list[int]) -> None:
        value = _value(node)
        dtype, shape = type_of(value, self._dtypes)
        op = op_text(node.op, node.target)
        if op in (PLACEHOLDER, GET_ATTR):
            text = None if str(node.target) == node.name else str(node.target)
            ids = [*ids, *self._body(node)]
        metadata = self.origins.metadata(node.meta)
        if metadata is None or "@" not in metadata:
            metadata = self.inherited.get(node.name, metadata)
        number = self.add(op=op, src=ids, name=node.name, arg=text, dtype=dtype, shape=shape, metadata=metadata)
        self._known[node] = _Known(node, value, sources, number, len(ids) > len(sources))

    def _body(self, node: Any) -> Iterator[int]:
        """The graph of a module that an attribute stands for: what a higher-order operation calls."""
        if node.op != GET_ATTR:
            return
        owner = node.graph.owning_module
        for part in str(node.target).split("."):
            owner = getattr(owner, part, None)
        inner = getattr(owner, "graph", None)
        if inner is not None and hasattr(inner, "nodes") and hasattr(inner, "owning_module"):
            yield self.graph(inner, str(node.target))


_FIELDS = ("name", "arg", "dtype", "shape", "metadata", "tag")


def _value(node: Any) -> Any:
    meta = node.meta
    value = meta.get("val")
    return meta.get("example_value") if value is None else value
