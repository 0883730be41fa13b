"""Contexts and steps by what a user calls them: a name, `name#2` for the second of that name, or a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from peephole.compilers import compiler_of, compilers_in
from peephole.model.natural import whole_number
from peephole.model.plain_names import plain
from peephole.query.capture.contexts import Context, Step, artifacts, contexts, steps
from peephole.query.capture.names import missing

if TYPE_CHECKING:
    from peephole.store.capture import Capture

T = TypeVar("T")


def find_contexts(capture: Capture, name: str) -> list[Context]:
    """The contexts of that name, or the one that `name#2` or a number means; a compiler's own words before it are no
    matter."""
    everything = contexts(capture)
    found = _named(everything, plain(name), lambda context: context.name)
    if not found and everything:
        inner = next((own for c in compilers_in(capture) if (own := c.context_name(plain(name))) != plain(name)), "")
        found = _named(everything, inner, lambda context: context.name) if inner else []
    number = whole_number(name)
    return found or [context for context in everything if context.id == number]


def find_context(capture: Capture, name: str) -> Context:
    """The first of them; PeepholeError names the nearest."""
    found = find_contexts(capture, name)
    if not found:
        raise missing(name, (context.name for context in contexts(capture)), "context")
    return found[0]


def find_steps(capture: Capture, context: Context, name: str) -> list[Step]:
    """The steps of a context of that name, or the one of that ordinal; PeepholeError names the nearest."""
    everything = steps(capture, context.id)
    found = _named(everything, plain(name), lambda step: step.name)
    if not found and 0 <= (ordinal := whole_number(name)) < len(everything):
        found = [everything[ordinal]]
    if not found:
        raise missing(name, (step.name for step in everything), f"step of {context.name}")
    return found


def find_graph(capture: Capture, context: Context, text: str, *, came_out: bool) -> tuple[int, int]:
    """Step and match of a graph that is written `STEP[:MATCH]`; without a match the one that went in, or came out.

    PeepholeError names the nearest step.
    """
    from peephole.query.rewrites.step_graphs import count_matches

    name, _, tail = text.rpartition(":")
    number = whole_number(tail) if name else -1
    known = {step.name for step in steps(capture, context.id)}
    if number < 0 or plain(text) in known:
        # a step's name may well end in a colon and a number, as `file.py:12` does
        step = find_steps(capture, context, text)[0]
        return step.id, count_matches(capture, step.id) if came_out else 0
    return find_steps(capture, context, name)[0].id, number


def find_artifacts(capture: Capture, context: Context, name: str) -> str:
    """The kind of a context's artifacts that a name means: the kind itself, or what the compiler's own viewer calls it.
    Empty when it means none."""
    known = {artifact.kind for artifact in artifacts(capture, context.id)}
    known |= {"assembly"} if "binary" in known else set()
    kind = compiler_of(capture, context.id).artifact_kind(plain(name)) or plain(name)
    return kind if kind in known - {"binary"} else ""


def _named(items: Sequence[T], name: str, name_of: Callable[[T], str]) -> list[T]:
    found = [item for item in items if name_of(item) == name]
    numbered = re.fullmatch(r"(.*)#(\d+)", name)
    if not found and numbered:
        same = [item for item in items if name_of(item) == numbered[1]]
        found = same[int(numbered[2]) - 1 : int(numbered[2])] if int(numbered[2]) else []
    return found
