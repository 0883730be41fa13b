"""A comparison as the JSON object of `peephole diff --json`."""

from __future__ import annotations

from typing import Any

from peephole.query.compare.gate import Gate
from peephole.query.compare.one_kernel import OneKernel
from peephole.query.compare.results import Comparison, Divergence, KernelRow, SideFacts
from peephole.query.compare.times import TimeRow


def comparison_object(found: Comparison, gate: Gate, only: frozenset[str]) -> dict[str, Any]:
    """The whole comparison; parts that were not asked for are empty."""
    states = ("added", "removed", "changed", "same")
    return {
        "same": found.same,
        "verdict": found.verdict,
        "kernels": {
            state: [row.name for row in found.kernels_of(state)] if only & {"kernels", "code"} else []  # type: ignore[arg-type]
            for state in states
        },
        "pairs": [
            pair_object(row) for row in found.kernels if row.state != "same" and only & {"kernels", "code"}
        ],
        "divergence": [divergence_object(row) for row in found.divergence] if only & {"code", "rules"} else [],
        "rules": [
            {
                "rule": row.rule, "a": row.a, "b": row.b, "place_a": row.place_a, "place_b": row.place_b,
                "text_a": row.text_a, "text_b": row.text_b, "edited": row.edited,
            }
            for row in found.rules
            if row.a != row.b
        ] if "rules" in only else [],
        "others": {
            state: [row.name for row in found.others_of(state)] if only & {"kernels", "code"} else []  # type: ignore[arg-type]
            for state in states
        },
        "times": [time_object(row) for row in found.times] if "time" in only else [],
        "totals": [time_object(row) for row in found.totals] if "time" in only else [],
        "portions": [
            {"name": part.name, "kernels": part.kernels, "ns": round(part.ns)} for part in found.portions
        ] if "time" in only else [],
        "memory": [
            {
                "device": row.device, "peak_a": row.peak_a, "peak_b": row.peak_b,
                "held": [
                    {"name": h.name, "dtype": h.dtype, "bytes": h.bytes, "count_a": h.count_a, "count_b": h.count_b}
                    for h in row.held[:20]
                ],
            }
            for row in found.memory
        ] if "memory" in only else [],
        "passes": [
            {
                "name": row.name, "steps_a": row.steps_a, "steps_b": row.steps_b, "matches_a": row.matches_a,
                "matches_b": row.matches_b, "ns_a": row.ns_a, "ns_b": row.ns_b,
            }
            for row in found.passes
        ] if "compile" in only else [],
        "counts": [{"name": row.name, "a": row.a, "b": row.b, "differs": row.differs} for row in found.counts],
        "messages": [{"name": row.name, "a": row.a, "b": row.b} for row in found.messages if row.differs],
        "normalised": list(found.normalised),
        "notes": list(found.notes),
        "a": side_object(found.a),
        "b": side_object(found.b),
        "failed": [{"rule": one.term, "why": one.why} for one in gate.failures],
        "unknown": [{"rule": one.term, "why": one.why} for one in gate.unknown],
    }  # fmt: skip


def side_object(side: SideFacts) -> dict[str, Any]:
    """What is said of one side."""
    return {
        "captures": list(side.names), "source": side.source, "frameworks": side.frameworks, "host": side.host,
        "created": side.created, "baseline": side.baseline, "compile_ns": side.compile_ns,
        "kernel_ns": round(side.kernel_ns),
    }  # fmt: skip


def pair_object(row: KernelRow) -> dict[str, Any]:
    """A kernel of either side."""
    return {
        "state": row.state, "kind": row.kind, "a": row.name_a or None, "b": row.name_b or None, "matched_by": row.how,
        "launches_a": row.launches_a, "launches_b": row.launches_b, "flops_a": row.flops_a, "flops_b": row.flops_b,
        "bytes_a": row.bytes_a, "bytes_b": row.bytes_b, "place": row.place,
    }  # fmt: skip


def divergence_object(row: Divergence) -> dict[str, Any]:
    """Where a context parts."""
    parts = row.parting
    rules = [
        {"file": rule.file, "line": rule.line, "source": rule.text} if rule else None
        for rule in ((parts.rule_a, parts.rule_b) if parts else (None, None))
    ]
    return {
        "kernel": row.context if row.is_kernel else None,
        "context": row.context,
        "context_b": row.context_b or None,
        "step": row.step or None,
        "step_b": row.step_b or None,
        "ordinal": parts.ordinal if parts else None,
        "match": row.match or None,
        "what": row.what,
        "kind": parts.what if parts else row.one_sided or "code",
        "rule_a": rules[0],
        "rule_b": rules[1],
        "inner_match": parts.inner.match or None if parts and parts.inner else None,
        "inner_ordinal": parts.inner.ordinal if parts and parts.inner else None,
        "follows": list(row.follows),
    }


def time_object(row: TimeRow) -> dict[str, Any]:
    """The times of one thing."""
    return {
        "name": row.name,
        "name_b": row.name_b,
        "group": row.group,
        "n_a": row.n_a,
        "n_b": row.n_b,
        "median_a_ns": round(row.median_a) if row.n_a else None,
        "median_b_ns": round(row.median_b) if row.n_b else None,
        "interval_a_ns": list(row.interval_a) if row.interval_a else None,
        "interval_b_ns": list(row.interval_b) if row.interval_b else None,
        "total_a_ns": round(row.total_a),
        "total_b_ns": round(row.total_b),
        "runs_a": row.count_a,
        "runs_b": row.count_b,
        "p": row.p if row.tested else None,
        "verdict": row.verdict,
    }


def kernel_object(found: Comparison, one: OneKernel) -> dict[str, Any]:
    """One kernel in depth, in the same keys, with its code and passes."""
    row = one.row
    name = one.context_a or one.context_b
    return {
        "same": (row is None or row.state == "same") and one.divergence is None,
        "kernels": {
            state: [name] if row and row.state == state else [] for state in ("added", "removed", "changed", "same")
        },
        "pairs": [pair_object(row)] if row else [],
        "divergence": [divergence_object(one.divergence)] if one.divergence else [],
        "causes": [divergence_object(row) for row in one.causes],
        "times": [time_object(row.time)] if row and row.time else [],
        "passes": [
            {
                "name": step.name, "depth": step.depth, "step_a": step.step_a, "step_b": step.step_b,
                "matches_a": step.matches_a, "matches_b": step.matches_b, "state": step.state,
            }
            for step in one.passes
        ],
        "code": [
            {"kind": line.kind, "line_a": line.number_a or None, "line_b": line.number_b or None,
             "text_a": line.text_a, "text_b": line.text_b}
            for line in one.code.lines
        ],
        "normalised": list(found.normalised),
        "notes": list(found.notes),
    }  # fmt: skip
