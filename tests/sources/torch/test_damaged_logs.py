"""Logs that are cut, torn, mixed or of a torch to come: a capture with its problems listed, or one sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.sources.torch.logs import BEGIN, BREAK, GRAPH, WRAPPER, artifact, event, record, small_log

from peephole import sources
from peephole.errors import CaptureError
from peephole.ingest import import_files
from peephole.query.capture.contexts import artifacts, contexts, steps
from peephole.sources.torch.log.fx_text import parse, types_of
from peephole.sources.torch.log.kernels import kernels_of
from peephole.sources.torch.wrapper import read_wrapper
from peephole.store.capture import Capture, open_capture


def read(tmp_path: Path, *logs: str | bytes, names: tuple[str, ...] = ()) -> Capture:
    """A capture of a folder with these logs."""
    folder = tmp_path / "logs"
    folder.mkdir(exist_ok=True)
    for i, log in enumerate(logs):
        name = names[i] if names else f"dedicated_log_torch_trace_{i}.log"
        (folder / name).write_bytes(log.encode() if isinstance(log, str) else log)
    return open_capture(import_files([folder], tmp_path / "c.peep", replace=True))


def problems(capture: Capture) -> dict[str, int]:
    return {str(problem["reason"]): int(problem["count"]) for problem in capture.manifest.problems}


def names(capture: Capture) -> list[tuple[str, str]]:
    return [(context.name, context.kind) for context in contexts(capture)]


def count(capture: Capture, kind: str) -> int:
    return sum(text == kind for text in capture.read("decisions").texts("kind"))


def test_a_small_log(tmp_path: Path) -> None:
    capture = read(tmp_path, small_log())
    assert problems(capture) == {} and names(capture) == [("0/0", "graph")] and count(capture, "break") == 1
    (one,) = contexts(capture)
    assert one.place == "/prog/prog.py:5 f"
    assert (one.start, one.dur) == (1_000_000_000 + 0, 2_000_000_000), "an hour east, told by the events"
    assert capture.manifest.clocks["base_ns"] == BEGIN * 1000
    kept = {(artifact.name, artifact.content) for artifact in artifacts(capture, one.id)}
    assert ("a_kind_of_2031", b"what it says") in kept
    assert ("dynamo_output_graph", GRAPH.rstrip("\n").encode()) in kept
    assert [step.name for step in steps(capture, one.id)] == ["dynamo"]


def test_a_log_by_any_name_and_zipped(tmp_path: Path) -> None:
    for name, data in (("odd.pkl", small_log().encode()), ("x", gzip.compress(small_log().encode()))):
        (tmp_path / name).write_bytes(data)
        assert sources.find(tmp_path / name).name == "torch"
        assert problems(open_capture(import_files([tmp_path / name], tmp_path / f"{name}.peep"))) == {}
    (tmp_path / "cut").write_bytes(gzip.compress(small_log().encode())[:-200])
    assert "the gzip file ends too early" in problems(
        open_capture(import_files([tmp_path / "cut"], tmp_path / "c.peep"))
    )


def test_a_log_that_was_cut(tmp_path: Path) -> None:
    log = small_log()
    for at in range(300, len(log), 97):
        capture = read(tmp_path, log[:at])
        assert names(capture) == [("0/0", "graph")]
    capture = read(tmp_path, log[: log.index("return (y,)")])
    found = problems(capture)
    assert found["payload whose checksum is wrong, kept as it is"] == 1
    assert found["phase that did not end, shown to the end of the log"] == 1
    nodes = capture.read("nodes")
    assert "sin" in list(nodes.texts("name")), "what is there of the graph is shown"
    head = record("dynamo_output_graph", {}, GRAPH).encode()
    cut = read(tmp_path, small_log().encode() + head[:90])
    assert problems(cut) == {"the file was cut off": 1}


def test_a_wrong_checksum(tmp_path: Path) -> None:
    capture = read(tmp_path, small_log().replace("what it says", "what it never said"))
    assert problems(capture) == {"payload whose checksum is wrong, kept as it is": 1}
    (one,) = contexts(capture)
    assert b"what it never said" in [artifact.content for artifact in artifacts(capture, one.id)]


def test_two_processes_in_one_file(tmp_path: Path) -> None:
    one, two = small_log(77), small_log(88)
    capture = read(tmp_path, one + two)
    assert problems(capture) == {"log of more than one process in one file, shown separately": 2}
    assert names(capture) == [("process 77", "other"), ("0/0", "graph"), ("process 88", "other"), ("0/0", "graph")]
    assert count(capture, "break") == 2


def test_two_processes_that_tore_each_others_records(tmp_path: Path) -> None:
    mine, yours = artifact("dynamo_graph_break_reason", BREAK), artifact("mine", "a\nb\nc", process=88)
    lines = mine.splitlines(keepends=True)
    torn = "".join((event("dynamo", "B", 1), *lines[:9], yours, *lines[9:], event("dynamo", "E", 2)))
    capture = read(tmp_path, torn)
    assert problems(capture)["payload that another process' record was written into, put together"] == 1
    assert "payload whose checksum is wrong, kept as it is" not in problems(capture)
    assert capture.read("decisions").texts("reason")[0] == BREAK.rstrip("\n")
    bare = record("str", ["/a", 3], id="", process=88)
    capture = read(tmp_path, "".join((*lines[:9], bare, *lines[9:])))
    assert problems(capture)["payload that another process' record was written into, put together"] == 1
    lost = "".join((*lines[:9], yours, *lines[11:]))
    found = problems(read(tmp_path, lost))
    assert found["payload whose checksum is wrong, kept as it is"] == 1
    assert found["lines of a payload that belong to no record"] == len(lines) - 11


def test_ranks_are_told_apart(tmp_path: Path) -> None:
    logs = (small_log(1), small_log(2))
    capture = read(tmp_path, *logs, names=tuple(f"dedicated_log_torch_trace_rank_{rank}_ab.log" for rank in (0, 1)))
    assert names(capture) == [("rank 0", "other"), ("0/0", "graph"), ("rank 1", "other"), ("0/0", "graph")]
    tracks = capture.read("tracks")
    assert list(tracks.texts("name")) == ["rank 0 · process 1", "torch.compile", "rank 1 · process 2", "torch.compile"]
    assert tracks["rank"].tolist() == [0, 0, 1, 1] and problems(capture) == {}


def test_a_trace_of_each_rank_beside_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    traces = []
    for rank in (0, 1):
        (folder / f"dedicated_log_torch_trace_rank_{rank}_ab.log").write_text(small_log(rank + 1))
        region = {"ph": "X", "name": "Torch-Compiled Region: 0/0", "pid": 1, "tid": 1, "ts": 4e6, "dur": 10 + rank}
        trace = {"distributedInfo": {"rank": rank}, "baseTimeNanoseconds": BEGIN * 1000, "traceEvents": [region]}
        traces.append(tmp_path / f"{rank}.json")
        traces[-1].write_text(json.dumps(trace))
    capture = open_capture(import_files([folder, *traces], tmp_path / "c.peep"))
    slices, ids = capture.read("slices"), {one.id: one for one in contexts(capture)}
    linked = {
        int(slices["dur"][i]): ids[ids[int(slices["context"][i])].parent].name
        for i, name in enumerate(slices.texts("name"))
        if str(name).startswith("Torch-Compiled")
    }
    assert linked == {10_000: "rank 0", 11_000: "rank 1"}
    assert len(set(slices["track"].tolist())) == 4
    run = next(i for i, name in enumerate(slices.texts("name")) if str(name).startswith("Torch-Compiled"))
    phase = next(i for i, name in enumerate(slices.texts("name")) if name == "dynamo")
    assert slices["start"][run] - slices["start"][phase] == 3_000_000_000, "both on one clock"


def test_nothing_to_read_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CaptureError, match="is a folder with neither a capture nor files of a known source in it"):
        import_files([tmp_path / "empty"])
    (tmp_path / "empty" / "a.log").write_text("")
    (tmp_path / "empty" / "b.log").write_text("INFO nothing of torch\n")
    with pytest.raises(CaptureError, match="is a folder with neither"):
        import_files([tmp_path / "empty"])


def test_odd_records(tmp_path: Path) -> None:
    odd = (
        "not a record\n",
        "V1116 15:27:01.000000 77 torch/x.py:1] {not json}\n",
        "V1116 15:27:01.000000 77 torch/x.py:1] []\n",
        'V9999 99:99:99.000000 77 torch/x.py:1] {"frame_id": 1}\n',
        record("chromium_event", {}, "not json"),
        record("chromium_event", {}, '{"name": "x", "ph": "B", "ts": "soon"}'),
        event("never began", "E", 2),
        event("odd", "Q", 2),
        record("dynamo_output_graph", {}, "no graph at all"),
        record("dynamo_output_graph", {}, GRAPH.replace("torch.sin(l_x_)", "<what is this>")),
        record("compilation_metrics", {"co_name": 3, "restart_reasons": "x", "fail_type": [1]}),
        record("create_symbol", {"user_stack": [{"line": "x"}, 3], "symbol": None}),
        record("symbolic_shape_specialization", {"sources": 4}),
        record("dynamo_start", {"stack": {"a": 1}}),
        artifact("recompile_reasons", "[not json"),
        record("str", "x", id=""),
        record("describe_tensor", [1, 2]),
        "\tlines of nobody\n",
    )
    capture = read(tmp_path, small_log() + "".join(odd))
    found = problems(capture)
    assert found["line that is not a record"] == 2 and found["record that is not JSON"] == 1
    assert found["graph that could not be parsed, kept as text"] == 1
    assert found["line of a graph that could not be parsed"] == 1
    assert found["end of a phase that did not begin"] == 1 and found["record without a kind"] == 1
    assert found["event that is not JSON"] == 1 and found["event without a usable time"] == 1


def test_an_id_that_comes_again_is_another_compilation(tmp_path: Path) -> None:
    """After `torch._dynamo.reset()` ids begin anew."""
    ended = record("compilation_metrics", {"co_name": "f"}, second=3)
    capture = read(tmp_path, small_log() + ended + small_log())
    graphs = [context.id for context in contexts(capture) if context.kind == "graph"]
    assert len(graphs) == 2 and count(capture, "break") == 2
    assert [[step.name for step in steps(capture, id)] for id in graphs] == [["dynamo"], ["dynamo"]]


def test_a_debug_folder_without_its_log(tmp_path: Path) -> None:
    half = tmp_path / "torch_compile_debug" / "run_1-pid_2" / "torchinductor" / "model__0_forward_1.0"
    half.mkdir(parents=True)
    after = GRAPH.replace("torch.sin(l_x_)", "torch.cos(l_x_)")
    (half / "fx_graph_readable.py").write_text(GRAPH)
    (half / "fx_graph_transformed.py").write_text(after)
    (half / "output_code.py").write_text(WRAPPER)
    (half / "ir_pre_fusion.txt").write_text("op0: SchedulerNode(ComputedBuffer)\nop0.writes = []\n")
    (half / "notes.txt").write_text("of mine")
    capture = open_capture(import_files([tmp_path / "torch_compile_debug"], tmp_path / "c.peep"))
    assert names(capture) == [("0 forward", "half"), ("cpp_fused_sin_0", "kernel"), ("triton_poi_fused_1", "kernel")]
    passes, code = steps(capture, contexts(capture)[0].id)
    assert (passes.name, code.name) == ("post_grad_passes", "codegen") and passes.after >= 0
    assert {artifact.kind for artifact in artifacts(capture, 0)} == {"graph", "source", "ir"}


def test_kernels_are_cut_out_of_the_wrapper() -> None:
    cpp, triton = kernels_of(WRAPPER)
    assert cpp.source.splitlines()[0] == "#include <x.h>" and cpp.source.endswith("{}\n")
    assert (cpp.language, cpp.keys) == ("cpp", ["cpp_fused_sin_0", "graph_0_cpp_fused_sin_0"])
    assert (triton.language, triton.source.splitlines()[0]) == ("python", "import triton")


def test_calls_of_a_wrapper_are_its_kernels_and_nothing_else() -> None:
    wrapper = read_wrapper(WRAPPER)
    assert wrapper is not None and wrapper.outputs == ["buf0", "buf2"]
    assert [(call.name, call.reads, call.writes) for call in wrapper.calls] == [
        ("cpp_fused_sin_0", ["arg0_1"], ["buf0"]),
        ("extern_kernels.mm", ["arg1_1"], ["buf1"]),
        ("triton_poi_fused_1", ["buf2", "arg1_1"], ["buf2"]),
    ]
    assert wrapper.memory["buf2"].reuses == "buf1" and wrapper.memory["buf2"].device == "cuda"


SUBGRAPHS = """def true_graph_0(args):
    true_graph_0_arg0_1, = args
    true_graph_0_buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
    extern_kernels.mm(true_graph_0_arg0_1, true_graph_0_arg0_1, out=true_graph_0_buf0)
    return (true_graph_0_buf0, )

def call(args):
    arg0_1, arg1_1 = args
    arg1_1_size = arg1_1.size()
    s77 = arg1_1_size[0]
    buf0 = empty_strided_cpu((4, 2), (2, 1), torch.float32)
    extern_kernels.mm(arg0_1, arg1_1, out=buf0)
    buf1 = reinterpret_tensor(buf0, (8, ), (1, ), 0); del buf0  # reuse
    extern_kernels.addmm(arg0_1, arg1_1, out=buf1)
    buf2 = [None] * 1
    if arg1_1.item():
        true_graph_0_args = [buf1]
        buf2 = true_graph_0(true_graph_0_args)
    buf3 = buf2[0]
    return (buf3, )
"""


def test_memory_that_is_taken_over_is_a_buffer_and_a_subgraph_has_its_own_calls() -> None:
    wrapper = read_wrapper(SUBGRAPHS)
    assert wrapper is not None and wrapper.outputs == ["buf2"]
    assert [(call.name, call.reads, call.writes) for call in wrapper.calls] == [
        ("extern_kernels.mm", ["arg0_1", "arg1_1"], ["buf0"]),
        ("extern_kernels.addmm", ["arg0_1", "arg1_1"], ["buf1"]),
        ("extern_kernels.mm", ["buf1"], ["true_graph_0_buf0"]),
        ("true_graph_0", ["buf1", "true_graph_0_buf0", "arg1_1"], ["buf2"]),
    ]
    taken = wrapper.memory["buf1"]
    assert (taken.reuses, taken.shape, taken.dtype, taken.device) == ("buf0", "(8,)", "float32", "cpu")
    # functions that call each other again and again end all the same
    every = "".join(f"def f{at}(args):\n" + f"    x = f{at + 1}(args)\n" * 9 + "    return x\n" for at in range(99))
    again = read_wrapper(f"{every}def call(args):\n    x = f0(args)\n    return x\n")
    assert again is not None and 0 < len(again.calls) < 100_000


@pytest.mark.parametrize(
    ("line", "op", "arg", "src"),
    [
        ("y = x[0]", "operator.getitem", "%0, 0", ("x",)),
        ("y = x[(slice(None, None, None), 0)]", "operator.getitem", "%0, (slice(None, None, None), 0)", ("x",)),
        ("y = -x", "operator.neg", None, ("x",)),
        ("y = x @ w", "operator.matmul", None, ("x", "w")),
        ("y = 2 ** x", "operator.pow", "2, %0", ("x",)),
        ("y = x // -2", "operator.floordiv", "%0, -2", ("x",)),
        ("y = x.view(2, -1)", "Tensor.view", "%0, 2, -1", ("x",)),
        ("y = x.T", "getattr", "%0, 'T'", ("x",)),
        ("y = self.lin(x)", "call_module lin", None, ("x",)),
        ("y = self.buf", "get_attr", "buf", ()),
        ("y = torch.einsum('x,w->x', x, w)", "torch.einsum", "'x,w->x', %0, %1", ("x", "w")),
        (
            "y = torch.ops.aten.full.default([2], x, dtype = torch.float32, device = device(type='cpu'))",
            "aten.full.default",
            "[2], %0, dtype=torch.float32, device=device(type='cpu')",
            ("x",),
        ),
        ("x += w;  y = x;  x = None", "operator.iadd", None, ("x", "w")),
        ("x[0] = w;  y = x", "operator.setitem", "%0, 0, %1", ("x", "w")),
        (
            'y: "f32[2, s0][s0, 1]cuda:0" = torch.cat([x, w], dim = 1);  x = w = None',
            "torch.cat",
            "[%0, %1], dim=1",
            ("x", "w"),
        ),
    ],
)
def test_lines_of_a_graph(line: str, op: str, arg: str | None, src: tuple[str, ...]) -> None:
    text = f"class M(torch.nn.Module):\n    def forward(self, x, w):\n        {line}\n        return y\n"
    graph = parse(text)
    assert graph is not None and not graph.unread
    node = next(item for item in graph.instructions if item.name == "y")
    assert (node.op, node.arg, node.src) == (op, arg, src)
    if ":" in line.partition("=")[0]:
        assert (node.dtype, node.shape) == ("float32", "(2, s0)")


def test_types() -> None:
    assert types_of("bf16[][]cpu") == ("bfloat16", "()") and types_of("Sym(s0)") == (None, None)
