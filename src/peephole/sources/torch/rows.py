"""The words of torch's rows, the same for a recorded program and for an imported log. Standard library only.

docs/torch.md has the whole mapping; nothing here reads or writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

COMPILER: Final = "torch"
"""`contexts.compiler` of every context."""

# contexts.kind
GRAPH_CONTEXT: Final = "graph"
"""A compilation of Dynamo, named by its compile id: `0/0`, `!1/0/0` under compiled autograd."""
HALF_CONTEXT: Final = "half"
"""What Inductor compiles at once, `0/0 forward`; its parent is the graph."""
KERNEL_CONTEXT: Final = "kernel"
"""A kernel by its own name, `cpp_fused_gelu_view_3`; its parent is the half."""

RANK_CONTEXT: Final = "other"
"""The compilations of one process of several, `rank 0`."""

FORWARD: Final = "forward"
BACKWARD: Final = "backward"
INFERENCE: Final = "inference"

# steps.name, in the order that they come in; passes inside carry the names that torch gives them
DYNAMO: Final = "dynamo"
PRE_GRAD: Final = "pre_grad_passes"
JOINT_GRAPH: Final = "aot_joint_graph"
JOINT: Final = "joint_graph_passes"
PARTITION: Final = "partition"
HALF_GRAPHS: Final = {half: f"aot_{half}_graph" for half in (FORWARD, BACKWARD, INFERENCE)}
POST_GRAD: Final = "post_grad_passes"
LOWERING: Final = "lowering"
FUSION: Final = "fusion"
CODEGEN: Final = "codegen"
KERNELS_COMPILED: Final = "compile kernels"
"""The C++ compiler, or Triton's, makes what runs of the code, and it is loaded. It has no graph."""

# decisions.kind
FUSED: Final = "fused"
REFUSED: Final = "refused"
BREAK: Final = "break"
RECOMPILE: Final = "recompile"
SPECIALIZATION: Final = "specialization"
FALLBACK: Final = "fallback"
CACHED: Final = "cached"

MARKERS: Final = {
    BREAK: "graph break",
    RECOMPILE: "recompile",
    SPECIALIZATION: "specialization",
    FALLBACK: "fallback",
}
"""markers.name for what also stands on the timeline; markers.kind is `event`, args are context, reason, file, line."""

# artifacts.kind
SOURCE: Final = "source"
"""The code of a kernel or, of a half, the wrapper module that calls its kernels."""
GUARDS: Final = "guards"
GRAPH_TEXT: Final = "graph"
"""A graph as Python, as a log has it, where it is more than the recorded nodes."""

# nodes.op of what is not an instruction with a target of its own
PLACEHOLDER: Final = "placeholder"
OUTPUT: Final = "output"
GET_ATTR: Final = "get_attr"
BUFFER: Final = "buffer"
"""Memory in the graph after codegen; the kernel that writes it is its source."""
KERNEL: Final = "kernel"
EXTERN: Final = "extern"
"""Calls in the graph after codegen: one that Inductor wrote, one of a library."""

_MODULE = re.compile(r"\btorch\.ops\.")


def fusion_round(number: int) -> str:
    """The name of the step of one round of fusion, from 1."""
    return f"fusion round {number}"


def rank_name(rank: int) -> str:
    """The name of the context over a rank's compilations."""
    return f"rank {rank}"


def half_name(compile_id: str, half: str) -> str:
    """The name of a half's context."""
    return f"{compile_id} {half}"


def op_name(target: str) -> str:
    """The op of an instruction by the text of its target: `aten.addmm.default`, `operator.add`, `torch.nn.linear`."""
    text = _MODULE.sub("", target)
    return text.removeprefix("_") if text.startswith("_operator.") else text


def method_name(method: str) -> str:
    """The op of a method that is called on its first argument: `Tensor.view`."""
    return f"Tensor.{method}"


def arg_text(args: Sequence[str], keywords: Sequence[tuple[str, str]] = ()) -> str | None:
    """What an instruction is called with, its sources as %0, %1 by their place in `src`; None when there is no more.

    A source that is read twice stands twice in `src`. `%0, [8, 32, 64]` and `%0, %1, beta=1` are such texts.
    """
    if not keywords and all(text == f"%{place}" for place, text in enumerate(args)):
        return None
    return ", ".join([*args, *(f"{name}={value}" for name, value in keywords)])


def metadata_text(operation: str | None, file: str | None, line: int, module: str | None = None) -> str | None:
    """Where an instruction comes from: `linear@prog.py:24 in layers.0.qkv`; None when nothing is known."""
    text = operation or ""
    if file:
        text += f"@{file}:{line}"
    if module:
        text += f" in {module}"
    return text.strip() or None


def dtype_text(dtype: str) -> str:
    """An element type without its package: `float32`."""
    return dtype.removeprefix("torch.")


def shape_text(sizes: Sequence[Any]) -> str:
    """A shape as nodes have it: `(8, s77)`, `(3,)`."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
