"""The Python module that Inductor writes for a half: its kernels, and the calls that run them. Standard library only.

Read with `ast`, never run. A recorded program and an imported log have the same text, so both get their kernels and
their schedule from here.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Final

from peephole.sources.torch.rows import dtype_text, shape_text

_LANGUAGES: Final = {"triton": "python", "cpp": "cpp", "cpp_pybinding": "cpp", "cuda": "cpp", "metal": "metal"}
_ALLOCATES: Final = re.compile(r"(?:^|\.)empty_strided(?:_(\w+?))?(?:_p2p)?$")
_PARAMETER: Final = re.compile(r"\b((?:in_out|in|out)_ptr\d*|ws_ptr\d*)\b")
_DEEPEST: Final = 8
"""Subgraphs inside of others."""
_MOST_SUBGRAPHS: Final = 1000
_VIEWS: Final = frozenset({"reinterpret_tensor", "alloc_from_pool", "as_strided"})
_PASSED: Final = frozenset(
    {"device", "stream", "get_raw_stream", "grid", "args", "assert_size_stride", "assert_alignment", "size", "stride"}
)


@dataclass(slots=True)
class KernelCode:
    """A kernel that the module defines: its name, source and language."""

    name: str
    source: str
    language: str
    writes: tuple[bool, ...] = ()
    """For each of its pointer arguments whether it writes there; empty when the source does not say."""
    reads: tuple[bool, ...] = ()


@dataclass(slots=True)
class Call:
    """A kernel that runs, in order. Buffers are names of the module's own variables."""

    name: str
    extern: bool
    reads: list[str]
    writes: list[str]
    arg: str
    line: int


@dataclass(slots=True)
class Memory:
    """A buffer or an input as far as the module says what it is."""

    name: str
    dtype: str | None = None
    shape: str | None = None
    device: str | None = None
    reuses: str | None = None
    """The buffer whose memory it takes over."""


@dataclass(slots=True)
class Wrapper:
    """What a module defines and does."""

    kernels: dict[str, KernelCode] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    memory: dict[str, Memory] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)


def read_wrapper(code: str) -> Wrapper | None:
    """What a module's text says; None when it is not Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = Wrapper()
    for statement in tree.body:
        _kernel(statement, found)
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    reused = {at for at, line in enumerate(code.split("\n"), 1) if line.endswith("# reuse")}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and (
            function.name == "call" or re.fullmatch(r"partition_\d+", function.name)
        ):
            _Reader(found, functions, reused).block(function.body)
    return found


def _kernel(statement: ast.stmt, found: Wrapper) -> None:
    """A definition `NAME = async_compile.LANGUAGE(…, source)`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return
    call, target = statement.value, statement.targets[0]
    if not isinstance(call.func, ast.Attribute) or not isinstance(target, ast.Name):
        return
    if not isinstance(call.func.value, ast.Name) or call.func.value.id != "async_compile":
        return
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    source = max(texts, key=len, default=None)
    if source is None:
        return
    kernel = KernelCode(target.id, source, _LANGUAGES.get(call.func.attr, "text"))
    names = _parameters(source)
    if names:
        kernel.writes = tuple(not name.startswith("in_ptr") for name in names)
        kernel.reads = tuple(name.startswith("in") for name in names)
    found.kernels[kernel.name] = kernel


def _parameters(source: str) -> list[str]:
    """The pointer arguments of a kernel in order: of the C function, or of the Triton one."""
    for begin in ('extern "C"', "\ndef "):
        at = source.rfind(begin) if begin.startswith("e") else source.find(begin)
        if at >= 0:
            opened = source.find("(", at + len(begin))
            shut = source.find(")", opened)
            if 0 <= opened < shut:
                return list(dict.fromkeys(_PARAMETER.findall(source[opened:shut])))
    return []


@dataclass(slots=True)
class _Subgraph:
    """A function of the module that is being read: what it is called with, and gives."""

    given: list[str]
    results: list[str] = field(default_factory=list)


class _Reader:
    """Goes through the statements of the function that runs the kernels."""

    def __init__(self, found: Wrapper, functions: dict[str, ast.FunctionDef], reused: set[int]) -> None:
        self.found = found
        self.functions = functions
        """Those of the module: subgraphs, such as the branches of a condition."""
        self.lists: dict[str, list[str]] = {}
        """Variables that are lists of buffers: what a subgraph is called with."""
        self.inside: list[_Subgraph] = []
        """The subgraphs whose functions are being read, the innermost last."""
        self.asked: list[list[str]] = []
        """For each condition that is being read, the buffers that it is about."""
        self.subgraphs = 0
        self.reused = reused
        """Lines on which a buffer takes over the memory of one that is read no more."""
        self.same: dict[str, str] = {}
        """Variables that are a view or a part of another's memory."""
        self.values: set[str] = set()
        """Variables that are results of a library's call: tuples of tensors, or tensors."""

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.With):
                self.block(statement.body)
            elif isinstance(statement, (ast.If, ast.While)):
                test = [self._root(one.id) for one in ast.walk(statement.test) if isinstance(one, ast.Name)]
                self.asked.append([name for name in test if name in self.found.memory or name in self.found.inputs])
                self.block(statement.body)
                self.block(statement.orelse)
                self.asked.pop()
            elif isinstance(statement, ast.For):
                self.block(statement.body)
                self.block(statement.orelse)
            elif isinstance(statement, ast.Try):
                self.block(statement.body)
            elif isinstance(statement, ast.Return):
                if statement.value is not None and self.inside:
                    self.inside[-1].results = self._names(statement.value)
                elif statement.value is not None:
                    self.found.outputs = self._names(statement.value)
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._assign(statement.targets[0], statement.value, statement.lineno)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._call(statement.value, [], statement.lineno)

    def _assign(self, target: ast.expr, value: ast.expr, line: int) -> None:
        if isinstance(target, ast.Tuple):
            names = [one.id for one in target.elts if isinstance(one, ast.Name)]
            if isinstance(value, ast.Name) and value.id == "args":
                if self.inside:
                    self.same.update(zip(names, self.inside[-1].given, strict=False))
                else:
                    self.found.inputs += names
            elif isinstance(value, ast.Call):
                self._call(value, names, line)
            return
        if not isinstance(target, ast.Name):
            return
        name = target.id
        if isinstance(value, ast.Name):
            self.found.memory[name] = self._memory_like(name, value.id)
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            if value.value.id == "args":
                self.found.inputs.append(name)
            else:
                self.same[name] = self._root(value.value.id)
        elif isinstance(value, ast.List):
            self.lists[name] = self._names(value)
        elif isinstance(value, ast.Call):
            self._call(value, [name], line)

    def _memory_like(self, name: str, other: str) -> Memory:
        known = self.found.memory.get(self._root(other))
        if known is None:
            return Memory(name, reuses=other)
        return Memory(name, known.dtype, known.shape, known.device, reuses=other)

    def _call(self, call: ast.Call, results: list[str], line: int) -> None:
        text = ast.unparse(call.func)
        short = text.rpartition(".")[2]
        if short == "assert_size_stride" and len(call.args) > 1 and isinstance(call.args[0], ast.Name):
            memory = self.found.memory.setdefault(call.args[0].id, Memory(call.args[0].id))
            memory.shape = memory.shape or _sizes(call.args[1])
            return
        if allocates := _ALLOCATES.search(text):
            for name in results:
                dtype = dtype_text(ast.unparse(call.args[2])) if len(call.args) > 2 else None
                self.found.memory[name] = Memory(name, dtype, _sizes(call.args[0]), allocates[1])
            return
        if short in _VIEWS and call.args:
            under = self._names(call.args[0])
            for name in results if under else ():
                if line in self.reused:
                    memory = self.found.memory[name] = self._memory_like(name, under[0])
                    memory.shape = _sizes(call.args[1]) if len(call.args) > 1 else memory.shape
                else:
                    self.same[name] = under[0]
            return
        if short in _PASSED or text.startswith(("torch.cuda.", "torch._C.", "print", "start_graph", "end_graph")):
            return
        kernel = text.removesuffix(".run")
        if kernel in self.found.kernels:
            self._kernel_call(self.found.kernels[kernel], call, line)
        elif text in self.functions:
            self._subgraph_call(text, call, results, line)
        elif (
            results
            or text.startswith(("extern_kernels.", "torch.ops.", "aten."))
            or any(keyword.arg == "out" for keyword in call.keywords)
        ):
            self._extern_call(text, call, results, line)

    def _kernel_call(self, kernel: KernelCode, call: ast.Call, line: int) -> None:
        pointers = [names[0] if (names := self._names(arg)) else "" for arg in call.args]
        reads, writes = [], []
        for place, name in enumerate(pointers):
            if not name:
                continue
            if place < len(kernel.writes):
                if kernel.writes[place]:
                    writes.append(name)
                if kernel.reads[place]:
                    reads.append(name)
            elif not kernel.writes:
                reads.append(name)
        arg = ", ".join(ast.unparse(one) for one in call.args)
        self.found.calls.append(Call(kernel.name, False, _once(reads), _once(writes), arg, line))

    def _subgraph_call(self, text: str, call: ast.Call, results: list[str], line: int) -> None:
        """The kernels of a subgraph, then the subgraph as what hands on their results."""
        given = [name for arg in call.args for name in self.lists.get(ast.unparse(arg), self._names(arg))]
        subgraph = _Subgraph(given)
        self.subgraphs += 1
        if len(self.inside) < _DEEPEST and self.subgraphs < _MOST_SUBGRAPHS:
            self.inside.append(subgraph)
            self.block(self.functions[text].body)
            self.inside.pop()
        for name in results:
            self.found.memory.setdefault(name, Memory(name))
        arg = ", ".join(ast.unparse(one) for one in call.args)
        asked = [name for names in self.asked for name in names]
        self.found.calls.append(Call(text, True, _once([*given, *subgraph.results, *asked]), results, arg, line))

    def _extern_call(self, text: str, call: ast.Call, results: list[str], line: int) -> None:
        reads = [name for arg in call.args for name in self._names(arg)]
        writes = list(results)
        for keyword in call.keywords:
            names = self._names(keyword.value)
            if keyword.arg == "out":
                writes += names
            else:
                reads += names
        if not writes and text.rpartition(".")[2].rstrip("_") != text.rpartition(".")[2]:
            writes = reads[:1]
        for name in results:
            self.found.memory.setdefault(name, Memory(name))
        parts = [*map(ast.unparse, call.args), *(ast.unparse(keyword) for keyword in call.keywords)]
        self.found.calls.append(Call(text, True, _once(reads), _once(writes), ", ".join(parts), line))

    def _names(self, value: ast.expr) -> list[str]:
        """The buffers that an expression is made of, views resolved."""
        if isinstance(value, ast.Name):
            name = self._root(value.id)
            return [name] if name in self.found.memory or name in self.found.inputs else []
        if isinstance(value, (ast.Tuple, ast.List)):
            return [name for one in value.elts for name in self._names(one)]
        if isinstance(value, ast.Call):
            return self._names(value.args[0]) if value.args else []
        if isinstance(value, (ast.Subscript, ast.Attribute, ast.Starred)):
            return self._names(value.value)
        return []

    def _root(self, name: str) -> str:
        seen = set()
        while name in self.same and name not in seen:
            seen.add(name)
            name = self.same[name]
        return name


def _sizes(value: ast.expr) -> str | None:
    if not isinstance(value, (ast.Tuple, ast.List)):
        return None
    return shape_text([ast.unparse(one) for one in value.elts])


def _once(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))
