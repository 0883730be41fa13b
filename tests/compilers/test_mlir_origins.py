"""Where MLIR's operations came from, by the locations that were printed with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from peephole.cli.main import main
from peephole.ingest import import_files
from peephole.query.rewrites.chains import chain, chains_of
from peephole.query.rewrites.origins import kernels_of, origins
from peephole.sources.mlir.origins import origin_of
from peephole.store.capture import Capture, open_capture

TRACED = """#loc1 = loc("prog.py":5:11 to :30)
#loc2 = loc("prog.py":9:15)
#loc3 = loc("layer"(#loc1))
#loc4 = loc("body"(#loc2))
#loc5 = loc(callsite(#loc3 at #loc4))
module @m {
  func.func @f(%arg0: tensor<4xf32> loc(unknown)) -> tensor<4xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4xf32> loc(#loc6)
    %1 = stablehlo.negate %0 : tensor<4xf32> loc(#loc2)
    return %1 : tensor<4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc6 = loc("jit(f)/tanh"(#loc5))
"""
LOWERED = TRACED.replace("stablehlo.tanh", "math.tanh").replace("    %1", "    %2 = arith.empty loc(#loc6)\n    %1")
FUNCTION = """func.func @f_dispatch_0(%arg0: f32) -> f32 {
  %0 = llvm.load %arg0 : f32 loc("jit(f)/tanh"("layer"("prog.py":5:11)))
  %1 = llvm.intr.tanh %0 : f32 loc("jit(f)/tanh"("layer"("prog.py":5:11)))
  return %1 : f32 loc(unknown)
}
"""


def printed(*states: tuple[str, str]) -> str:
    return "".join(f"// -----// IR Dump After {name}Pass: {name} //----- //\n{text}\n\n" for name, text in states)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locations")
    (folder / "passes.log").write_text(printed(("start", TRACED), ("lower", LOWERED), ("llvm", FUNCTION)))
    return import_files([folder / "passes.log"], folder / "c.peep")


@pytest.fixture(scope="module")
def capture(path: Path) -> Capture:
    return open_capture(path)


def test_an_operation_has_its_line_the_calls_around_it_and_its_passes(capture: Capture) -> None:
    places = chains_of(capture, "tanh_0")
    found = [(one.stage, one.name, one.op, one.line) for one in chain(capture, *places[0])]
    assert found == [
        ("line", "jit(f)/tanh", "", "prog.py:5"),
        ("line", "in body", "", "prog.py:9"),
        ("pass", "lower", "took tanh_0 away", None),
        ("lowered", "tanh_0, load_0", "in func.func @f_dispatch_0", None),
    ]
    (after,) = chains_of(capture, "tanh_1")
    found = [(one.stage, one.name, one.op, one.line) for one in chain(capture, *after)]
    assert ("traced", "tanh_0", "stablehlo.tanh", None) in found
    assert ("pass", "lower", "brought tanh_1", None) in found


def test_an_operation_without_a_location_has_no_line(capture: Capture) -> None:
    (place,) = chains_of(capture, "return_0")[:1]
    assert [one.stage for one in chain(capture, *place)] == []


def test_a_line_leads_to_what_was_printed_and_back(
    capture: Capture, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {one.name: [made.name for made in one.operations] for one in kernels_of(capture, "prog.py:5")}
    assert found == {"func.func @f_dispatch_0": ["jit(f)/tanh"]}
    (one,) = kernels_of(capture, "prog.py:5")
    assert origins(capture, one.context) == [one]
    assert main(["origin", "prog.py:5", str(path)]) == 0
    assert capsys.readouterr().out.split() == ["func.func", "@f_dispatch_0", "prog.py:5", "jit(f)/tanh"]
    assert main(["origin", "tanh_0", str(path), "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {link["line"] for one in told for link in one["links"] if link["stage"] == "line"} >= {"prog.py:5"}


def test_lines_that_are_near_are_named_for_one_that_led_to_nothing(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    body = "".join(f'  %{at} = math.exp %arg0 : f32 loc("prog.py":{at}:1)\n' for at in range(1, 30))
    log = tmp_path / "passes.log"
    log.write_text(printed(("llvm", FUNCTION.replace("  return", body + "  return"))))
    assert main(["origin", "prog.py:99", str(import_files([log], tmp_path / "c.peep"))]) == 2
    near = ", ".join(f"prog.py:{at}" for at in range(22, 30))
    assert f"lines that kernels came from: {near}, …." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("loc", "wanted"),
    [
        ("unknown", None),
        ('"prog.py":4:1', "@prog.py:4"),
        ('"mul"("prog.py":4:1)', "mul@prog.py:4"),
        ('"mul"("f"("prog.py":4:1 to 5:2))', "mul@prog.py:4 f"),
        ('"mul"(callsite("f"("a.py":4:1) at "g < @"("b.py":5:1)))', "mul@a.py:4 f < b.py:5 g @"),
        ('fused["a.py":4:1, "b.py":5:1]', "@a.py:4 < b.py:5"),
        ('fused<"meta">["a.py":4:1]', "@a.py:4"),
        ('fused<"meta">["add"("a.py":4:1), "b.py":5:1]', "add@a.py:4 < b.py:5"),
        ('"na@me"', "na me"),
    ],
)
def test_locations_are_read_as_mlir_writes_them(loc: str, wanted: str | None) -> None:
    assert origin_of(loc, {}) == wanted


def test_aliases_of_aliases_do_not_grow_without_end() -> None:
    aliases = {f"#loc{at}": f"loc(fused[{', '.join([f'#loc{at + 1}'] * 50)}])" for at in range(16)}
    assert origin_of("#loc0", aliases) is None
