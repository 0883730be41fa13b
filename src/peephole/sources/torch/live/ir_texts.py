"""Buffers and scheduler nodes of Inductor as texts. Standard library only."""

from __future__ import annotations

from typing import Any

from peephole.sources.torch.live.node_texts import plain_repr, type_of


def outputs(node: Any) -> list[Any]:
    """The buffers that a scheduler node writes."""
    get = getattr(node, "get_outputs", None)
    return list(get()) if get is not None else []


def reads_of(node: Any) -> list[tuple[str, list[str]]]:
    """What the buffers of a scheduler node are made from."""
    found = []
    for one in node.get_nodes():
        written = [output.get_name() for output in outputs(one)]
        reads = sorted({dep.name for dep in one.read_writes.reads} - set(written))
        found += [(name, reads) for name in written]
    return found


def origins_of(of: Any) -> list[Any]:
    """The FX nodes that a buffer computes, in the order of their graph."""
    get = getattr(of, "get_origins", None)
    origins = get() if get is not None else getattr(of, "origins", ())
    try:
        return sorted(origins or ())
    except TypeError:
        return list(origins or ())


def types(of: Any) -> dict[str, str | None]:
    """Element type and shape of a buffer; neither for what has none."""
    if of is None:
        return {}
    try:
        sizes, dtype = of.get_size(), of.get_dtype()
    except Exception:  # multi-output buffers and constants have none, and say so in several ways
        return {}
    return dict(zip(("dtype", "shape"), type_of(_Typed(dtype, sizes), {}), strict=True))


class _Typed:
    def __init__(self, dtype: Any, shape: Any) -> None:
        self.dtype, self.shape = dtype, tuple(shape)


def kind_of(buffer: Any) -> str | None:
    """What a buffer computes: the reduction, or the library's kernel."""
    data = getattr(buffer, "data", None)
    reduction = getattr(data, "reduction_type", None)
    if isinstance(reduction, str):
        return f"{type(data).__name__} {reduction}"
    kernel = getattr(buffer, "python_kernel_name", None) or getattr(buffer, "op_overload", None)
    if kernel is not None:
        return str(kernel)
    return None if data is None else plain_repr(type(data).__name__).strip("'")
