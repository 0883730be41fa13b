"""Stock JAX programs recorded with `peephole run`: passes, kernels, reasons, the same results, after a kill too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recorded_jax import JaxRun

from peephole.query.capture.contexts import contexts, steps
from peephole.query.problems.problems import problems
from peephole.sources.xla.live import flags
from peephole.sources.xla.noted import read_miss, read_notes
from peephole.store.capture import Capture, open_capture

PROGRAM = """
import logging, os, signal, sys, time
import jax, jax.numpy as jnp
import peephole

print(os.environ.get("XLA_FLAGS"))
if "late" in sys.argv:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    jax.config.update("jax_compilation_cache_dir", sys.argv[-1])

@jax.jit
def f(x):
    return jnp.tanh(x @ x).sum(0)

if "profile" in sys.argv:
    jax.profiler.start_trace(sys.argv[-1])
for n in (8, 8, 16):
    with peephole.span("train", n=n):
        print(f(jnp.ones((n, n))).tolist())
if "profile" in sys.argv:
    jax.profiler.stop_trace()
    f(jnp.ones((8, 8))).block_until_ready()
for i in range(2):
    jax.jit(lambda x: x * 2 + i)(jnp.ones(3))
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
jax.jit(jnp.cos)(jnp.ones(3))
logging.info("the program's own log")
print(os.environ.get("XLA_FLAGS"), os.environ.get("JAX_DUMP_IR_TO"))
if "kill" in sys.argv:
    time.sleep(6.5)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def record(tmp_path: Path, *words: str, options: tuple[str, ...] = (), given: str = "") -> tuple[Capture, str, str]:
    """The capture of a run, what the program printed with recording, and what peephole said."""
    script = tmp_path / "prog.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PEEPHOLE_DIR": str(tmp_path)}
    if given:
        environment["XLA_FLAGS"] = given
    path = tmp_path / "jax.peep"
    command = [sys.executable, "-m", "peephole", "run", *options, "--no-view", "-o", str(path), str(script), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200, check=False)
    assert done.returncode == (-9 if "kill" in words else 0), done.stderr
    return open_capture(path), done.stdout, done.stderr


def kernel_slices(capture: Capture) -> list[tuple[int, int, str, int]]:
    """Start, end, instruction and context of what ran on devices."""
    tracks = capture.read("tracks", ["id", "kind"])
    devices = [id for id, kind in zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True) if kind == "device"]
    frame = capture.read("slices", ["track", "start", "dur", "context", "args"])
    found = []
    for row, args in enumerate(frame.texts("args")):
        if int(frame["track"][row]) in devices and args:
            start = int(frame["start"][row])
            end = start + int(frame["dur"][row])
            found.append((start, end, json.loads(args)["hlo_op"], int(frame["context"][row])))
    return found


def test_a_killed_program_has_its_passes_kernels_and_reasons(tmp_path: Path) -> None:
    given = "--xla_cpu_enable_fast_min_max=true"
    capture, printed, said = record(tmp_path, "kill", given=given)
    plain = subprocess.run(
        [sys.executable, tmp_path / "prog.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": given},
        check=True,
    )
    assert printed == plain.stdout, "the same results and log, and the program's variables are its own"
    assert "the program's own log" in printed
    assert "CACHE MISS" not in said, "reasons are recorded, not printed"
    assert capture.manifest.problems == [] and not (capture.path / "left").exists()
    assert kernel_slices(capture)
    modules = [one for one in contexts(capture) if one.kind == "module"]
    by_name = {one.name.partition(".")[2]: one for one in modules}
    names = [step.name for step in steps(capture, by_name["jit_f"].id)]
    assert {"before_optimizations", "fusion", "cpu_after_optimizations"} <= set(names)
    assert len(steps(capture, by_name["jit_broadcast_in_dim"].id)) <= 2, "one operation: kept out of the way"
    again = [one for one in problems(capture).problems if one.kind == "recompile"]
    lines = PROGRAM.splitlines()
    assert [lines[one.line - 1].strip() for one in again] == [
        "print(f(jnp.ones((n, n))).tolist())",
        "jax.jit(lambda x: x * 2 + i)(jnp.ones(3))",
    ]
    assert "now f32[16,16] and before f32[8,8]" in again[0].text and again[0].cost > 0
    assert "re-defined repeatedly" in " ".join(again[1].text.split())


def test_kernels_are_on_the_clock_of_spans_and_find_their_instructions(tmp_path: Path) -> None:
    capture, printed, said = record(tmp_path, "late", str(tmp_path / "cache"))
    assert "cache" not in said.lower(), "nor is said what JAX's cache of compilations does"
    assert printed.splitlines()[-1] == "--xla_force_host_platform_device_count=2 None", "as the program set it"
    module = next(one.id for one in contexts(capture) if one.name.endswith(".jit_f"))
    assert "fusion" in [step.name for step in steps(capture, module)], "and passes were dumped nevertheless"
    frame = capture.read("slices", ["start", "dur", "name"])
    spans = [
        (int(frame["start"][row]), int(frame["start"][row] + frame["dur"][row]))
        for row, name in enumerate(frame.texts("name"))
        if name == "train"
    ]
    assert len(spans) == 3
    found = kernel_slices(capture)
    known = {one.id: one for one in contexts(capture)}
    for _, _, instruction, context in found:
        assert known[context].name == instruction and known[context].kind == "kernel"
    inside = [
        known[known[context].parent].name.partition(".")[2]
        for start, past, _, context in found
        if any(begin <= start and past <= end for begin, end in spans)
    ]
    assert "jit_f" in inside
    assert not any((name or "").startswith(("$", "ThreadpoolListener")) for name in frame.texts("name")), "no flood"


def test_the_program_s_own_profile_and_dumps_stay_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own"
    given = f"--xla_dump_to={own} --xla_dump_hlo_as_text"
    capture, printed, _ = record(tmp_path, "profile", str(tmp_path / "trace"), given=given)
    assert printed.splitlines()[-1].startswith(given)
    assert list((tmp_path / "trace").rglob("*.xplane.pb")), "its profile is where it wants it"
    assert not list(own.glob("*after_algsimp*")), "and no more was dumped than it asked for"
    known = {one.id: one for one in contexts(capture)}
    modules = sorted(one.name for one in known.values() if one.kind == "module")
    assert modules == sorted(path.name.partition(".before")[0] for path in own.glob("*before_optimizations.txt"))
    first = next(name for name in modules if name.endswith("jit_f"))
    ran = [
        instruction for *_, instruction, context in kernel_slices(capture) if known[known[context].parent].name == first
    ]
    assert {ran.count(name) for name in ran} == {3}, "two runs inside of the program's profile, and one after it"


def test_full_has_the_reasons_and_says_what_they_cost(tmp_path: Path) -> None:
    capture, _, said = record(tmp_path, options=("--full",))
    assert "peephole: --full: XLA compiled for" in said and "MB of explanations of fusion" in said
    assert {"fused", "refused"} & set(capture.read("decisions", ["kind"]).texts("kind"))
    assert "MLIR, lowered" in capture.read("artifacts", ["name"]).texts("name").values


def test_the_six_programs_compute_the_same(jax_run: JaxRun, jax_recorded: Path) -> None:
    assert jax_recorded.with_suffix(".out").read_text() == jax_run.output
    capture = open_capture(jax_recorded)
    assert capture.manifest.problems == []
    known = {one.id: one for one in contexts(capture)}
    names = set(capture.read("nodes", ["name"]).texts("name"))
    for _, _, instruction, context in kernel_slices(capture):
        if known[context].kind == "module":  # a loop or a branch, which runs kernels
            assert instruction in names and not instruction.endswith("fusion")
        else:
            assert known[context].name == instruction
    again = [one for one in problems(capture).problems if one.kind == "recompile"]
    assert [(one.function, "weak_type" in one.text) for one in again] == [("jit_train_step", True)]


def test_a_flag_that_a_library_does_not_know_is_not_given(tmp_path: Path) -> None:
    libraries = flags.libraries()
    assert flags.known(libraries, ["xla_dump_to", "xla_no_such_flag_at_all"]) == ["xla_dump_to"]
    plugin = tmp_path / "plugin.so"
    plugin.write_bytes(b"\0xla_dump_to\0xla_dump_hlo_pass_re_and_more\0")
    assert flags.known([plugin], ["xla_dump_to", "xla_dump_hlo_pass_re"]) == ["xla_dump_to"], "a part of another name"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "TRACING CACHE MISS at a b/prog.py:28:19 (<module>):\n  for step defined at a b/prog.py:16\n  all "
            "previously seen cache keys differ. For the closest previous key:\n  different input types:\n  * at x",
            ("step", "a b/prog.py", 28, True),
        ),
        (
            "TRACING CACHE MISS at p.py:3 (main):\n  never seen function:\n    g id=123 defined at p.py:1",
            ("g", "p.py", 3, False),
        ),
        ("something else", ("", "", -1, True)),
    ],
)
def test_what_jax_says_about_a_miss(text: str, expected: tuple[str, str, int, bool]) -> None:
    found = read_miss(0, text)
    assert (found.function, found.file, found.line, found.is_again) == expected


def test_notes_that_were_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "noted.jsonl"
    path.write_bytes(
        b'{"kind": "compile", "name": "jit(<lambda>)", "start": 5, "dur": 7, "wall": 100, "hit": false}\n'
        b'[1]\n{"kind": "profile", "file": 3}\n{"kind": "compile", "na'
    )
    (one,) = read_notes(path).compiled
    assert (one.name, one.start, one.past) == ("jit__lambda_", 5, 12) and one.wrote("jit__lambda", 103)
