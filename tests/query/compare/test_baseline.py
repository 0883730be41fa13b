"""Baselines that somebody else wrote: whatever is in them, they are compared or refused with a sentence."""

from __future__ import annotations

import json
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from peephole.errors import CaptureError
from peephole.query.compare.baseline import load_baseline, save_baseline
from peephole.query.compare.comparison import compared
from peephole.query.compare.recorded import recorded
from peephole.store.capture import open_capture

from .generated import Kernel, write_kernels

RUNS = {"r_4": [900_000 + 300 * i for i in range(20)]}
WRONG: tuple[tuple[tuple[str | int, ...], object], ...] = (
    (("source",), 5), (("frameworks",), [1]), (("created",), None), (("dropped",), True), (("clean",), 1),
    (("messages",), 7), (("messages", "x"), "many"), (("totals",), "x"), (("totals", "kernels"), None),
    (("units", 0, 1), 3), (("units", 0, 10), "first"), (("units", 0), 5), (("units", 0), [1, "a"]),
    (("rules",), [5]), (("rules",), [[7, 1, None, 1]]),
    (("names",), [1, 2]), (("names", 0), 9), (("normalised",), [[1]]),
    (("runs",), {}), (("runs", 0, 3), None), (("runs", 0, 4), 10**30), (("runs", 0, 5, 0), "<u8"),
    (("runs", 0, 6), "nan"), (("peaks",), [["CPU"]]), (("columns", "step_root", 0), "+"),
    (("columns", "step_id", 0), "<u8"), (("columns", "match_rule", 1), "\u00e9"), (("columns", "step_id"), 5),
)  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baselines")
    kernels = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "E_8", 2, "  y = 2;", 4)]
    with closing(open_capture(write_kernels(folder / "old.peep", kernels, RUNS))) as capture:
        save_baseline(recorded(capture), folder / "old.baseline")
    return folder / "old.baseline"


def test_a_sound_one_is_the_recording(kept: Path) -> None:
    side = load_baseline(kept)
    assert compared([side], [load_baseline(kept)]).comparison.same
    assert [unit.name for unit in side.compiled.units] == ["r_4", "E_8"] and side.runs.runs[0].count == 20


@pytest.mark.parametrize(("place", "value"), WRONG, ids=[f"{place} {value}"[:40] for place, value in WRONG])
def test_a_value_of_another_type_is_one_sentence(
    kept: Path, tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    found: Any = json.loads(zlib.decompress(kept.read_bytes()))
    inside = found
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    path = tmp_path / "wrong.baseline"
    path.write_bytes(zlib.compress(json.dumps(found).encode()))
    with pytest.raises(CaptureError, match=r"wrong.baseline is not a baseline that can be read \(ValueError\)"):
        load_baseline(path)
