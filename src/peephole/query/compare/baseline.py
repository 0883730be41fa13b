"""Named baselines: the hashes and figures of a capture in one small file, to compare with when the capture is gone."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import CaptureError, PeepholeError
from peephole.model.json_shape import shaped
from peephole.model.json_text import parse
from peephole.model.unfinished import whole_file
from peephole.query.compare.compiled import Compiled, RuleLine, Unit
from peephole.query.compare.memory import Peak
from peephole.query.compare.recorded import Origin, Recorded, origin_of
from peephole.query.compare.runs import Runs, RunTable

SUFFIX: Final = ".baseline"
FORMAT: Final = 1
_MOST_RUNS: Final = 256
"""Durations that are kept of each name, spread evenly over its runs."""
_LARGEST: Final = 1 << 28
_NAME: Final = re.compile(r"[\w][\w.+-]{0,99}")
_UNSIGNED: Final = {"<u8": np.uint64, "<u2": np.uint16}
_SIGNED: Final = "+"
_STEPS: Final = {
    "step_id": _SIGNED, "step_root": "<u8", "step_after": "<u8", "step_decisions": "<u8", "step_first": _SIGNED,
    "step_matches": _SIGNED, "step_depth": _SIGNED, "step_start": _SIGNED, "step_end": _SIGNED, "step_dur": _SIGNED,
    "match_rule": _SIGNED, "match_short": "<u2",
}  # fmt: skip
"""The columns of steps and matches, each with how its numbers are packed."""
Packed = tuple[str, str]


def baseline_path(folder: Path, name: str) -> Path:
    """Where the baseline of that name is, or will be; PeepholeError for a name that is no file's."""
    if not _NAME.fullmatch(name):
        raise PeepholeError(f"{name!r} cannot name a baseline: letters, digits, dots, dashes and underscores do.")
    return folder / f"{name}{SUFFIX}"


def baseline_names(folder: Path) -> list[str]:
    """The baselines of a folder."""
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def save_baseline(side: Recorded, path: Path) -> None:
    """Writes the hashes and figures of a recording."""
    compiled = side.compiled
    kept: dict[str, Any] = {
        "peephole_baseline": FORMAT,
        **origin_of(side),
        "messages": side.messages,
        "units": [list(asdict(unit).values()) for unit in compiled.units],
        "rules": [[_tail(rule.file), rule.line, rule.text, rule.matches] for rule in compiled.rules],
        "normalised": sorted(compiled.normalised),
        "names": _texts(compiled.step_name),
        "columns": {name: _packed(getattr(compiled, name)) for name in _STEPS},
        "runs": [_runs(run) for run in side.runs.runs],
        "totals": side.runs.totals,
        "exact": side.runs.exact,
        "peaks": [
            [peak.device, peak.bytes, peak.time, peak.buffers, [list(asdict(held).values()) for held in peak.held]]
            for peak in side.peaks
        ],
    }
    text = json.dumps(kept, separators=(",", ":"), allow_nan=False).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(zlib.compress(text, 9))


def load_baseline(path: Path) -> Recorded:
    """A recording as a baseline has it; CaptureError when the file is none."""
    try:
        unpack = zlib.decompressobj()
        text = unpack.decompress(path.read_bytes(), _LARGEST)
        kept = parse(text.decode("utf-8"))
        if kept["peephole_baseline"] > FORMAT:
            raise CaptureError(f"{path} was written by a newer Peephole; update this one.")
        return replace(_recorded(path.name.removesuffix(SUFFIX), shaped(_Kept, kept)), path=str(path.resolve()))
    except (OSError, zlib.error, ValueError, TypeError, KeyError) as error:
        raise CaptureError(
            f"{path} is not a baseline that can be read ({type(error).__name__}); save it again."
        ) from None


@dataclass(frozen=True)
class _Kept(Origin):
    """What the file has, as JSON."""

    messages: dict[str, int]
    units: tuple[Unit, ...]
    rules: tuple[RuleLine, ...]
    normalised: frozenset[str]
    names: tuple[tuple[str, ...], Packed]
    columns: dict[str, Packed]
    runs: tuple[_KeptRuns, ...]
    totals: dict[str, int]
    exact: bool
    peaks: tuple[Peak, ...]


@dataclass(frozen=True)
class _KeptRuns:
    group: str
    name: str
    context: int
    count: int
    total: int
    dur: Packed
    flops: float
    bytes: float


def _recorded(name: str, kept: _Kept) -> Recorded:
    columns = {key: _unpacked(kept.columns[key], _STEPS[key]) for key in _STEPS}
    names, codes = kept.names[0], _unpacked(kept.names[1])
    steps, matches = len(columns["step_id"]), len(columns["match_rule"])
    if any(len(columns[key]) != (matches if key.startswith("match") else steps) for key in _STEPS):
        raise ValueError("columns of different lengths")
    first, count = columns["step_first"], columns["step_matches"]
    if len(codes) != steps or np.any(first < 0) or np.any(count < 0) or np.any(count > matches - first):
        raise ValueError("steps beyond the matches")
    if not _inside(columns["match_rule"], len(kept.rules)) or not _inside(codes, len(names)):
        raise ValueError("matches of no rule, or steps without a name")
    if any(not 0 <= unit.first <= unit.past <= steps for unit in kept.units):
        raise ValueError("contexts beyond the steps")
    nothing = np.zeros(0, np.uint64)
    compiled = Compiled(
        units=kept.units, step_name=[names[code] for code in codes.tolist()], match_before=nothing,
        match_after=nothing, rules=kept.rules, normalised=kept.normalised, **columns,
    )  # fmt: skip
    runs = tuple(
        Runs(
            run.group, run.name, run.context, run.count, run.total, _unpacked(run.dur).astype(np.float64), run.flops,
            run.bytes,
        )
        for run in kept.runs
    )  # fmt: skip
    return Recorded(
        **origin_of(kept), name=name, compiled=compiled, runs=RunTable(runs, kept.totals, kept.exact),
        peaks=kept.peaks, messages=kept.messages,
    )  # fmt: skip


def _inside(numbers: NDArray[Any], end: int) -> bool:
    return len(numbers) == 0 or bool(numbers.min() >= 0 and numbers.max() < end)


def _runs(run: Runs) -> list[Any]:
    dur = run.dur
    if len(dur) > _MOST_RUNS:
        dur = dur[np.linspace(0, len(dur) - 1, _MOST_RUNS).astype(np.int64)]
    packed = _packed(dur.round().astype(np.int64))
    return [run.group, run.name, run.context, run.count, run.total, packed, run.flops, run.bytes]


def _tail(file: str) -> str:
    """The end of a path, from the package on: where it was installed is nobody's business."""
    return "/".join(file.replace("\\", "/").split("/")[-4:])


def _texts(texts: list[str]) -> list[Any]:
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
    return [list(numbers), _packed(codes)]


def _packed(values: NDArray[Any]) -> Packed:
    """A column as its type and its bytes, numbers by what they grow by, so that they pack well."""
    if values.dtype.str in _UNSIGNED:
        return values.dtype.str, base64.b85encode(np.ascontiguousarray(values).tobytes()).decode()
    grown = np.diff(values.astype(np.int64), prepend=0)
    return _SIGNED, base64.b85encode(zlib.compress(grown.tobytes(), 9)).decode()


def _unpacked(packed: Packed, kind: str = _SIGNED) -> NDArray[Any]:
    if packed[0] != kind:
        raise ValueError("a column of another type")
    raw = base64.b85decode(packed[1])
    if kind == _SIGNED:
        return np.cumsum(np.frombuffer(zlib.decompressobj().decompress(raw, _LARGEST), np.int64))
    return np.frombuffer(raw, _UNSIGNED[kind])
