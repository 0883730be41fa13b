"""The files that a run was made of, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass, fields

from peephole.query.ranks.run import Run


@dataclass(frozen=True, slots=True)
class Input:
    """A file or capture that was given."""

    path: str
    state: str
    problem: str
    ranks: tuple[int, ...]
    worker: str
    tries: int
    dur_ns: int
    slices: int


def inputs_of(run: Run) -> list[Input]:
    """The inputs in the order in which they were given; none for a capture that all ranks share."""
    if "inputs" not in run.tables:
        return []
    table = run.tables["inputs"]
    columns = [table.ints(one.name).tolist() if one.name in ("tries", "dur_ns", "slices") else table[one.name]
               for one in fields(Input)]  # fmt: skip
    return [Input(*values) for values in zip(*columns, strict=True)]
