"""Logs that tests write by themselves, record by record, and a reader of records that shares nothing with ours."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BEGIN = 1_794_839_220_000_000
"""Microseconds since 1970: the fifth second of the log's headers, in a zone an hour east of Greenwich."""

GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8][1]cpu"):
        l_x_ = L_x_

        # File: /prog/prog.py:7 in f, code: y = torch.sin(x) + 1
        sin: "f32[8][1]cpu" = torch.sin(l_x_);  l_x_ = None
        y: "f32[8][1]cpu" = sin + 1;  sin = None
        return (y,)
"""


def record(
    kind: str, body: Any = None, payload: str | None = None, id: str = "0/0", process: int = 77, second: float = 0
) -> str:
    """A record as torch writes it; `id` empty for one of the whole process."""
    facts: dict[str, Any] = {kind: {} if body is None else body}
    if id:
        frame, _, count = id.partition("/")
        facts |= {"frame_id": int(frame), "frame_compile_id": int(count), "attempt": 0}
    lines = ""
    if payload is not None:
        text = payload.removesuffix("\n")
        facts["has_payload"] = hashlib.md5(text.encode()).hexdigest()
        lines = "".join(f"\t{line}\n" for line in text.split("\n"))
    clock = f"15:27:{second:09.6f}"
    return f"V1116 {clock} {process} torch/_dynamo/convert_frame.py:303] {json.dumps(facts)}\n{lines}"


def event(name: str, phase: str, second: float, id: str = "0/0", process: int = 77, **args: Any) -> str:
    """An event of a phase that begins (B) or ends (E)."""
    facts = {"name": name, "ts": BEGIN + second * 1e6, "ph": phase, "args": {"compile_id": id, **args}, "pid": 0}
    return record("chromium_event", {}, json.dumps(facts, indent=0), id, process, second)


def artifact(name: str, payload: str, id: str = "0/0", **others: Any) -> str:
    """An artifact of a name."""
    return record("artifact", {"name": name, "encoding": "string"}, payload, id, **others)


def small_log(process: int = 77) -> str:
    """A compilation with a break, a graph, a phase and a kind that nobody knows."""
    return "".join(
        (
            event("dynamo", "B", 1, process=process),
            record("str", ["/prog/prog.py", 1], id="", process=process),
            record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 1}]}, process=process, second=1),
            artifact("dynamo_graph_break_reason", BREAK, process=process, second=1.5),
            record("dynamo_output_graph", {"sizes": {}}, GRAPH, process=process, second=2),
            record("a_kind_of_2031", {"name": "later"}, "what it says", process=process, second=2.5),
            event("dynamo", "E", 3, process=process, graph_op_count=2),
        )
    )


BREAK = """Graph break in user code at /prog/prog.py:8
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str']
  Hint: Avoid calling builtin `print` with argument types ['str'].
  Hint: Please report an issue to PyTorch.

  Developer debug context: builtin print

User code traceback:
  File "/prog/prog.py", line 25, in <module>
    f(x)
  File "/prog/prog.py", line 8, in f
    print("a break")

Traceback (most recent call last):
  File "/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
    return inner_fn(self, inst)
"""


WRAPPER = """# AOT ID: ['0_forward']
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

cpp_fused_sin_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
#include <x.h>
extern "C" void kernel(const float* in_ptr0, float* out_ptr0) {}
''')


triton_poi_fused_1 = async_compile.triton('triton_poi_fused_1', '''
import triton
\"\"\"doc\"\"\"
@triton.jit
def triton_poi_fused_1(in_out_ptr0, in_ptr0, xnumel, XBLOCK: tl.constexpr):
    pass
''', device_str='cuda')


def call(args):
    arg0_1, arg1_1 = args
    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
    cpp_fused_sin_0(arg0_1, buf0)
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        buf1 = empty_strided_cuda((4, ), (1, ), torch.float32)
        extern_kernels.mm(arg1_1, arg1_1, out=buf1)
        buf2 = buf1; del buf1  # reuse
        stream0 = get_raw_stream(0)
        triton_poi_fused_1.run(buf2, arg1_1, 4, stream=stream0)
    return (buf0, buf2, )
"""


def every_graph(id: str = "1/0") -> str:
    """A compilation with a graph at each stage, its code, guards, metrics and a cache."""
    joint = GRAPH.replace("GraphModule", "inner_f").replace("L_x_: ", "primals_1, tangents_1: ")
    return "".join(
        (
            record("dynamo_output_graph", {"sizes": {}}, GRAPH, id),
            artifact("before_pre_grad_graph", GRAPH, id),
            artifact("after_pre_grad_graph", GRAPH.replace("sin + 1", "sin + 2"), id),
            record("aot_joint_graph", {}, joint, id),
            record("aot_forward_graph", {}, GRAPH, id),
            record("aot_backward_graph", {}, GRAPH.replace("L_x_", "tangents_1"), id),
            event("inductor_compile", "B", 1, id),
            artifact("before_post_grad_graph", GRAPH, id),
            event("pass.post_grad_passes.remove_noop_ops", "B", 1.1, id),
            event("pass.post_grad_passes.remove_noop_ops", "E", 1.2, id),
            artifact("inductor_post_grad_graph", GRAPH.replace("torch.sin(l_x_)", "torch.cos(l_x_)"), id),
            record("inductor_output_code", {"filename": "/tmp/x/cabc.py"}, WRAPPER, id),
            artifact("fx_graph_cache_hit", '{"key": "fabc"}', id),
            event("inductor_compile", "E", 2, id, is_backward=False),
            record("dynamo_cpp_guards_str", {}, "TREE_GUARD_MANAGER:\n+- RootGuardManager", id),
            record("create_symbol", {"symbol": "s0", "val": "4"}, id=id),
            record("compilation_metrics", {"co_name": "f", "restart_reasons": ["for no reason"]}, id=id),
        )
    )


def plain_records(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The records of a sound log and their payloads, read by the simplest code that can."""
    facts: dict[str, Any] | None = None
    payload: list[str] = []
    for line in path.read_text().split("\n"):
        if line.startswith("\t"):
            payload.append(line[1:])
        elif line:
            if facts is not None:
                yield facts, "\n".join(payload)
            facts, payload = json.loads(line[line.index("] {") + 2 :]), []
    if facts is not None:
        yield facts, "\n".join(payload)
