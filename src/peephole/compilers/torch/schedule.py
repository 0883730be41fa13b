"""A half as a schedule: its kernels in the order in which they run, and the buffers between them."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Buffer, Edge, Kernel, Schedule
from peephole.compilers.labels import Family, Look, NodeText, cut, cut_kernel
from peephole.compilers.torch.halves import CODEGEN, Half, Instruction, half_of
from peephole.compilers.torch.labels import look, short_op, type_name, typed
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError

if TYPE_CHECKING:
    from peephole.store.capture import Capture

RAW: Final = "read after write"
_MOST_OPS: Final = 4
_DULL: Final = frozenset(("view", "reshape", "permute", "expand", "getitem", "clone", "unsqueeze", "squeeze", "t"))


def schedule(capture: Capture, context: int) -> Schedule:
    """The kernels and buffers of a half, kept; PeepholeError when its code was not recorded."""
    trace = trace_of(capture)
    with trace.lock:
        kept: dict[int, Schedule] = trace.derived.setdefault("schedules", {})
        if context not in kept:
            kept[context] = _schedule(half_of(capture, context))
        return kept[context]


def _schedule(half: Half) -> Schedule:
    if CODEGEN not in half.steps:
        raise PeepholeError(f"{half.name} holds no kernels: it came from a cache, or its code was not recorded.")
    place = {call.row: at for at, call in enumerate(half.calls)}
    slots = {row: at for at, row in enumerate(half.memory)}
    readers: list[list[int]] = [[] for _ in slots]
    for at, call in enumerate(half.calls):
        for row in call.src:
            if row in slots:
                readers[slots[row]].append(at)
    buffers, edges = [], []
    for row, one in half.memory.items():
        writers = [place[source] for source in one.src if source in place]
        slot = slots[row]
        buffers.append(_buffer(one, slot, writers, readers[slot]))
        edges += [Edge(first, second, slot, RAW) for first in writers for second in readers[slot] if first != second]
    kernels = []
    for at, call in enumerate(half.calls):
        written = [slots[row] for row, one in half.memory.items() if call.row in one.src]
        read = [slots[row] for row in call.src if row in slots]
        kernels.append(_kernel(half, at, call, [*read, *written]))
    root = Look(half.name, "", "", Family.ORDER, whole=(half.name, "", ""))
    return Schedule(half.context, half.name, half.context, kernels, buffers, edges, root)


def _kernel(half: Half, at: int, call: Instruction, buffers: list[int]) -> Kernel:
    members = [half.fx[name] for name in call.parts if name in half.fx]
    ops = [short_op(one.op) for one in members]
    name = re.sub(r"\.\d+$", "", call.name) if call.op == "kernel" else call.name
    shown = Look(
        cut_kernel(_extern_name(name) if call.op == "extern" else name),
        "",
        cut(_summary(ops), 44),
        Family.CALL,
        whole=(call.name, call.arg, ", ".join(ops)),
    )
    return Kernel(
        at, name, half.kernels.get(name, -1), call.id, call.op, [one.id for one in members], ops, buffers, shown
    )


def _extern_name(name: str) -> str:
    """`mm.4` for `extern_kernels.mm.4`, the fourth; `convolution` for `torch.ops.aten.convolution.default`."""
    bare = name.removeprefix("torch.ops.").removeprefix("extern_kernels.")
    return short_op(bare) if bare.startswith(("aten.", "prims.", "inductor.")) else bare


def _summary(ops: list[str]) -> str:
    """`mul, sum ×2`: enough to tell kernels apart."""
    telling = [op for op in ops if op not in _DULL] or ops
    words = [f"{op} ×{times}" if times > 1 else op for op, times in Counter(telling).items()]
    return ", ".join((*words[:_MOST_OPS], "…") if len(words) > _MOST_OPS else words)


def _buffer(one: Instruction, slot: int, writers: list[int], readers: list[int]) -> Buffer:
    own = one.op == "placeholder"
    box = look(NodeText(one.op, one.dtype, "", one.shape))
    kind = typed(one.dtype, one.shape)
    shown = Look(cut(one.name), "", kind, box.family, whole=(one.name, one.arg, kind))
    device = one.arg.partition("over ")[0].strip() if not own else ""
    name = f"{'input' if own else 'buffer'} {one.name}"
    size = elements(one.shape)
    return Buffer(one.id, one.op, own, name, slot, type_name(one.dtype), size, device, writers, readers, shown)


def elements(shape: str) -> int | None:
    """How many elements a shape has; None when a size is a symbol."""
    sizes = [part.strip() for part in shape.strip("()").split(",") if part.strip()]
    return math.prod(map(int, sizes)) if shape and all(size.isdecimal() for size in sizes) else None
