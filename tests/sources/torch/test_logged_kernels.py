"""What kernels of an imported log compute, as far as Inductor's own notes in it say: its mapping, its comments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sources.torch.logs import artifact, event, record

from peephole.compilers.answers import Why
from peephole.ingest import import_files
from peephole.query.rewrites.chains import chain, chains_of
from peephole.query.rewrites.origins import all_origins, computing
from peephole.query.rewrites.why import answer
from peephole.store.capture import Capture, open_capture

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 4][4, 1]cpu"):
        # File: /prog/prog.py:7 in f, code: y = torch.sin(x) + 1
        sin: "f32[4, 4][4, 1]cpu" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
        add: "f32[4, 4][4, 1]cpu" = torch.ops.aten.add.Tensor(sin, 1);  sin = None

        # File: /prog/prog.py:8 in f, code: return y @ y
        mm: "f32[4, 4][4, 1]cpu" = torch.ops.aten.mm.default(add, add);  add = None
        return (mm,)
"""
CODE = """from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

cpp_fused_add_sin_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0) {}
''')


def call(args):
    arg0_1, = args
    buf0 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
    cpp_fused_add_sin_0(arg0_1, buf0)
    buf1 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
    # Topologically Sorted Source Nodes: [y, add, mm], Original ATen: [aten.add, aten.mm]
    extern_kernels.mm(buf0, buf0, out=buf1)
    return (buf1, )
"""
MAPPING = {"cppCodeToPost": {"cpp_fused_add_sin_0:1": ["add", "sin"]}, "version": 2.0}


def imported(folder: Path, mapping: str) -> Capture:
    log = "".join(
        (
            record("dynamo_output_graph", {"sizes": {}}, GRAPH),
            record("aot_inference_graph", {}, GRAPH),
            event("inductor_compile", "B", 1),
            artifact("inductor_post_grad_graph", GRAPH),
            record("inductor_output_code", {"filename": "/tmp/x/cabc.py"}, CODE),
            artifact("inductor_provenance_tracking_node_mappings", mapping),
            event("inductor_compile", "E", 2, is_backward=False),
        )
    )
    (folder / "t.log").write_text(log)
    return open_capture(import_files([folder / "t.log"], folder / "t.peep"))


def test_instructions_of_a_log_lead_to_their_kernels_and_kernels_to_lines(tmp_path: Path) -> None:
    capture = imported(tmp_path, json.dumps(MAPPING))
    lines = {one.name: [operation.line for operation in one.operations] for one in all_origins(capture)}
    assert lines == {"cpp_fused_add_sin_0": ["/prog/prog.py:7"], "extern_kernels.mm": ["/prog/prog.py:8"]}
    links = chain(capture, *chains_of(capture, "sin")[0])
    assert [link.name for link in links if link.stage == "kernel"] == ["cpp_fused_add_sin_0"]
    # a library computes its own operation, whatever its comment lists
    assert [one.name for one in computing(capture, "add")] == ["cpp_fused_add_sin_0"]
    found = answer(capture, "sin", "mm")
    assert isinstance(found, Why) and (found.relation, found.second.name) == ("dependent", "extern_kernels.mm")


@pytest.mark.parametrize(
    "mapping", ["[", "[]", '{"cppCodeToPost": 3}', '{"cppCodeToPost": {"a": 1, "b:x": [], ":": 2}}']
)
def test_a_mapping_that_says_nothing_is_passed_over(tmp_path: Path, mapping: str) -> None:
    capture = imported(tmp_path, mapping)
    assert [one.name for one in computing(capture, "mm")] == ["extern_kernels.mm"]
    assert computing(capture, "sin") == []
