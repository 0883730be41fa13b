"""Contexts and steps of what torch compiles, as they open and close. Standard library only.

A compile id of Dynamo is a context, what Inductor compiles at once is one below it. Steps are kept on a stack for each
thread: a backward half is compiled by the thread that first needs it.
"""

from __future__ import annotations

import sys
import threading
from time import perf_counter_ns
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.record import process
from peephole.record.recorder import Recorder
from peephole.record.rows import json_text
from peephole.sources.torch.live.fx_nodes import FxNodes
from peephole.sources.torch.rows import (
    COMPILER,
    DYNAMO,
    GRAPH_CONTEXT,
    HALF_CONTEXT,
    RANK_CONTEXT,
    half_name,
    rank_name,
)

NO_ID: Final = "-"
"""The compile id of what is compiled without Dynamo, as other tools write it."""


class Step:
    """A pass, open until its graph has come out."""

    __slots__ = (
        "anchor",
        "context",
        "decisions",
        "depth",
        "file",
        "graph",
        "id",
        "is_stage",
        "line",
        "matches",
        "name",
        "ordinal",
        "root",
        "start",
    )

    def __init__(self, context: Context, name: str, depth: int) -> None:
        self.context = context
        self.name = name
        self.depth = depth
        self.id = context.recorder.new_id()
        self.ordinal = context.steps
        context.steps += 1
        self.start = perf_counter_ns()
        self.file: str | None = None
        self.line = NONE
        self.root = NONE
        self.matches = 0
        self.decisions = 0
        self.graph: Any = None
        """The FX graph that it is about."""
        self.is_stage = False
        """Whether it does nothing itself: what happens between the passes inside is a step without a name."""
        self.anchor = NONE
        """Of a stage, the graph that the last pass inside left."""

    def write(self, root: int, after: int, dur: int = NONE, error: str | None = None) -> None:
        """Writes its row; the last one counts."""
        self.context.recorder.row(
            "steps",
            id=self.id,
            context=self.context.id,
            ordinal=self.ordinal,
            depth=self.depth,
            name=self.name,
            file=self.file,
            line=self.line,
            root=root,
            after=after,
            start=self.start,
            dur=dur,
            matches=self.matches,
            error=error,
        )

    def decide(self, kind: str, reason: str, place: tuple[str | None, int], a: int = NONE, b: int = NONE) -> None:
        """Writes what it decided."""
        self.context.recorder.row(
            "decisions",
            step=self.id,
            ordinal=self.decisions,
            kind=kind,
            a=a,
            b=b,
            reason=reason,
            file=place[0],
            line=place[1],
        )
        self.decisions += 1


class Context:
    """A compilation that is open: its row, the number of its next step, the graph as it was last seen."""

    def __init__(self, recorder: Recorder, row: dict[str, Any]) -> None:
        self.recorder = recorder
        self.row = row
        self.id: int = row["id"]
        self.start = perf_counter_ns()
        row.setdefault("start", self.start)
        self.steps = 0
        self.last = NONE
        """Root of the graph that its last step at depth 0 left."""
        self.dynamo: Step | None = None
        """The step of Dynamo's graph."""
        self.parts: list[Context] = []
        """Where one compile id has several graphs: DDP splits them."""
        self.halves: dict[str, tuple[str, ...]] = {}
        """Names of the inputs of each half that the partitioner made."""
        self.inherited: dict[str, str] = {}
        """Where nodes come from that rules made without saying it."""
        self.traced: dict[str, int] = {}
        """Nodes by name of the graph that AOTAutograd traces."""
        self.passed = False
        """Whether passes over a graph have begun."""
        recorder.row("contexts", **row)

    def close(self) -> None:
        """Writes how long it took, and what is known of it by now."""
        dur = perf_counter_ns() - self.start
        self.recorder.row("contexts", **self.row, dur=dur)
        depth = 0 if self.row["kind"] == GRAPH_CONTEXT else 1
        self.recorder.slice(compile_track(self.recorder), self.start, dur, self.row["name"], depth, self.id)


def compile_track(recorder: Recorder) -> int:
    """The track that shows compilation, one for each thread that compiles."""
    thread = threading.current_thread()
    own = "" if thread is threading.main_thread() else f" {thread.native_id}"
    return recorder.track(f"torch.compile{own}", "host")


class Compilations:
    """All contexts of this process."""

    def __init__(self, recorder: Recorder, nodes: FxNodes) -> None:
        self.nodes = nodes
        self._graphs: dict[str, Context] = {}
        self.begin_recording(recorder)

    def begin_recording(self, recorder: Recorder) -> None:
        """Writes into another recording from now on."""
        self.recorder = recorder
        self._reset()
        recorder.on_fork(self._reset)

    def _reset(self) -> None:
        self._graphs.clear()
        self._local = threading.local()
        self._over: int | None = None

    # which compilation

    def compile_id(self) -> str:
        """The compile id that torch is at, as it prints it."""
        guards = sys.modules.get("torch._guards")
        current = None if guards is None else guards.CompileContext.current_compile_id()
        return NO_ID if current is None else str(current)

    def graph(self, compile_id: str | None = None) -> Context:
        """The context of a compile id, the current one unless it is given; opened when it is first asked for."""
        own = compile_id or self.compile_id()
        found = self._graphs.get(own)
        if found is None:
            found = self._graphs[own] = self._open(own, GRAPH_CONTEXT, self._of_rank(), [own])
        self.nodes.inherited = found.inherited
        return found.parts[-1] if found.parts else found

    def _of_rank(self) -> int:
        """The context over all of this process where it is one of several ranks."""
        if self._over is None:
            self._over, rank = NONE, process.rank()
            if rank >= 0:
                self._over = self.recorder.new_id()
                row = {"name": rank_name(rank), "kind": RANK_CONTEXT, "compiler": COMPILER}
                self.recorder.row("contexts", id=self._over, start=perf_counter_ns(), **row)
        return self._over

    def known(self, compile_id: str) -> Context | None:
        """The first context of a compile id, if there is one."""
        return self._graphs.get(compile_id)

    def begin_frame(self, compile_id: str) -> None:
        """Dynamo begins with a frame: ids come again after `torch._dynamo.reset()`, and are other contexts then."""
        self._graphs.pop(compile_id, None)

    def part(self) -> Context:
        """A new context for a further graph of the current compile id."""
        whole = self.graph()
        first = self._graphs[whole.row["name"]]
        if not first.parts:
            first.parts.append(first)
        part = self._open(first.row["name"], GRAPH_CONTEXT, first.id, [first.row["name"]])
        first.parts.append(part)
        return part

    def half(self, half: str, inputs: tuple[str, ...]) -> Context:
        """A new context for a half; it belongs to the graph whose partition gave it these inputs."""
        own = self.compile_id()
        parent = self.graph(own)
        for part in self._graphs[own].parts:
            if part.halves.get(half) == inputs:
                parent = part
                break
        return self._open(half_name(own, half), HALF_CONTEXT, parent.id, [])

    def _open(self, name: str, kind: str, parent: int, keys: list[str]) -> Context:
        row = {
            "id": self.recorder.new_id(),
            "name": name,
            "kind": kind,
            "parent": parent,
            "keys": json_text(keys) if keys else None,
            "compiler": COMPILER,
        }
        return Context(self.recorder, row)

    # where this thread is

    @property
    def _stack(self) -> list[Any]:
        try:
            found: list[Any] = self._local.stack
        except AttributeError:
            found = self._local.stack = []
        return found

    def enter(self, context: Context) -> None:
        """Steps of this thread go into that context until `leave`."""
        self._stack.append(context)

    def leave(self, context: Context) -> None:
        """Ends what `enter` began, and steps that were left open in it."""
        stack = self._stack
        if context in stack:
            while stack.pop() is not context:
                pass

    def context(self) -> Context:
        """The context that steps go into now."""
        for item in reversed(self._stack):
            if isinstance(item, Context):
                return item
        return self.graph()

    def step(self) -> Step | None:
        """The innermost open step of this thread in its context."""
        top = self._stack[-1] if self._stack else None
        return top if isinstance(top, Step) else None

    # steps

    def is_open(self, step: Step) -> bool:
        """Whether a step of this thread has not ended."""
        return step in self._stack

    def begin(
        self, name: str, root: int, place: tuple[str | None, int] = (None, NONE), graph: Any = None, stage: bool = False
    ) -> Step:
        """Opens a step with the graph that goes in. What changed since the last one is a step without a name."""
        outer = self.step()
        context = self.context() if outer is None else outer.context
        depth = 0 if outer is None else outer.depth + 1
        before = context.last if outer is None else outer.anchor if outer.is_stage and outer.graph is graph else NONE
        if NONE not in (before, root) and before != root:
            Step(context, "", depth).write(before, root)
        step = Step(context, name, depth)
        step.root = step.anchor = root
        step.graph, step.is_stage = graph, stage
        step.file, step.line = place
        step.write(root, NONE)
        self._stack.append(step)
        return step

    def end(self, step: Step, after: int, error: str | None = None, at: int | None = None) -> None:
        """Closes a step with the graph that came out, now unless it ended before."""
        now = perf_counter_ns() if at is None else at
        stack = self._stack
        if step in stack:
            while stack.pop() is not step:
                pass
        passes_inside = step.context.steps > step.ordinal + 1
        if step.is_stage and passes_inside and NONE not in (step.anchor, after) and step.anchor != after:
            Step(step.context, "", step.depth + 1).write(step.anchor, after)
        outer = self.step()
        if outer is None:
            step.context.last = after if after != NONE else step.context.last
        elif outer.graph is step.graph and after != NONE:
            outer.anchor = after
        step.write(step.root, after, now - step.start, error)
        depth = step.depth + (1 if step.context.row["kind"] == GRAPH_CONTEXT else 2)
        if step.name:
            track = compile_track(self.recorder)
            self.recorder.slice(track, step.start, now - step.start, step.name, depth, step.context.id)

    def show(self, name: str, root: int, context: Context | None = None) -> Step:
        """A step that is there to show a graph."""
        own = context or self.context()
        step = Step(own, name, 0)
        own.last = root
        step.write(root, root, 0)
        return step

    def dynamo(self, context: Context) -> Step:
        """The step of Dynamo's graph, which decisions about the frame belong to; it may have no graph so far."""
        if context.dynamo is None:
            context.dynamo = Step(context, DYNAMO, 0)
            context.dynamo.write(NONE, NONE)
        return context.dynamo
