"""How instructions of FX and Inductor look in a graph: operation and constants, element type and shape, family."""

from __future__ import annotations

import re
from typing import Final

from peephole.compilers.labels import LONGEST, SINK, Family, Look, NodeText, cut, short_number

_FAMILIES: Final[dict[Family, str]] = {
    Family.MEMORY: "placeholder get_attr buffer empty empty_strided InputBuffer ConstantBuffer DonatedBuffer",
    Family.READ: "getitem gather index select_scatter embedding index_select take MultiOutput sym_size",
    Family.WRITE: "copy_ scatter scatter_add index_put index_put_ set_ fill_ MutationOutput InplaceCopyFallback",
    Family.LOOP: "cond while_loop scan map_impl invoke_subgraph associative_scan",
    Family.CONSTANT: "full zeros ones arange iota scalar_tensor lift_fresh_copy full_like zeros_like ones_like eye",
    Family.MOVEMENT: (
        "view reshape permute transpose expand squeeze unsqueeze slice select split split_with_sizes chunk cat stack t "
        "alias as_strided clone contiguous flatten unbind repeat flip constant_pad_nd _unsafe_view detach unfold roll "
        "slice_scatter narrow movedim"
    ),
    Family.REDUCTION: (
        "sum mean amax amin var var_mean max min argmax argmin prod any all norm std logsumexp cumsum softmax "
        "_softmax log_softmax _log_softmax native_layer_norm layer_norm native_batch_norm batch_norm mse_loss "
        "cross_entropy nll_loss_forward prepare_softmax_online"
    ),
    Family.COPY: "_to_copy to device_put convert_element_type",
    Family.ORDER: "output NopKernelSchedulerNode",
    Family.CALL: (
        "mm addmm bmm baddbmm matmul linear convolution conv2d convolution_backward kernel extern ExternKernelOut "
        "FallbackKernel ExternKernelSchedulerNode ExternKernelAlloc _scaled_dot_product_flash_attention_for_cpu "
        "_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention scaled_dot_product_attention "
        "_scaled_dot_product_flash_attention_for_cpu_backward MKLPackedLinear LinearUnary ConvolutionUnary"
    ),
}
_FAMILY: Final = {op: family for family, ops in _FAMILIES.items() for op in ops.split()}
_SOURCE: Final = re.compile(r"%\d+")
_LEFT: Final = re.compile(r"(?:^|(?<=[\[(]))(?:, )+|, (?=[\])])")
_MANY: Final = re.compile(r"(?:, ){2,}")
_WIDTHS: Final = {
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"complex{bits}": f"c{bits}" for bits in (32, 64, 128)},
    **{"bfloat16": "bf16", "bool": "b8"},
}
_SPACES: Final = re.compile(r"^(?:aten|prims|inductor|inductor_prims|operator|torch|torch\.nn\.functional)\.")


def look(text: NodeText) -> Look:
    """How an instruction looks by itself."""
    name = short_op(text.op)
    arg = constants_of(text.arg)
    kind = typed(text.dtype, text.shape)
    family = _FAMILY.get(name) or _FAMILY.get(text.op) or _otherwise(text.op)
    return Look(
        cut(name),
        short_number(arg) or cut(arg),
        cut(kind, LONGEST + 10),
        family,
        SINK if text.op == "output" else 0,
        whole=(text.op, text.arg, kind),
    )


def _otherwise(op: str) -> Family:
    if op.endswith("SchedulerNode") or op.startswith("call_module"):
        return Family.CALL
    if op.endswith("Buffer"):
        return Family.ARITHMETIC
    return Family.ARITHMETIC if "." in op else Family.OTHER


def short_op(op: str) -> str:
    """`addmm` for `aten.addmm.default`, `gelu` for `torch.nn.functional.gelu`, `view` for `Tensor.view`."""
    if op.startswith(("aten.", "prims.", "inductor.")) or (op.count(".") == 2 and op.endswith(".default")):
        return op.split(".")[1]
    return op.rpartition(".")[2] if "." in op else op


def moves(op: str) -> bool:
    """Whether an operation only looks at what is there in another way."""
    return _FAMILY.get(short_op(op)) == Family.MOVEMENT


def constants_of(arg: str) -> str:
    """What an instruction is called with besides its sources: `[8, 32, 64]` of `%0, [8, 32, 64]`."""
    if "%" not in arg:
        return " ".join(arg.split())
    bare = _MANY.sub(", ", _SOURCE.sub("", arg))
    previous = ""
    while previous != bare:
        previous, bare = bare, _LEFT.sub("", bare)
    return bare.strip(", ").replace("[]", "").replace("()", "").strip(", ")


def type_name(dtype: str) -> str:
    """`f32` for `float32`, as torch prints it in graphs."""
    return _WIDTHS.get(dtype, dtype)


def typed(dtype: str, shape: str) -> str:
    """`f32[8, 64]`; empty when neither is known."""
    sizes = shape[1:-1].rstrip(",") if shape.startswith("(") else shape
    return f"{type_name(dtype)}[{sizes}]" if dtype and shape else type_name(dtype) or shape
