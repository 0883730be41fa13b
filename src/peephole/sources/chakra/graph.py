"""The graph of an execution trace: an operator is an instruction, those that it calls are its body."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from peephole.model.amounts import digits
from peephole.model.tables import GRAPH, NONE
from peephole.sources.chakra.flow import DataFlow, Flow
from peephole.sources.chakra.operators import MOST_TEXT, Operator, Tensor, Trace, tensors
from peephole.sources.node_rows import NodeRows
from peephole.sources.torch.rows import arg_text

TENSOR: Final = "tensor"
"""The op of a tensor that no operator of the trace made: a weight, or what an operator allocated by itself."""
_SIMPLE: Final = re.compile(r"[^\w.]+")
_LONGEST: Final = 60


class OperatorGraph:
    """Plans the nodes, so that their numbers are known before a profile tells how long each operator took."""

    def __init__(self, trace: Trace, first: int, problem: Callable[[str, int], None]) -> None:
        self._trace, self._first = trace, first
        self._by_number = {one.number: one for one in trace.operators}
        self._flow: Flow = DataFlow(trace.operators).run()
        self._planned: list[tuple[Operator | None, tuple[str | None, ...], list[int]]] = []
        self._tensors: dict[tuple[Tensor, int], int] = {}
        self._by_home: dict[int, list[int]] = {}
        self.nodes: dict[int, int] = {}
        """Node of each operator, by its number."""
        self._circles = 0
        self._forward = _first_of_sequence(trace.operators)
        self._plan_all()
        tops = [self.nodes[one.number] for one in self._flow.children.get(NONE, ())]
        self.root = self._list("operators", [*self._leaves(NONE), *tops])
        if self._circles:
            problem("operators that wait for each other, shown without that", self._circles)

    def write(self, rows: NodeRows, took: dict[int, int]) -> None:
        """Hands the nodes over; `took` are nanoseconds by the operator's number."""
        for operator, texts, src in self._planned:
            if operator is not None:
                dur = took.get(operator.number, operator.dur)
                op, dtype, arg, _, shape, metadata, name = texts
                texts = (op, dtype, arg, _duration(dur), shape, metadata, name)
            rows.add(rows.fields(*texts), tuple(src))
        rows.flush()

    def is_called(self, one: Operator) -> bool:
        """Whether it is in the body of another one."""
        return one.parent in self.nodes and one.parent < one.number

    def _add(self, operator: Operator | None, texts: tuple[str | None, ...], src: list[int]) -> int:
        self._planned.append((operator, texts, src))
        return self._first + len(self._planned) - 1

    def _list(self, name: str, members: list[int]) -> int:
        return self._add(None, (GRAPH, None, None, None, None, None, name), members)

    def _leaves(self, home: int) -> list[int]:
        return self._by_home.get(home, [])

    def _plan_all(self) -> None:
        """Each operator after what it reads and what it calls."""
        begun: set[int] = set()
        stack = [one.number for one in reversed(self._flow.children.get(NONE, ()))]
        while stack:
            number = stack[-1]
            if number in self.nodes:
                stack.pop()
                continue
            needs = [need for need in self._needs(number) if need not in self.nodes]
            if number in begun or not needs:
                self._plan(number)
                stack.pop()
                continue
            begun.add(number)
            stack += [need for need in reversed(needs) if need not in begun]
            self._circles += sum(need in begun for need in needs)

    def _needs(self, number: int) -> list[int]:
        one = self._by_number[number]
        found = [dep for dep in one.waits if dep in self._by_number]
        for tensor in tensors(one.inputs):
            found += self._flow.made_by.get((number, tensor), ())
        found += [source for source in self._flow.further.get(number, {}) if isinstance(source, int)]
        return [*found, *(child.number for child in self._flow.children.get(number, ()))]

    def _plan(self, number: int) -> None:
        one = self._by_number[number]
        src: list[int] = []
        written = [self._written(number, value, src) for value in one.inputs]
        own = {self.nodes[child.number] for child in self._flow.children.get(number, ()) if child.number in self.nodes}
        for source in self._flow.further.get(number, {}):
            node = self._tensor(source, NONE) if isinstance(source, Tensor) else self.nodes.get(source, NONE)
            if node >= 0 and node not in src and node not in own:
                src.append(node)
        waits = [self.nodes[dep] for dep in one.waits if dep in self.nodes]
        src += waits
        name = name_of(one)
        if own:
            src.append(self._list(f"{name}.body", [*self._leaves(number), *sorted(own)]))
        arg = arg_text([*written, *one.facts])
        given = one.outputs[0] if one.outputs else None
        texts = (
            one.name,
            (given.dtype or None) if given else None,
            arg if arg is None or len(arg) <= 4 * MOST_TEXT else f"{arg[: 4 * MOST_TEXT]}…",
            None,
            given.shape if given else None,
            self._origin(one),
            name,
        )
        self.nodes[number] = self._add(one, texts, src)

    def _written(self, number: int, value: Any, src: list[int]) -> str:
        """An input as text, its tensors as places in the list of sources, which it adds to."""
        if isinstance(value, list):
            return f"[{', '.join(self._written(number, one, src) for one in value)}]"
        if not isinstance(value, Tensor):
            return str(value)
        makers = [self.nodes[one] for one in self._flow.made_by.get((number, value), ()) if one in self.nodes]
        if not makers:
            makers = [self._tensor(value, self._flow.homes.get((number, value), NONE))]
        src += makers
        return f"%{len(src) - len(makers)}"

    def _tensor(self, tensor: Tensor, home: int) -> int:
        node = self._tensors.get((tensor, home))
        if node is None:
            texts = (TENSOR, tensor.dtype or None, None, None, tensor.shape, None, f"{TENSOR}_{tensor.number}")
            node = self._tensors[tensor, home] = self._add(None, texts, [])
            self._by_home.setdefault(home, []).append(node)
        return node

    def _origin(self, one: Operator) -> str | None:
        forward = self._forward.get(one.sequence) if one.backward and one.sequence >= 0 else None
        return f"backward of {name_of(forward)}" if forward is not None else None


def name_of(one: Operator) -> str:
    """What an operator's node is called: `addmm_18`."""
    last = one.name.rpartition(": ")[2].rpartition("::")[2] or one.name
    return f"{_SIMPLE.sub('_', last)[:_LONGEST].strip('_') or 'op'}_{one.number}"


def _duration(dur: int) -> str | None:
    """How long it took, as a node's tag; None when that is not known."""
    if dur < 0:
        return None
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if dur >= size:
            return f"{digits(dur / size)} {unit}"
    return f"{dur} ns"


def _first_of_sequence(operators: list[Operator]) -> dict[int, Operator]:
    """The forward operator of each number by which autograd knows it: the innermost that has it."""
    found: dict[int, Operator] = {}
    for one in operators:
        if one.sequence >= 0 and not one.backward:
            found[one.sequence] = max(found.get(one.sequence, one), one, key=lambda each: each.number)
    return found
