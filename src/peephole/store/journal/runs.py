"""Plans and runs (model/journal.py): each run becomes a slice, with the args that its plan leads to, and its uses."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import OPEN_BUFFER, RUN
from peephole.model.sink import Strings
from peephole.model.tables import NONE
from peephole.store.journal.global_ids import global_ids
from peephole.store.journal.processes import ProcessInfo, parse_object
from peephole.store.journal.track_numbers import Tracks
from peephole.store.sealing.build import Builder
from peephole.store.sealing.spool import RECORD

RUNS: Final = np.dtype(
    [("start", "<i8"), ("dur", "<u4"), ("plan", "<u4"), ("correlation", "<u4"), ("values", "<u4")]
)  # fmt: skip
assert RUNS.itemsize == RUN.size
_SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "<": operator.lt,
    "!=": operator.ne,
    "==": operator.eq,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_LARGEST: Final = 1 << 200
_MOST: Final = 1000
_MAX_TRACK: Final = 1 << 22


@dataclass(slots=True)
class Plan:
    """What all runs of it have in common; ids are the process's."""

    track: int
    name: str
    context: int
    amounts: dict[str, Any]
    buffers: NDArray[np.int64]
    modes: list[str]
    positions: NDArray[np.int16]
    known: dict[int, tuple[dict[str, float], str]] = field(default_factory=dict)
    """Number of a text with variables to the amounts with these, and to the text as JSON; 0 is for no variables."""

    @property
    def open(self) -> int:
        """How many of the buffers each run says itself."""
        return int((self.buffers == OPEN_BUFFER).sum())

    def args(self, durations: NDArray[np.int64], values: NDArray[np.int64], texts: list[str]) -> list[str | None]:
        """The args of runs."""
        made: list[str | None] = []
        for dur, number in zip(durations.tolist(), values.tolist(), strict=True):
            own = self.known.get(number)
            if own is None:
                own = self.known[number] = self._with(texts[number - 1] if 0 < number <= len(texts) else "")
            amounts, variables = own
            rates = [f'"{name}":{int(amount * 1e9 / dur)}' for name, amount in amounts.items()] if dur else []
            if variables:
                rates.append(variables)
            made.append("{" + ",".join(rates) + "}" if rates else None)
        if len(self.known) > _MOST:
            self.known.clear()
        return made

    def _with(self, text: str) -> tuple[dict[str, float], str]:
        variables = (parse_object(text.encode("utf-8", "replace")) or {}) if text else {}
        amounts = {}
        for name, amount in self.amounts.items():
            value = evaluate(amount, variables)
            if value is not None:
                amounts[json.dumps(name)[1:-1]] = value
        shown = json.dumps(variables, separators=(",", ":"))
        return amounts, f'"variables":{shown}' if variables else ""


class Runs:
    """The plans of one thread's series, and its runs until they are handed over."""

    def __init__(self, process: ProcessInfo, tracks: Tracks, builder: Builder) -> None:
        self._process = process
        self._tracks = tracks
        self._builder = builder
        self._plans: dict[int, Plan] = {}
        self._runs: list[bytes] = []
        self._open: dict[tuple[int, int], list[bytes]] = {}

    def plan(self, payload: bytes, where: str) -> None:
        """Takes a PLAN record."""
        found = read_plan(payload)
        if found is None:
            self._builder.manifest.problem("plans that are damaged", 1, where)
        else:
            self._plans[found[0]] = found[1]

    def add(self, payload: bytes) -> None:
        """Takes a RUN record."""
        if len(payload) == RUN.size:
            self._runs.append(payload)
        elif len(payload) > RUN.size and (len(payload) - RUN.size) % 8 == 0:
            plan = int(np.frombuffer(payload, RUNS, 1)["plan"][0])
            self._open.setdefault((plan, len(payload)), []).append(payload)
        else:
            self._builder.manifest.problem("runs that are damaged", 1, "")

    def add_many(self, payloads: bytes) -> None:
        """Takes RUN records without open buffers, one behind the other."""
        self._runs.append(payloads)

    def flush(self, texts: list[str]) -> None:
        """Makes slices and uses of runs; a plan stands before its runs. The texts are the thread's."""
        if self._runs:
            runs = np.frombuffer(b"".join(self._runs), RUNS)
            self._runs = []
            order = np.argsort(runs["plan"], kind="stable")
            bounds = np.flatnonzero(np.diff(runs["plan"][order])) + 1
            for part in np.split(order, bounds):
                self._hand_over(int(runs["plan"][part[0]]), runs[part], None, texts)
        for (number, size), payloads in self._open.items():
            rows = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), size)
            runs = np.ascontiguousarray(rows[:, : RUN.size]).view(RUNS)[:, 0]
            self._hand_over(number, runs, np.ascontiguousarray(rows[:, RUN.size :]).view("<i8"), texts)
        self._open = {}

    def _hand_over(
        self, number: int, runs: NDArray[Any], open_buffers: NDArray[np.int64] | None, texts: list[str]
    ) -> None:
        plan = self._plans.get(number)
        told = 0 if open_buffers is None else open_buffers.shape[1]
        if plan is None or plan.open != told or not 0 <= plan.track < _MAX_TRACK:
            self._builder.manifest.problem("runs of a plan that is not there", len(runs), "")
            return
        ordinal = self._process.ordinal
        records = np.zeros(len(runs), RECORD)
        records["start"] = runs["start"] + self._process.offset
        records["dur"] = runs["dur"]
        records["name"] = self._builder.names.number(plan.name)
        correlation = global_ids(runs["correlation"].astype(np.int64), ordinal, zero_is_none=True)
        records["correlation"] = correlation
        records["track"] = self._tracks.globals(ordinal, np.full(1, plan.track))[0]
        context = global_ids(np.full(len(runs), plan.context, np.int64), ordinal)
        self._builder.records(records, context, plan.args(runs["dur"], runs["values"], texts))
        if len(plan.buffers) == 0:
            return
        buffers = np.tile(plan.buffers, (len(runs), 1))
        if open_buffers is not None:
            buffers[:, plan.buffers == OPEN_BUFFER] = open_buffers
        good = (buffers != NONE).ravel()
        each = len(plan.buffers)
        uses = {
            "buffer": global_ids(buffers.ravel()[good], ordinal),
            "slice": np.repeat(correlation, each)[good],
            "mode": Strings(np.tile(np.arange(each), len(runs))[good], plan.modes),
            "position": np.tile(plan.positions, len(runs))[good],
        }
        self._builder.append("uses", uses)


def read_plan(payload: bytes) -> tuple[int, Plan] | None:
    """A plan and its number, or None when it is none."""
    facts = parse_object(payload)
    try:
        assert facts is not None
        uses = [(int(buffer), str(mode), int(position)) for buffer, mode, position in facts["uses"]]
        amounts = facts["amounts"]
        assert isinstance(amounts, dict)
        plan = Plan(
            track=int(facts["track"]),
            name=str(facts["name"]),
            context=int(facts.get("context", NONE)),
            amounts=amounts,
            buffers=np.array([use[0] for use in uses], np.int64),
            modes=[use[1] for use in uses],
            positions=np.array([use[2] for use in uses], np.int16),
        )
        return int(facts["plan"]), plan
    except (AssertionError, KeyError, TypeError, ValueError, OverflowError):
        return None


def evaluate(amount: Any, variables: Mapping[str, Any]) -> float | None:
    """The number that an amount is with these variables; None when it is none."""
    if type(amount) in (int, float):
        return float(amount) if type(amount) is float else amount
    values: list[Any] = []
    try:
        for step in amount[:_MOST]:
            if type(step) is not list:
                value = step
            elif len(step) == 1:
                value = variables[step[0]]
            elif step[0] == "neg":
                value = -values[step[1]]
            else:
                value = _SIGNS[step[0]](values[step[1]], values[step[2]])
            if not isinstance(value, (int, float)) or abs(value) > _LARGEST:
                return None
            values.append(value)
        number: float = values[-1]
        return number
    except (IndexError, KeyError, TypeError, ValueError, ArithmeticError):
        return None
