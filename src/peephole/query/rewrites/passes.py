"""Passes with a graph after them: how many boxes each changed, and whether it made several graphs of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peephole.compilers.traces import trace_of
from peephole.replay.named import own_named_step
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Changed:
    """What a pass changed from the graph that went in to the one that came out, in boxes."""

    step: int
    entries: int
    added: int
    removed: int
    altered: int
    metadata: int
    """Boxes whose origin alone differs."""
    kind: str
    """`partition`, `order` or `metadata` when that is all there is to say; else empty."""
    graphs_in: int
    graphs_out: int

    @property
    def boxes(self) -> int:
        """All of them, origins left out."""
        return self.added + self.removed + self.altered


def changed_boxes(capture: Capture, step: int) -> Changed | None:
    """What a pass changed; None for a step that is replayed from its matches."""
    trace = trace_of(capture)
    kept: dict[int, Changed | None] = trace.derived.setdefault("changed", {})
    if step not in kept:
        with trace.lock:
            kept[step] = _changed(trace, step)
    return kept[step]


def changed_in(capture: Capture, context: int) -> list[Changed]:
    """The same of every step of a context that has its graph after it."""
    trace = trace_of(capture)
    steps = [trace.number("id", row) for row in trace.context_rows(context) if trace.number("after", row) >= 0]
    return [found for step in steps if (found := changed_boxes(capture, step)) is not None]


@dataclass(frozen=True, slots=True)
class PassStats:
    """A pass over the whole capture, by its name; what it changed is counted in instructions."""

    name: str
    runs: int
    changed: int
    """Runs after which the graph was another one."""
    added: int
    removed: int
    altered: int
    only: int
    """Runs that changed nothing but the order of instructions or where they came from."""
    contexts: list[int]

    @property
    def instructions(self) -> int:
        """All that it changed."""
        return self.added + self.removed + self.altered


def pass_stats(capture: Capture) -> list[PassStats]:
    """Every pass whose graphs before and after are recorded, those that changed most first; graphs of kernels, which
    no pass made, are left out."""
    trace = trace_of(capture)
    frame = capture.read("contexts", ["id", "kind"])
    kinds = dict(zip(frame["id"].tolist(), frame.texts("kind"), strict=True))
    steps = capture.read("steps", ["id", "context", "root", "after", "name"])
    names = steps.texts("name")
    found: dict[str, list[tuple[int, Changed | None]]] = {}
    for row, (step, context) in enumerate(zip(steps["id"].tolist(), steps["context"].tolist(), strict=True)):
        if steps["after"][row] < 0 or kinds.get(context) == "kernel":
            continue
        same = steps["root"][row] == steps["after"][row] and not len(trace.match_files(trace.match_rows(step)))
        found.setdefault(names[row] or "", []).append((context, None if same else changed_boxes(capture, step)))
    result = []
    for name, runs in found.items():
        changed = [one for _, one in runs if one is not None]
        added, removed, altered = (
            sum(getattr(one, part) for one in changed) for part in ("added", "removed", "altered")
        )
        only = sum(one.boxes == 0 for one in changed)
        contexts = sorted({context for context, _ in runs})
        result.append(PassStats(name, len(runs), len(changed), added, removed, altered, only, contexts))
    return sorted(result, key=lambda one: (-one.instructions, -one.changed, one.name))


def _changed(trace: RewriteTrace, step: int) -> Changed | None:
    named = own_named_step(trace, step)
    if named is None or named.came_out is None:
        return None
    found = named.overall()
    # a list of instructions that came or went is no instruction
    graphs = {key for listed in (named.before, named.came_out) for key in listed.order}
    kinds = {entry.kind for entry in named.entries}
    only = kinds.pop() if len(kinds) == 1 else ""
    return Changed(
        step,
        len(named.entries),
        sum(key not in graphs for key in found.added),
        sum(key not in graphs for key in found.removed),
        sum(key not in graphs for key in found.altered),
        len(found.metadata),
        only if only in ("partition", "order", "metadata") else "",
        len(named.before.tops),
        len(named.came_out.tops),
    )
