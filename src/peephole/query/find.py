"""Contexts and steps by what a user calls them: a name, `name#2` for the second of that name, or a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from peephole.query.names import missing, plain
from peephole.query.rewrites import ContextInfo, StepInfo, contexts, steps

if TYPE_CHECKING:
    from peephole.store.capture import Capture

T = TypeVar("T")


def find_context(capture: Capture, name: str) -> ContextInfo:
    """The first context of that name; PeepholeError names the nearest."""
    everything = contexts(capture)
    found = _named(everything, plain(name), lambda context: plain(context.name))
    if not found and name.isdecimal():
        found = [context for context in everything if context.id == int(name)]
    if not found:
        raise missing(name, (context.name for context in everything), "context")
    return found[0]


def find_steps(capture: Capture, context: ContextInfo, name: str) -> list[StepInfo]:
    """The steps of a context of that name, or the one of that ordinal; PeepholeError names the nearest."""
    everything = steps(capture, context.id)
    found = _named(everything, name, lambda step: step.name)
    if not found and name.isdecimal() and int(name) < len(everything):
        found = [everything[int(name)]]
    if not found:
        raise missing(name, (step.name for step in everything), f"step of {context.name}")
    return found


def _named(items: Sequence[T], name: str, name_of: Callable[[T], str]) -> list[T]:
    found = [item for item in items if name_of(item) == name]
    numbered = re.fullmatch(r"(.*)#(\d+)", name)
    if not found and numbered:
        same = [item for item in items if name_of(item) == numbered[1]]
        found = same[int(numbered[2]) - 1 : int(numbered[2])] if int(numbered[2]) else []
    return found
