"""Dumps that are cut off, empty, of two runs or odd: a capture with its problems listed, or one sentence."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from pathlib import Path

from tests.conftest import Cli, SharedFile
from tests.recorded_jax import JaxRun

from peephole.ingest import import_files
from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.step_graphs import graph_at, walk_matches
from peephole.store.capture import Capture, open_capture

HEAD = "HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n\n\n"
BODY = """ENTRY %main.1 (x.1: f32[4]) -> f32[4] {
  %x.1 = f32[4]{0} parameter(0)
  ROOT %add.1 = f32[4]{0} add(%x.1, %x.1), metadata={op_name="jit(f)/add"}
}
"""


def imported(folder: Path, files: dict[str, str | bytes]) -> Capture:
    place = folder / "dump"
    place.mkdir()
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (place / name).write_bytes(data)
    return open_capture(import_files(sorted(place.iterdir()), folder / "out.peep"))


def reasons(capture: Capture) -> dict[str, int]:
    return {problem["reason"]: problem["count"] for problem in capture.manifest.problems}


def test_cut_and_empty_dumps_are_left_out(tmp_path: Path) -> None:
    text = HEAD + BODY
    capture = imported(
        tmp_path,
        {
            "module_0001.jit_f.before_optimizations.txt": text,
            "module_0001.jit_f.0000.simplify.after_algsimp.before_dce.txt": text[:-30],
            "module_0001.jit_f.0001.simplify.after_dce.before_cse.txt": "",
            "module_0001.jit_f.0002.simplify.after_cse.before_end.hlo.pb": b"\x0a\xff\xff",
            "module_0001.jit_f.cpu_after_optimizations.txt": text,
        },
    )
    assert reasons(capture) == {
        "dumps that were cut off, left out": 1,
        "dumps that are empty, left out": 1,
        "dumps that are neither HLO text nor a whole HloProto, left out": 1,
    }
    (module,) = [one for one in contexts(capture) if one.kind == "module"]
    assert [step.name for step in steps(capture, module.id)] == ["before_optimizations", "cpu_after_optimizations"]


def test_a_trace_given_with_a_dump_is_read_and_what_does_not_fit_is_said(shared: SharedFile, tmp_path: Path) -> None:
    event = {"ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "name": "work"}
    known = {**event, "args": {"hlo_module": "jit_f", "hlo_op": "add.1"}}
    dump = {"module_0001.jit_f.before_optimizations.txt": HEAD + BODY}
    said = []
    for number, one in enumerate((event, known)):
        folder = tmp_path / str(number)
        folder.mkdir()
        capture = imported(folder, {**dump, "any.json": json.dumps({"traceEvents": [one]}), "x.mlir": "module {}"})
        assert capture.count("slices") == 1
        assert bool((capture.read("slices", ["context"])["context"] >= 0).all()) == (number == 1)
        said.append(list(reasons(capture)))
    left = "files that are not of a dump of XLA, left out"
    assert said == [[left, "traces that name no kernel of the dump: they may be of another program"], [left]]
    profile = [*shared("fixtures/xla/mlp/profile").rglob("*.xplane.pb")]
    beside = open_capture(import_files([*profile, tmp_path / "0" / "dump" / "any.json"], tmp_path / "beside.peep"))
    assert list(reasons(beside)) == ["traces given with a profile (.xplane.pb), left out: import them by themselves"]


def test_two_runs_in_one_folder_and_modules_of_one_name(tmp_path: Path) -> None:
    capture = imported(
        tmp_path,
        {
            "module_0001.jit_f.0000.simplify.after_algsimp.before_dce.txt": HEAD + BODY,
            "module_0001.jit_f.0000.simplify.after_dce.before_cse.txt": HEAD + BODY,
            "module_0001.jit_g.before_optimizations.txt": HEAD + BODY,
            "module_0002.jit_f.before_optimizations.txt": HEAD + BODY,
        },
    )
    assert list(reasons(capture)) == ["dumps of another run in the same folder, left out"]
    names = [one.name for one in contexts(capture) if one.kind == "module"]
    assert names == ["module_0001.jit_f", "module_0001.jit_g", "module_0002.jit_f"]


def test_the_end_of_a_longer_run_before_in_the_same_folder_is_left_out(tmp_path: Path) -> None:
    names = [f"module_0001.jit_f.{at:04d}.simplify.after_{one}.before_x.txt" for at, one in enumerate("abcd")]
    now = time.time()
    for at, name in enumerate(names):
        (tmp_path / name).write_text(HEAD + BODY)
        os.utime(tmp_path / name, (now, now - 3600 + at if at > 1 else now + at))
    capture = open_capture(import_files([tmp_path], tmp_path / "out.peep"))
    assert reasons(capture) == {"dumps of another run in the same folder, left out": 2}
    assert [step.name for step in steps(capture, 0)] == ["simplify", "a", "b"]
    for at, name in enumerate(names):  # copied in any order, within a moment
        os.utime(tmp_path / name, (now, now - at / 10))
    copied = open_capture(import_files([tmp_path], tmp_path / "copied.peep"))
    assert reasons(copied) == {} and len(steps(copied, 0)) == 5


def test_custom_calls_of_any_text_and_a_large_constant(tmp_path: Path) -> None:
    large = "{" + ", ".join(["1.5"] * 600_000) + "}"
    odd = r'custom_call_target="a\"), %b = f32[] x( <script>", backend_config="{]))}"'
    lines = BODY.replace(
        "  ROOT",
        f"  %c.1 = f32[600000]{{0}} constant({large})\n"
        f"  %call.1 = (f32[4]{{0}}, /*index=1*/u8[8]{{0:T(8,128)}}) custom-call(%x.1, %c.1), {odd}\n  ROOT",
    )
    capture = imported(tmp_path, {"module_0001.jit_f.before_optimizations.txt": HEAD + lines})
    assert reasons(capture) == {}
    (module,) = [one for one in contexts(capture) if one.kind == "module"]
    nodes = graph_at(capture, steps(capture, module.id)[0].id, 0).nodes
    call, constant = nodes.name.index("call.1"), nodes.name.index("c.1")
    assert nodes.src[call] == [nodes.id[nodes.name.index("x.1")], nodes.id[constant]]
    assert nodes.shape[call] == "(f32[4]{0}, u8[8]{0:T(8,128)})" and "<script>" in (nodes.arg[call] or "")
    assert len(nodes.arg[constant] or "") < 300


def test_lines_that_are_no_instruction_are_counted_and_literals_over_lines_are_not(tmp_path: Path) -> None:
    constant = "  %c.1 = f32[2,2]{1,0} constant({\n    { 1, 2 },\n    { 3, 4 }\n  })\n"
    lines = BODY.replace("  ROOT", f"{constant}  nothing known (x)\n  ROOT")
    capture = imported(tmp_path, {"module_0001.jit_f.before_optimizations.txt": HEAD + lines})
    assert reasons(capture) == {"lines of HLO that were not understood": 1}
    nodes = graph_at(capture, 0, 0).nodes
    assert {"x.1", "c.1", "add.1"} <= set(nodes.name)


def test_explanations_of_fusion_may_be_gzipped(tmp_path: Path) -> None:
    page = 'const frames = [[0, "Not fusing |x.1| into |add.1| as it is cheap ; more", ""]];\n'
    capture = imported(
        tmp_path,
        {
            "module_0001.jit_f.before_optimizations.txt": HEAD + BODY,
            "main.1.module_0001.jit_f._fusion.html.gz": gzip.compress(page.encode()),
        },
    )
    assert reasons(capture) == {} and list(capture.read("decisions", ["kind"]).texts("kind")) == ["refused"]


def test_protos_may_be_gzipped(jax_run: JaxRun, tmp_path: Path) -> None:
    names = []
    for packed in (False, True):  # as --xla_dump_compress_protos writes them
        folder = tmp_path / f"dump{packed}"
        folder.mkdir()
        for path in jax_run.dump.glob("*.jit_block.*.hlo.pb"):
            data = path.read_bytes()
            (folder / f"{path.name}{'.gz' * packed}").write_bytes(gzip.compress(data) if packed else data)
        capture = open_capture(import_files([folder], tmp_path / f"{packed}.peep"))
        assert reasons(capture) == {}
        names.append([(one.name, one.depth) for one in steps(capture, 0)])
    assert names[0] == names[1] and len(names[0]) > 20
    cut = tmp_path / "dumpTrue" / sorted(path.name for path in (tmp_path / "dumpTrue").iterdir())[3]
    cut.write_bytes(cut.read_bytes()[:-40])
    capture = open_capture(import_files([tmp_path / "dumpTrue"], tmp_path / "cut.peep"))
    assert sum(reasons(capture).values()) == 1


def test_a_computation_with_the_name_of_an_instruction_is_another_box(tmp_path: Path) -> None:
    called = """twice.1 {
  %p.1 = f32[4]{0} parameter(0)
  ROOT %add.2 = f32[4]{0} add(%p.1, %p.1)
}

"""
    before = BODY.replace("add(%x.1, %x.1)", "call(%x.1), to_apply=%twice.1").replace("%add.1", "%call.1")
    capture = imported(
        tmp_path,
        {
            "module_0001.jit_f.before_optimizations.txt": HEAD + "%" + called + before,
            "module_0001.jit_f.0000.all.after_call-inliner.before_dce.txt": HEAD + BODY.replace("add.1", "twice.1"),
        },
    )
    step = next(one for one in steps(capture, 0) if one.name == "call-inliner")
    nodes = graph_at(capture, step.id, 0).nodes
    known = dict(zip(nodes.id, zip(nodes.name, nodes.op, strict=True), strict=True))
    removed, added = set(), set()
    for done in walk_matches(capture, step.id):
        known.update(zip(done.nodes.id, zip(done.nodes.name, done.nodes.op, strict=True), strict=True))
        removed |= {known[id] for id in done.removed}
        added |= {known[id] for id in done.added}
    assert ("twice.1", "GRAPH") in removed and ("twice.1", "add") in added


def test_nothing_to_show_is_one_sentence(tmp_path: Path, peephole: Cli) -> None:
    path = tmp_path / "module_0001.jit_f.before_optimizations.txt"
    path.write_text("HloModule jit_f\n")
    done = peephole("import", path, "-o", tmp_path / "out", check=False)
    assert done.returncode == 2 and "xla_dump_to" in done.stderr and not (tmp_path / "out.peep").exists()


def test_protos_of_newer_releases_with_unknown_fields(jax_run: JaxRun, tmp_path: Path) -> None:
    known = next(jax_run.dump.glob("*jit_block*before_optimizations.hlo.pb"))
    plain, newer = tmp_path / "plain", tmp_path / "newer"
    for folder in (plain, newer):
        folder.mkdir()
        shutil.copy(known, folder)
    # a text, a number, a double and a float under numbers that no release has
    unknown = b"\x92\x7d\x03new" + b"\x98\x7d\x96\x01" + b"\xa1\x7d" + bytes(8) + b"\xad\x7d" + bytes(4)
    (newer / known.name).write_bytes(unknown + known.read_bytes() + unknown)
    found = [open_capture(import_files([folder / known.name], folder / "c.peep")) for folder in (plain, newer)]
    names = [sorted(name or "" for name in one.read("nodes", ["name"]).texts("name")) for one in found]
    assert names[0] == names[1] and len(names[0]) > 20
    assert found[1].manifest.problems == []
