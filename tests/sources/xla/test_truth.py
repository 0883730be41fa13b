"""Real dumps of six JAX programs: what the importer makes of them is what XLA's protos say, read by other code."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from tests.recorded_jax import JaxRun
from tests.sources.xla import hlo_truth
from tests.sources.xla.hlo_truth import Fact

from peephole.ingest import import_files
from peephole.query.capture.contexts import Step, artifacts, contexts, steps
from peephole.query.memory.buffers import memory
from peephole.query.rewrites.decisions import decisions
from peephole.query.rewrites.step_graphs import count_matches, graph_at, walk_matches
from peephole.store.capture import Capture, open_capture

MODULES = (
    "jit_train_step",
    "jit_block",
    "jit_recurrent",
    "jit_conv_gradient",
    "jit_layers",
    "jit_transformer_step",
)
State = dict[str, list[tuple[str, str, tuple[str, ...]]]]
"""By computation its instructions in order: name, opcode, names of what is read and called."""


@pytest.fixture(scope="module")
def capture(jax_run: JaxRun, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    path = tmp_path_factory.mktemp("xla") / "six.peep"
    return open_capture(import_files([jax_run.dump, jax_run.ir], path))


@pytest.fixture(scope="module")
def protos(jax_run: JaxRun, tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """The same of the protos alone."""
    folder = tmp_path_factory.mktemp("protos")
    for path in jax_run.dump.glob("*.hlo.pb"):
        (folder / path.name).symlink_to(path)
    return open_capture(import_files([folder], tmp_path_factory.mktemp("xla") / "protos.peep"))


def module_names(capture: Capture) -> dict[str, int]:
    return {one.name: one.id for one in contexts(capture) if one.kind == "module"}


def wanted(capture: Capture) -> list[tuple[str, int]]:
    found = [(name, id) for name, id in module_names(capture).items() if name.partition(".")[2] in MODULES]
    assert {name.partition(".")[2] for name, _ in found} == set(MODULES)
    return found


def said(facts: dict[str, list[Fact]]) -> State:
    return {
        name: [(one.name, one.op, (*one.reads, *(f"graph {called}" for called in one.calls))) for one in listed]
        for name, listed in facts.items()
    }


def shown(capture: Capture, step: int, match: int) -> State:
    """A graph as a user sees it."""
    graph = graph_at(capture, step, match)
    nodes = graph.nodes
    place = {id: at for at, id in enumerate(nodes.id)}

    def name(at: int) -> str:
        return f"graph {nodes.name[at]}" if nodes.op[at] == "GRAPH" else nodes.name[at] or "?"

    found = {}
    for at, op in enumerate(nodes.op):
        if op == "GRAPH":
            inside = [place[id] for id in nodes.src[at]]
            found[nodes.name[at] or ""] = [
                (nodes.name[one] or "", nodes.op[one], tuple(name(place[id]) for id in nodes.src[one]))
                for one in inside
                if nodes.op[one] != "GRAPH"
            ]
    return found


def leaves(listed: list[Step]) -> list[Step]:
    """Passes, not the pipelines around them."""
    return [one for one, after in pairwise([*listed, listed[0]]) if after.depth <= one.depth]


def test_passes_and_instructions_at_every_dump(capture: Capture, jax_run: JaxRun) -> None:
    assert capture.manifest.problems == []
    for name, context in wanted(capture):
        listed = steps(capture, context)
        assert listed[0].name == "before_optimizations" and listed[-1].name == "cpu_after_optimizations"
        found = hlo_truth.dumps(jax_run.dump, name)
        parted = [re.fullmatch(r"(.+?)\.after_(.+?)(?:\.before_.*)?", text) for text, _ in found]
        names = [one.groups() for one in parted if one is not None]
        pipelines, at = {pipeline for pipeline, _ in names}, 1
        for (pipeline, ran), (_, path) in zip(names, found, strict=True):
            state = said(hlo_truth.module(path))
            if ran in pipelines:  # it ends, and its step stands where it began
                step = next(one for one in reversed(listed[:at]) if one.name == ran)
            else:  # steps come in the order of the dumps
                wanted_name = pipeline if ran == "pipeline-start" else ran
                at = next(i for i in range(at, len(listed)) if listed[i].name == wanted_name)
                step = listed[at]
                at += 1
            match = 0 if ran == "pipeline-start" else count_matches(capture, step.id)
            assert shown(capture, step.id, match) == state, path.name


def test_changed_passes(capture: Capture, jax_run: JaxRun) -> None:
    for name, context in wanted(capture):
        before = jax_run.dump / f"{name}.before_optimizations.hlo.pb"
        states = [
            hlo_truth.module(path) for path in [before, *(path for _, path in hlo_truth.dumps(jax_run.dump, name))]
        ]
        truth = sum(old != new for old, new in pairwise(states))
        roots = [(one.root_after(capture), one) for one in map(Seen, steps(capture, context))]
        changed = [one for (root, after), one in roots if root != after]
        inner = [one for one in changed if one.is_leaf(steps(capture, context))]
        assert len(inner) == truth, name


class Seen:
    """A step with its graphs."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def root_after(self, capture: Capture) -> tuple[int, int]:
        frame = capture.read("steps", ["id", "root", "after"])
        (row,) = (frame["id"] == self.step.id).nonzero()[0].tolist()
        return int(frame["root"][row]), int(frame["after"][row])

    def is_leaf(self, listed: list[Step]) -> bool:
        return any(one.id == self.step.id for one in leaves(listed))


def test_before_and_difference_are_after(capture: Capture) -> None:
    walked = 0
    for _, context in wanted(capture):
        for step in steps(capture, context):
            nodes = graph_at(capture, step.id, 0).nodes
            there = {(name, op) for name, op in zip(nodes.name, nodes.op, strict=True)}
            ids = dict(zip(nodes.id, zip(nodes.name, nodes.op, strict=True), strict=True))
            for done in walk_matches(capture, step.id):
                fresh = dict(zip(done.nodes.id, zip(done.nodes.name, done.nodes.op, strict=True), strict=True))
                ids.update(fresh)
                there -= {ids[id] for id in done.removed}
                there |= {ids[id] for id in done.added}
                walked += 1
            last = graph_at(capture, step.id, count_matches(capture, step.id))
            assert there == set(zip(last.nodes.name, last.nodes.op, strict=True)), step.name
            assert last.root == step.after
    assert walked > 100


def test_protos_give_the_graphs_that_texts_give(capture: Capture, protos: Capture) -> None:
    assert protos.manifest.problems == []
    of_text, of_proto = dict(wanted(capture)), dict(wanted(protos))
    assert of_text.keys() == of_proto.keys()
    for name, context in of_text.items():
        pairs = zip(steps(capture, context), steps(protos, of_proto[name]), strict=True)
        for a, b in pairs:
            assert (a.name, a.depth) == (b.name, b.depth)
            ends = [(one, step, count_matches(one, step.id)) for one, step in ((capture, a), (protos, b))]
            assert shown(ends[0][0], a.id, ends[0][2]) == shown(ends[1][0], b.id, ends[1][2]), (name, a.name)
            columns = [graph_at(one, step.id, match).nodes for one, step, match in ends]
            shapes = [
                dict(zip(nodes.name, zip(nodes.dtype, nodes.shape, strict=True), strict=True)) for nodes in columns
            ]
            assert shapes[0] == shapes[1], (name, a.name)


def test_fusions_are_those_of_the_explanations(capture: Capture, jax_run: JaxRun) -> None:
    for name, context in wanted(capture):
        truth: Counter[str] = Counter()
        for page in jax_run.dump.glob(f"*.{name}._fusion.html"):
            labels = page.read_text().rpartition("const frames = ")[2]
            truth["fused"] += len(re.findall(r'\[\d+, "Fused ', labels))
            truth["refused"] += len(re.findall(r'\[\d+, "Not fusing ', labels))
        found = [one for step in steps(capture, context) for one in decisions(capture, step.id)]
        assert Counter(one.kind for one in found) == truth, name
        assert all(one.a_name and one.b_name for one in found)
        assert all(one.reason for one in found if one.kind == "refused")
        assert {step.name for step in steps(capture, context) if decisions(capture, step.id)} <= {"fusion"}


def test_memory_is_that_of_the_live_ranges(capture: Capture, jax_run: JaxRun) -> None:
    frame = capture.read("buffers")
    devices, names = frame.texts("device"), frame.texts("name")
    for name, _ in wanted(capture):
        stem = f"{name}.cpu_after_optimizations"
        text = (jax_run.dump / f"{stem}-live-range.txt").read_text()
        moment = re.search(r"Live ranges at (\d+) \(peak\):\n((?:    .*\n)+)", text)
        assert moment is not None
        at = int(moment[1])
        listed = {re.sub(r"\{\}$", "", one) for one in re.findall(r"^    (.+?): \d+ bytes", moment[2], re.MULTILINE)}
        rows = [row for row in range(len(frame)) if devices[row] == name]
        held = {names[row] for row in rows if frame["alloc"][row] <= at * 1000 < frame["free"][row]}
        ended = {names[row] for row in rows if frame["free"][row] == at * 1000}
        assert held <= listed <= held | ended, "what is listed beside them ended here: its place was taken over"
        sizes = re.findall(r"^allocation \d+: size (\d+)", assigned(jax_run, stem), re.MULTILINE)
        assert 0 < memory(capture, name).peak <= sum(map(int, sizes))


def assigned(jax_run: JaxRun, stem: str) -> str:
    return (jax_run.dump / f"{stem}-buffer-assignment.txt").read_text()


def test_code_of_kernels_and_modules(capture: Capture, jax_run: JaxRun) -> None:
    known = {one.id: one for one in contexts(capture)}
    kernels = [one for one in known.values() if one.kind == "kernel"]
    assert kernels and all(known[one.parent].kind == "module" for one in kernels)
    languages = {(one.kind, one.language) for kernel in kernels for one in artifacts(capture, kernel.id)}
    assert {("source", "llvm"), ("assembly", "asm")} <= languages
    (block,) = [id for name, id in wanted(capture) if name.endswith("jit_block")]
    texts = {one.name: one.content.decode() for one in artifacts(capture, block)}
    assert "stablehlo.dot_general" in texts["StableHLO"] and "lambda" in texts["jaxpr"]
    assert texts["HLO cpu after optimizations"].startswith("HloModule jit_block")


def test_a_module_by_itself(jax_run: JaxRun, tmp_path: Path) -> None:
    whole = next(jax_run.dump.glob("*.jit_block.cpu_after_optimizations.txt"))
    for path in (whole, whole.with_suffix(".hlo.pb")):
        other = tmp_path / f"data{path.suffix[-1]}"  # known by its content
        other.write_bytes(path.read_bytes())
        capture = open_capture(import_files([other], tmp_path / f"{path.suffix[1:]}.peep"))
        (module,) = [one for one in contexts(capture) if one.kind == "module"]
        (step,) = steps(capture, module.id)
        assert shown(capture, step.id, 0) == said(hlo_truth.module(whole.with_suffix(".hlo.pb")))
