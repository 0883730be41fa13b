"""What a capture has something to show of: kinds of contexts, tracks and artifacts, problems, schedules, ranks."""

from __future__ import annotations

import numpy as np

from peephole.query.problems.problems import tells_problems
from peephole.query.ranks.run import rank_count
from peephole.query.rewrites.schedules import count_schedules
from peephole.store.capture import Capture


def kind_counts(capture: Capture) -> dict[str, int]:
    """How many contexts, tracks and artifacts there are of each kind; `track:` and `artifact:` stand before theirs;
    `ranks` where there are several, `problems` where any are told, `schedule` for contexts that are schedules."""
    counts: dict[str, int] = {}
    for table, prefix in (("contexts", ""), ("tracks", "track:"), ("artifacts", "artifact:")):
        if not capture.count(table):
            continue
        kinds = capture.read(table, ["kind"]).texts("kind")
        for code, number in zip(*np.unique(kinds.codes, return_counts=True), strict=True):
            if code >= 0:
                counts[prefix + kinds.values[int(code)]] = int(number)
    if (ranks := rank_count(capture)) > 1:
        counts["ranks"] = ranks
    counts["problems"] = int(tells_problems(capture))
    if not counts.get("schedule") and (number := count_schedules(capture)):
        counts["schedule"] = number
    return counts
