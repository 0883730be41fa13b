"""The summaries of a run's ranks, read back from its tables: what more ranks are joined with."""

from __future__ import annotations

import numpy as np

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.run import Run
from peephole.query.ranks.summary import Collectives, RankSummary


def kept_summaries(run: Run) -> list[RankSummary]:
    """The summary of each rank, as its task made it: raw times, nothing matched or aligned."""
    ranks = run.tables["ranks"]
    steps, seen = run.tables["rank_steps"], run.tables["rank_collectives"]
    totals, gaps = run.tables["rank_totals"], run.tables["rank_gaps"]
    at = [_rows(table.ints("rank")) for table in (steps, seen, totals, gaps)]
    found = []
    for i, rank in enumerate(ranks["rank"]):
        own, talk, total, gap = (part.get(rank, np.zeros(0, np.int64)) for part in at)
        columns = [steps.ints(name)[own] for name in ("step", "raw_start_ns", "raw_end_ns")]
        figures = [steps.ints(name)[own] for name in ("busy_ns", "communication_ns", "overlap_ns")]
        texts: dict[str, int] = {}
        group, name = (
            np.array([texts.setdefault(seen[column][row], len(texts)) for row in talk.tolist()], np.int64)
            for column in ("group", "name")
        )
        start, end, size = (seen.ints(column)[talk] for column in ("raw_start_ns", "raw_end_ns", "bytes"))
        held, peer = np.asarray(seen["held"], np.bool_)[talk], seen.ints("peer")[talk]
        found.append(
            RankSummary(
                rank,
                ranks["host"][i],
                ranks["capture"][i],
                Collectives(list(texts), group, name, start, end, size, held, peer),
                np.column_stack(columns).reshape(-1, 3),
                np.column_stack(figures).reshape(-1, 3),
                ranks["busy_ns"][i],
                ranks["communication_ns"][i],
                ranks["overlap_ns"][i],
                (ranks["raw_start_ns"][i], ranks["raw_end_ns"][i]),
                ranks["slices"][i],
                [
                    (totals["name"][row], *(int(totals[c][row]) for c in ("count", "total_ns")))
                    for row in total.tolist()
                ],
                [
                    (step, gaps["cause"][row], many, ns)
                    for row, step, many, ns in zip(
                        gap.tolist(), *(gaps.ints(c)[gap].tolist() for c in ("step", "count", "total_ns")), strict=True
                    )
                ],
                ranks["computes_on"][i],
            )
        )
    return found


def _rows(rank: Ints) -> dict[int, Ints]:
    """By rank, the rows that are its own."""
    order = np.argsort(rank, kind="stable")
    bounds = np.flatnonzero(np.diff(rank[order])) + 1
    return {int(rank[rows[0]]): rows for rows in np.split(order, bounds) if len(rows)}
