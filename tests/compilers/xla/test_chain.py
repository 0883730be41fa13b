"""What became of an instruction through the passes, where a fused one came from, and the kernel that computes it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from tests.conftest import Cli

from peephole.compilers.traces import trace_of
from peephole.compilers.xla.fusion import FUSION
from peephole.compilers.xla.lineage import Lineage
from peephole.ingest import import_files
from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.chains import ChainLink, chain, chains_of, made_of
from peephole.query.rewrites.step_graphs import graph_at
from peephole.store.capture import Capture, open_capture

SAMPLE = Path(__file__).parents[4] / "shared" / "fixtures" / "xla" / "block_dump.tar.gz"
HEAD = """HloModule jit_f, is_scheduled=true

FileNames
1 "prog.py"

FunctionNames
1 "gelu"
2 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=4 end_line=4 column=1 end_column=9}
2 {file_name_id=1 function_name_id=2 line=9 end_line=9 column=1 end_column=9}

StackFrames
1 {file_location_id=2 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}


"""
TANH = 'metadata={op_name="jit(f)/tanh" stack_frame_id=2}'
MUL = 'metadata={op_name="jit(f)/mul" stack_frame_id=1}'
DIV = 'metadata={op_name="jit(f)/div" stack_frame_id=2}'
BEGIN = f"""ENTRY %main.9 (x.1: f32[4], y.1: f32[4]) -> (f32[4], f32[4]) {{
  %x.1 = f32[4]{{0}} parameter(0)
  %y.1 = f32[4]{{0}} parameter(1)
  %two.1 = f32[4]{{0}} constant({{2, 2, 2, 2}})
  %mul.1 = f32[4]{{0}} multiply(%x.1, %x.1), {MUL}
  %mul.2 = f32[4]{{0}} multiply(%y.1, %y.1), {MUL}
  %div.1 = f32[4]{{0}} divide(%mul.1, %two.1), {DIV}
  %tanh.1 = f32[4]{{0}} tanh(%div.1), {TANH}
  %dead.1 = f32[4]{{0}} negate(%x.1)
  %neg.2 = f32[4]{{0}} negate(%mul.2), {MUL}
  ROOT %out.1 = (f32[4]{{0}}, f32[4]{{0}}) tuple(%tanh.1, %neg.2)
}}
"""
SIMPLE = (
    BEGIN.replace("constant({2, 2, 2, 2})", "constant({0.5, 0.5, 0.5, 0.5})")
    .replace("%two.1", "%half.1")
    .replace("%div.1 = f32[4]{0} divide", "%multiply.7 = f32[4]{0} multiply")
    .replace("%div.1", "%multiply.7")
    .replace("  %dead.1 = f32[4]{0} negate(%x.1)\n", "")
)
# the two multiplications are of one line: only what they read tells them apart
FUSED = f"""%fused_computation (param_0: f32[4]) -> f32[4] {{
  %param_0 = f32[4]{{0}} parameter(0)
  %mul.8 = f32[4]{{0}} multiply(%param_0, %param_0), {MUL}
  ROOT %negate.1 = f32[4]{{0}} negate(%mul.8), {MUL}
}}

%fused_computation.1 (param_0.1: f32[4]) -> f32[4] {{
  %param_0.1 = f32[4]{{0}} parameter(0)
  %constant.3 = f32[4]{{0}} constant({{0.5, 0.5, 0.5, 0.5}})
  %mul.9 = f32[4]{{0}} multiply(%param_0.1, %param_0.1), {MUL}
  %multiply.8 = f32[4]{{0}} multiply(%mul.9, %constant.3), {DIV}
  ROOT %tanh.4 = f32[4]{{0}} tanh(%multiply.8), {TANH}
}}

ENTRY %main.9 (x.1: f32[4], y.1: f32[4]) -> (f32[4], f32[4]) {{
  %x.1 = f32[4]{{0}} parameter(0)
  %y.1 = f32[4]{{0}} parameter(1)
  %multiply_tanh_fusion = f32[4]{{0}} fusion(%x.1), kind=kLoop, calls=%fused_computation.1, {TANH}
  %multiply_negate_fusion = f32[4]{{0}} fusion(%y.1), kind=kLoop, calls=%fused_computation, {MUL}
  ROOT %out.1 = (f32[4]{{0}}, f32[4]{{0}}) tuple(%multiply_tanh_fusion, %multiply_negate_fusion)
}}
"""


def dumped(folder: Path, states: dict[str, str]) -> Capture:
    for name, text in states.items():
        (folder / f"module_0003.jit_f.{name}.txt").write_text(text)
    return open_capture(import_files(sorted(folder.glob("*.txt")), folder / "out.peep"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    return dumped(
        tmp_path_factory.mktemp("written"),
        {
            "before_optimizations": HEAD + BEGIN,
            "0000.simplification.after_pipeline-start.before_algsimp": HEAD + BEGIN,
            "0001.simplification.after_algsimp.before_dce": HEAD + SIMPLE,
            "0002.HLO_passes.after_fusion.before_end": HEAD + FUSED,
            "cpu_after_optimizations": HEAD + FUSED,
        },
    )


def told(links: list[ChainLink]) -> list[tuple[str, str]]:
    return [(link.stage, f"{link.name} {link.op}".strip()) for link in links if link.stage != "line"]


def of(capture: Capture, name: str) -> list[ChainLink]:
    (place,) = chains_of(capture, name)
    return chain(capture, *place)


def test_an_instruction_goes_into_a_fusion(written: Capture) -> None:
    links = of(written, "tanh.1")
    assert [(link.line, link.name) for link in links if link.stage == "line"] == [
        ("prog.py:4", "jit(f)/tanh"),
        ("prog.py:9", "in main"),
    ]
    assert told(links) == [
        ("pass", "fusion tanh.1 → tanh.4"),
        ("fused", "tanh.4 tanh in multiply_tanh_fusion"),
        ("kernel", "multiply_tanh_fusion module_0003.jit_f"),
    ]
    kernel = next(one for one in contexts(written) if one.id == links[-1].context)
    assert (kernel.name, kernel.kind) == ("multiply_tanh_fusion", "kernel")


@pytest.mark.parametrize(("name", "inner", "kernel"), [("mul.1", "mul.9", "tanh"), ("mul.2", "mul.8", "negate")])
def test_instructions_of_one_line_are_told_apart_by_what_they_compute(
    written: Capture, name: str, inner: str, kernel: str
) -> None:
    assert told(of(written, name)) == [
        ("pass", f"fusion {name} → {inner}"),
        ("fused", f"{inner} multiply in multiply_{kernel}_fusion"),
        ("kernel", f"multiply_{kernel}_fusion module_0003.jit_f"),
    ]
    assert ("traced", f"{name} multiply") in told(of(written, inner)), "and back"


def test_what_a_pass_replaced_and_took_away(written: Capture) -> None:
    assert told(of(written, "div.1")) == [
        ("pass", "algsimp div.1 → multiply.7"),
        ("pass", "fusion multiply.7 → multiply.8"),
        ("fused", "multiply.8 multiply in multiply_tanh_fusion"),
        ("kernel", "multiply_tanh_fusion module_0003.jit_f"),
    ]
    assert told(of(written, "dead.1")) == [("pass", "algsimp took dead.1 away")]
    back = told(of(written, "multiply.8"))
    assert back[:3] == [
        ("traced", "div.1 divide"),
        ("pass", "algsimp div.1 → multiply.7"),
        ("pass", "fusion multiply.7 → multiply.8"),
    ]


def test_a_fusion_is_what_is_in_it(written: Capture) -> None:
    links = of(written, "multiply_tanh_fusion")
    assert [name for stage, name in told(links) if stage == "traced"] == [
        "mul.1 multiply",
        "div.1 divide",
        "tanh.1 tanh",
    ]
    assert {link.line for link in links if link.stage == "line"} == {"prog.py:4", "prog.py:9"}
    assert [link.name for link in links if link.stage == "fused"] == ["mul.9", "multiply.8", "tanh.4"]
    kernel = next(one for one in contexts(written) if one.name == "multiply_tanh_fusion")
    assert [link.name for link in made_of(written, kernel.id)] == [
        *("mul.1", "div.1", "tanh.1"),
        *("mul.9", "multiply.8", "tanh.4"),
    ]


def test_a_box_of_a_kernels_own_graph_has_the_same_way(written: Capture) -> None:
    kernel = next(one for one in contexts(written) if one.name == "multiply_tanh_fusion")
    (step,) = steps(written, kernel.id)
    nodes = graph_at(written, step.id, 0).nodes
    links = chain(written, step.id, nodes.id[nodes.name.index("tanh.4")])
    assert told(links) == told(of(written, "tanh.4")) and ("traced", "tanh.1 tanh") in told(links)


def test_links_lead_to_boxes_that_are_there(written: Capture) -> None:
    for name in ("tanh.1", "div.1", "mul.8", "multiply_tanh_fusion"):
        for link in of(written, name):
            if link.stage == "line":
                continue
            graph = graph_at(written, link.step, link.match)
            boxes = {*graph.nodes.identity, *(gone.identity for gone in graph.removed)}
            assert link.identity in boxes, link
            assert link.stage != "pass" or link.match > 0


def test_computations_that_call_one_another_many_times_over(tmp_path: Path) -> None:
    """Each calls the one before it twice: 2 to the power of 40 calls, and a chain of 200 beside it."""
    body = ["%c.0 (p.0: f32[]) -> f32[] {\n  %p.0 = f32[] parameter(0)\n  ROOT %n.0 = f32[] negate(%p.0)\n}\n"]
    for at in range(1, 41):
        body.append(
            f"%c.{at} (p.{at}: f32[]) -> f32[] {{\n  %p.{at} = f32[] parameter(0)\n"
            f"  %a.{at} = f32[] call(%p.{at}), to_apply=%c.{at - 1}\n"
            f"  ROOT %b.{at} = f32[] call(%a.{at}), to_apply=%c.{at - 1}\n}}\n"
        )
    for at in range(41, 241):
        body.append(
            f"%c.{at} (p.{at}: f32[]) -> f32[] {{\n  %p.{at} = f32[] parameter(0)\n"
            f"  ROOT %b.{at} = f32[] call(%p.{at}), to_apply=%c.{at - 1}\n}}\n"
        )
    end = "ENTRY %main.1 (x.1: f32[]) -> f32[] {{\n  %x.1 = f32[] parameter(0)\n  ROOT %{} = {}\n}}\n"
    call = "f32[] call(%x.1), to_apply=%c.240"
    capture = dumped(
        tmp_path,
        {
            "before_optimizations": HEAD + "\n".join([*body, end.format("r.1", call)]),
            "0000.simplify.after_renamer.before_end": HEAD + "\n".join([*body, end.format("r.2", call)]),
        },
    )
    assert told(of(capture, "r.1"))[0] == ("pass", "renamer r.1 → r.2")


def test_all_that_real_fusions_take_is_found_inside_of_one(five: Capture) -> None:
    trace, taken = trace_of(five), 0
    nodes = trace.instructions()
    for module in (one.id for one in contexts(five) if one.kind == "module"):
        lineage = Lineage(trace, module)
        for one in lineage.passes:
            if one.name != FUSION:
                continue
            old, new = lineage.names(one.before), lineage.names(one.after)
            became = lineage.became(one)[0]
            for name in old.keys() - new.keys():
                assert became.get(name), f"{name} of {module}"
                taken += 1
                for other in became[name]:
                    assert nodes.op(new[other]) == nodes.op(old[name])
                    assert nodes.metadata(new[other]) == nodes.metadata(old[name])
    assert taken > 100


def test_origin_in_the_terminal(five: Capture, written: Capture, peephole: Cli) -> None:
    done = peephole("origin", "exp.1", five.path).stdout
    assert "inside the fusion" in done and "subtract_exponential_fusion" in done and "jax_program.py:" in done
    (row,) = [json.loads(line) for line in peephole("origin", "tanh.1", written.path, "--json").stdout.splitlines()]
    assert row["node"] == "tanh.1" and row["links"][-1]["name"] == "multiply_tanh_fusion"
    kernel = peephole("origin", "multiply_tanh_fusion", written.path).stdout
    assert "div.1 divide" in kernel and "multiply.8 multiply" in kernel
    (row,) = [
        json.loads(x) for x in peephole("origin", "multiply_tanh_fusion", written.path, "--json").stdout.splitlines()
    ]
    assert [one["name"] for one in row["instructions"]][-1] == "tanh.4"
    refused = peephole("origin", "tanh.99", written.path, check=False)
    assert refused.returncode == 2 and "tanh.99" in refused.stderr


@pytest.mark.skipif(not SAMPLE.exists(), reason="needs the sample block of shared/fixtures/xla")
def test_the_sample_block(tmp_path: Path) -> None:
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(tmp_path, filter="data")
    files = [path for path in tmp_path.rglob("module_*") if path.is_file()]
    capture = open_capture(import_files(files, tmp_path / "block.peep"))
    assert told(of(capture, "tanh.1")) == [
        ("pass", "fusion tanh.1 → tanh.0"),
        ("fused", "tanh.0 tanh in multiply_tanh_fusion"),
        ("kernel", "multiply_tanh_fusion module_0032.jit_train_step"),
    ]
    assert [name for stage, name in told(of(capture, "integer_pow.8")) if stage == "kernel"] == [
        f"{kernel} module_0032.jit_train_step"
        for kernel in ("multiply_tanh_fusion", "add_bitcast_fusion.1", "copy_bitcast_fusion")
    ]
