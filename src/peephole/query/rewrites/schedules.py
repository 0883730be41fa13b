"""Schedules: the kernels and buffers that a graph became, as far as its compiler says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from peephole.compilers import compiler_named, compiler_of, compilers_in
from peephole.compilers.answers import Kernel, Schedule
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.plain_names import plain

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def schedule(capture: Capture, context: int) -> Schedule:
    """How a schedule was split; PeepholeError when the context is no schedule or its graph was not recorded."""
    return compiler_of(capture, context).schedule(capture, context)


def schedule_contexts(capture: Capture) -> list[tuple[int, str]]:
    """Contexts that are schedules: id and name."""
    frame = capture.read("contexts", ["id", "name", "kind"])
    rows = zip(frame["id"].tolist(), frame.texts("name"), frame.texts("kind"), strict=True)
    return [
        (number, name or "") for number, name, kind in rows if kind and compiler_of(capture, number).is_schedule(kind)
    ]


def count_schedules(capture: Capture) -> int:
    """How many contexts are schedules; nothing but their table is read."""
    frame = capture.read("contexts", ["kind", "compiler"])
    pairs = list(zip(frame.texts("kind"), frame.texts("compiler"), strict=True))
    wanted = {(kind, name) for kind, name in set(pairs) if kind and name and compiler_named(name).is_schedule(kind)}
    return sum(pair in wanted for pair in pairs) if wanted else 0


def kernels_of_schedule(capture: Capture, context: int) -> list[Kernel]:
    """The kernels of a schedule; none when its graph was not recorded."""
    try:
        return schedule(capture, context).kernels
    except PeepholeError:
        return []


def find_kernels(capture: Capture, name: str, schedule: str | None = None) -> list[tuple[int, int]]:
    """Schedule and place of every kernel that a name stands for.

    `name#2` is the second of that name in the capture, as `show` and the page count them; where that is none of these
    schedules', the second in each.
    """
    contexts = schedule_contexts(capture)
    if not contexts:
        names = " and ".join(compiler.name for compiler in compilers_in(capture))
        by = f"; {names} recorded none" if names else ""
        raise PeepholeError(f"This capture has no schedules, so it does not say which kernels there are{by}.")
    if schedule is not None:
        contexts = [c for c in contexts if plain(c[1]) == plain(schedule) or str(c[0]) == schedule]
        if not contexts:
            raise PeepholeError(f"There is no schedule {schedule!r} in this capture.")
    numbered = re.fullmatch(r"(.*)#(\d+)", name)
    result: list[tuple[int, int]] = []
    if numbered and numbered[1]:
        own = {context for context, own in trace_of(capture).numbered_names.items() if own == plain(name)}
        result = [(c, k.index) for c, _ in contexts for k in kernels_of_schedule(capture, c) if k.context in own]
        if result:
            return result
    for context, _ in contexts:
        kernels = kernels_of_schedule(capture, context)
        same = [k.index for k in kernels if plain(k.name) == plain(name)]
        if not same and numbered:
            number = int(numbered[2])
            if numbered[1]:
                same = [k.index for k in kernels if plain(k.name) == plain(numbered[1])]
                same = same[number - 1 : number] if number else []
            elif number < len(kernels):
                same = [number]
        result.extend((context, index) for index in same)
    return result
