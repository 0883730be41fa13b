"""Passes that a compiler runs once a process and remembers: in whose context they stand says nothing."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.compare.by_content.hash_loops import Hashes
from peephole.query.compare.by_content.text_hashes import mixed, text_hashes
from peephole.query.compare.compiled import Compiled

REMEMBERED: Final = "passes inside others that a process runs once and remembers"


def remembered(
    a: Compiled, b: Compiled, b_of_a: NDArray[np.int64], short: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which steps that run inside others the other recording has too, graph by graph and match by match, anywhere.

    A function that rewrites a small graph and is cached shows its pass in the first context that calls it in each
    process. With several processes that compile, which one this is changes from run to run.
    """
    own, other = signatures(a, b_of_a, short), signatures(b, None, short)
    return (a.step_depth > 0) & np.isin(own, other), (b.step_depth > 0) & np.isin(other, own)


def signatures(side: Compiled, rules: NDArray[np.int64] | None, short: bool) -> Hashes:
    """One number of each step: name, graphs, matches. `rules` are the numbers of its rules on the other side."""
    names: dict[str, int] = {}
    codes = np.array([names.setdefault(name, len(names)) for name in side.step_name], np.int64)
    name = text_hashes(names)[codes] if names else np.zeros(0, np.uint64)
    rule = side.match_rule.astype(np.int64) if rules is None else rules[side.match_rule]
    fired = rule.astype(np.uint64)
    content = (side.match_short.astype(np.uint64),) if short else (side.match_before, side.match_after)
    count = side.step_matches
    order = np.argsort(side.step_first, kind="stable")
    place = np.arange(len(fired), dtype=np.int64)
    step = np.repeat(order, count[order])
    if len(step) == len(fired):
        place = place - side.step_first[step]
    words = mixed(place.astype(np.uint64), fired, *content)
    total = np.append(np.uint64(0), np.cumsum(words, dtype=np.uint64))
    matches = total[side.step_first + count] - total[side.step_first]
    return mixed(name, side.step_root, side.step_after, side.step_decisions, count.astype(np.uint64), matches)


def counted_once(side: Compiled) -> NDArray[np.bool_]:
    """Which steps count: all that run by themselves, and of those inside others one of each content."""
    found = signatures(side, None, False) if len(side.match_before) else signatures(side, None, True)
    first = np.zeros(len(found), np.bool_)
    first[np.unique(found, return_index=True)[1]] = True
    alone: NDArray[np.bool_] = side.step_depth == 0
    return first | alone
