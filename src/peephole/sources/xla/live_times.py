"""When values of a module were live: in the times of a run that was recorded, else in instructions of the schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peephole.sources.xla.memory import INSTRUCTION, ModuleMemory


def placed(
    memory: ModuleMemory, run: Sequence[tuple[str, int, int]], begin: int
) -> Iterator[tuple[int, int, int, str, str]]:
    """Alloc, free, bytes, dtype and name of each value. `run` are the kernels of a run; without one, times count from
    `begin`."""
    times = _times(memory.sequence, run) if run else []
    for value in memory.values:
        if times:
            first, past = (times[min(at, len(times) - 1)] for at in (value.first, value.past))
        else:
            first, past = (begin + at * INSTRUCTION for at in (value.first, value.past))
        yield first, max(past, first), value.bytes, value.dtype, value.name


def _times(sequence: Sequence[str], run: Sequence[tuple[str, int, int]]) -> list[int]:
    """When each instruction of the schedule began, and at last when the run ended.

    What has no event of its own, as the body of a loop, begins right before what follows: one ns apart, so that values
    that take turns are not held together.
    """
    starts: dict[str, int] = {}
    for name, start, _ in run:
        starts[name] = min(start, starts.get(name, start))
    end = max(past for _, _, past in run)
    found = [end] * (len(sequence) + 1)
    for at in range(len(sequence) - 1, -1, -1):
        found[at] = min(starts.get(sequence[at], end), found[at + 1] - 1)
    return found
