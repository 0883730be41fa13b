"""Rows of long tables that wait on the disk come back in the order of the table, equal ones as they came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from peephole.model.tables import TABLES
from peephole.store.tables import row_spool
from peephole.store.tables.row_spool import RowSpool
from peephole.store.tables.schema import arrow_table


@pytest.mark.parametrize("seed", range(20))
def test_runs_are_merged_in_order_and_equal_rows_stay_as_they_came(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_spool, "_BATCH", 7)
    rng = np.random.default_rng(seed)
    spool = RowSpool(tmp_path, TABLES["counters"], run=300)
    given: list[tuple[int, int, float]] = []
    for size in rng.integers(0, 40, 25).tolist():
        track, time = rng.integers(0, 3, size), rng.integers(0, 10, size)
        value = np.arange(len(given), len(given) + size, dtype=np.float64)
        given += zip(track.tolist(), time.tolist(), value.tolist(), strict=True)
        spool.append(arrow_table(TABLES["counters"], {"track": track, "time": time, "value": value}))
    assert spool.in_memory() is None and spool.rows == len(given)
    found = [tuple(row.values()) for part in spool.merged() for row in part.to_pylist()]
    assert found == sorted(given)
    spool.close()


def test_texts_of_runs_are_the_same_afterwards(tmp_path: Path) -> None:
    spool = RowSpool(tmp_path, TABLES["markers"], run=1)
    names = [["b", None], ["a", "b"]]
    for at, own in enumerate(names):
        columns = {"time": np.array([10 - at, 20 + at]), "name": own, "track": np.zeros(2, np.int32), "args": own}
        spool.append(arrow_table(TABLES["markers"], columns))
    found = [row for part in spool.merged() for row in part.to_pylist()]
    assert [(row["time"], row["name"], row["args"]) for row in found] == [
        (9, "a", "a"), (10, "b", "b"), (20, None, None), (21, "b", "b")
    ]  # fmt: skip
    spool.close()
