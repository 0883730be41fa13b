"""From the program's line over an instruction to the kernels that compute it, each link with its box in the graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peephole.compilers import compiler_of, compilers_in
from peephole.compilers.answers import Link
from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.query.capture.contexts import contexts
from peephole.replay.named import named_step

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A link, and where it is seen: the box of its step's graph after that match; -1 for what is no box."""

    stage: str
    name: str
    op: str
    step: int
    match: int
    identity: int
    node: int
    context: int
    line: str | None
    source: str | None


def chain(capture: Capture, step: int, node: int) -> list[ChainLink]:
    """The chain of a node of a step's graphs; empty where the compiler tells none."""
    trace = trace_of(capture)
    context = trace.number("context", trace.step_row(step))
    return [_placed(capture, link) for link in compiler_of(capture, context).chain(capture, step, node)]


def chains_of(capture: Capture, name: str) -> list[tuple[int, int]]:
    """Step and node of each instruction of that name, one for each compilation."""
    return [place for compiler in compilers_in(capture) for place in compiler.named(capture, name)]


def made_of(capture: Capture, context: int) -> list[ChainLink]:
    """The instructions of a kernel where a fusion made it: what passes began with, and what they are inside of it."""
    links = instructions_of(capture, context)[1:]
    return links if any(link.stage == "fused" for link in links) else []


def instructions_of(capture: Capture, context: int) -> list[ChainLink]:
    """A kernel in the graphs of its compilation: the instruction that runs it, what passes began with, and what that is
    inside of a fusion; nothing where a kernel is no instruction."""
    own = next((one for one in contexts(capture) if one.id == context and one.kind == "kernel"), None)
    if own is None:
        return []
    trace = trace_of(capture)
    for step, node in compiler_of(capture, context).named(capture, own.name):
        if trace.number("context", trace.step_row(step)) == own.parent:
            itself = _placed(capture, Link("instruction", own.name, "", step, 0, node, NONE, None, None))
            links = chain(capture, step, node)
            return [itself, *(link for link in links if link.stage in ("traced", "fused"))]
    return []


def _placed(capture: Capture, link: Link) -> ChainLink:
    match, identity = link.match, NONE
    if link.node >= 0 and link.step >= 0:
        trace = trace_of(capture)
        with trace.lock:
            named = named_step(trace, link.step)
            if named is not None:
                identity, match = named.place_of(int(trace.table.rows([link.node])[0]))
                match = named.touched_by(identity) if link.stage in ("pass", "instruction") else match
    return ChainLink(
        link.stage,
        link.name,
        link.op,
        link.step,
        match,
        identity,
        link.node,
        link.context,
        link.line,
        link.source,
    )
