"""What is worth a look in XLA's modules: against a plain reading of the same recording."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.recorded_jax import PROGRAM

from peephole.compilers.xla.problems import bytes_of, recompiled
from peephole.ingest import import_files
from peephole.query.capture.contexts import contexts
from peephole.query.problems.problems import Problem, problems
from peephole.store.capture import Capture, open_capture

HLO = """HloModule calls, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %a = f32[4]{0} custom-call(%x), custom_call_target="lapack_sgeqrf_ffi", metadata={op_name="jit(f)/qr"}
  ROOT %b = f32[4]{0} custom-call(%a), custom_call_target="xla_ffi_python_cpu_callback"
}
"""


@pytest.fixture(scope="module")
def capture(jax_recorded: Path) -> Capture:
    return open_capture(jax_recorded)


@pytest.fixture(scope="module")
def found(capture: Capture) -> list[Problem]:
    return problems(capture).problems


def texts(capture: Capture, module: str) -> str:
    """The final HLO of a module, as XLA wrote it."""
    context = next(one.id for one in contexts(capture) if one.name.endswith(module) and one.kind == "module")
    frame = capture.read("artifacts", ["context", "name", "content"])
    for row, name in enumerate(frame.texts("name")):
        if int(frame["context"][row]) == context and name == "HLO cpu after optimizations":
            return (frame.blobs("content")[row] or b"").decode()
    raise AssertionError(module)


def test_a_recompilation_says_what_changed_and_what_to_do(found: list[Problem]) -> None:
    (one,) = (one for one in found if one.kind == "recompile")
    assert PROGRAM.read_text().splitlines()[one.line - 1].strip().startswith("params, loss = train_step(")
    assert one.wanted.splitlines()[0] == "params['w1']: f32[20,16]{weak_type=True}"
    assert one.got.splitlines()[0] == "params['w1']: f32[20,16]{weak_type=False}"
    assert "weak types" in one.hint and one.link.startswith("https://docs.jax.dev/")


def test_copies_are_those_of_the_final_graph_that_the_program_did_not_ask_for(
    capture: Capture, found: list[Problem]
) -> None:
    said = {one.title.split()[0]: one for one in found if one.kind == "copy" and "conv" in one.context_name}
    there = set(re.findall(r"%(\S+) = \S+ copy\(", texts(capture, "jit_conv_gradient")))
    assert said and set(said) <= there
    layout = next(one for one in said.values() if "layout is" in one.reason)
    assert layout.bytes > 0 and layout.reason.startswith("layout-assignment put it in")


def test_copies_of_modules_without_passes_name_no_pass(tmp_path: Path) -> None:
    path = tmp_path / "module_0001.calls.cpu_after_optimizations.txt"
    path.write_text(
        "HloModule calls\n\nENTRY %main (x: f32[4,2]) -> f32[4,2] {\n  %x = f32[4,2]{1,0} parameter(0)\n"
        "  ROOT %c = f32[4,2]{0,1} copy(%x)\n}\n"
    )
    (one,) = problems(open_capture(import_files([path], tmp_path / "c.peep"))).problems
    assert one.reason == "a pass put it in: its layout is {1,0} and {0,1} was wanted"


def test_copies_of_a_single_value_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "module_0001.calls.cpu_after_optimizations.txt"
    path.write_text(
        "HloModule calls\n\nENTRY %main (x: s32[], y: f32[1]) -> (s32[], f32[1]) {\n  %x = s32[] parameter(0)\n"
        "  %y = f32[1]{0} parameter(1)\n  %c = s32[] copy(%x)\n  %d = f32[1]{0} copy(%y)\n"
        "  %e = s32[]{:T(128)} copy(%c)\n  ROOT %t = (s32[], f32[1]{0}) tuple(%e, %d)\n}\n"
    )
    found = problems(open_capture(import_files([path], tmp_path / "c.peep"))).problems
    assert [one.title for one in found if one.kind == "copy"] == ["d f32[1]{0}"]


def test_memory_at_the_peak_adds_up(capture: Capture, found: list[Problem]) -> None:
    frame = capture.read("buffers", ["device", "alloc", "free", "bytes"])
    devices = frame.texts("device")
    own = [one for one in found if one.kind == "memory" and one.context_name.endswith("0.jit_train_step")]
    assert own, "lines of the largest module of the program"
    rows = [row for row in range(len(frame)) if devices[row] == own[0].context_name]
    alloc, free, size = (frame[name].tolist() for name in ("alloc", "free", "bytes"))
    peak = max(sum(size[row] for row in rows if alloc[row] <= at < free[row]) for at in (alloc[row] for row in rows))
    assert all(f"{one.bytes / peak:.0%} of the peak" in one.title for one in own)
    assert sum(one.bytes for one in own) <= peak
    lines = PROGRAM.read_text().splitlines()
    assert any("hidden = jnp.maximum(" in lines[one.line - 1] for one in own if one.file)
    largest = [one for one in found if one.kind == "buffer"]
    assert [one.bytes for one in largest] == sorted((one.bytes for one in largest), reverse=True)
    modules = [one.name for one in contexts(capture) if one.kind == "module"]
    assert largest[0].bytes == max(size[row] for row in range(len(frame)) if devices[row] in modules)


def test_calls_that_leave_the_compiled_code(tmp_path: Path) -> None:
    path = tmp_path / "module_0001.calls.before_optimizations.txt"
    path.write_text(HLO)
    found = problems(open_capture(import_files([path], tmp_path / "c.peep"))).problems
    said = {one.title: one.reason for one in found if one.kind == "fallback"}
    assert set(said) == {"call of lapack_sgeqrf_ffi", "call of xla_ffi_python_cpu_callback"}
    assert said["call of lapack_sgeqrf_ffi"].endswith("jit(f)/qr")
    assert "Python" in said["call of xla_ffi_python_cpu_callback"]


def test_words_for_every_kind_of_miss() -> None:
    shapes = "for f\nall previously seen …\ndifferent input types:\n* at x, now f32[4,4] and before f32[8,8]"
    assert "Pad to a few sizes" in recompiled(shapes).hint
    tree = "different input pytree:\n* at input path [0], now a list and before a tuple, so the types do not match"
    assert recompiled(tree).reason == "different input pytree: input path [0] was a tuple and is a list"
    assert recompiled(tree).hint == ""
    static = "<class 'jax._src.tree_util.Static'> with pytree metadata Static(val={})"
    values = f"* at input path [0][1], now {static.format(3)} and before {static.format(2)}, so the metadata does not"
    assert "static argument" in recompiled(f"different input pytree:\n{values} match").hint
    assert recompiled("Debug info doesn't match.").reason == "Debug info doesn't match."
    assert recompiled("").kind == "recompile"


@pytest.mark.parametrize(
    ("dtype", "shape", "expected"),
    [("f32", "[4,4]{1,0}", 64), ("pred", "[3]", 3), ("s4", "[8]", 8), ("c64", "[]", 8), ("(f32", "[4], f32[2])", -1)],
)
def test_sizes(dtype: str, shape: str, expected: int) -> None:
    assert bytes_of(dtype, shape) == expected
