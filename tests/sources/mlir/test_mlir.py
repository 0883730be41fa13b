"""What MLIR's passes print, read against MLIR's own parsers: IREE's compiler, JAX's StableHLO, XLA's emitters."""

from __future__ import annotations

import fcntl
import gzip
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.capture_rows import rows
from tests.kept_rows import KeptRows
from tests.recorded_jax import shared_folder

from peephole.compilers.traces import trace_of
from peephole.errors import CaptureError
from peephole.ingest import import_files
from peephole.query.rewrites.chains import chain, chains_of
from peephole.query.rewrites.origins import kernels_of
from peephole.replay.named import own_named_step
from peephole.sources.base import no_progress
from peephole.sources.mlir.reading import read
from peephole.store.capture import Capture, open_capture

SHARED = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "xla"
HEAD = re.compile(r"^// -----// IR Dump (After|Before) (.*) //----- //$", re.MULTILINE)
FLAGS = ["--iree-input-type=stablehlo", "--iree-hal-target-backends=llvm-cpu", "--mlir-print-ir-after-all",
         "--mlir-print-ir-after-change"]  # fmt: skip
LOWERED = """
import sys
import jax, jax.numpy as jnp

def f(x, w, b):
    def body(c, _):
        return jnp.tanh(c @ w + b), c.sum()
    c, s = jax.lax.scan(body, x, None, length=3)
    return c * s.sum()

shapes = (4, 4), (4, 4), (4,)
open(sys.argv[1], "w").write(jax.jit(f).lower(*map(jnp.ones, shapes)).as_text(debug_info=True))
"""
LEFT_OUT = {"yield", "end", "executable_end", "variant_end", "in_parallel", "module_terminator", "return",
            "addf", "mulf", "add"}  # fmt: skip
SMALL = """module @m {
  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "toy.add"(%arg0, %arg1) {flag = true} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = toy.scale %0 by 2.0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
"""


@pytest.fixture(scope="session")
def stablehlo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A function with a loop as JAX lowers it, with its locations; made once for all workers."""
    pytest.importorskip("jax")
    folder = shared_folder(tmp_path_factory) / "stablehlo"
    path, program = folder / "f.mlir", folder / "program.py"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            folder.mkdir(exist_ok=True)
            program.write_text(LOWERED)
            subprocess.run([sys.executable, str(program), str(path)], check=True, timeout=250)
    return path


@pytest.fixture(scope="session")
def compiled(stablehlo: Path) -> Path:
    """A folder with what IREE prints for it: change.log, generic.log (of several threads) and tree; made once for all
    workers."""
    pytest.importorskip("iree.compiler", reason="needs iree-base-compiler, a real producer of MLIR logs")
    folder = stablehlo.parent
    script = "import sys; from iree.compiler.tools.scripts.iree_compile.__main__ import main; sys.exit(main())"
    runs = {
        "change.log": ["--mlir-disable-threading", "--mlir-print-debuginfo"],
        "generic.log": ["--mlir-print-op-generic"],
        "tree": ["--mlir-disable-threading", f"--mlir-print-ir-tree-dir={folder / 'tree'}"],
    }
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, more in runs.items() if not (folder / "compiled").exists() else ():
            command = [sys.executable, "-c", script, *FLAGS, *more, str(stablehlo), "-o", str(folder / "out.vmfb")]
            said = subprocess.run(command, check=True, capture_output=True, timeout=250).stderr
            if name != "tree":
                (folder / name).write_bytes(said)
        (folder / "compiled").touch()
    return folder


def imported(folder: Path, *paths: Path) -> Capture:
    return open_capture(import_files(list(paths), folder / "c.peep"))


def blocks(text: str) -> list[tuple[str, str]]:
    """Pass and text of each state, read by nothing but the lines between them."""
    heads = list(HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [(head[2], text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def operations_of(ir: Any, context: Any, text: str) -> Counter[Any] | None:
    """Operations with those that made their operands, as MLIR's own parser reads them; None for what it refuses."""
    try:
        module = ir.Module.parse(text, context)
    except Exception:  # a function by itself that calls another one, a variant without its executable
        return None
    found: Counter[Any] = Counter()

    def maker(value: Any) -> str:
        owner = value.owner
        return "argument" if isinstance(owner, ir.Block) else short(owner.operation.name)

    def walk(operation: Any) -> None:
        found[short(operation.name), tuple(maker(value) for value in operation.operands)] += 1
        for region in operation.regions:
            for block in region:
                for inner in block:
                    walk(inner.operation)

    top = module.operation
    inside = list(top.regions[0].blocks[0])
    wrapped = not re.search(r'^\s*"?(builtin\.)?module\b', re.sub(r"(?m)^[#!].*$", "", text).lstrip())
    for one in [inner.operation for inner in inside] if wrapped else [top]:
        walk(one)
    return found


def short(name: str) -> str:
    """The name without its dialect: printed forms leave that out in places."""
    return name.rpartition(".")[2]


def operations_read(text: str, tmp_path: Path) -> Counter[Any]:
    """The same, as the importer reads it."""
    path = tmp_path / "state.mlir"
    path.write_text(text)
    sink = KeptRows()
    read([path], sink, no_progress)
    nodes = {node["id"]: node for node in sink.rows["nodes"]}
    found: Counter[Any] = Counter()
    for node in nodes.values():
        if node["op"] == "GRAPH":
            if node["arg"]:
                found[short(node["arg"].split(" ")[0].strip('"')), ()] += 1
        elif node["op"] != "argument":
            made = [nodes[source]["op"] for source in node["src"] if nodes[source]["op"] != "GRAPH"]
            found[short(node["op"]), tuple(map(short, made))] += 1
    return found


def in_any_order(found: Counter[Any]) -> Counter[Any]:
    """Operations with their operands sorted: custom forms print them in an order of their own."""
    result: Counter[Any] = Counter()
    for (name, made), count in found.items():
        result[name, tuple(sorted(made))] += count
    return result


@pytest.mark.parametrize("log", ["change.log", "generic.log"])
def test_every_state_has_the_operations_and_operands_that_mlirs_own_parser_reads(
    log: str, compiled: Path, tmp_path: Path
) -> None:
    from iree.compiler import ir

    context = ir.Context()
    context.allow_unregistered_dialects = True
    seen: set[str] = set()
    checked = 0
    for name, text in blocks((compiled / log).read_text(errors="replace")):
        if text in seen:
            continue
        seen.add(text)
        truth = operations_of(ir, context, text)
        if truth is None:
            continue
        own = operations_read(text, tmp_path)
        if log == "generic.log":
            assert own == truth, name
        else:
            own, truth = in_any_order(own), in_any_order(truth)
            assert not own - truth, name
            # custom forms leave out terminators, and regions of which a word says enough
            assert {op for op, _ in truth - own} <= LEFT_OUT, name
        checked += 1
    assert checked > 100


def test_a_log_has_a_step_for_each_state_and_before_and_changes_are_after(compiled: Path, tmp_path: Path) -> None:
    from peephole.sources.mlir.blocks import pass_of

    capture = imported(tmp_path, compiled / "change.log")
    told = blocks((compiled / "change.log").read_text())
    steps = rows(capture, "steps")
    assert Counter(step["name"] for step in steps) == Counter(pass_of(name)[0] for name, _ in told)
    contexts = {one["id"]: one for one in rows(capture, "contexts")}
    assert {one["compiler"] for one in contexts.values()} == {"mlir"}
    assert any(one["name"] == "builtin.module @jit_f" and one["kind"] == "module" for one in contexts.values())
    last: dict[int, int] = {}
    trace = trace_of(capture)
    changed = 0
    for step in steps:
        assert step["root"] == last.get(step["context"], step["root"])
        last[step["context"]] = step["after"]
        named = own_named_step(trace, step["id"])
        assert named is not None and named.came_out is not None
        boxes = dict(named.before.boxes)
        for entry in named.entries:
            for key, (_, new) in entry.delta.items():
                if new is None:
                    boxes.pop(key)
                else:
                    boxes[key] = new
        # a row of the same contents is the same
        assert {key: box.src for key, box in boxes.items()} == {k: b.src for k, b in named.came_out.boxes.items()}
        changed += step["root"] != step["after"]
        # a graph has each name once: what a box is known by from print to print
        names = [trace.instructions().name(box.row) for box in named.came_out.boxes.values() if box.row >= 0]
        assert len(names) == len(set(names))
    assert changed > 100


def test_operations_of_a_real_log_lead_to_the_lines_that_made_them(compiled: Path, tmp_path: Path) -> None:
    capture = imported(tmp_path, compiled / "change.log")
    # `jnp.tanh(c @ w + b)` is in line 7 of the program
    for name in ("tanh_0", "dot_general_0"):
        for place in chains_of(capture, name):
            lines = [link for link in chain(capture, *place) if link.stage == "line"]
            assert lines[0].line is not None and lines[0].line.endswith("program.py:7"), name
            assert lines[0].source == "return jnp.tanh(c @ w + b), c.sum()"
    kernels = {one.name for one in kernels_of(capture, "program.py:7")}
    assert any(name.startswith("func.func @main_dispatch_") for name in kernels)


def test_a_tree_of_files_is_the_log_in_another_form(compiled: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    tree, log = imported(tmp_path / "a", compiled / "tree"), imported(tmp_path / "b", compiled / "change.log")
    of_tree, of_log = ([step["name"] for step in rows(one, "steps")] for one in (tree, log))
    # two passes that print into one file are one there
    assert not Counter(of_tree) - Counter(of_log) and len(of_log) - len(of_tree) <= 3
    module = [[step["name"] for step in rows(one, "steps") if step["context"] == 0] for one in (tree, log)]
    assert module[0] == module[1]


def test_stablehlo_has_the_operations_and_lines_of_the_program(stablehlo: Path, tmp_path: Path) -> None:
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    module = ir.Module.parse(stablehlo.read_text(), make_ir_context())
    capture = imported(tmp_path, stablehlo)
    nodes = rows(capture, "nodes")
    own = Counter(node["op"] for node in nodes)
    truth: Counter[str] = Counter()

    def walk(operation: Any) -> None:
        truth[operation.name] += 1
        if operation.name == "stablehlo.reduce":
            return  # `applies stablehlo.add` is all that is printed of its region
        for region in operation.regions:
            for block in region:
                for inner in block:
                    walk(inner.operation)

    walk(module.operation)
    for name, count in truth.items():
        if name.startswith("stablehlo."):
            assert own[name] == count, name
    (tanh,) = (node for node in nodes if node["op"] == "stablehlo.tanh")
    assert tanh["metadata"].startswith("tanh@") and ":7" in tanh["metadata"], tanh["metadata"]
    assert next(node for node in nodes if node["op"] == "stablehlo.dot_general")["shape"] == "(4, 4)"


def test_operations_keep_their_names_while_their_numbers_change(tmp_path: Path) -> None:
    other = SMALL.replace("%1", "%7").replace("%0", "%3").replace("%arg0", "%a").replace("flag = true", "flag = false")
    grown = other.replace("    %3 =", "    %c = arith.constant 1.0 : f32\n    %3 =")
    log = "".join(
        f"// -----// IR Dump After {name} //----- //\n{text}\n\n"
        for name, text in (("A: a", SMALL), ("B: b", SMALL), ("C: c", other), ("D: d", grown))
    )
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(log.encode()))
    capture = imported(tmp_path, path)
    steps = rows(capture, "steps")
    assert [step["name"] for step in steps] == ["a", "b", "c", "d"]
    assert steps[1]["root"] == steps[1]["after"]
    trace = trace_of(capture)
    third, fourth = (own_named_step(trace, step["id"]) for step in steps[2:])
    assert third is not None and fourth is not None
    found = third.overall()
    assert ([third.name_of(key) for key in found.altered], found.added, found.removed) == (["add_0"], [], [])
    found = fourth.overall()
    assert ([fourth.name_of(key) for key in found.added], found.removed) == (["constant_0"], [])


def test_states_before_passes_are_those_after_the_passes_before(tmp_path: Path) -> None:
    other = SMALL.replace("by 2.0", "by 3.0")
    path = tmp_path / "passes.log"
    path.write_bytes(
        b"builtin.module(a,b)\n// -----// IR Dump Before A (a) //----- //\n" + SMALL.encode()
        + b"// -----// IR Dump Before B (b) //----- //\n" + other.encode() + b"\xff\xfe no UTF-8\n"
    )  # fmt: skip
    steps = rows(imported(tmp_path, path), "steps")
    assert [step["name"] for step in steps] == ["a", "b"]
    assert steps[0]["root"] != steps[0]["after"] == steps[1]["root"]
    assert steps[1]["after"] == -1


def test_xlas_emitter_logs_come_alone_and_with_their_kernels(tmp_path: Path) -> None:
    logs = sorted((SHARED / "mlp" / "emitter").glob("*.log.gz"))
    if not logs:
        pytest.skip("needs ../shared/fixtures/xla/mlp/emitter beside the repository")
    alone = imported(tmp_path, logs[0])
    text = gzip.decompress(logs[0].read_bytes()).decode(errors="replace")
    assert len(rows(alone, "steps")) == len(blocks(text))
    (tmp_path / "all").mkdir()
    whole = imported(tmp_path / "all", SHARED / "mlp")
    contexts = {one["id"]: one for one in rows(whole, "contexts")}
    of_mlir = [one for one in contexts.values() if one["compiler"] == "mlir"]
    assert of_mlir and {contexts[one["parent"]]["kind"] for one in of_mlir} == {"kernel"}


def test_states_that_xla_prints_twice_are_one_pass(tmp_path: Path) -> None:
    line = "// -----// IR Dump Before {0}Pass: {0} ('builtin.module' operation: @m) //----- //\n"
    states = [line.format("a") + SMALL + "\n\n", line.format("b") + SMALL.replace("2.0", "3.0") + "\n\n"]
    twice = [state for state in states for _ in range(2)]
    for name, texts, wanted in [
        ("module_0001.jit_f.k.mlir-passes.log", twice, ["a", "b"]),
        ("module_0001.jit_f.k.mlir-passes.log", [*twice, states[1]], ["a", "a", "b", "b", "b"]),
        ("mine.log", twice, ["a", "a", "b", "b"]),
    ]:
        folder = tmp_path / f"{len(texts)}{name}"
        folder.mkdir()
        (folder / name).write_text("".join(texts))
        assert [step["name"] for step in rows(imported(folder, folder / name), "steps")] == wanted


def test_names_behind_an_arrow_are_arguments_of_the_region(tmp_path: Path) -> None:
    text = SMALL.replace(
        "    return",
        "    %l = xla.loop (%arg0)[%i] -> (%ra, %rb) in #map iter_args(%iter = %1) -> (tensor<4xf32>) {\n"
        "      %v = toy.get %arg0[%ra, %rb] : tensor<4xf32>\n      xla.yield %v : tensor<4xf32>\n    }\n    return",
    )
    path = tmp_path / "log"
    path.write_text(f"// -----// IR Dump After A: a //----- //\n{text}")
    capture = imported(tmp_path, path)
    assert capture.manifest.problems == []
    nodes = {node["id"]: node for node in rows(capture, "nodes")}
    (get,) = (node for node in nodes.values() if node["op"] == "toy.get")
    (loop,) = (node for node in nodes.values() if node["op"] == "xla.loop")
    assert loop["arg"].startswith("(%)[%] -> (%, %) in"), "no name, which is another one at the next print"
    assert len(get["src"]) == 3 and {nodes[one]["op"] for one in get["src"]} == {"argument"}


def test_several_logs_are_several_runs(tmp_path: Path) -> None:
    log = f"// -----// IR Dump After A: a //----- //\n{SMALL}"
    paths = [tmp_path / "one.log", tmp_path / "two.log"]
    paths[0].write_text(log)
    paths[1].write_text(log.replace("by 2.0", "by 3.0"))
    capture = imported(tmp_path, *paths)
    contexts = rows(capture, "contexts")
    assert [one["name"] for one in contexts] == ["builtin.module @m in one.log", "builtin.module @m in two.log"]
    assert all(step["root"] == step["after"] for step in rows(capture, "steps"))


def test_bad_prints_are_said_and_the_rest_is_read(tmp_path: Path) -> None:
    def state(name: str, text: str) -> str:
        return f"// -----// IR Dump After {name} //----- //\n{text}\n"

    constant = SMALL.replace(
        "    return", f'    %c = toy.constant dense<"0x{"3F" * 1_500_000}"> : tensor<9xf32>\n    return'
    )
    path = tmp_path / "log"
    path.write_text(
        state("A: a", SMALL) + state("Empty: e", "") + state("Big: big", constant)
        + state("Broke Failed: broke{now}", SMALL) + "error: something went wrong\n" + state("B: b", SMALL[:-30])
    )  # fmt: skip
    begin = time.process_time()
    capture = imported(tmp_path, path)
    assert time.process_time() - begin < 5
    assert [step["name"] for step in rows(capture, "steps")] == ["a", "big", "broke (failed)"]
    reasons = json.dumps(capture.manifest.problems)
    assert "cut off" in reasons and "empty" in reasons
    assert max(len(node["arg"] or "") for node in rows(capture, "nodes")) < 5000


def test_a_file_without_a_state_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("// -----// IR Dump After A: a //----- //\n" + SMALL[:60])
    with pytest.raises(CaptureError, match="no state of MLIR that can be read"):
        imported(tmp_path, path)
    assert not (tmp_path / "c.peep").exists()
