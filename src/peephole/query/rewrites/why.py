"""Why two kernels are two: asked by name, answered by their compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.compilers import compiler_of
from peephole.compilers.answers import Why
from peephole.errors import PeepholeError
from peephole.query.rewrites.schedules import find_kernels, kernels_of_schedule, schedule_contexts

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def why(capture: Capture, a: str, b: str, schedule: str | None = None) -> Why:
    """Why these two kernels are not one. Kernels are given by name, `name#2` for the second of it, or `#7` by place."""
    first, second = _find(capture, a, b, schedule)
    return why_kernels(capture, *first, *second)


def why_kernels(capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
    """The same for kernels by their schedule's context and their place in it."""
    compiler = compiler_of(capture, schedule_a)
    if compiler is not compiler_of(capture, schedule_b):
        raise PeepholeError("These kernels were made by different compilers, which never make one of them.")
    return compiler.why(capture, schedule_a, a, schedule_b, b)


def _find(capture: Capture, a: str, b: str, schedule: str | None) -> tuple[tuple[int, int], tuple[int, int]]:
    found = []
    for name in (a, b):
        kernels = find_kernels(capture, name, schedule)
        if not kernels:
            known = sorted({k.name for c, _ in schedule_contexts(capture) for k in kernels_of_schedule(capture, c)})
            hint = f"kernels are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}" if known else "there are none"
            raise PeepholeError(f"There is no kernel {name!r} in the schedules of this capture; {hint}.")
        found.append(kernels)
    for one in found[0]:
        for other in found[1]:
            if one[0] == other[0] and one != other:
                return one, other
    return found[0][0], next((other for other in found[1] if other != found[0][0]), found[1][0])
