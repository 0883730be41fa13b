"""Why two kernels are two: asked by name, answered by their compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.compilers import compiler_of, compilers_in
from peephole.compilers.answers import Why
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.query.rewrites.decisions import Verdict, decided
from peephole.query.rewrites.schedules import find_kernels, kernels_of_schedule, schedule_contexts

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def answer(capture: Capture, a: str, b: str, schedule: str | None = None) -> Verdict | Why:
    """What was decided about two nodes of these names; else why the kernels that compute them are two."""
    if all(_computed_in(capture, name, schedule) for name in (a, b)):
        return why(capture, a, b, schedule)  # what was refused at first may be one in the end
    try:
        verdict = decided(capture, a, b, schedule)
    except PeepholeError:
        # there are words on each of them and none on both: as kernels they hold instructions that there may be one on
        if not all(find_kernels(capture, name, schedule) for name in (a, b)):
            raise
        verdict = None
    return verdict if verdict is not None else why(capture, a, b, schedule)


def why(capture: Capture, a: str, b: str, schedule: str | None = None) -> Why:
    """Why these two kernels are not one. Kernels are given by name, `name#2` for the second of it, or `#7` by place;
    an instruction stands for the kernel that computes it."""
    first, second = _find(capture, a, b, schedule)
    return why_kernels(capture, *first, *second)


def why_kernels(capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
    """The same for kernels by their schedule's context and their place in it."""
    compiler = compiler_of(capture, schedule_a)
    if compiler is not compiler_of(capture, schedule_b):
        raise PeepholeError("These kernels were made by different compilers, which never make one of them.")
    return compiler.why(capture, schedule_a, a, schedule_b, b)


def _find(capture: Capture, a: str, b: str, schedule: str | None) -> tuple[tuple[int, int], tuple[int, int]]:
    found, instructions = [], 0
    for name in (a, b):
        kernels = find_kernels(capture, name, schedule)
        if not kernels:
            kernels = _computed_in(capture, name, schedule)
            instructions += 1
        if not kernels:
            known = sorted({k.name for c, _ in schedule_contexts(capture) for k in kernels_of_schedule(capture, c)})
            hint = f"kernels are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}" if known else "there are none"
            raise PeepholeError(f"There is no kernel {name!r} in the schedules of this capture; {hint}.")
        found.append(kernels)
    pairs = [(one, other) for one in found[0] for other in found[1] if one[0] == other[0]]
    if instructions and pairs and a != b:
        first = [pair for pair in pairs if pair[0][0] == pairs[0][0][0]]
        return next((pair for pair in first if pair[0] == pair[1]), first[0])
    for one, other in pairs:
        if one != other:
            return one, other
    return found[0][0], next((other for other in found[1] if other != found[0][0]), found[1][0])


def _computed_in(capture: Capture, name: str, schedule: str | None) -> list[tuple[int, int]]:
    """The kernels that compute an instruction of that name, of one schedule if it is given."""
    found = [kernel for compiler in compilers_in(capture) for kernel in compiler.computed_in(capture, name)]
    if schedule is None:
        return found
    names = trace_of(capture).context_names
    return [one for one in found if schedule == str(one[0]) or plain(names.get(one[0], "")) == plain(schedule)]
