"""Rules: how often each fired, how long it took, where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from peephole.compilers import compilers_in
from peephole.compilers.traces import trace_of
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class RuleStats:
    """One rule over the whole capture; times in ns, of the matches whose time is known."""

    file: str | None
    line: int
    source: str | None
    matches: int
    total_ns: int
    mean_ns: float
    contexts: list[int]
    """Ids of the contexts that it fired in, ascending."""
    in_vain: int = 0
    """How often it matched and changed nothing, as far as that was counted."""
    in_vain_ns: int = 0


def is_rule_or_pass(capture: Capture, file: str, line: int) -> bool:
    """Whether a rule that fired, or a pass, of this capture is written there."""
    for table in ("matches", "steps"):
        frame = capture.read(table, ["file", "line"])
        files = frame.texts("file")
        if np.any((files.codes == files.code(file)) & (frame["line"] == line)):
            return True
    return False


def rules(capture: Capture) -> list[RuleStats]:
    """All rules that fired or were tried in vain, those that took longest first, then those that fired most often."""
    trace = trace_of(capture)
    vain: dict[tuple[str | None, int], tuple[int, int]] = {}
    for compiler in compilers_in(capture):
        vain.update(compiler.tried_in_vain(capture))
    result = _fired(trace, vain)
    for (file, line), (count, total) in vain.items():
        result.append(RuleStats(file, line, trace.places.line(file, line), 0, 0, 0.0, [], count, total))
    result.sort(key=lambda rule: (-rule.total_ns, -rule.matches, -rule.in_vain_ns, rule.file or "", rule.line))
    return result


def _fired(trace: RewriteTrace, vain: dict[tuple[str | None, int], tuple[int, int]]) -> list[RuleStats]:
    """The rules that fired; takes what they tried in vain out of `vain`."""
    frame = trace.matches()
    if not len(frame):
        return []
    files = frame.texts("file")
    lines = frame["line"].astype(np.int64)
    keys = (files.codes.astype(np.int64) + 1) << 32 | (lines + 1)
    unique, place = np.unique(keys, return_inverse=True)
    duration = frame["dur"]
    known = duration >= 0
    count = np.bincount(place, minlength=len(unique))
    timed = np.bincount(place[known], minlength=len(unique))
    total = np.bincount(place[known], weights=duration[known], minlength=len(unique))
    pairs = np.unique(np.stack((place, trace.context_of_steps(frame["step"])), axis=1), axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(unique) + 1))
    result = []
    for i, key in enumerate(unique.tolist()):
        code, line = (key >> 32) - 1, (key & 0xFFFFFFFF) - 1
        file = None if code < 0 else files.values[code]
        result.append(
            RuleStats(
                file,
                line,
                trace.places.line(file, line),
                int(count[i]),
                int(total[i]),
                float(total[i] / timed[i]) if timed[i] else 0.0,
                pairs[starts[i] : starts[i + 1], 1].tolist(),
                *vain.pop((file, line), (0, 0)),
            )
        )
    return result
