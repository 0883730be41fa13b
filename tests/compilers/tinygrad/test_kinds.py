"""`why` on every kind of boundary: the known reason and line of small programs, and every answer about whole models
beside what tinygrad's own code decides when it is run again (`decided`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.compilers.tinygrad import decided
from tests.compilers.tinygrad.kinds import ALLREDUCES, KNOWN, MODELS, PROGRAMS

from peephole.compilers.answers import Boundary, Schedule
from peephole.compilers.traces import trace_of
from peephole.query.rewrites import why as fusion
from peephole.query.rewrites.schedules import schedule, schedule_contexts
from peephole.store.capture import Capture, open_capture

LINES = PROGRAMS.split("\n")
FIRST = {line.split("(")[0][4:]: number for number, line in enumerate(LINES, 1) if line.startswith("def ")}


_found: dict[tuple[Path, int], list[tuple[int, int, Boundary]]] = {}


def boundaries(capture: Capture, made: Schedule) -> list[tuple[int, int, Boundary]]:
    known = capture.path, made.context
    if known not in _found:
        _found[known] = _boundaries(capture, made)
    return _found[known]


def _boundaries(capture: Capture, made: Schedule) -> list[tuple[int, int, Boundary]]:
    pairs = sorted({(edge.first, edge.second) for edge in made.edges})
    return [
        (a, b, boundary)
        for a, b in pairs
        for boundary in fusion.why_kernels(capture, made.context, a, made.context, b).boundaries
    ]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """The programs recorded by `peephole run`, which knows their lines."""
    import os
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("kinds")
    (folder / "kinds.py").write_text(PROGRAMS)
    done = subprocess.run(
        [sys.executable, "-m", "peephole", "run", "-o", "kinds.peep", "kinds.py"],
        cwd=folder,
        env={**os.environ, "DEV": "NULL", "NOOPT": "1", "PEEPHOLE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return open_capture(folder / "kinds.peep")


@pytest.fixture(scope="module")
def last_schedules(live: Capture) -> dict[str, Schedule]:
    """The last schedule of each program, found by the line that had it made."""
    trace = trace_of(live)
    found: dict[str, Schedule] = {}
    for context, _ in schedule_contexts(live):
        line = int((trace.user_line(context) or "").rpartition(":")[2])
        found[max((first, name) for name, first in FIRST.items() if first < line)[1]] = schedule(live, context)
    return found


@pytest.mark.parametrize("name", KNOWN)
def test_the_reason_and_the_line_are_the_true_ones(
    name: str, live: Capture, last_schedules: dict[str, Schedule]
) -> None:
    found = [
        (a, b, boundary.reason, int((boundary.user_line or ":-1").rpartition(":")[2]) - FIRST[name])
        for a, b, boundary in boundaries(live, last_schedules[name])
    ]
    assert sorted(found) == sorted(KNOWN[name])


def test_no_answer_names_what_nobody_wrote(live: Capture, last_schedules: dict[str, Schedule]) -> None:
    moves = ("expand", "reshape", "permute", "pad", "shrink", "flip")
    for name, made in last_schedules.items():
        for _, _, boundary in boundaries(live, made):
            for text in boundary.forced.tensors if boundary.forced is not None else []:
                assert text.partition("@")[0].lower() not in moves, (name, text)
                assert text.partition("@")[0] != "STORE", (name, text)


def test_an_assignment_says_where_it_is_written(live: Capture, last_schedules: dict[str, Schedule]) -> None:
    for name, word in (
        ("assigned", "assign"),
        ("added_to", "__iadd__"),
        ("dropped_out", "dropout"),
        ("cloned", "clone"),
    ):
        found = [boundary for _, _, boundary in boundaries(live, last_schedules[name]) if boundary.reason == "assign"]
        texts = [text for boundary in found for text in (boundary.forced.tensors if boundary.forced else [])]
        assert [text.partition("@")[0] for text in texts] == [word], name


def compared(path: Path, capture: Capture) -> Counter[str]:
    """Every read of what another kernel wrote: our reason is tinygrad's own; how often each was met."""
    recording = decided.Recording(path)
    met: Counter[str] = Counter()
    for context, steps in recording.schedules():
        made = schedule(capture, context)
        nodes = [recording.node(kernel.node) for kernel in made.kernels]
        ours = {
            (nodes[a], nodes[b], boundary.buffer.op, boundary.buffer.slot): boundary.reason
            for a, b, boundary in boundaries(capture, made)
            if boundary.kind == "read after write"
        }
        theirs = {(one, other, op, slot): why for one, other, op, slot, why in decided.boundaries(recording, steps)}
        assert ours == theirs, made.name
        met.update(theirs.values())
        writes = [(nodes[a], nodes[b], boundary.buffer) for a, b, boundary in boundaries(capture, made)
                  if boundary.kind == "write after read"]  # fmt: skip
        for reader, writer, buffer in writes:
            assert decided.overwrites(recording, steps, reader, writer, buffer.op, buffer.slot), made.name
            met["write after read"] += 1
    return met


def test_whole_models_have_the_reasons_that_tinygrad_had(record: Callable[..., Any]) -> None:
    recorded = record(MODELS, NOOPT="1")  # what is decided before codegen is the same, and sooner
    met = compared(recorded.pickle, recorded.capture)
    assert sum(met.values()) > 400
    for reason in ("assign", "assign hazard", "device copy", "explicit contiguous", "readers index differently",
                   "reduce then expand", "value expanded", "write after read"):  # fmt: skip
        assert met[reason] >= 3, (reason, met)


def test_the_small_programs_have_the_reasons_that_tinygrad_had(record: Callable[..., Any]) -> None:
    recorded = record(PROGRAMS, NOOPT="1")
    met = compared(recorded.pickle, recorded.capture)
    assert met["several devices"] and met["split reduction"] and met["realized output"]
    assert "unknown" not in met


def test_every_kind_of_allreduce_has_the_reasons_that_tinygrad_had(record: Callable[..., Any]) -> None:
    recorded = record(ALLREDUCES, NOOPT="1")
    met = compared(recorded.pickle, recorded.capture)
    assert met["several devices"] >= 5 and met["device copy"] >= 10
    assert "unknown" not in met
