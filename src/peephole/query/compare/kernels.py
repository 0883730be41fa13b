"""The kernels of both sides: which are new, gone, changed or the same, how often each ran and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from peephole.compilers import compiler_named
from peephole.query.compare.paired_names import paired_names
from peephole.query.compare.pairing import Pair
from peephole.query.compare.results import KernelRow, State
from peephole.query.compare.times import Thing

if TYPE_CHECKING:
    from peephole.query.compare.compiled import Compiled, Unit
    from peephole.query.compare.pairs import Pairs
    from peephole.query.compare.recorded import Recorded
    from peephole.query.compare.runs import Runs
    from peephole.query.compare.times import TimeRow

_KERNELS: Final = "kernels"


def things_of(a: Sequence[Recorded], b: Sequence[Recorded], pairs: Sequence[Pair]) -> list[Thing]:
    """What is timed: each pair of kernels, and everything else by its name."""
    one, two = a[0].compiled, b[0].compiled
    by_pair: dict[int, Thing] = {}
    called = paired_names(one, two, pairs)
    by_name = by_names_alone(a[0], b[0])
    things: dict[tuple[str, str], Thing] = {}
    pair_of = [
        {getattr(pair, which): at for at, pair in enumerate(pairs) if getattr(pair, which) >= 0} for which in ("a", "b")
    ]
    for side, captures in enumerate((a, b)):
        first = captures[0].compiled
        for number, capture in enumerate(captures):
            places = _places(first, capture.compiled)
            names = {unit.compiler for unit in capture.compiled.units}
            for run in capture.runs.runs:
                unit = _unit(places, capture.compiled, run) if run.group == _KERNELS and not by_name else -1
                pair = pair_of[side].get(unit, -1) if unit >= 0 else -1
                if pair >= 0:
                    thing = by_pair.get(pair)
                    if thing is None:
                        one_name, two_name = _names(one, two, pairs[pair])
                        kind = _unit_kind(one, two, pairs[pair])
                        thing = by_pair[pair] = _thing(_KERNELS, one_name, two_name, len(a), len(b), kind)
                else:
                    name = name_b = run.name
                    if run.group != _KERNELS:
                        name = _uncounted(called.in_a(name) if side else name, names)
                        name_b = _uncounted(name_b if side else called.in_b(name_b), names)
                    key = run.group, name
                    thing = things.get(key)
                    if thing is None:
                        thing = things[key] = _thing(run.group, name, name_b, len(a), len(b))
                (thing.a if side == 0 else thing.b)[number].append(run)
    return [*by_pair.values(), *things.values()]


def by_names_alone(a: Recorded, b: Recorded) -> bool:
    """Whether kernels ran on both sides, but one does not say from what they were compiled: names are all there is."""
    knows = [any(unit.is_kernel for unit in side.compiled.units) for side in (a, b)]
    return knows[0] != knows[1] and all(any(run.group == _KERNELS for run in side.runs.runs) for side in (a, b))


def _thing(group: str, name: str, name_b: str, a: int, b: int, kind: str = "kernel") -> Thing:
    return Thing(group, name, name_b, [[] for _ in range(a)], [[] for _ in range(b)], kind)


def _unit_kind(a: Compiled, b: Compiled, pair: Pair) -> str:
    return a.units[pair.a].kind if pair.a >= 0 else b.units[pair.b].kind


def _names(a: Compiled, b: Compiled, pair: Pair) -> tuple[str, str]:
    one = a.units[pair.a].name if pair.a >= 0 else ""
    two = b.units[pair.b].name if pair.b >= 0 else ""
    return one or two, two or one


def _uncounted(name: str, compilers: set[str]) -> str:
    for compiler in compilers:
        name = compiler_named(compiler).counted_name(name)
    return name


def _places(first: Compiled, own: Compiled) -> dict[int, int]:
    """For each context of a capture the place of the same one among those of the side's first capture."""
    if own is first:
        return {unit.id: at for at, unit in enumerate(first.units)}
    from peephole.query.compare.pairing import paired

    return {own.units[pair.b].id: pair.a for pair in paired(first.units, own.units) if min(pair.a, pair.b) >= 0}


def _unit(places: dict[int, int], compiled: Compiled, run: Runs) -> int:
    """The place of the context that these runs are of; -1 when that is not known."""
    if run.context >= 0:
        return places.get(run.context, -1)
    named = [unit for unit in compiled.units if unit.is_kernel and run.name in (unit.name, unit.plain)]
    return places.get(named[0].id, -1) if len(named) == 1 else -1


def kernel_rows(a: Recorded, b: Recorded, found: Pairs, times: Sequence[TimeRow]) -> list[KernelRow]:
    """The kernels by state: added, removed, changed, the same; within a state by the time that they take."""
    timed: dict[tuple[str, str], TimeRow] = {}
    for row in times:
        if row.group == _KERNELS:
            timed.setdefault((row.name, row.name_b), row)
    rows, taken = [], set()
    kinds = {unit.kind for side in (a, b) for unit in side.compiled.units}
    ran = [_ran(side) if times else {} for side in (a, b)]
    for pair in () if by_names_alone(a, b) else found.pairs:
        one = a.compiled.units[pair.a] if pair.a >= 0 else None
        two = b.compiled.units[pair.b] if pair.b >= 0 else None
        if not any(unit is not None and unit.is_kernel for unit in (one, two)):
            continue
        name_a, name_b = one.name if one else "", two.name if two else ""
        time = timed.get((name_a or name_b, name_b or name_a))
        if time is not None:
            taken.add((time.name, time.name_b))
        work = [ran[side].get(unit.id) if unit else None for side, unit in ((0, one), (1, two))]
        # what was not recorded on one side at all is not a kernel that the other has more
        coded = all(unit is None or unit.code != 0 for unit in (one, two))
        rows.append(
            KernelRow(
                _state(one, two, pair, found, coded),
                name_a or name_b, name_a, name_b, pair.how, coded, one.id if one else -1, two.id if two else -1,
                time.count_a if time else 0, time.count_b if time else 0,
                work[0][0] if work[0] else 0.0, work[1][0] if work[1] else 0.0,
                work[0][1] if work[0] else 0.0, work[1][1] if work[1] else 0.0,
                (one or two).place, time, _kind(one, two, kinds),  # type: ignore[union-attr]
            )
        )  # fmt: skip
    known = {state: Counter(row.name for row in rows if row.state == state) for state in ("added", "removed")}
    for key, row in timed.items():
        if key in taken or any(known[state][row.name] for state in known):
            continue
        state: State = "same" if row.count_a and row.count_b else "removed" if row.count_a else "added"
        rows.append(
            KernelRow(
                state, row.name, row.name if row.count_a else "", row.name_b if row.count_b else "", "name", False,
                -1, -1, row.count_a, row.count_b, 0.0, 0.0, 0.0, 0.0, "", row,
            )
        )  # fmt: skip
    rows = _evened(rows, {unit.id: unit.code for unit in a.compiled.units})
    order = ("changed", "added", "removed", "same")
    return sorted(rows, key=lambda row: (order.index(row.state), -_weight(row)))


def _evened(rows: list[KernelRow], codes: dict[int, int]) -> list[KernelRow]:
    """The rows, marked where they run more or less often; which of several with one code ran does not count."""
    runs: dict[object, int] = Counter()
    for row in rows:
        runs[codes.get(row.unit_a) or row.name] += row.launches_b - row.launches_a
    return [
        replace(row, uneven=row.state in ("same", "changed") and runs[codes.get(row.unit_a) or row.name] != 0)
        for row in rows
    ]


def _kind(one: Unit | None, two: Unit | None, kinds: set[str]) -> str:
    """kernel, where nothing is called that everything that has code; else what it is called."""
    either = one or two
    assert either is not None
    return either.kind if "kernel" in kinds and either.kind else "kernel"


def _weight(row: KernelRow) -> float:
    if row.time is None:
        return 0.0
    return abs(row.time.total_b - row.time.total_a) + max(row.time.total_a, row.time.total_b) * 1e-6


def _state(one: Unit | None, two: Unit | None, pair: Pair, found: Pairs, coded: bool) -> State:
    if one is None or two is None:
        return "added" if one is None else "removed"
    if coded:
        return "same" if one.code == two.code else "changed"
    # where a side has no code of it: what is known is its name, and how it was rewritten
    parts = found.partings.get(found.pairs.index(pair))
    renamed = one.name != two.name and pair.how != "input"
    return "changed" if renamed or (parts is not None and parts.what != "missing") else "same"


def _ran(side: Recorded) -> dict[int, tuple[float, float]]:
    """Operations and bytes of one run of each kernel, by its context."""
    return {run.context: (run.flops, run.bytes) for run in side.runs.runs if run.group == _KERNELS and run.context >= 0}
