"""One kernel of a comparison in depth: its code on both sides, its passes, the match where they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.errors import PeepholeError
from peephole.model.plain_names import numbered
from peephole.query.compare.code_lines import CodeLines, code_lines
from peephole.query.compare.parting import Sides
from peephole.query.compare.results import Divergence, KernelRow

if TYPE_CHECKING:
    from peephole.query.compare.comparison import Compared
    from peephole.query.compare.compiled import Unit

_MOST_PASSES: Final = 20_000


@dataclass(frozen=True, slots=True)
class PassPair:
    """A pass of both sides, or of one."""

    name: str
    depth: int
    step_a: int
    """Number of the step, -1 for a side that does not have it."""
    step_b: int
    matches_a: int
    matches_b: int
    state: str
    """equal, parts (here the two part), or follows (behind that)."""


@dataclass(frozen=True, slots=True)
class OneKernel:
    """A kernel, or any context, of both sides."""

    row: KernelRow | None
    """None for a context that is no kernel."""
    divergence: Divergence | None
    passes: tuple[PassPair, ...]
    code: CodeLines
    context_a: str
    context_b: str
    unit_a: int = -1
    unit_b: int = -1
    """Contexts, -1 for none."""
    causes: tuple[Divergence, ...] = ()
    """What its difference follows from, and what that follows from, up to the one where it begins."""


def one_kernel(found: Compared, name: str, name_b: str | None = None) -> OneKernel:
    """The pair of that name on either side; PeepholeError with near names when there is none."""
    comparison = found.comparison
    rows = [row for row in comparison.kernels if name in (row.name_a, row.name_b)]
    row = next((row for row in rows if row.name_a == name), rows[0] if rows else None)
    parted = [one for one in comparison.divergence if name in (one.context_a, one.context_b)]
    if row is not None and row.unit_a < 0 and row.unit_b < 0:
        return OneKernel(row, None, (), code_lines(None, -1, None, -1), row.name_a, row.name_b)
    if row is not None:
        unit_a, unit_b = row.unit_a, row.unit_b
        divergence = next((d for d in comparison.divergence if (d.unit_a, d.unit_b) == (unit_a, unit_b)), None)
    else:
        divergence = next((one for one in parted if one.context_a == name), parted[0] if parted else None)
        units = _units_named(found, name) if divergence is None else (divergence.unit_a, divergence.unit_b)
        if units is None:
            raise PeepholeError(_unknown(found, name))
        unit_a, unit_b = units
    one, two = _unit(found, 0, unit_a), _unit(found, 1, unit_b)
    equal = one is not None and two is not None and 0 != one.code == two.code
    code = code_lines(found.a.open, unit_a, found.b.open, unit_b, equal)
    passes = _passes(found.pairs.both, one, two, divergence)
    names = one.name if one else "", two.name if two else ""
    causes = _causes(comparison.divergence, divergence)
    return OneKernel(row, divergence, tuple(passes), code, *names, unit_a, unit_b, causes)


def pass_names(one: OneKernel) -> list[str]:
    """The names of a pair's passes, `#2` behind the second of a name."""
    return numbered([step.name for step in one.passes])


def _causes(every: Sequence[Divergence], found: Divergence | None) -> tuple[Divergence, ...]:
    by_name = {row.context: row for row in every}
    chain: list[Divergence] = []
    while found is not None and found.follows:
        found = by_name.get(found.follows[0])
        if found is None or found in chain:
            break
        chain.append(found)
    return tuple(chain)


def _unit(found: Compared, side: int, number: int) -> Unit | None:
    units = (found.a, found.b)[side].compiled.units
    return next((unit for unit in units if unit.id == number), None) if number >= 0 else None


def _units_named(found: Compared, name: str) -> tuple[int, int] | None:
    """The contexts of an equal pair of that name."""
    one, two = found.a.compiled.units, found.b.compiled.units
    for pair in found.pairs.pairs:
        a, b = one[pair.a] if pair.a >= 0 else None, two[pair.b] if pair.b >= 0 else None
        if name in (a.name if a else "", b.name if b else ""):
            return a.id if a else -1, b.id if b else -1
    return None


def _unknown(found: Compared, name: str) -> str:
    import difflib

    names = [unit.name for side in (found.a, found.b) for unit in side.compiled.units]
    names += [row.name for row in found.comparison.kernels]
    near = list(dict.fromkeys(difflib.get_close_matches(name, names, n=3)))
    hint = f"near names: {', '.join(near)}." if near else "`peephole diff A B` lists the kernels."
    return f"Neither side has a kernel {name!r}; {hint}"


def _passes(both: Sides, one: Unit | None, two: Unit | None, divergence: Divergence | None) -> list[PassPair]:
    """The passes of both sides next to each other, those that a process remembers left out where only one has them."""
    a, b = both.a, both.b
    i, past_a = (one.first, one.past) if one else (0, 0)
    j, past_b = (two.first, two.past) if two else (0, 0)
    parts = divergence.parting if divergence else None
    result: list[PassPair] = []
    parted = False
    while (i < past_a or j < past_b) and len(result) < _MOST_PASSES:
        here = parts is not None and (
            (parts.step_a >= 0 and i == parts.step_a) or (parts.step_b >= 0 and j == parts.step_b)
        )
        if i < past_a and j < past_b and a.step_name[i] == b.step_name[j]:
            step = i, j
        elif not here and i < past_a and both.known_a[i]:
            i += 1
            continue
        elif not here and j < past_b and both.known_b[j]:
            j += 1
            continue
        else:
            step = _alone(both, i, past_a, j, past_b)
        state = "follows" if parted else "parts" if here else "equal"
        parted |= here
        result.append(_pair(both, *step, state))
        i, j = i + (step[0] >= 0), j + (step[1] >= 0)
    return result


def _alone(both: Sides, i: int, past_a: int, j: int, past_b: int) -> tuple[int, int]:
    """Of two passes that differ the one that the other side does not come to, both when neither does."""
    if i >= past_a or j >= past_b:
        return (i, -1) if i < past_a else (-1, j)
    a, b = both.a, both.b
    later_b = _next(b.step_name, a.step_name[i], j, past_b)
    later_a = _next(a.step_name, b.step_name[j], i, past_a)
    if later_b < 0 and later_a < 0:
        return i, -1
    if later_a < 0 or (later_b >= 0 and later_b - j <= later_a - i):
        return -1, j
    return i, -1


def _next(names: list[str], name: str, first: int, past: int) -> int:
    for at in range(first, min(past, first + 500)):
        if names[at] == name:
            return at
    return -1


def _pair(both: Sides, i: int, j: int, state: str) -> PassPair:
    a, b = both.a, both.b
    return PassPair(
        a.step_name[i] if i >= 0 else b.step_name[j],
        int(a.step_depth[i] if i >= 0 else b.step_depth[j]),
        int(a.step_id[i]) if i >= 0 else -1,
        int(b.step_id[j]) if j >= 0 else -1,
        int(a.step_matches[i]) if i >= 0 else 0,
        int(b.step_matches[j]) if j >= 0 else 0,
        state,
    )
