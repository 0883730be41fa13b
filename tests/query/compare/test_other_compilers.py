"""Recordings of torch.compile and of JAX: equal twice; a constant, a setting: they part where a plain walk says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peephole.compilers.torch.compiler import NAME, Torch
from peephole.compilers.xla.llvm_text import without_order
from peephole.query.compare.comparison import compare
from peephole.query.compare.recorded import recorded
from peephole.query.compare.results import Comparison
from peephole.store.capture import Capture, open_capture

TORCH = """
import os
import torch
torch.set_num_threads(1)
if os.environ.get("ALONE"):
    torch._inductor.config.max_fusion_size = 1
factor = float(os.environ.get("FACTOR", "2"))

@torch.compile
def changing(x):
    return (x * factor).relu().sum() + 1

@torch.compile
def other(x):
    return torch.softmax(x, -1).cos()

for _ in range(3):
    changing(torch.ones(8, 32, requires_grad=True)).backward()
    other(torch.ones(4, 16))
"""

JAX = """
import os
import jax, jax.numpy as jnp
factor = float(os.environ.get("FACTOR", "2"))

@jax.jit
def changing(w, x):
    return jax.nn.softmax(jnp.tanh(x @ w) * factor).sum()

@jax.jit
def rolled(xs):
    return jax.lax.scan(lambda state, x: (jnp.sin(state + x), state.sum()), jnp.zeros(4), xs)

print(changing(jnp.ones((16, 16)), jnp.ones((4, 16))), rolled(jnp.ones((8, 4)))[0])
"""
SEVERAL = """
import json, os, runpy, sys
import torch
import peephole
for out, env in json.loads(sys.argv[2]):
    torch._dynamo.reset()  # as if nothing had been compiled
    os.environ.update(env)
    with peephole.record(out):
        runpy.run_path(sys.argv[1])
    for name in env:
        del os.environ[name]
"""
VARIANTS: dict[str, dict[str, str]] = {"as it is": {}, "factor": {"FACTOR": "3"}, "alone": {"ALONE": "1"}}
"""Of the program of torch. They are recorded in one process, since importing torch takes most of the time."""
Record = Callable[..., Capture]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Records one of the programs, once for each variant or set of variables; `again` in a process of its own."""
    folder = tmp_path_factory.mktemp("others")
    known: dict[str, Capture] = {}

    def started(*words: str | Path, env: dict[str, str]) -> None:
        done = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, "JAX_PLATFORMS": "cpu", **env},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def torch_variants(program: Path) -> None:
        outs = {variant: folder / f"torch {variant}.peep" for variant in VARIANTS}
        wanted = [(str(outs[variant]), env) for variant, env in VARIANTS.items()]
        (folder / "several.py").write_text(SEVERAL)
        started(folder / "several.py", program, json.dumps(wanted), env={})
        known.update({"torch" + variant: open_capture(out) for variant, out in outs.items()})

    def call(framework: str, variant: str = "as it is", **env: str) -> Capture:
        pytest.importorskip(framework)
        key = framework + variant + "".join(env.values())
        if key not in known:
            program = folder / f"{framework}_program.py"
            program.write_text(TORCH if framework == "torch" else JAX)
            if framework == "torch" and variant in VARIANTS:
                torch_variants(program)
            else:
                out = folder / f"run{len(known)}.peep"
                started("-m", "peephole", "run", "-o", out, program, env={**VARIANTS.get(variant, {}), **env})
                known[key] = open_capture(out)
        return known[key]

    return call


def diff(a: Capture, b: Capture) -> Comparison:
    return compare([recorded(a)], [recorded(b)])


def plain_steps(capture: Capture) -> dict[str, list[tuple[Any, ...]]]:
    """By context, in order: each pass with its graphs before and after written out, matches and decisions, as texts."""
    nodes = capture.read("nodes")
    columns = [list(nodes.texts(name)) for name in ("op", "dtype", "arg", "tag", "shape", "name")]
    ids, sources = nodes["id"].tolist(), nodes.lists("src")
    texts: dict[int, Any] = {-1: None}
    for row, number in enumerate(ids):
        *own, name = (column[row] for column in columns)
        inner = tuple(texts[source] for source in sources[row])
        texts[number] = hash((*own, inner, None if inner else name))
    contexts = capture.read("contexts", ["id", "name"])
    names = dict(zip(contexts["id"].tolist(), contexts.texts("name"), strict=True))
    steps = capture.read("steps")
    found: dict[str, list[tuple[Any, ...]]] = {}
    matched: dict[int, list[Any]] = {}
    rows = capture.read("matches")
    for step, before, after, line in zip(
        *(rows[name].tolist() for name in ("step", "before", "after", "line")), strict=True
    ):
        matched.setdefault(step, []).append((line, texts[before], texts.get(after)))
    decided: dict[int, list[Any]] = {}
    rows = capture.read("decisions")
    for step, kind, reason in zip(rows["step"].tolist(), rows.texts("kind"), rows.texts("reason"), strict=True):
        decided.setdefault(step, []).append((kind, reason))
    for number, context, root, after, name in zip(
        *(steps[column].tolist() for column in ("id", "context", "root", "after")), steps.texts("name"), strict=True
    ):
        pass_ = (name, texts[root], matched.get(number), decided.get(number), texts.get(after))
        found.setdefault(str(names[context]), []).append(pass_)
    return found


WHAT = ("pass", "input", "match", "decision", "output")


def walk(a: Capture, b: Capture) -> dict[str, tuple[int, str]]:
    """For each context of both that differs: the ordinal of the first step that does, and in what."""
    one, two = plain_steps(a), plain_steps(b)
    found = {}
    for name in one.keys() & two.keys():
        for at, (own, other) in enumerate(zip(one[name], two[name], strict=False)):
            if own != other:
                found[name] = (at, next(what for what, x, y in zip(WHAT, own, other, strict=True) if x != y))
                break
    return found


def parted(found: Comparison) -> dict[str, tuple[int, str]]:
    return {row.context: (row.parting.ordinal, row.parting.what) for row in found.divergence if row.parting}


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_same_program_twice_differs_in_times_alone(run: Record, framework: str) -> None:
    found = diff(run(framework), run(framework, "again"))
    assert found.same, (found.verdict, [row.name for row in found.kernels if row.state != "same"])
    assert found.kernels_of("same") and found.others_of("same") and not found.divergence


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_one_constant_changes_what_it_is_in_and_nothing_else(run: Record, framework: str) -> None:
    a, b = run(framework), run(framework, "factor")
    found = diff(a, b)
    assert parted(found) == walk(a, b)
    begins = [row for row in found.divergence if not row.follows]
    assert len(begins) == 1 and begins[0].parting is not None
    assert (begins[0].parting.what, begins[0].parting.ordinal) == ("input", 0)
    assert begins[0].context.endswith("changing" if framework == "jax" else "0/0")
    changed, same = found.kernels_of("changed"), found.kernels_of("same")
    assert changed and same and not found.kernels_of("added") and not found.kernels_of("removed")
    by_name = {row.context: row for row in found.divergence}
    for row in changed:  # each kernel that changed leads back to the one context where it begins
        cause = by_name[row.name]
        while cause.follows:
            cause = by_name[cause.follows[0]]
        assert cause is begins[0]


def test_a_pass_of_torch_that_decides_otherwise_is_where_they_part(run: Record) -> None:
    a, b = run("torch"), run("torch", "alone")
    found = diff(a, b)
    expected = walk(a, b)
    assert expected and parted(found) == expected
    steps = {row.step for row in found.divergence if row.parting}
    assert steps and all(step.startswith("fusion") for step in steps), steps
    assert found.kernels_of("added") or found.kernels_of("changed")


def test_a_pass_of_xla_that_is_left_out_is_where_they_part(run: Record) -> None:
    a, b = run("jax"), run("jax", XLA_FLAGS="--xla_disable_hlo_passes=fusion")
    found = diff(a, b)
    expected = walk(a, b)
    modules = {name: place for name, place in expected.items() if name.startswith("module_")}
    assert modules
    assert {name: place for name, place in parted(found).items() if name.startswith("module_")} == modules


def test_the_number_of_a_graph_in_the_process_is_no_difference() -> None:
    def code(number: int) -> str:
        return f"# AOT ID: ['{number}_inference']\nbuf = ['{number}_inference']"

    bare = Torch(NAME).comparable_code
    assert bare(code(1))[0].startswith("# AOT ID: ['_inference']\n") and bare(code(1))[1]
    assert bare(code(1))[0] == bare(code(1).replace("ID: ['1_", "ID: ['37_"))[0]
    assert bare(code(1))[0] != bare(code(3))[0], "what the code does with a number counts"
    assert bare("x = 1") == ("x = 1", "")


def test_the_order_of_arguments_is_no_difference_but_their_use_is() -> None:
    """What XLA's hashed table of buffers changes from run to run, in a few lines of its LLVM."""

    def code(first: int, second: int, minus: str = "%2, %3") -> str:
        return "\n".join(
            [
                "define ptr @call_kernel(ptr %0) {",
                f"  %arg{first}_gep = getelementptr i8, ptr %args, i64 {16 * first}",
                f"  %arg{first} = load ptr, ptr %arg{first}_gep, align 8, !dereferenceable !{first}, !align !9",
                f"  %arg{second} = load ptr, ptr %arg{second}_gep, align 8, !dereferenceable !4, !align !9",
                f"  %2 = load float, ptr %arg{first}, align 4, !noalias !{second}",
                f"  %3 = load float, ptr %arg{second}, align 4",
                f"  %4 = fsub float {minus}",
                "}",
                "define internal void @body(ptr %buffer_table) {",
                f"  %0 = getelementptr inbounds ptr, ptr %buffer_table, i64 {second}",
                "}",
                f"!9 = !{{i64 {first}}}",
            ]
        )

    assert without_order(code(11, 14)) == without_order(code(15, 12))
    assert without_order(code(11, 14)) != without_order(code(11, 14, minus="%3, %2"))
    assert without_order("%arg1 = fadd")[0] == "%arg1 = fadd", "a kernel without such a table stays as it is"
