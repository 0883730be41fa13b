"""Logs of a real torch.compile: what is imported is what the log says and what the program itself saw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, SharedFile
from tests.sources.torch.logs import plain_records

from peephole.ingest import import_files
from peephole.query.capture.contexts import artifacts, context_detail, contexts, steps
from peephole.query.rewrites.schedules import schedule
from peephole.query.rewrites.step_graphs import graph_at
from peephole.store.capture import Capture, open_capture

pytest.importorskip("torch", reason="needs torch")


def line_of(text: str) -> int:
    """The line of the program that begins so."""
    lines = (ROOT / "tests/torch_log_program.py").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip().startswith(text))


class Logged:
    """A log, what the program says about itself, and the capture."""

    def __init__(self, folder: Path) -> None:
        self.log = next((folder / "log").iterdir())
        self.truth = json.loads((folder / "truth.json").read_text())
        self.capture = open_capture(import_files([folder / "log"], folder / "log.peep"))
        self.records = list(plain_records(self.log))
        self.ids = {context.id: context for context in contexts(self.capture)}

    def context(self, name: str) -> int:
        return next(id for id, context in self.ids.items() if context.name == name)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Logged:
    folder = tmp_path_factory.mktemp("torch_log")
    command = [sys.executable, str(ROOT / "tests/torch_log_program.py"), str(folder / "truth.json")]
    env = {**os.environ, "TORCH_TRACE": str(folder / "log"), "PEEPHOLE": ""}
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=300)
    return Logged(folder)


def decisions(capture: Capture) -> list[tuple[str, str, str, str | None, int]]:
    """Compile id, kind, reason, file and line of every decision."""
    owners = {one.id: context.name for context in contexts(capture) for one in steps(capture, context.id)}
    frame = capture.read("decisions")
    texts = [frame.texts(name) for name in ("kind", "reason", "file")]
    return [
        (owners[int(frame["step"][i])], texts[0][i] or "", texts[1][i] or "", texts[2][i], int(frame["line"][i]))
        for i in range(capture.count("decisions"))
    ]


def of_artifact(logged: Logged, name: str) -> Iterator[tuple[str, str]]:
    for facts, payload in logged.records:
        if facts.get("artifact", {}).get("name") == name:
            yield f"{facts['frame_id']}/{facts['frame_compile_id']}", payload


def test_breaks_and_recompilations_are_those_of_the_log(logged: Logged) -> None:
    found = decisions(logged.capture)
    breaks = [(id, reason) for id, kind, reason, _, _ in found if kind == "break"]
    assert sorted(breaks) == sorted(of_artifact(logged, "dynamo_graph_break_reason"))
    assert len(breaks) == 2 and {line for _, kind, _, _, line in found if kind == "break"} == {
        line_of("print("),
        line_of("if x.sum()"),
    }
    expected = []
    for id, payload in of_artifact(logged, "recompile_reasons"):
        reasons = json.loads(payload) if payload.startswith("[") else [payload]
        expected += [(id, reason) for reason in reasons]
    again = [(id, reason) for id, kind, reason, _, _ in found if kind == "recompile"]
    assert sorted(again) == sorted(expected) and {id for id, _ in again} == {"5/1", "5/2", "5/3"}
    fixed = [
        facts["symbolic_shape_specialization"]
        for facts, _ in logged.records
        if "symbolic_shape_specialization" in facts
    ]
    told = [(reason, line) for _, kind, reason, _, line in found if kind == "specialization"]
    assert [reason.partition(" ")[0] for reason, _ in told] == [fact["symbol"] for fact in fixed] and told[0][
        1
    ] == line_of("return x.reshape")
    failed = [(id, reason, line) for id, kind, reason, _, line in found if kind == "fallback"]
    assert [(id, line) for id, _, line in failed] == [("9/0", line_of("@torch.compile(backend=refusing)"))]
    assert "this backend compiles nothing" in failed[0][1]
    markers = logged.capture.read("markers")
    assert Counter(markers.texts("name"))["graph break"] == 2


def listed(capture: Capture, step: int) -> list[dict[str, Any]]:
    """The instructions of the graph that a step shows, in order."""
    nodes = graph_at(capture, step, 0).nodes
    names = dict(zip(nodes.id, nodes.name, strict=True))
    graphs = [i for i, op in enumerate(nodes.op) if op == "GRAPH"]
    at = {id: i for i, id in enumerate(nodes.id)}
    inner = {source for i in graphs for source in nodes.src[i]}
    root = next(i for i in graphs if nodes.id[i] not in inner and not any(nodes.id[i] in src for src in nodes.src))
    return [
        {
            "name": nodes.name[at[id]],
            "op": nodes.op[at[id]],
            "arg": nodes.arg[at[id]],
            "reads": [names[s] for s in nodes.src[at[id]] if nodes.op[at[s]] != "GRAPH"],
        }
        for id in nodes.src[root]
    ]


def check(nodes: list[dict[str, Any]], own: list[dict[str, Any]]) -> None:
    """Names, order, targets and what is read are the program's own."""
    assert [node["name"] for node in nodes] == [node["name"] for node in own]
    for node, truth in zip(nodes, own, strict=True):
        assert list(dict.fromkeys(node["reads"])) == truth["reads"], truth
        if truth["overload"]:
            assert node["op"] == truth["target"].removeprefix("torch.ops.")
        elif truth["op"] == "call_function":
            assert node["op"].rpartition(".")[2] == truth["target"].rpartition(".")[2], truth
        elif truth["op"] == "call_method":
            assert node["op"] == f"Tensor.{truth['target']}"
        elif truth["op"] in ("placeholder", "get_attr"):
            assert node["op"] == truth["op"] and (node["arg"] or node["name"]) == truth["target"]
        else:
            assert node["op"] == truth["op"] == "output"


def test_graphs_are_those_that_the_program_saw(logged: Logged) -> None:
    seen = 0
    for truth in logged.truth["graphs"]:
        if truth["kind"] == "dynamo":
            step = next(s for s in steps(logged.capture, logged.context(truth["compile_id"])) if s.name == "dynamo")
            check(listed(logged.capture, step.id), truth["nodes"])
            seen += 1
    assert seen == len([facts for facts, _ in logged.records if "dynamo_output_graph" in facts and seen]) - 1, (
        "one graph was refused by its backend before anybody saw it"
    )


def test_the_partition_has_the_halves(logged: Logged) -> None:
    id = next(truth["compile_id"] for truth in logged.truth["graphs"] if truth["kind"] == "backward") or "6/0"
    partition = next(s for s in steps(logged.capture, logged.context("6/0")) if s.name == "partition")
    after = graph_at(logged.capture, partition.id, 1).nodes
    at = {id: i for i, id in enumerate(after.id)}
    names = dict(zip(after.id, after.name, strict=True))
    root = next(
        i for i, op in enumerate(after.op) if op == "GRAPH" and all(after.op[at[s]] == "GRAPH" for s in after.src[i])
    )
    halves = [[names[s] for s in after.src[at[half]]] for half in after.src[root]]
    own = {
        truth["kind"]: [node["name"] for node in truth["nodes"]]
        for truth in logged.truth["graphs"]
        if "tangents_1" in str(truth) or truth["compile_id"] == id
    }
    assert halves[1] == own["backward"] and halves[0] == own["forward"]
    assert {context.name for context in logged.ids.values() if context.kind == "half"} >= {
        "6/0 forward",
        "6/0 backward",
    }


def test_types_places_and_calls(logged: Logged) -> None:
    step = next(s for s in steps(logged.capture, logged.context("0/0")) if s.name == "dynamo")
    nodes = graph_at(logged.capture, step.id, 0).nodes
    frame = logged.capture.read("nodes")
    rows = {(frame.texts("name")[i], frame.texts("op")[i]): i for i in range(capture_rows(logged.capture))}
    row = rows["sin", "torch.sin"]
    assert (frame.texts("dtype")[row], frame.texts("shape")[row]) == ("float32", "(8,)")
    assert str(frame.texts("metadata")[row]).endswith(f"tests/torch_log_program.py:{line_of('y = torch.sin')}")
    assert "add" in str(nodes.op) and nodes.op[nodes.name.index("y")] == "operator.add"
    assert nodes.arg[nodes.name.index("y")] == "%0, 1"
    detail = context_detail(logged.capture, logged.context("0/0"))
    assert detail is not None and detail.stack[0].function == "noisy" and detail.function == "noisy"
    assert detail.keys == ["0/0"]


def capture_rows(capture: Capture) -> int:
    return capture.count("nodes")


def test_branches_are_graphs_that_the_call_reads(logged: Logged) -> None:
    step = next(s for s in steps(logged.capture, logged.context("8/0")) if s.name == "dynamo")
    nodes = graph_at(logged.capture, step.id, 0).nodes
    at = {id: i for i, id in enumerate(nodes.id)}
    bodies = {
        nodes.name[i]: {nodes.op[at[s]] for s in nodes.src[at[nodes.src[i][0]]]}
        for i, op in enumerate(nodes.op)
        if op == "get_attr"
    }
    assert "Tensor.sin" in bodies["cond_true_0"] and "Tensor.cos" in bodies["cond_false_0"]


def test_nothing_of_the_log_is_lost(logged: Logged) -> None:
    capture = logged.capture
    assert capture.manifest.problems == [] and capture.manifest.frameworks["torch"] == logged.truth["torch"]
    payloads = Counter(
        payload.encode() for facts, payload in logged.records if "chromium_event" not in facts and payload
    )
    contents = capture.read("artifacts").blobs("content")
    kept = Counter(contents[row] or b"" for row in range(capture.count("artifacts")))
    assert not payloads - kept
    begun = sum('"ph": "B"' in payload for facts, payload in logged.records if "chromium_event" in facts)
    assert capture.count("slices") == begun
    wanted = {f"{facts['frame_id']}/{facts['frame_compile_id']}" for facts, _ in logged.records if "frame_id" in facts}
    assert {context.name for context in logged.ids.values() if context.kind == "graph"} == wanted
    names = {artifact.name for artifact in artifacts(capture, logged.context("5/1"))}
    assert {"dynamo_output_graph", "dynamo_cpp_guards_str", "compilation_metrics", "inputs", "symbols"} <= names


def test_phases_are_in_their_compilation(logged: Logged) -> None:
    frame = logged.capture.read("slices")
    names = frame.texts("name")
    of = {names[i]: logged.ids[int(frame["context"][i])].name for i in range(len(names)) if frame["context"][i] >= 0}
    assert {"dynamo", "bytecode_tracing", "compile_attempt_0", "build_guards"} <= set(of)
    starts = {context.name: context.start for context in logged.ids.values()}
    assert 0 < starts["0/0"] < starts["5/0"] < starts["5/3"] < starts["9/0"]


def test_a_training_step_and_its_profile(shared: SharedFile, tmp_path: Path) -> None:
    folder = shared("fixtures/torch/block")
    capture = open_capture(import_files([folder, folder / "profile/profile_kernels.json.gz"], tmp_path / "b.peep"))
    assert capture.manifest.problems == []
    ids = {context.id: context for context in contexts(capture)}
    halves = [context for context in ids.values() if context.kind == "half"]
    assert [half.name for half in halves] == ["0/0 forward", "0/0 backward"]
    for half in halves:
        code = next(one for one in artifacts(capture, half.id) if one.kind == "source")
        own = [one for one in ids.values() if one.parent == half.id and one.kind == "kernel"]
        assert len(own) == code.content.count(b"= async_compile.cpp_pybinding(")
        for kernel in own:
            (source,) = artifacts(capture, kernel.id)
            assert source.kind == "source" and source.language == "cpp" and source.content in code.content
            assert source.content.lstrip().startswith(b"#include") and source.content.rstrip().endswith(b"}")
    forward, backward = (schedule(capture, half.id) for half in halves)
    assert (len(forward.kernels), len(backward.kernels)) == (10, 20), "as many calls as the prototype counted"
    # a box has its kernel's name, never only what stands behind the last dot: "2" of "extern_kernels.mm.2"
    boxes = {kernel.name: kernel.look.name for kernel in backward.kernels if kernel.kind == "extern"}
    assert all(end in name for name, box in boxes.items() for end in box.split("…")), boxes
    assert not any(box.isdigit() or box == "default" for box in boxes.values()), boxes
    assert {kernel.name for kernel in forward.kernels} & {one.name for one in ids.values() if one.kind == "kernel"}
    slices, tracks = capture.read("slices"), capture.read("tracks")
    kinds = dict(zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True))
    run = Counter(
        ids[context].kind
        for context, track in zip(slices["context"].tolist(), slices["track"].tolist(), strict=True)
        if context >= 0 and kinds[track] != "compile"
    )
    assert run["graph"] == 3 and run["kernel"] == 48
    start, context = slices["start"], slices["context"]
    at = dict(zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True))
    compiled = max(s for s, t in zip(start.tolist(), slices["track"].tolist(), strict=True) if at[t] == "compile")
    ran = min(
        s
        for s, c, t in zip(start.tolist(), context.tolist(), slices["track"].tolist(), strict=True)
        if c >= 0 and at[t] != "compile"
    )
    assert abs(ran - compiled) < 3600 * 10**9, "both are on one clock"
    post = {s.name: s for s in steps(capture, halves[1].id)}["post_grad_passes"]
    assert graph_at(capture, post.id, 0).matches >= 1, "the log has the graph before and after"


def test_a_compilation_out_of_a_cache_says_so(shared: SharedFile, tmp_path: Path) -> None:
    capture = open_capture(import_files([shared("fixtures/torch/cache_hit")], tmp_path / "c.peep"))
    told = [(kind, reason) for _, kind, reason, _, _ in decisions(capture)]
    assert {kind for kind, _ in told} == {"cached"} and any("AOTAutograd" in reason for _, reason in told)
