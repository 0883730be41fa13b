"""One compilation of Dynamo: its context, the halves that Inductor compiles, and which one a record is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from peephole.model.tables import NONE
from peephole.sources.torch.log.book import Book, Context, Step
from peephole.sources.torch.rows import BACKWARD, DYNAMO, FORWARD, GRAPH_CONTEXT, HALF_CONTEXT, INFERENCE, half_name


@dataclass(slots=True)
class Half:
    """What Inductor compiles at once."""

    context: Context
    kind: str
    root: int = NONE
    """The graph that AOTAutograd made for it."""
    names: frozenset[str] = frozenset()
    """Of that graph's instructions."""
    begun: bool = False
    """Whether Inductor has begun with it."""


@dataclass(slots=True)
class Compilation:
    """A compile id. `stages` are the steps that stand for groups of passes, the latest of each name."""

    id: str
    context: Context
    dynamo: Step
    halves: list[Half] = field(default_factory=list)
    half: Half | None = None
    """The one that Inductor is at."""
    stages: dict[tuple[int, str], Step] = field(default_factory=dict)
    joint: int = NONE
    facts: list[dict[str, Any]] = field(default_factory=list)
    """Inputs and symbols, in order."""
    breaks: list[str] = field(default_factory=list)
    place: tuple[str, int] = ("", NONE)
    """File and line of the function."""
    ended: bool = False
    """Whether Dynamo is done with the frame; its backward half may be compiled later."""

    def stage(self, book: Book, context: Context, name: str, anew: bool = False) -> Step:
        """The step of a group of passes; another one when it begins once more."""
        step = self.stages.get((context.id, name))
        if step is None or (anew and step.root != NONE):
            step = self.stages[context.id, name] = book.step(context, name)
        return step

    def new_half(self, book: Book, kind: str, root: int = NONE, names: frozenset[str] = frozenset()) -> Half:
        """Another half of this graph."""
        context = book.context(half_name(self.id, kind), HALF_CONTEXT, self.context.id)
        context.function = self.context.function
        half = Half(context, kind, root, names)
        self.halves.append(half)
        return half

    def enter(self, book: Book, backward: bool, names: frozenset[str] = frozenset()) -> Half:
        """The half that Inductor is at; found when it begins, by what it is called and by its instructions."""
        if self.half is not None:
            return self.half
        trained = any(half.kind != INFERENCE for half in self.halves)
        kind = BACKWARD if backward else FORWARD if trained else INFERENCE
        waiting = [half for half in self.halves if half.kind == kind and not half.begun]
        if backward:
            waiting.reverse()  # of a graph that was split, the last part's backward comes first
        best = max(waiting, key=lambda half: len(half.names & names), default=None)
        self.half = best or self.new_half(book, kind)
        self.half.begun = True
        return self.half


def new_compilation(book: Book, id: str, parent: int) -> Compilation:
    """A compilation that has just begun."""
    context = book.context(id, GRAPH_CONTEXT, parent)
    context.keys = [id]
    return Compilation(id, context, book.step(context, DYNAMO))
