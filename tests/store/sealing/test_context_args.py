"""Args of slices on their way into the table: whatever the order in which rows ask for them, and in little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from peephole.store.sealing import context_args
from peephole.store.sealing.context_args import Extras

ROWS = 3000


@pytest.mark.parametrize("large", [False, True])
def test_rows_in_any_order(large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rows lie all over the files, which are looked at stretch by stretch."""
    stretches: list[int] = []
    if large:
        monkeypatch.setattr(context_args, "_LARGE", 100)
        monkeypatch.setattr(context_args, "_MAPPED", 4096)
        monkeypatch.setattr(context_args, "let_go", lambda view: stretches.append(len(view)))
    texts = [None if row % 3 == 0 else f'{{"row":{row}}}' for row in range(ROWS)]
    extras = Extras(tmp_path)
    numbers = np.concatenate(
        [
            extras.append(np.full(500, -1, np.int64), pa.array(texts[at : at + 500], pa.large_string()))
            for at in range(0, ROWS, 500)
        ]
    )
    rng = np.random.default_rng(1)
    wanted = np.append(rng.permutation(numbers), [0, 0]).astype(np.uint32)
    _, args = extras.take(wanted)
    assert args is not None
    assert args.to_pylist() == [texts[number - 1] if number else None for number in wanted.tolist()]
    _, args = extras.take(np.zeros(3, np.uint32))
    assert args is None or args.to_pylist() == [None] * 3
    assert not large or len(stretches) > 10
    extras.close()
