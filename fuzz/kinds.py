"""Every kind of input that is mutated. A new reader joins here: a maker in `seeds.py` and a line in KINDS."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fuzz.asks import C, some_asks, some_request
from fuzz.edits import Draw, Edit, damage_bytes, damage_json, damage_lines
from fuzz.messages import damage_database, damage_messages
from fuzz.mutant import Mutant
from fuzz.pickles import damage_pickle, damage_trace
from fuzz.tables import damage_parquet, damage_segment, damage_zip
from hypothesis import strategies as st

from fuzz import sql

Make = Callable[[Draw, Path], Mutant]
"""Draws a mutant, given the folder of the seeds."""


@dataclass(frozen=True)
class Kind:
    """A kind of input."""

    name: str
    make: Make


@cache
def _cases(folder: Path) -> tuple[dict[str, bytes], ...]:
    """The cases of a kind: their files by name."""
    found = []
    for case in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(path for path in case.rglob("*") if path.is_file())
        found.append({path.relative_to(case).as_posix(): path.read_bytes() for path in files})
    return tuple(found)


def imported(seeds: str, edit: Edit) -> Make:
    """Files of another tool, one of them damaged: imported, and if that went well asked about."""

    def make(draw: Draw, folder: Path) -> Mutant:
        files = dict(draw(st.sampled_from(_cases(folder / seeds))))
        name = draw(st.sampled_from(sorted(files)))
        files[name] = edit(draw, files[name])
        asks = some_asks(draw, most=2) if draw(st.integers(0, 2)) == 0 else ()
        return Mutant(files, (("import", "-o", C, *sorted(files)), *asks))

    return make


def opened(seeds: str, edit: Edit, ending: str) -> Make:
    """A capture of which one file with that ending is damaged: opened and asked about."""

    def make(draw: Draw, folder: Path) -> Mutant:
        files = dict(draw(st.sampled_from(_cases(folder / seeds))))
        name = draw(st.sampled_from([name for name in sorted(files) if name.endswith(ending)]))
        files[name] = edit(draw, files[name])
        return Mutant(files, some_asks(draw))

    return make


def index(draw: Draw, folder: Path) -> Mutant:
    """A capture whose index is damaged, or another's."""
    cases = _cases(folder / "capture")
    files = dict(draw(st.sampled_from(cases)))
    name = draw(st.sampled_from([name for name in sorted(files) if "/index/" in name]))
    how = draw(st.sampled_from(("damage", "damage", "damage", "other", "gone")))
    if how == "other":
        files[name] = draw(st.sampled_from(cases))[name]
    elif how == "gone":
        del files[name]
    else:
        files[name] = (damage_parquet if name.endswith(".parquet") else damage_bytes)(draw, files[name])
    return Mutant(files, some_asks(draw))


def notes(draw: Draw, folder: Path) -> Mutant:
    """A capture with damaged notes, and what reads them."""
    files = dict(draw(st.sampled_from(_cases(folder / "capture"))))
    files[f"{C}/notes.json"] = damage_json(draw, NOTES)
    reads = st.sampled_from((("notes", C), ("notes", "--json", C), ("info", C), ("pack", "-o", "out.peep.zip", C)))
    return Mutant(files, (draw(reads), *some_asks(draw, most=1)))


def packed(draw: Draw, folder: Path) -> Mutant:
    """A packed capture."""
    name = "c.peep.zip"
    files = dict(draw(st.sampled_from(_cases(folder / "pack"))))
    files[name] = damage_zip(draw, files[name])
    return Mutant(files, some_asks(draw, name, 2))


def baseline(draw: Draw, folder: Path) -> Mutant:
    """A damaged baseline, mostly with sound compression, compared with its capture."""
    files = dict(draw(st.sampled_from(_cases(folder / "baseline"))))
    name = "old.baseline"
    if draw(st.integers(0, 5)) == 0:
        files[name] = damage_bytes(draw, files[name])
    else:
        files[name] = zlib.compress(damage_json(draw, zlib.decompress(files[name])), 1)
    sides = draw(st.permutations((name, C)))
    return Mutant(files, (("diff", *sides, *draw(st.sampled_from(((), ("--json",), ("--markdown",))))),))


def request(draw: Draw, folder: Path) -> Mutant:
    """A request that no page sends, about a sound capture."""
    files = draw(st.sampled_from(_cases(folder / "capture")))
    return Mutant(files, tuple(some_request(draw, wild=True) for _ in range(draw(st.integers(1, 4)))))


def statement(draw: Draw, folder: Path) -> Mutant:
    """SQL of all sorts over a sound capture."""
    files = draw(st.sampled_from(_cases(folder / "capture")))
    limits = ("--limit-time", "0.3", "--limit-memory", "200MB")
    return Mutant(files, tuple(("query", *limits, sql.some_sql(draw), C) for _ in range(draw(st.integers(1, 2)))))


def both(first: Make, second: Make) -> Make:
    """One or the other."""
    return lambda draw, folder: (first if draw(st.booleans()) else second)(draw, folder)


NOTES: Final = json.dumps(
    {
        "format": 1,
        "notes": [
            {"id": f"n{number}", "kind": kind, "text": "slow", "label": "k", "created": "2026-01-01", "at": at}
            for number, (kind, at) in enumerate(
                (
                    ("slice", {"track": 0, "depth": 0, "start": 10, "dur": 8}),
                    ("range", {"start": 0, "end": 90}),
                    ("match", {"step": 0, "match": 1}),
                    ("node", {"step": 0, "match": 1, "node": 2}),
                )
            )
        ],
    }
).encode()


KINDS: Final = (
    Kind("manifest", opened("capture", damage_json, "manifest.json")),
    Kind("notes", notes),
    Kind("run", both(opened("run", damage_json, ".json"), opened("run", damage_parquet, ".parquet"))),
    Kind("ranks", imported("ranks", damage_json)),
    Kind("journal", both(opened("journal", damage_segment, ".seg"), opened("journal", damage_json, ".json"))),
    Kind("parquet", opened("capture", damage_parquet, ".parquet")),
    Kind("index", index),
    Kind("pack", packed),
    Kind("tinygrad", imported("tinygrad", damage_pickle)),
    Kind("hardware", imported("hardware", damage_trace)),
    Kind("chrome", imported("chrome", damage_json)),
    Kind("perfetto", imported("perfetto", damage_messages)),
    Kind("xla", both(imported("xla", damage_lines), imported("xla", damage_bytes))),
    Kind("sqlite", imported("sqlite", damage_database)),
    Kind("cuda_memory", imported("cuda_memory", damage_pickle)),
    Kind("stacks", both(imported("stacks", damage_json), imported("stacks", damage_lines))),
    Kind("mlir", both(imported("mlir", damage_lines), imported("mlir", damage_bytes))),
    Kind("chakra", both(imported("chakra", damage_messages), imported("chakra", damage_json))),
    Kind("tape", imported("tape", damage_lines)),
    Kind("torch", both(imported("torch", damage_lines), imported("torch", damage_bytes))),
    Kind("baseline", baseline),
    Kind("bytepack", imported("bytepack", damage_bytes)),
    Kind("request", request),
    Kind("sql", statement),
)
