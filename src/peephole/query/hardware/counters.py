"""Performance counters (PMC): sums, the value of each unit, derived metrics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_MAX_UNITS = 1 << 16


@dataclass(frozen=True, slots=True)
class Unit:
    """One row of a counter's breakdown: where, and a value per workgroup processor."""

    xcc: int
    instance: int
    engine: int
    array: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of one run."""

    name: str
    block: str
    total: int
    largest: int
    units: tuple[Unit, ...]

    @property
    def count(self) -> int:
        """How many values were added up."""
        return sum(len(unit.values) for unit in self.units)


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure computed from counters."""

    name: str
    value: float
    unit: str
    doc: str


def unpack(sched: Sequence[Mapping[str, Any]], blob: bytes) -> list[Counter]:
    """The counters that a schedule lays out over a blob of 64-bit values; a blob that is cut gives what it holds."""
    values = np.frombuffer(blob[: len(blob) // 8 * 8], "<u8")
    found, at = [], 0
    for sample in sched:
        xcc, instances, engines, arrays, wgps = (_dim(sample, key) for key in ("xcc", "inst", "se", "sa", "wgp"))
        units = []
        if xcc * instances * engines * arrays * wgps > _MAX_UNITS:
            break
        for place in itertools.product(range(xcc), range(instances), range(engines), range(arrays)):
            part = values[at : at + wgps].tolist()
            at += wgps
            if len(part) == wgps:
                units.append(Unit(*place, tuple(part)))
        everything = [value for unit in units for value in unit.values]
        found.append(
            Counter(
                str(sample.get("name", "")),
                str(sample.get("block", "")),
                sum(everything),
                max(everything, default=0),
                tuple(units),
            )
        )
    return found


def _dim(sample: Mapping[str, Any], key: str) -> int:
    value = sample.get(key, 1)
    return value if isinstance(value, int) and value >= 0 else 0


_Found = Mapping[str, Counter]


def _utilisation(name: str) -> Callable[[_Found], float | None]:
    def compute(found: _Found) -> float | None:
        counter, active = found.get(name), found.get("GRBM_GUI_ACTIVE")
        if counter is None or active is None or not counter.count or not active.largest:
            return None
        return 100 * (counter.total / counter.count) / (active.largest * 4)

    return compute


def _ratio(part: str, whole: str, scale: float = 100.0) -> Callable[[_Found], float | None]:
    def compute(found: _Found) -> float | None:
        if part not in found or whole not in found or not found[whole].total:
            return None
        return scale * found[part].total / found[whole].total

    return compute


def _hit_rate(found: _Found) -> float | None:
    hit, miss = found.get("GL2C_HIT") or found.get("TCC_HIT"), found.get("GL2C_MISS") or found.get("TCC_MISS")
    if hit is None or miss is None or hit.total + miss.total == 0:
        return None
    return 100 * hit.total / (hit.total + miss.total)


_METRICS: tuple[tuple[str, str, str, Callable[[_Found], float | None]], ...] = (
    ("VALU utilization", "%", "vector instructions a SIMD and active cycle", _utilisation("SQ_INSTS_VALU")),
    ("SALU utilization", "%", "scalar instructions a SIMD and active cycle", _utilisation("SQ_INSTS_SALU")),
    ("LDS bank conflict", "%", "conflict cycles of the cycles that the LDS was active",
     _ratio("SQC_LDS_BANK_CONFLICT", "SQC_LDS_IDX_ACTIVE")),
    ("L2 hit rate", "%", "hits of all L2 look-ups", _hit_rate),
    ("VALU per wave", "", "vector instructions a wave", _ratio("SQ_INSTS_VALU", "SQ_WAVES", 1.0)),
)  # fmt: skip


def metrics(counters: list[Counter]) -> list[Metric]:
    """The derived figures for which the counters are there."""
    found = {counter.name: counter for counter in counters}
    values = ((name, unit, doc, compute(found)) for name, unit, doc, compute in _METRICS)
    return [Metric(name, value, unit, doc) for name, unit, doc, value in values if value is not None]
