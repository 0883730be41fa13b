"""The typed results of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from peephole.query.compare.memory import MemoryRow
from peephole.query.compare.parting import Parting
from peephole.query.compare.times import TimeRow
from peephole.query.compare.totals import Portion

State = Literal["added", "removed", "changed", "same"]


@dataclass(frozen=True, slots=True)
class SideFacts:
    """What is said of one side."""

    names: tuple[str, ...]
    source: str
    frameworks: dict[str, str]
    host: str
    created: str
    contexts: int
    steps: int
    matches: int
    launches: int
    flops: float
    bytes: float
    compile_ns: int
    """Time of all passes, those inside others once."""
    kernel_ns: float
    """Time of all kernels, of one capture."""
    baseline: bool


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel of either side, or of both."""

    state: State
    name: str
    """What A calls it, else B."""
    name_a: str
    name_b: str
    how: str
    """What it was paired by: code, input, line, name, neighbours, hand; empty for one of one side."""
    coded: bool
    """Whether its code is known on every side that has it; else only its name says that it is the same."""
    unit_a: int
    unit_b: int
    """Contexts, -1 for none."""
    launches_a: int
    launches_b: int
    flops_a: float
    flops_b: float
    bytes_a: float
    bytes_b: float
    place: str
    time: TimeRow | None
    kind: str = "kernel"
    """kernel, or what else has code of its own: a module, a half of a graph."""
    uneven: bool = False
    """Both sides have it and run it, with all others of the same code, more or less often."""

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, and not something that kernels are compiled in."""
        return self.kind == "kernel"


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a pair of contexts parts."""

    context_a: str
    """Empty for a side that does not have it."""
    context_b: str
    kind: str
    is_kernel: bool
    unit_a: int
    unit_b: int
    step: str
    """Name of the pass, on A's side if it has one there."""
    step_b: str
    step_id_a: int
    step_id_b: int
    parting: Parting | None
    """None for a context of one side only, and for one without rewrites whose code differs."""
    what: str
    follows: tuple[str, ...]
    """The contexts whose differences this one comes from; empty for one that begins here."""

    @property
    def context(self) -> str:
        """What it is called, on A's side if it is there."""
        return self.context_a or self.context_b

    @property
    def one_sided(self) -> str:
        """added or removed for a context of one side only; empty for one that both have."""
        return "" if self.context_a and self.context_b else "removed" if self.context_a else "added"

    @property
    def match(self) -> int:
        """The match, from 1; 0 where it is none."""
        return self.parting.match if self.parting else 0


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule whose matches differ in number, or whose text does."""

    rule: str
    """`file.py:12` on A's side, else on B's."""
    a: int
    b: int
    place_a: str
    place_b: str
    text_a: str
    text_b: str
    edited: bool


@dataclass(frozen=True, slots=True)
class PassRow:
    """All steps of one name."""

    name: str
    steps_a: int
    steps_b: int
    matches_a: int
    matches_b: int
    ns_a: int
    ns_b: int
    differs: bool
    """Whether steps or matches do, those that a process remembers counted once."""


@dataclass(frozen=True, slots=True)
class CountRow:
    """Something counted on both sides."""

    name: str
    a: float
    b: float
    differs: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two sides."""

    a: SideFacts
    b: SideFacts
    same: bool
    """Nothing differs but times."""
    verdict: str
    kernels: tuple[KernelRow, ...]
    """And what else has code, where there are kernels besides."""
    divergence: tuple[Divergence, ...]
    """Earliest first."""
    rules: tuple[RuleRow, ...]
    times: tuple[TimeRow, ...]
    totals: tuple[TimeRow, ...]
    """All kernels together, and all copies."""
    portions: tuple[Portion, ...]
    """What the change of all kernels' time is made of."""
    memory: tuple[MemoryRow, ...]
    passes: tuple[PassRow, ...]
    counts: tuple[CountRow, ...]
    messages: tuple[CountRow, ...]
    normalised: tuple[str, ...]
    notes: tuple[str, ...]
    """What could not be compared, and what to know about the sides."""
    missing: frozenset[str]
    """Parts that only one side has: rewrites, code, times, memory, messages, compile."""
    noise_known: bool = False
    """Whether times of another recording of A's program say what the machine's noise is."""

    def kernels_of(self, state: State) -> list[KernelRow]:
        """The kernels of one state."""
        return [row for row in self.kernels if row.state == state and row.is_kernel]

    @property
    def unexplained(self) -> bool:
        """Whether kernels are shown to take another time, none of which has other code."""
        claimed = [row for row in self.kernels if row.time is not None and row.time.verdict in ("slower", "faster")]
        together = [row for row in self.totals if row.group == "kernels" and row.verdict in ("slower", "faster")]
        if together and not claimed:
            claimed = [row for row in self.kernels if row.is_kernel]
        return bool(claimed) and all(row.state == "same" and row.coded for row in claimed)

    @property
    def perhaps_noise(self) -> bool:
        """Whether a claim about times stands on one capture a side, and what was timed may be the same on both."""
        if self.noise_known or max(len(self.a.names), len(self.b.names)) > 1:
            return False
        return self.unexplained or self.host_claimed

    @property
    def host_claimed(self) -> bool:
        """Whether a phase of the host is shown to take another time: its code is not recorded."""
        return any(row.group == "host" and row.verdict in ("slower", "faster") for row in self.times)

    def begins(self) -> list[tuple[Divergence, int]]:
        """The contexts that differ by themselves, one of each difference, with how many others differ by the same."""
        kinds: dict[str, list[Divergence]] = {}
        for row in self.divergence:
            if not row.follows:
                kinds.setdefault(row.what if row.parting else row.context, []).append(row)
        return [(rows[0], len(rows) - 1) for rows in kinds.values()]

    def others_of(self, state: State) -> list[KernelRow]:
        """What else has code and is of that state."""
        return [row for row in self.kernels if row.state == state and not row.is_kernel]
