"""A stock program under torch.compile, recorded: every graph, match, decision and kernel is what torch itself says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from peephole.compilers.answers import Why
from peephole.compilers.traces import trace_of
from peephole.query.rewrites.origins import all_origins, kernels_of
from peephole.query.rewrites.rules import rules
from peephole.query.rewrites.schedules import schedule
from peephole.query.rewrites.why import answer
from peephole.replay.named import own_named_step
from peephole.store.capture import Capture, open_capture

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests" / "torch_program.py"
NAMES = ("block", "mlp", "conv", "inference", "breaks", "dynamic")


@dataclass
class Recorded:
    """A recorded run of all programs, and what torch wrote down itself while they ran."""

    folder: Path
    capture: Capture
    printed: str
    errors: str

    @property
    def fusion_log(self) -> str:
        return (self.folder / "fusion.txt").read_text("utf-8")

    @property
    def truth(self) -> list[Any]:
        return list(json.loads((self.folder / "truth.json").read_text("utf-8")))

    def log_records(self) -> list[tuple[dict[str, Any], str]]:
        """The records of TORCH_TRACE with their payloads."""
        (path,) = (self.folder / "trace").glob("*.log")
        found: list[tuple[dict[str, Any], list[str]]] = []
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("\t"):
                found[-1][1].append(line[1:])
            else:
                found.append((json.loads(line.partition("] ")[2]), []))
        return [(record, "\n".join(lines)) for record, lines in found]


def run(*arguments: str | Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PEEPHOLE", "TORCH"))}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**clean, **env},
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("torch")
    env = {
        "TORCH_TRACE": str(folder / "trace"),
        "TORCH_LOGS": "+fusion",
        "TORCH_LOGS_OUT": str(folder / "fusion.txt"),
        "PEEPHOLE_DIR": str(folder),
    }
    done = run("-m", "peephole", "run", "-o", folder / "c.peep", PROGRAM, folder / "truth.json", *NAMES, env=env)
    return Recorded(folder, open_capture(folder / "c.peep"), done.stdout, done.stderr)


def table(capture: Capture, name: str, *texts: str, numbers: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    """Columns of a table, row by row."""
    frame = capture.read(name, [*texts, *numbers])
    columns = [list(frame.texts(one)) for one in texts] + [frame[one].tolist() for one in numbers]
    return list(zip(*columns, strict=True))


def listed(capture: Capture, roots: set[int]) -> dict[int, list[list[str]]]:
    """The instructions of graphs in the capture: name, target, arguments with names in the place of sources."""
    frame = capture.read("nodes")
    ids, src = frame["id"].tolist(), frame.lists("src")
    args = frame.texts("arg")
    ops, names = ([text or "" for text in frame.texts(column)] for column in ("op", "name"))
    row = {id: place for place, id in enumerate(ids)}

    def one(id: int) -> list[str]:
        place = row[id]
        sources = [names[row[s]] for s in src[place]]
        arg = args[place]
        if ops[place] in ("placeholder", "get_attr"):
            return [names[place], ops[place], ""]
        text = ", ".join(sources) if arg is None else re.sub(r"%(\d+)", lambda found: sources[int(found[1])], arg)
        return [names[place], ops[place], text]

    return {root: [one(id) for id in src[row[root]]] for root in roots}


def steps_in(capture: Capture) -> list[dict[str, Any]]:
    """All steps with the name of their context."""
    contexts = {id: (name, parent) for name, id, parent in table(capture, "contexts", "name", numbers=("id", "parent"))}
    rows = table(capture, "steps", "name", numbers=("id", "context", "ordinal", "depth", "root", "after", "matches"))
    keys = ("name", "id", "context", "ordinal", "depth", "root", "after", "matches")
    found = [dict(zip(keys, row, strict=True)) for row in rows]
    for step in found:
        step["of"] = contexts[step["context"]][0]
    return found


def test_results_are_the_same_bit_for_bit_without_recording(recorded: Recorded) -> None:
    plain = run(PROGRAM, "-", *NAMES, env={})
    assert recorded.printed == plain.stdout
    assert len(re.findall(r"^\w+ [0-9a-f]{16}$", plain.stdout, re.MULTILINE)) == len(NAMES)


def test_nothing_failed_and_nothing_is_missing(recorded: Recorded) -> None:
    assert recorded.capture.manifest.problems == []
    assert "in part" not in recorded.errors


def test_the_graph_after_every_pass_is_the_one_that_torch_had(recorded: Recorded) -> None:
    steps = steps_in(recorded.capture)
    truth = recorded.truth
    graphs = listed(recorded.capture, {step["after"] for step in steps if step["after"] >= 0})
    mine: dict[tuple[str, str], list[list[list[str]]]] = {}
    for step in steps:
        if step["after"] >= 0:
            mine.setdefault((step["of"].split()[0], step["name"]), []).append(graphs[step["after"]])
    theirs: dict[tuple[str, str], list[list[list[str]]]] = {}
    for compile_id, name, graph in truth:
        theirs.setdefault((compile_id, name), []).append(graph)
    assert len(truth) > 300
    for key, lists in theirs.items():
        for graph in lists:
            plain = [[name, op, "" if op in ("placeholder", "get_attr") else arg] for name, op, arg in graph]
            # passes over the graphs of patterns are not steps
            if plain not in mine.get(key, ()):
                assert key[1] == "pattern_matcher" and len(mine[key]) < len(lists), (key, plain)


def test_matches_and_the_rest_make_the_graph_that_came_out(recorded: Recorded) -> None:
    trace = trace_of(recorded.capture)
    stepped = 0
    for step in steps_in(recorded.capture):
        if step["root"] < 0 or step["after"] < 0:
            continue
        named = own_named_step(trace, step["id"])
        assert named is not None and named.came_out is not None
        stepped += len(named.entries)
        # the entries' changes, one after the other, lead to the graph that came out
        boxes = dict(named.before.boxes)
        for entry in named.entries:
            for key, (old, new) in entry.delta.items():
                assert boxes.get(key) == old
                if new is None:
                    boxes.pop(key)
                else:
                    boxes[key] = new
        nodes = named.nodes
        content = {key: (nodes.fields(box.row), box.src) for key, box in boxes.items() if key >= 0}
        wanted = {key: (nodes.fields(box.row), box.src) for key, box in named.came_out.boxes.items() if key >= 0}
        assert content == wanted, (step["of"], step["name"])
    assert stepped > 100


def test_the_attention_rewrite_takes_48_nodes_and_puts_13(recorded: Recorded) -> None:
    frame = recorded.capture.read("matches")
    removed, added = frame.lists("removed"), frame.lists("added")
    sizes = [(len(removed[row]), len(added[row])) for row in range(len(frame))]
    files, lines = [file or "" for file in frame.texts("file")], frame["line"].tolist()
    at = sizes.index((48, 13))
    assert files[at].endswith("fuse_attention.py")
    text = Path(files[at]).read_text("utf-8").splitlines()[lines[at] - 1]
    assert text.startswith("def _sfdp_pattern_")


def test_fusions_are_those_of_the_log(recorded: Recorded) -> None:
    said = re.findall(
        r"\[__fusion\] (?:cannot fuse (\S+) with (\S+): (.*)|fusing (\S+) with (\S+))$", recorded.fusion_log, re.M
    )
    wanted = Counter((a or c, b or d, reason) for a, b, reason, c, d in said)
    names = {id: name for name, id in table(recorded.capture, "nodes", "name", numbers=("id",))}
    rows = table(recorded.capture, "decisions", "kind", "reason", numbers=("a", "b"))
    mine = Counter((names[a], names[b], reason) for kind, reason, a, b in rows if kind in ("fused", "refused"))
    assert mine == wanted and len(said) > 30


def test_breaks_and_recompilations_are_those_of_the_log(recorded: Recorded) -> None:
    wanted: Counter[tuple[str, str, str]] = Counter()
    for record, payload in recorded.log_records():
        name = record.get("artifact", {}).get("name")
        compile_id = f"{record.get('frame_id')}/{record.get('frame_compile_id')}"
        if name == "dynamo_graph_break_reason":
            wanted[("break", compile_id, payload)] += 1
        elif name == "recompile_reasons":
            reasons = json.loads(payload) if payload.startswith("[") else [payload]
            wanted.update(("recompile", compile_id, reason) for reason in reasons)
    of = {step["id"]: step["of"] for step in steps_in(recorded.capture)}
    rows = table(recorded.capture, "decisions", "kind", "reason", "file", numbers=("step", "line"))
    mine = Counter((kind, of[step], reason) for kind, reason, _, step, _ in rows if kind in ("break", "recompile"))
    assert mine == wanted and {kind for kind, _, _ in mine} == {"break", "recompile"}
    assert all(file == str(PROGRAM) and line > 0 for kind, _, file, _, line in rows if kind in ("break", "recompile"))


def test_a_specialized_size_is_said(recorded: Recorded) -> None:
    rows = table(recorded.capture, "decisions", "kind", "reason", "file", numbers=("line",))
    said = [(reason, file, line) for kind, reason, file, line in rows if kind == "specialization"]
    lines = PROGRAM.read_text("utf-8").splitlines()
    assert any("= 6:" in reason and file == str(PROGRAM) and "== 6" in lines[line - 1] for reason, file, line in said)


def test_code_is_that_of_the_modules(recorded: Recorded) -> None:
    frame = recorded.capture.read("artifacts")
    contents = [(frame.blobs("content")[row] or b"").decode() for row in range(len(frame))]
    kinds, languages, contexts = frame.texts("kind"), frame.texts("language"), frame["context"].tolist()
    kind_of = {
        id: (kind, parent) for kind, id, parent in table(recorded.capture, "contexts", "kind", numbers=("id", "parent"))
    }
    wrappers = {contexts[i]: contents[i] for i in range(len(kinds)) if kind_of.get(contexts[i], ("",))[0] == "half"}
    logged = [text for record, text in recorded.log_records() if "inductor_output_code" in record]
    assert sorted(text.strip() for text in wrappers.values()) == sorted(text.strip() for text in logged)
    kernels = [i for i in range(len(kinds)) if kind_of.get(contexts[i], ("",))[0] == "kernel"]
    assert len(kernels) > 10
    for i in kernels:
        assert (kinds[i], languages[i]) == ("source", "cpp")
        assert contents[i] in wrappers[kind_of[contexts[i]][1]]


def test_contexts_are_named_by_compile_id_and_hang_together(recorded: Recorded) -> None:
    rows = table(recorded.capture, "contexts", "name", "kind", "compiler", "function", numbers=("id", "parent"))
    by_id = {row[4]: row for row in rows}
    assert {row[2] for row in rows} == {"torch"} and {row[1] for row in rows} == {"graph", "half", "kernel"}
    for name, kind, _, function, _, parent in rows:
        if kind == "graph":
            assert re.fullmatch(r"\d+/\d+", name) and parent == -1 and function
        elif kind == "half":
            assert re.fullmatch(r"\d+/\d+ (forward|backward|inference)", name)
            assert name.startswith(by_id[parent][0] + " ") and by_id[parent][1] == "graph"
        else:
            assert name.startswith("cpp_fused") and by_id[parent][1] == "half"


def test_partition_makes_two_graphs_of_one(recorded: Recorded) -> None:
    trace = trace_of(recorded.capture)
    parts = [step for step in steps_in(recorded.capture) if step["name"] == "partition"]
    assert len(parts) == 3  # block, mlp, conv
    for step in parts:
        named = own_named_step(trace, step["id"])
        assert named is not None and named.is_partition


def test_kernels_and_buffers_are_a_schedule(recorded: Recorded) -> None:
    by_name = dict(table(recorded.capture, "contexts", "name", numbers=("id",)))
    found = schedule(recorded.capture, by_name["0/0 forward"])
    names = [kernel.name for kernel in found.kernels]
    wrapper = next(text for record, text in recorded.log_records() if "inductor_output_code" in record)
    body = wrapper[wrapper.index("def call(self, args):") :]
    called = re.findall(r"^\s+(?:\w+ = )?(cpp_fused\w+|extern_kernels\.\w+|torch\.ops\.aten\.\w+\.\w+)\(", body, re.M)
    assert [re.sub(r"\.\d+$", "", name) for name in names] == called
    assert all(kernel.context >= 0 for kernel in found.kernels if kernel.kind == "kernel")
    for edge in found.edges:
        assert edge.first < edge.second and edge.first in found.buffers[edge.buffer].writers
    assert all(kernel.ops for kernel in found.kernels)


def test_why_says_what_the_scheduler_decided_last(recorded: Recorded) -> None:
    # refused at first, one kernel in the end
    assert ("op0", "op4", "intermediate nodes between node1 & node2") in {
        (a, b, reason) for a, b, reason, *_ in said_in(recorded.fusion_log)
    }
    one = answer(recorded.capture, "op0", "op4", "0/0 forward")
    assert isinstance(one, Why) and one.relation == "same" and "fused in fusion round" in one.text
    library = answer(recorded.capture, "softmax", "Linear", "0/0 forward")
    assert isinstance(library, Why)
    norm, linear = (one for one in recorded_kernels(recorded, "0/0 forward")[:2])
    between = answer(recorded.capture, norm, linear, "0/0 forward")
    assert isinstance(between, Why) and between.relation == "dependent"
    assert "a library's kernel" in between.boundaries[0].text
    assert (between.boundaries[0].user_line or "").startswith(str(PROGRAM))


def said_in(log: str) -> list[tuple[str, ...]]:
    return re.findall(r"cannot fuse (\S+) with (\S+): (.*)$", log, re.M)


def recorded_kernels(recorded: Recorded, half: str) -> list[str]:
    by_name = dict(table(recorded.capture, "contexts", "name", numbers=("id",)))
    return [kernel.name for kernel in schedule(recorded.capture, by_name[half]).kernels]


def test_kernels_lead_to_lines_and_lines_to_kernels(recorded: Recorded) -> None:
    lines = PROGRAM.read_text("utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "torch.softmax(" in text)
    found = kernels_of(recorded.capture, f"{PROGRAM.name}:{line}")
    # the softmax is no more: its line leads to the attention that took its place
    assert any("scaled_dot_product" in origin.name for origin in found)
    kernel = next(origin for origin in all_origins(recorded.capture) if origin.name.startswith("cpp_fused"))
    assert any((operation.line or "").startswith(str(PROGRAM)) for operation in kernel.operations)


def test_rules_that_changed_nothing_are_counted(recorded: Recorded) -> None:
    found = rules(recorded.capture)
    assert any(rule.in_vain > 5 and rule.matches == 0 and "def " in (rule.source or "") for rule in found)
    assert any(rule.matches and "def _sfdp_pattern" in (rule.source or "") for rule in found)


def test_kernels_are_on_the_timeline_and_lead_to_their_contexts(recorded: Recorded) -> None:
    tracks = {id: (name, kind) for name, kind, id in table(recorded.capture, "tracks", "name", "kind", numbers=("id",))}
    slices = table(recorded.capture, "slices", "name", numbers=("track", "context", "dur"))
    contexts = {
        id: (name, kind) for name, kind, id in table(recorded.capture, "contexts", "name", "kind", numbers=("id",))
    }
    kernels = [row for row in slices if tracks[row[1]][1] == "device"]
    assert kernels and all(dur >= 0 for *_, dur in kernels)
    for name, _, context, _ in kernels:
        kind = "half" if name.startswith("extern_kernels.") else "kernel"
        assert contexts[context][1] == kind and (kind == "half" or contexts[context][0] == name)
    regions = Counter(name for name, track, _, _ in slices if tracks[track][0].split()[0] == "torch")
    assert regions["0/0 forward"] == regions["0/0 backward"] == 3
