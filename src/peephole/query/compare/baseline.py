"""Named baselines: the hashes and figures of a capture in one small file, to compare with when the capture is gone."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import CaptureError, PeepholeError
from peephole.model.json_text import parse
from peephole.model.unfinished import whole_file
from peephole.query.compare.compiled import Compiled, RuleLine, Unit
from peephole.query.compare.memory import Held, Peak
from peephole.query.compare.recorded import Recorded
from peephole.query.compare.runs import Runs, RunTable

SUFFIX: Final = ".baseline"
FORMAT: Final = 1
_MOST_RUNS: Final = 256
"""Durations that are kept of each name, spread evenly over its runs."""
_LARGEST: Final = 1 << 28
_NAME: Final = re.compile(r"[\w][\w.+-]{0,99}")
_UNSIGNED: Final = {"<u8": np.uint64, "<u2": np.uint16}
_STEPS: Final = (
    "step_id", "step_root", "step_after", "step_decisions", "step_first", "step_matches", "step_depth", "step_start",
    "step_end", "step_dur", "match_rule", "match_short",
)  # fmt: skip


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
        **{
            key: getattr(side, key)
            for key in ("source", "frameworks", "host", "program", "created", "clean", "dropped")
        },
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
        return _recorded(path.name.removesuffix(SUFFIX), kept)
    except (OSError, zlib.error, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise CaptureError(
            f"{path} is not a baseline that can be read ({type(error).__name__}); save it again."
        ) from None


def _recorded(name: str, kept: dict[str, Any]) -> Recorded:
    columns = {key: _unpacked(kept["columns"][key]) for key in _STEPS}
    units = tuple(Unit(*row) for row in kept["units"])
    rules = tuple(RuleLine(*row) for row in kept["rules"])
    names, codes = kept["names"]
    step_name = [names[code] for code in _unpacked(codes).tolist()]
    steps, matches = len(columns["step_id"]), len(columns["match_rule"])
    if any(len(columns[key]) != (matches if key.startswith("match") else steps) for key in _STEPS):
        raise ValueError("columns of different lengths")
    first, count = columns["step_first"], columns["step_matches"]
    if len(step_name) != steps or np.any(first < 0) or np.any(count < 0) or np.any(first + count > matches):
        raise ValueError("steps beyond the matches")
    if matches and not 0 <= int(columns["match_rule"].min()) <= int(columns["match_rule"].max()) < len(rules):
        raise ValueError("matches of no rule")
    if any(not 0 <= unit.first <= unit.past <= steps for unit in units):
        raise ValueError("contexts beyond the steps")
    nothing = np.zeros(0, np.uint64)
    compiled = Compiled(
        units=units, step_name=step_name, match_before=nothing, match_after=nothing, rules=rules,
        normalised=frozenset(kept["normalised"]), **columns,
    )  # fmt: skip
    runs = tuple(
        Runs(group, name, context, count, total, _unpacked(dur).astype(np.float64), flops, moved)
        for group, name, context, count, total, dur, flops, moved in kept["runs"]
    )
    peaks = tuple(
        Peak(device, most, time, buffers, tuple(Held(*one) for one in held))
        for device, most, time, buffers, held in kept["peaks"]
    )
    return Recorded(
        name, kept["source"], kept["frameworks"], kept["host"], kept["program"], kept["created"], kept["clean"],
        kept["dropped"], compiled, RunTable(runs, kept["totals"], kept["exact"]), peaks, kept["messages"],
    )  # fmt: skip


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


def _packed(values: NDArray[Any]) -> list[str]:
    """A column as its type and its bytes, numbers by what they grow by, so that they pack well."""
    if values.dtype.str in _UNSIGNED:
        return [values.dtype.str, base64.b85encode(np.ascontiguousarray(values).tobytes()).decode()]
    grown = np.diff(values.astype(np.int64), prepend=0)
    return ["+", base64.b85encode(zlib.compress(grown.tobytes(), 9)).decode()]


def _unpacked(packed: list[str]) -> NDArray[Any]:
    kind, text = packed
    raw = base64.b85decode(text)
    if kind == "+":
        return np.cumsum(np.frombuffer(zlib.decompressobj().decompress(raw, _LARGEST), np.int64))
    return np.frombuffer(raw, _UNSIGNED[kind])
