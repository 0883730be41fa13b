"""Profiles of real JAX programs: events as jaxlib's own reader has them, kernels linked with what was compiled."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Cli
from tests.recorded_jax import JaxRun
from tests.sources.xla import hlo_truth

from peephole.ingest import import_files
from peephole.query.capture.contexts import contexts, steps
from peephole.query.memory.buffers import memory
from peephole.query.rewrites.step_graphs import graph_at
from peephole.query.timeline.context_runs import runs_of_contexts
from peephole.sources.xla.found_modules import FoundModules
from peephole.sources.xla.modules import ReadModule
from peephole.store.capture import Capture, open_capture
from peephole.store.sql import run_sql


@pytest.fixture(scope="module")
def alone(jax_run: JaxRun, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """The profile by itself, under a name that says nothing."""
    other = tmp_path_factory.mktemp("profile") / "data"
    other.write_bytes(jax_run.profile.read_bytes())
    return open_capture(import_files([other], other.with_suffix(".peep")))


@pytest.fixture(scope="module")
def beside(jax_run: JaxRun, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """The profile with the dumps."""
    out = tmp_path_factory.mktemp("beside") / "all.peep"
    return open_capture(import_files([*files(jax_run.dump), *files(jax_run.ir), jax_run.profile], out))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.parent == folder]


def rows(capture: Capture, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in run_sql(capture, query).rows]


def test_events_are_those_that_jax_reads(alone: Capture, jax_run: JaxRun) -> None:
    from jax.profiler import ProfileData

    truth: Counter[tuple[str, int, int]] = Counter()
    first = None
    for plane in ProfileData.from_file(str(jax_run.profile)).planes:
        for line in plane.lines:
            for event in line.events:
                begin, dur = round(event.start_ns), round(event.duration_ns)
                first = begin if first is None else min(first, begin)
                truth[event.name, begin, dur] += 1
    assert first is not None
    frame = alone.read("slices", ["name", "start", "dur"])
    base = int(frame["start"].min()) - first
    names = frame.texts("name")
    found: Counter[tuple[str, int, int]] = Counter()
    for name, start, dur in zip(names, (frame["start"] - base).tolist(), frame["dur"].tolist(), strict=True):
        found[name or "", start, dur] += 1
    assert sum(found.values()) == sum(truth.values())
    assert Counter(key[0] for key in found.elements()) == Counter(key[0] for key in truth.elements())
    # both cut picoseconds off, at the begin or at the end
    ends = [np.array(sorted((s, s + d) for _, s, d in one.elements())) for one in (found, truth)]
    assert np.abs(ends[0] - ends[1]).max() <= 2


def test_every_kernel_finds_its_instruction(beside: Capture, alone: Capture) -> None:
    for capture in (alone, beside):
        kernels = rows(
            capture,
            "SELECT s.name, c.name, c.kind, json_extract_string(s.args, '$.hlo_op'), p.name, "
            "CAST(json_extract(s.args, '$.program_id') AS BIGINT) FROM slices s LEFT JOIN contexts c "
            "ON c.id = s.context LEFT JOIN contexts p ON p.id = c.parent WHERE s.args LIKE '%\"hlo_op\"%'",
        )
        assert len(kernels) > 300
        instructions: dict[str, set[str]] = {}
        for one in contexts(capture):
            if one.kind == "module":
                last = steps(capture, one.id)[-1]
                names = graph_at(capture, last.id, 0).nodes.name
                instructions[one.name] = {name for name in names if name}
        for name, context, kind, op, parent, program in kernels:
            assert kind in ("kernel", "module") and (context == op or kind == "module"), (name, context)
            module = str(context if kind == "module" else parent)
            assert module.startswith(f"module_{program:04d}.") and op in instructions[module]
        assert capture.manifest.problems == []


def test_a_trace_as_json_is_linked_where_names_leave_no_choice(jax_run: JaxRun, tmp_path: Path) -> None:
    trace = jax_run.profile.with_name(jax_run.profile.name.replace(".xplane.pb", ".trace.json.gz"))
    alone = open_capture(import_files([trace], tmp_path / "alone.peep"))
    events = rows(alone, "SELECT count(*) FROM slices")[0][0]
    folder = tmp_path / "both"  # as a folder, and file by file
    folder.mkdir()
    for path in [*jax_run.dump.glob("*optimizations.txt"), trace]:
        (folder / path.name).symlink_to(path)
    for paths in ([folder], sorted(folder.iterdir())):
        capture = open_capture(import_files(paths, tmp_path / f"{len(paths)}.peep"))
        assert rows(capture, "SELECT count(*) FROM slices")[0][0] == events
        kernels = rows(
            capture,
            "SELECT json_extract_string(s.args, '$.hlo_module'), json_extract_string(s.args, '$.hlo_op'), c.name, "
            "p.name FROM slices s LEFT JOIN contexts c ON c.id = s.context LEFT JOIN contexts p ON p.id = c.parent "
            "WHERE s.args LIKE '%\"hlo_op\"%'",
        )
        block = [one for one in kernels if one[0] == "jit_block"]
        assert len(block) > 10
        for module, op, context, parent in block:
            assert (context == op and str(parent).endswith(f".{module}")) or str(context).endswith(f".{module}")
        unknown = sum(context is None for *_, context, _ in kernels)  # compiled twice, or not dumped
        assert {one["count"] for one in capture.manifest.problems} == ({unknown} if unknown else set())


def test_a_profile_has_the_final_graphs(alone: Capture, jax_run: JaxRun) -> None:
    for name in ("jit_block", "jit_layers", "jit_conv_gradient"):
        (module,) = [one for one in contexts(alone) if one.kind == "module" and one.name.endswith("." + name)]
        (step,) = steps(alone, module.id)
        nodes = graph_at(alone, step.id, 0).nodes
        found = Counter(op for op in nodes.op if op != "GRAPH")
        (path,) = jax_run.dump.glob(f"{module.name}.cpu_after_optimizations.hlo.pb")
        truth = Counter(one.op for listed in hlo_truth.module(path).values() for one in listed)
        assert found == truth, "the profile has the module that ran"


def test_memory_is_shown_in_the_times_of_a_run(beside: Capture) -> None:
    first, last = rows(beside, "SELECT min(start), max(start + dur) FROM slices")[0]
    held = rows(beside, "SELECT device, min(alloc), max(free) FROM buffers GROUP BY device")
    assert len(held) >= 5 and all(first <= a <= b <= last for _, a, b in held)  # type: ignore[operator]


def test_the_peak_of_a_run_is_that_of_the_schedule(beside: Capture, jax_run: JaxRun, tmp_path: Path) -> None:
    schedule = open_capture(import_files([jax_run.dump], tmp_path / "dump.peep"))
    devices = sorted({str(one) for (one,) in rows(beside, "SELECT DISTINCT device FROM buffers")})
    peaks = {one: memory(beside, one).peak for one in devices}
    assert any(one.endswith(".jit_layers") for one in devices), "a loop has instructions without events of their own"
    assert peaks == {one: memory(schedule, one).peak for one in devices}


def test_kernels_are_summed_up(beside: Capture, peephole: Cli) -> None:
    runs = runs_of_contexts(beside)
    named = {one.id: one for one in contexts(beside)}
    assert runs is not None and any(named[id].kind == "kernel" for id in runs)
    shown = peephole("show", beside.path, "-t", "5").stdout
    assert re.search(r"CPU:0\b", shown)
    kernel = next(named[id].name for id in runs if named[id].kind == "kernel" and "fusion" in named[id].name)
    assert "jax_program.py" in peephole("origin", kernel, beside.path).stdout


def test_large_profiles_are_read_by_compiled_loops(
    alone: Capture, jax_run: JaxRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peephole.sources.xla.profile.slices.COMPILE_FROM", 0)
    again = open_capture(import_files([jax_run.profile], tmp_path / "again.peep"))
    for name in ("track", "depth", "start", "dur", "context"):
        assert (again.read("slices", [name])[name] == alone.read("slices", [name])[name]).all()


def test_a_damaged_profile(jax_run: JaxRun, peephole: Cli, tmp_path: Path) -> None:
    data = jax_run.profile.read_bytes()
    cut = tmp_path / "cut.xplane.pb"
    cut.write_bytes(data[: len(data) // 2])
    done = peephole("import", cut, "-o", tmp_path / "cut.peep", check=False)
    assert done.returncode == 2 and "cut off or is damaged" in done.stderr and not (tmp_path / "cut.peep").exists()


def test_kernels_of_modules_out_of_jax_s_cache_find_them_under_their_other_number() -> None:
    found = FoundModules()
    # as in a real profile: events said 3 and 6 of what is carried as 5 and 8; 9 was compiled, and is called 9
    for number, name, is_loaded in ((5, "jit_f", True), (8, "jit_f", True), (9, "jit_f", False), (12, "jit_g", True)):
        module = ReadModule(number, name, number * 10, kernels={"dot": number}, is_loaded=is_loaded)
        found.add(module)
    assert [found.context_of("", one, "jit_f", "dot") for one in (3, 6, 9)] == [5, 8, 9]
    assert found.context_of("", 10, "jit_g", "tanh") == 120 and found.context_of("", 1, "jit_f", "dot") == -1
