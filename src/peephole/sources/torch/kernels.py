"""The graph after codegen: the kernels that a half became, with the buffers between them. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from peephole.model.tables import GRAPH
from peephole.sources.torch.rows import BUFFER, EXTERN, KERNEL, OUTPUT, PLACEHOLDER
from peephole.sources.torch.wrapper import Memory, Wrapper

AddNode = Callable[..., int]
"""add(op=…, name=…, src=[ids], arg=…, dtype=…, shape=…, tag=…, metadata=…): the id of a node of that content."""


@dataclass(slots=True)
class KernelGraph:
    """Its root, and the nodes of the calls in order."""

    root: int
    calls: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """What the calls' nodes are called: the kernel, with .2 for its second call."""


def kernel_graph(
    wrapper: Wrapper,
    add: AddNode,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    calls: Mapping[int, Mapping[str, Any]] | None = None,
) -> KernelGraph:
    """Writes the graph of a module's calls. `facts` are fields of buffers by name, `calls` those of calls by place."""
    of_buffer, of_call = facts or {}, calls or {}
    latest: dict[str, int] = {}
    listed: list[int] = []
    versions: dict[str, int] = {}

    def memory(name: str, op: str, sources: Iterable[int]) -> int:
        known = wrapper.memory.get(name) or Memory(name)
        versions[name] = versions.get(name, 0) + 1
        again = f".{versions[name]}" if versions[name] > 1 else ""
        fields: dict[str, Any] = {"dtype": known.dtype, "shape": known.shape}
        if op == BUFFER:
            on = known.device or ""
            fields["arg"] = f"{on} over {known.reuses}".strip() if known.reuses else on or None
        fields.update({key: value for key, value in of_buffer.get(name, {}).items() if value is not None})
        number = add(op=op, name=f"{name}{again}", src=list(sources), **fields)
        listed.append(number)
        latest[name] = number
        return number

    def holds(name: str) -> str:
        """The buffer whose content a variable has: one that took over memory has the old until it is written."""
        seen: set[str] = set()
        while name not in latest and name not in seen and name in wrapper.memory and wrapper.memory[name].reuses:
            seen.add(name)
            name = wrapper.memory[name].reuses or name
        return name

    for name in wrapper.inputs:
        memory(name, PLACEHOLDER, ())
    found = KernelGraph(-1)
    seen: dict[str, int] = {}
    for place, call in enumerate(wrapper.calls):
        seen[call.name] = seen.get(call.name, 0) + 1
        name = call.name + (f".{seen[call.name]}" if seen[call.name] > 1 else "")
        sources = list(dict.fromkeys(latest[held] for buffer in call.reads if (held := holds(buffer)) in latest))
        fields = dict(of_call.get(place, {}))
        number = add(op=EXTERN if call.extern else KERNEL, name=name, src=sources, arg=call.arg, **fields)
        listed.append(number)
        found.calls.append(number)
        found.names.append(name)
        for buffer in call.writes:
            memory(buffer, BUFFER, [number])
    results = [latest[held] for name in wrapper.outputs if (held := holds(name)) in latest]
    listed.append(add(op=OUTPUT, name=OUTPUT, src=results))
    found.root = add(op=GRAPH, name="kernels", src=listed)
    return found
