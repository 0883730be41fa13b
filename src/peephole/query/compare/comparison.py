"""What differs between two recordings, or two sets of recordings: the one answer behind `peephole diff` and Compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from peephole.errors import PeepholeError
from peephole.query.compare.counts import count_rows, launches_of, message_rows, pass_rows, rule_rows, work_of
from peephole.query.compare.kernels import kernel_rows, things_of
from peephole.query.compare.memory import memory_rows
from peephole.query.compare.pairs import Pairs, all_pairs, divergences
from peephole.query.compare.recorded import Recorded
from peephole.query.compare.remembered import REMEMBERED
from peephole.query.compare.results import Comparison, SideFacts
from peephole.query.compare.rule_lines import LINES
from peephole.query.compare.several import in_order, middle, middle_messages, middle_peaks
from peephole.query.compare.times import noise_of, time_rows
from peephole.query.compare.totals import portions, total_rows
from peephole.query.compare.verdict import verdict_of
from peephole.query.compare.words import HOST, UNEXPLAINED, held, in_common, missing_parts, notes_of


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with what it was made from, for further questions about it."""

    comparison: Comparison
    pairs: Pairs
    a: Recorded
    b: Recorded


def compare(
    a: Sequence[Recorded],
    b: Sequence[Recorded],
    noise: Sequence[Recorded] = (),
    by_hand: Iterable[tuple[str, str]] = (),
) -> Comparison:
    """What differs between two sides; of several captures a side, the first says what was compiled.

    How often things ran and what was held is of the capture in the middle of each count.

    `noise` are further recordings of A's program: what they differ by from A is not claimed of B.
    """
    return compared(a, b, noise, by_hand).comparison


def compared(
    a: Sequence[Recorded],
    b: Sequence[Recorded],
    noise: Sequence[Recorded] = (),
    by_hand: Iterable[tuple[str, str]] = (),
) -> Compared:
    """The same, with what it was made from."""
    a, b = in_order(a, b)
    one, two = a[0], b[0]
    for side, which in ((one, "A"), (two, "B")):
        if side.empty:
            other = two if side is one else one
            both = "Both captures are" if other.empty else f"{side.name} ({which}) is"
            raise PeepholeError(f"{both} empty: there is nothing to compare.")
    found = all_pairs(one, two, by_hand)
    missing = missing_parts(one, two)
    parted = divergences(one, two, found)
    floor = _noise(a, noise)
    whole = {
        group: (_mean(a, group), _mean(b, group))
        for group in dict.fromkeys(group for side in (*a, *b) for group in side.runs.totals)
    }
    things = things_of(a, b, found.pairs)
    times = time_rows(things, whole, floor)
    if not in_common(one, two, times):
        raise PeepholeError(f"{one.name} (A) and {two.name} (B) have nothing in common to compare: {held(one, two)}.")
    if "times" in missing:
        things, times = [], []
    totals = total_rows(things, floor)
    kernels = kernel_rows(one, two, found, times)
    rules = () if "rewrites" in missing else rule_rows(one.compiled, two.compiled, found)
    passes = pass_rows(one.compiled, two.compiled)
    memory = [] if "memory" in missing else memory_rows(middle_peaks(a), middle_peaks(b))
    counts = count_rows(a, b, passes, kernels, ran="times" not in missing)
    messages = [] if "messages" in missing else message_rows(middle_messages(a), middle_messages(b))
    same = not (
        missing - {"compile"}
        or parted
        or any(row.state != "same" for row in kernels)
        or any(row.a != row.b for row in rules)
        or any(row.peak_a != row.peak_b for row in memory)
        or any(row.differs for row in (*counts, *messages))
    )
    normalised = one.compiled.normalised | two.compiled.normalised
    if found.rules.moved:
        normalised |= {LINES}
    if found.both.skipped:
        normalised |= {REMEMBERED}
    comparison = Comparison(
        _facts(a), _facts(b), same, "", tuple(kernels), tuple(parted), tuple(rules), tuple(times), tuple(totals),
        tuple(portions(kernels)), tuple(memory), tuple(passes), tuple(counts), tuple(messages),
        tuple(sorted(normalised)), tuple(notes_of(a, b, missing)), frozenset(missing), bool(noise),
    )  # fmt: skip
    if comparison.perhaps_noise:
        comparison = replace(comparison, notes=(*comparison.notes, UNEXPLAINED if comparison.unexplained else HOST))
    return Compared(verdict_of(comparison), found, one, two)


def _noise(a: Sequence[Recorded], noise: Sequence[Recorded]) -> dict[tuple[str, str], float] | None:
    """What further recordings of A's program differ by from A."""
    if not noise:
        return None
    found: dict[tuple[str, str], float] = {}
    for other in noise:
        pairs = all_pairs(a[0], other)
        for key, share in noise_of(time_rows(things_of([a[0]], [other], pairs.pairs), {})).items():
            found[key] = max(found.get(key, 0.0), share)
    return found


def _mean(side: Sequence[Recorded], group: str) -> float:
    return sum(one.runs.totals.get(group, 0) for one in side) / len(side)


def _facts(side: Sequence[Recorded]) -> SideFacts:
    one = side[0]
    return SideFacts(
        tuple(recorded.name for recorded in side),
        one.source,
        one.frameworks,
        one.host,
        one.created,
        len(one.compiled.units),
        len(one.compiled.step_id),
        int(one.compiled.step_matches.sum()),
        int(middle(side, launches_of)),
        middle(side, lambda own: work_of(own, "flops")),
        middle(side, lambda own: work_of(own, "bytes")),
        int(middle(side, lambda own: np.maximum(own.compiled.step_dur, 0).sum())),
        _mean(side, "kernels"),
        one.capture is None,
    )
