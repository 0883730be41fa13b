"""All contexts of two recordings in pairs, where each pair parts, and what follows from what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from peephole.errors import PeepholeError
from peephole.query.compare.by_content.lineage import Lineage
from peephole.query.compare.consequences import Consequences
from peephole.query.compare.pairing import Pair, paired
from peephole.query.compare.parting import Parting, Sides, parting, sides
from peephole.query.compare.results import Divergence
from peephole.query.compare.rule_lines import Lines, RulePairs, rule_pairs

if TYPE_CHECKING:
    from peephole.query.compare.compiled import Compiled, Unit
    from peephole.query.compare.recorded import Recorded


@dataclass(frozen=True, slots=True)
class Pairs:
    """The contexts of both sides."""

    pairs: list[Pair]
    partings: dict[int, Parting]
    recoded: set[int]
    """Pairs whose code differs and of which no rewrites were recorded: what they were compiled in says why."""
    rules: RulePairs
    both: Sides

    @property
    def changed(self) -> set[int]:
        """The pairs that differ, or that only one side has."""
        alone = {at for at, pair in enumerate(self.pairs) if pair.a < 0 or pair.b < 0}
        return alone | set(self.partings) | self.recoded


def all_pairs(a: Recorded, b: Recorded, by_hand: Iterable[tuple[str, str]] = ()) -> Pairs:
    """The contexts of both recordings, paired kind by kind, and where each pair parts.

    PeepholeError for a pair by hand of what a side does not have, or of two kinds.
    """
    one, two = a.compiled, b.compiled
    rules = rule_pairs(one.rules, two.rules, _lines(a), _lines(b))
    both = sides(one, two, rules.b_of_a, short=a.open is None or b.open is None)
    by_hand = list(by_hand)
    _known(one, two, by_hand)
    pairs: list[Pair] = []
    ran = _ran(a), _ran(b)
    for kind in dict.fromkeys(unit.kind for unit in (*one.units, *two.units)):
        places_a, places_b = _of_kind(one, kind), _of_kind(two, kind)
        for pair in paired([one.units[i] for i in places_a], [two.units[j] for j in places_b], by_hand, ran):
            place_a, place_b = places_a[pair.a] if pair.a >= 0 else -1, places_b[pair.b] if pair.b >= 0 else -1
            pairs.append(Pair(place_a, place_b, pair.how))
    partings, recoded = {}, set()
    if one.has_steps and two.has_steps:
        for at, pair in enumerate(pairs):
            if pair.a >= 0 and pair.b >= 0:
                own, other = one.units[pair.a], two.units[pair.b]
                found = parting(both, own, other)
                if found is not None:
                    partings[at] = found
                elif own.first == own.past and own.code != other.code:
                    recoded.add(at)
    return Pairs(pairs, partings, recoded, rules, both)


def _ran(side: Recorded) -> dict[int, int]:
    """How often each context ran, by its number."""
    return {run.context: run.count for run in side.runs.runs if run.group == "kernels" and run.context >= 0}


def _known(a: Compiled, b: Compiled, by_hand: Sequence[tuple[str, str]]) -> None:
    """Raises when a pair by hand cannot be made."""
    for x, y in by_hand:
        kinds = []
        for name, side, which in ((x, a, "A"), (y, b, "B")):
            names = {unit.name: unit.kind for unit in side.units}
            if name not in names:
                near = get_close_matches(name, names, n=3)
                hint = f"near names: {', '.join(near)}" if near else "`peephole diff A B` lists what there is"
                raise PeepholeError(f"A pair by hand names {name!r}, which {which} does not have; {hint}.")
            kinds.append(names[name])
        if kinds[0] != kinds[1]:
            raise PeepholeError(f"{x!r} is a {kinds[0]} and {y!r} a {kinds[1]}: only two of a kind can be paired.")


def divergences(a: Recorded, b: Recorded, found: Pairs) -> list[Divergence]:
    """Every context that differs, earliest first, each with what it follows from."""
    changed = found.changed
    if not changed or not (a.compiled.has_steps and b.compiled.has_steps):
        return []
    lineages = [None if side.open is None else Lineage(side.open, side.compiled) for side in (a, b)]
    chain = Consequences(found.pairs, found.partings, changed, *lineages)
    follows = {at: chain.follows(at) for at in changed}
    rows = [(at, _divergence(a.compiled, b.compiled, found, at, follows[at])) for at in _ordered(a, b, found, follows)]
    return [row for _, row in rows]


def _ordered(a: Recorded, b: Recorded, found: Pairs, follows: dict[int, list[int]]) -> list[int]:
    """By the time at which they were opened, causes before what follows from them."""

    def when(at: int) -> tuple[int, int]:
        pair = found.pairs[at]
        units = a.compiled.units if pair.a >= 0 else b.compiled.units
        place = pair.a if pair.a >= 0 else pair.b
        first = min((unit.start for unit in units if unit.start >= 0), default=0)
        return (units[place].start - first if units[place].start >= 0 else place), place

    result: list[int] = []
    done: set[int] = set()
    for start in sorted(follows, key=when):
        stack = [start]
        while stack:
            at = stack[-1]
            waiting = [other for other in sorted(follows[at], key=when) if other not in done and other not in stack]
            if at in done or not waiting:
                stack.pop()
                if at not in done:
                    done.add(at)
                    result.append(at)
            else:
                stack += waiting[:1]
    return result


def _divergence(a: Compiled, b: Compiled, found: Pairs, at: int, follows: Sequence[int]) -> Divergence:
    pair, parts = found.pairs[at], found.partings.get(at)
    one = a.units[pair.a] if pair.a >= 0 else None
    two = b.units[pair.b] if pair.b >= 0 else None
    either = one or two
    assert either is not None
    step_a, step_b = (parts.step_a, parts.step_b) if parts else (-1, -1)
    return Divergence(
        one.name if one else "",
        two.name if two else "",
        either.kind,
        either.kind == "kernel" or any(unit is not None and unit.is_kernel for unit in (one, two)),
        one.id if one else -1,
        two.id if two else -1,
        a.step_name[step_a] if step_a >= 0 else b.step_name[step_b] if step_b >= 0 else "",
        b.step_name[step_b] if step_b >= 0 else "",
        int(a.step_id[step_a]) if step_a >= 0 else -1,
        int(b.step_id[step_b]) if step_b >= 0 else -1,
        parts,
        _words(a, b, parts, one, two),
        tuple(_called(a, b, found.pairs[other]) for other in follows),
    )


def _called(a: Compiled, b: Compiled, pair: Pair) -> str:
    return a.units[pair.a].name if pair.a >= 0 else b.units[pair.b].name


def _words(a: Compiled, b: Compiled, parts: Parting | None, one: Unit | None, two: Unit | None) -> str:
    """What differs, in a sentence."""
    if parts is None:
        if one is not None and two is not None:
            return "code: what came out differs"
        return "only A has it" if two is None else "only B has it"
    if parts.what == "missing":
        side = "A" if one is not None and one.first == one.past else "B"
        return f"rewrites: {side} recorded none of this context"
    if parts.what == "pass":
        names = [
            f"`{side.step_name[step]}`" if step >= 0 else "no more"
            for side, step in ((a, parts.step_a), (b, parts.step_b))
        ]
        return f"pass: A runs {names[0]}, B {names[1]}"
    if parts.what == "match":
        rules = [
            f"{_short(rule.file)}:{rule.line}" if rule else "no more matches" for rule in (parts.rule_a, parts.rule_b)
        ]
        one_rule, other = parts.rule_a, parts.rule_b
        moved = one_rule is not None and other is not None and one_rule.text and one_rule.text == other.text
        if one_rule is None or other is None or not (moved or rules[0] == rules[1]):
            return f"match: A {rules[0]}, B {rules[1]}"
        same = rules[0] if rules[0] == rules[1] else f"the same rule, A {rules[0]}, B {rules[1]},"
        return f"match: {same} made something else"
    return {
        "input": "input: the graphs that went in differ",
        "output": "output: the graphs that came out differ",
        "decision": "decision: the pass decided otherwise",
    }[parts.what]


def _short(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _of_kind(side: Compiled, kind: str) -> list[int]:
    return [at for at, unit in enumerate(side.units) if unit.kind == kind]


def _lines(side: Recorded) -> Lines:
    """The lines of a file as the recording saw it."""
    from peephole.compilers.traces import trace_of

    capture = side.open
    if capture is None:
        return lambda file: ()
    places = trace_of(capture).places
    return lambda file: [text for _, text in places.lines(file, 1, 1_000_000)]
