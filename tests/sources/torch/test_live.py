"""A stock program under torch.compile, recorded: every graph, match, decision and kernel is what torch itself says."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.recorded_torch import NAMES, PATIENCE, PROGRAM, TorchRun, torch_pair, torch_plain, torch_run

from peephole.compilers.answers import Kernel, Why
from peephole.compilers.traces import trace_of
from peephole.query.rewrites.chains import chain, chains_of
from peephole.query.rewrites.origins import all_origins, computing, kernels_of
from peephole.query.rewrites.rules import rules
from peephole.query.rewrites.schedules import schedule
from peephole.query.rewrites.why import answer
from peephole.replay.named import own_named_step
from peephole.store.capture import Capture

pytest.importorskip("torch")
pytestmark = pytest.mark.timeout(PATIENCE)
__all__ = ["torch_pair", "torch_plain", "torch_run"]


@pytest.fixture(params=["torch_run", "torch_pair"], ids=["alone", "pair"])
def either(request: pytest.FixtureRequest) -> TorchRun:
    """Each of the two runs."""
    found: TorchRun = request.getfixturevalue(request.param)
    return found


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


def parts_of(capture: Capture, roots: list[int]) -> dict[int, dict[str, list[list[str]]]]:
    """The halves that partitions made, by their name."""
    frame = capture.read("nodes", ["id", "name", "src"])
    src = frame.lists("src")
    nodes = {
        id: (name or "", src[row])
        for row, (id, name) in enumerate(zip(frame["id"].tolist(), frame.texts("name"), strict=True))
    }
    graphs = listed(capture, {part for root in roots for part in nodes[root][1]})
    return {root: {nodes[part][0]: graphs[part] for part in nodes[root][1]} for root in roots}


def steps_in(capture: Capture) -> list[dict[str, Any]]:
    """All steps with the name of their context."""
    contexts = {id: (name, parent) for name, id, parent in table(capture, "contexts", "name", numbers=("id", "parent"))}
    keys = ("name", "id", "context", "root", "after", "start", "dur")
    found = [dict(zip(keys, row, strict=True)) for row in table(capture, "steps", "name", numbers=keys[1:])]
    for step in found:
        step["of"] = contexts[step["context"]][0]
    return found


def test_results_are_the_same_bit_for_bit_without_recording(
    torch_run: TorchRun, torch_pair: TorchRun, torch_plain: TorchRun
) -> None:
    printed = torch_run.printed + torch_pair.printed
    assert sorted(printed.splitlines()) == sorted(torch_plain.printed.splitlines())
    assert len(re.findall(r"^\w+ [0-9a-f]{16}$", torch_run.printed, re.MULTILINE)) == len(NAMES)
    assert len(re.findall(r"^ddp rank [01] [0-9a-f]{16}$", torch_pair.printed, re.MULTILINE)) == 2


def test_nothing_failed_and_nothing_is_missing(either: TorchRun) -> None:
    assert either.capture.manifest.problems == []
    assert "in part" not in either.errors


def test_the_graph_after_every_pass_is_the_one_that_torch_had(either: TorchRun) -> None:
    steps = steps_in(either.capture)
    graphs = listed(either.capture, {step["after"] for step in steps if step["after"] >= 0})
    halves = parts_of(either.capture, [step["after"] for step in steps if step["name"] == "partition"])
    mine: dict[tuple[int, str, str], list[list[list[str]]]] = {}
    for step in sorted(steps, key=lambda step: step["start"] + max(step["dur"], 0)):
        rank, own = either.rank_of[step["context"]], step["of"].split()[0]
        if step["name"] == "partition":
            for name, graph in halves[step["after"]].items():
                mine.setdefault((rank, own, f"partition {name}"), []).append(graph)
        elif step["after"] >= 0:
            mine.setdefault((rank, own, step["name"]), []).append(graphs[step["after"]])
    theirs: dict[tuple[int, str, str], list[list[list[str]]]] = {}
    for rank in either.ranks:
        for compile_id, name, graph in either.truth(rank):
            plain = [[name, op, "" if op in ("placeholder", "get_attr") else arg] for name, op, arg in graph]
            theirs.setdefault((rank, compile_id, name), []).append(plain)
    assert sum(map(len, theirs.values())) > 200
    assert {"dynamo", "partition forward", "joint_graph_passes"} < {name for _, _, name in theirs}
    for key, lists in theirs.items():
        if key[2] == "pattern_matcher":  # also over the graphs of rules' own patterns, which are not steps
            lists = [graph for graph in lists if graph in mine[key]]
        assert mine[key] == lists, key


def test_matches_and_the_rest_make_the_graph_that_came_out(either: TorchRun) -> None:
    trace = trace_of(either.capture)
    stepped = 0
    for step in steps_in(either.capture):
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
    assert stepped > 50


def test_the_attention_rewrite_takes_48_nodes_and_puts_13(torch_run: TorchRun) -> None:
    frame = torch_run.capture.read("matches")
    removed, added = frame.lists("removed"), frame.lists("added")
    sizes = [(len(removed[row]), len(added[row])) for row in range(len(frame))]
    files, lines = [file or "" for file in frame.texts("file")], frame["line"].tolist()
    at = sizes.index((48, 13))
    assert files[at].endswith("fuse_attention.py")
    text = Path(files[at]).read_text("utf-8").splitlines()[lines[at] - 1]
    assert text.startswith("def _sfdp_pattern_")


def test_fusions_are_those_of_the_log(either: TorchRun) -> None:
    wanted: Counter[tuple[int, str, str, str]] = Counter()
    for rank in either.ranks:
        said = re.findall(
            r"\[__fusion\] (?:cannot fuse (\S+) with (\S+): (.*)|fusing (\S+) with (\S+))$",
            either.fusion_log(rank),
            re.M,
        )
        wanted.update((rank, a or c, b or d, reason) for a, b, reason, c, d in said)
    names = {id: name for name, id in table(either.capture, "nodes", "name", numbers=("id",))}
    of = {step["id"]: either.rank_of[step["context"]] for step in steps_in(either.capture)}
    rows = table(either.capture, "decisions", "kind", "reason", numbers=("a", "b", "step"))
    mine = Counter(
        (of[step], names[a], names[b], reason) for kind, reason, a, b, step in rows if kind in ("fused", "refused")
    )
    assert mine == wanted and {rank for rank, *_ in wanted} == set(either.ranks)


def test_breaks_and_recompilations_are_those_of_the_log(either: TorchRun) -> None:
    wanted: Counter[tuple[int, str, str, str]] = Counter()
    for rank in either.ranks:
        for record, payload in either.log_records(rank):
            name = record.get("artifact", {}).get("name")
            compile_id = f"{record.get('frame_id')}/{record.get('frame_compile_id')}"
            if name == "dynamo_graph_break_reason":
                wanted[(rank, "break", compile_id, payload)] += 1
            elif name == "recompile_reasons":
                reasons = json.loads(payload) if payload.startswith("[") else [payload]
                wanted.update((rank, "recompile", compile_id, reason) for reason in reasons)
    of = {step["id"]: (either.rank_of[step["context"]], step["of"]) for step in steps_in(either.capture)}
    rows = table(either.capture, "decisions", "kind", "reason", "file", numbers=("step", "line"))
    mine = Counter(
        (of[step][0], kind, of[step][1], reason) for kind, reason, _, step, _ in rows if kind in ("break", "recompile")
    )
    assert mine == wanted and {rank for rank, *_ in mine} == set(either.ranks)
    assert all(file and line > 0 for kind, _, file, _, line in rows if kind in ("break", "recompile"))


def test_a_break_has_the_line_of_the_program(torch_run: TorchRun) -> None:
    rows = table(torch_run.capture, "decisions", "kind", "file", numbers=("line",))
    kinds = {kind for kind, file, line in rows if file == str(PROGRAM) and line > 0}
    assert {"break", "recompile", "specialization"} <= kinds


def test_a_specialized_size_is_said(torch_run: TorchRun) -> None:
    rows = table(torch_run.capture, "decisions", "kind", "reason", "file", numbers=("line",))
    said = [(reason, file, line) for kind, reason, file, line in rows if kind == "specialization"]
    lines = PROGRAM.read_text("utf-8").splitlines()
    assert any("= 6:" in reason and file == str(PROGRAM) and "== 6" in lines[line - 1] for reason, file, line in said)


def test_code_is_that_of_the_modules(either: TorchRun) -> None:
    frame = either.capture.read("artifacts")
    contents = [(frame.blobs("content")[row] or b"").decode() for row in range(len(frame))]
    kinds, languages, contexts = frame.texts("kind"), frame.texts("language"), frame["context"].tolist()
    kind_of = {
        id: (kind, parent) for kind, id, parent in table(either.capture, "contexts", "kind", numbers=("id", "parent"))
    }
    wrappers = {contexts[i]: contents[i] for i in range(len(kinds)) if kind_of.get(contexts[i], ("",))[0] == "half"}
    for rank in either.ranks:
        own = [text for context, text in wrappers.items() if either.rank_of[context] == rank]
        logged = [text for record, text in either.log_records(rank) if "inductor_output_code" in record]
        assert sorted(text.strip() for text in own) == sorted(text.strip() for text in logged)
    kernels = [i for i in range(len(kinds)) if kind_of.get(contexts[i], ("",))[0] == "kernel"]
    assert len(kernels) >= 10
    for i in kernels:
        assert (kinds[i], languages[i]) == ("source", "cpp")
        assert contents[i] in wrappers[kind_of[contexts[i]][1]]


def test_contexts_are_named_by_compile_id_and_hang_together(either: TorchRun) -> None:
    rows = table(either.capture, "contexts", "name", "kind", "compiler", "function", numbers=("id", "parent"))
    by_id = {row[4]: row for row in rows}
    assert {row[2] for row in rows} == {"torch"}
    for name, kind, _, function, _, parent in rows:
        if kind == "other":
            assert name in ("rank 0", "rank 1") and parent == -1 and either.ranks == (0, 1)
        elif kind == "graph":
            assert re.fullmatch(r"\d+/\d+", name) and function
            # a part of a graph that DDP cut belongs to the graph
            assert parent == -1 if either.ranks == (-1,) else by_id[parent][1] == "other" or by_id[parent][0] == name
        elif kind == "half":
            assert re.fullmatch(r"\d+/\d+ (forward|backward|inference)", name)
            assert name.startswith(by_id[parent][0] + " ") and by_id[parent][1] == "graph"
        else:
            assert kind == "kernel" and name.startswith("cpp_fused") and by_id[parent][1] == "half"


def test_a_graph_that_ddp_cuts_is_compiled_in_two_parts_on_each_rank(torch_pair: TorchRun) -> None:
    halves = Counter(
        (torch_pair.rank_of[id], name)
        for name, kind, id in table(torch_pair.capture, "contexts", "name", "kind", numbers=("id",))
        if kind == "half"
    )
    cut = {name.split()[0] for (_, name), count in halves.items() if count == 2}
    assert len(cut) == 1
    of = cut.pop()
    assert all(halves[rank, f"{of} {half}"] == 2 for rank in (0, 1) for half in ("forward", "backward"))


def test_tracks_have_the_rank_and_the_host(torch_pair: TorchRun) -> None:
    rows = table(torch_pair.capture, "tracks", "name", "host", numbers=("rank",))
    assert {(name, rank) for name, _, rank in rows} >= {
        (name, rank) for name in ("torch", "CPU", "torch.compile") for rank in (0, 1)
    }
    assert all(host for _, host, _ in rows)


def test_no_pass_is_hidden_by_a_cache_in_any_thread(torch_run: TorchRun) -> None:
    named = [record["artifact"]["name"] for record, _ in torch_run.log_records(-1) if "artifact" in record]
    assert len(named) > 50 and not [name for name in named if "cache_hit" in name or "cache_miss" in name]


def test_the_compiler_of_kernels_is_not_counted_as_writing_code(torch_run: TorchRun) -> None:
    by_context: dict[str, list[dict[str, Any]]] = {}
    for step in steps_in(torch_run.capture):
        by_context.setdefault(step["context"], []).append(step)
    halves = [steps for steps in by_context.values() if any(step["name"] == "codegen" for step in steps)]
    assert len(halves) >= 10
    for steps in halves:
        code, compiled = steps[-2:]
        assert (code["name"], compiled["name"]) == ("codegen", "compile kernels")
        assert code["start"] + code["dur"] == compiled["start"] and compiled["dur"] > 0


def test_partition_makes_two_graphs_of_one(torch_run: TorchRun) -> None:
    trace = trace_of(torch_run.capture)
    parts = [step for step in steps_in(torch_run.capture) if step["name"] == "partition"]
    assert len(parts) == 3  # block, mlp, conv
    for step in parts:
        named = own_named_step(trace, step["id"])
        assert named is not None and named.is_partition


def test_kernels_and_buffers_are_a_schedule(torch_run: TorchRun) -> None:
    by_name = dict(table(torch_run.capture, "contexts", "name", numbers=("id",)))
    found = schedule(torch_run.capture, by_name["0/0 forward"])
    names = [kernel.name for kernel in found.kernels]
    wrapper = next(text for record, text in torch_run.log_records(-1) if "inductor_output_code" in record)
    body = wrapper[wrapper.index("def call(self, args):") :]
    called = re.findall(r"^\s+(?:\w+ = )?(cpp_fused\w+|extern_kernels\.\w+|torch\.ops\.aten\.\w+\.\w+)\(", body, re.M)
    assert [re.sub(r"\.\d+$", "", name) for name in names] == called
    assert all(kernel.context >= 0 for kernel in found.kernels if kernel.kind == "kernel")
    for edge in found.edges:
        assert edge.first < edge.second and edge.first in found.buffers[edge.buffer].writers
    assert all(kernel.ops for kernel in found.kernels)
    # a box has its kernel's name, never only what stands behind the last dot: "2" of "extern_kernels.addmm.2"
    boxes = {kernel.name: kernel.look.name for kernel in found.kernels if kernel.name.startswith("extern_kernels.")}
    assert len(boxes) > 1 and all(name == f"extern_kernels.{box}" for name, box in boxes.items())


def test_why_says_what_the_scheduler_decided_last(torch_run: TorchRun) -> None:
    # refused at first, one kernel in the end
    assert ("op0", "op4", "intermediate nodes between node1 & node2") in {
        (a, b, reason) for a, b, reason, *_ in said_in(torch_run.fusion_log(-1))
    }
    one = answer(torch_run.capture, "op0", "op4", "0/0 forward")
    assert isinstance(one, Why) and one.relation == "same" and "fused in fusion round" in one.text
    library = answer(torch_run.capture, "softmax", "Linear", "0/0 forward")
    assert isinstance(library, Why)
    norm, linear = (one for one in recorded_kernels(torch_run, "0/0 forward")[:2])
    between = answer(torch_run.capture, norm, linear, "0/0 forward")
    assert isinstance(between, Why) and between.relation == "dependent"
    assert "a library's kernel" in between.boundaries[0].text
    assert (between.boundaries[0].user_line or "").startswith(str(PROGRAM))


def test_a_library_computes_its_own_operation_and_not_what_its_inputs_are_made_of(torch_run: TorchRun) -> None:
    for origin in all_origins(torch_run.capture):
        if origin.name.startswith("extern_kernels.addmm"):
            assert "Linear" in {operation.name for operation in origin.operations}
            assert not {"LayerNorm", "layer_norm"} & {operation.name for operation in origin.operations}
    # whatever memory its result is written to
    for half in ("0/0 forward", "0/0 backward"):
        called = [kernel for kernel in kernels_in(torch_run, half) if kernel.name.startswith("extern_kernels.")]
        assert len(called) >= 2 and all(kernel.name.split(".")[1] in kernel.ops for kernel in called)
    # a layer is known by its function's name as well
    two = answer(torch_run.capture, "layer_norm", "linear", "0/0 forward")
    assert isinstance(two, Why) and two.relation == "dependent" and two.second.name.startswith("extern_kernels.addmm")


def said_in(log: str) -> list[tuple[str, ...]]:
    return re.findall(r"cannot fuse (\S+) with (\S+): (.*)$", log, re.M)


def kernels_in(torch_run: TorchRun, half: str) -> list[Kernel]:
    by_name = dict(table(torch_run.capture, "contexts", "name", numbers=("id",)))
    return schedule(torch_run.capture, by_name[half]).kernels


def recorded_kernels(torch_run: TorchRun, half: str) -> list[str]:
    return [kernel.name for kernel in kernels_in(torch_run, half)]


def test_branches_of_a_condition_have_kernels_and_lines(torch_run: TorchRun) -> None:
    capture, inside = torch_run.capture, "0/0 inference"
    branch = {
        name: next(kernel for kernel in kernels_in(torch_run, inside) if name in kernel.ops) for name in ("sin", "cos")
    }
    assert branch["sin"].ops == ["sin", "add"] and branch["cos"].ops == ["cos", "mul"]
    apart = answer(capture, "sin", "cos", inside)
    assert isinstance(apart, Why) and apart.relation == "independent"
    chosen = answer(capture, "sin", "cond", inside)
    assert isinstance(chosen, Why) and (chosen.relation, chosen.second.name) == ("dependent", "true_graph_0")
    asked = answer(capture, "gt", "cond", inside)
    assert isinstance(asked, Why) and (asked.relation, asked.second.name) == ("dependent", "true_graph_0")
    links = chain(capture, *chains_of(capture, "cos")[-1])
    assert [(link.stage, link.name) for link in links if link.stage == "kernel"] == [("kernel", branch["cos"].name)]
    lines = PROGRAM.read_text("utf-8").splitlines()
    at = next(number for number, text in enumerate(lines, 1) if "torch.cond(" in text)
    assert [link.line for link in links if link.stage == "line"] == [f"{PROGRAM}:{at}"]


def test_kernels_lead_to_lines_and_lines_to_kernels(torch_run: TorchRun) -> None:
    lines = PROGRAM.read_text("utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "torch.softmax(" in text)
    found = kernels_of(torch_run.capture, f"{PROGRAM.name}:{line}")
    # the softmax is no more: its line leads to the attention that took its place
    assert any("scaled_dot_product" in origin.name for origin in found)
    by_operation = {origin.name for origin in computing(torch_run.capture, "softmax")}
    assert by_operation & {origin.name for origin in found} and not computing(torch_run.capture, "no such operation")
    kernel = next(origin for origin in all_origins(torch_run.capture) if origin.name.startswith("cpp_fused"))
    assert any((operation.line or "").startswith(str(PROGRAM)) for operation in kernel.operations)


def test_rules_that_changed_nothing_are_counted(torch_run: TorchRun) -> None:
    found = rules(torch_run.capture)
    assert any(rule.in_vain > 5 and rule.matches == 0 and "def " in (rule.source or "") for rule in found)
    assert any(rule.matches and "def _sfdp_pattern" in (rule.source or "") for rule in found)


def test_kernels_are_on_the_timeline_and_lead_to_their_contexts(torch_run: TorchRun) -> None:
    tracks = {
        id: (name, kind) for name, kind, id in table(torch_run.capture, "tracks", "name", "kind", numbers=("id",))
    }
    slices = table(torch_run.capture, "slices", "name", numbers=("track", "context", "dur"))
    contexts = {
        id: (name, kind) for name, kind, id in table(torch_run.capture, "contexts", "name", "kind", numbers=("id",))
    }
    kernels = [row for row in slices if tracks[row[1]][1] == "device"]
    assert kernels and all(dur >= 0 for *_, dur in kernels)
    for name, _, context, _ in kernels:
        kind = "half" if name.startswith(("extern_kernels.", "torch.ops.")) else "kernel"
        assert contexts[context][1] == kind and (kind == "half" or contexts[context][0] == name)
    # calls of operations are there as those of libraries are: attention after its rewrite
    by_name = {name: id for id, (name, _) in contexts.items()}
    for half in ("0/0 forward", "0/0 backward"):
        called = {re.sub(r"\.\d+$", "", kernel) for kernel in recorded_kernels(torch_run, half)}
        own = {contexts[id][0] for id, (_, kind) in contexts.items() if kind == "kernel"} & called
        library = {name for name, _, context, _ in kernels if context == by_name[half]}
        assert library == called - own and any(name.startswith("torch.ops.aten._scaled_dot") for name in library)
    regions = Counter(name for name, track, _, _ in slices if tracks[track][0].split()[0] == "torch")
    assert regions["0/0 forward"] == regions["0/0 backward"] == 3


def test_operations_of_the_program_are_traced_into_others_and_gradients(torch_run: TorchRun) -> None:
    """By `from_node`, and by the number of the operation for what is a gradient."""
    trace = trace_of(torch_run.capture)
    step = next(step for step in steps_in(torch_run.capture) if step["name"] == "aot_joint_graph")
    named = own_named_step(trace, step["id"])
    assert named is not None and named.came_out is not None
    rows = trace.match_rows(step["id"])
    assert trace.match_lists is not None
    nodes = {id: name for name, id in table(torch_run.capture, "nodes", "name", numbers=("id",))}
    befores = [nodes[id] for id in trace.match_numbers("before", rows).tolist()]
    put = [{nodes[id] for id in trace.match_lists[1][row]} for row in range(rows.start, rows.stop)]
    became = dict(reversed(list(zip(befores, put, strict=True))))
    assert "addmm" in became["linear"] and "var_mean" in became["layer_norm"]
    assert befores.count("linear") == 2 and any(name.startswith("mm") for name in put[-1] | put[-2] | put[-3])
    traced = {name for made in put for name in made}
    calls = {row[0] for row in listed(torch_run.capture, {step["after"]})[step["after"]] if row[1].startswith("aten.")}
    assert len(calls - traced) <= 4, "nearly every operation comes from one of the program"


def test_a_node_leads_to_its_line_and_to_its_kernel(torch_run: TorchRun) -> None:
    capture = torch_run.capture

    def links(name: str) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for link in chain(capture, *chains_of(capture, name)[0]):
            found.setdefault(link.stage, []).append(link)
        return found

    lines = PROGRAM.read_text("utf-8").splitlines()
    weights = links("weights")  # of Dynamo's graph: forward through the rewrite of attention
    file, _, number = weights["line"][0].line.rpartition(":")
    assert file == str(PROGRAM) and "torch.softmax(" in lines[int(number) - 1]
    assert weights["rule"][0].name.startswith("_sfdp_pattern") and weights["rule"][0].op == "48 out, 13 in"
    assert any("scaled_dot_product" in link.name for link in weights["kernel"])
    gradient = links("mm_1")  # of the backward half: back to the layer
    assert [link.op for link in gradient["dynamo"]] == ["torch._C._nn.linear"]
    assert all(link.name.startswith("extern_kernels.mm") for link in gradient["kernel"])
    # a kernel leads back to the program, and every link is a box of the graph that it names
    kernel = next(link for link in links("layer_norm")["kernel"] if link.name.startswith("cpp_fused"))
    back = chain(capture, kernel.step, kernel.node)
    assert {"line", "dynamo", "traced", "lowered"} <= {link.stage for link in back}
    for link in [*back, *(one for own in weights.values() for one in own)]:
        if link.node >= 0:
            boxes = own_named_step(trace_of(capture), link.step)
            assert boxes is not None and boxes.name_of(link.identity) == link.name
