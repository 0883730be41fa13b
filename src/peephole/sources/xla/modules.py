"""A module as a context: its passes as steps with their graphs, its kernels, code, memory and fusion decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.context_rows import Rows, content_of
from peephole.sources.mlir.blocks import log_blocks
from peephole.sources.mlir.reading import States
from peephole.sources.node_rows import NodeRows
from peephole.sources.xla.assembly import Disassembly
from peephole.sources.xla.files import ModuleFiles
from peephole.sources.xla.fusion_html import read_explanations
from peephole.sources.xla.graphs import ModuleGraphs
from peephole.sources.xla.hlo_proto import read_proto
from peephole.sources.xla.hlo_text import TextReader
from peephole.sources.xla.instructions import BODY, Computation, Dump, Instruction
from peephole.sources.xla.memory import ModuleMemory, read_memory
from peephole.sources.xla.noted import Compiled, Miss, Noted
from peephole.sources.xla.passes import PassName, PassStep, tree
from peephole.sources.xla.wire import Cut

FUSION: Final = "fusion"
KERNEL_STEP: Final = "fused computation"
_CONTROL: Final = frozenset(("while", "conditional", "call", "async-start"))
"""Instructions whose computations run step by step, not as a part of a kernel."""
_IDLE: Final = _CONTROL | {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency"),
    *("async-update", "async-done", "copy-done", "partition-id", "replica-id"),
}
"""Instructions that no kernel runs for."""
MOST_KERNELS: Final = 5000
SMALL_BYTES: Final = 1 << 14
"""A module of one operation is no larger as text."""
_TEXTS: Final = {
    "ir-with-opt.ll": ("source", "llvm", "LLVM IR, optimised"),
    "ir-no-opt.ll": ("source", "llvm", "LLVM IR as emitted"),
    "post-lowering.mlir": ("source", "mlir", "MLIR, lowered"),
    "post-optimization.mlir": ("source", "mlir", "MLIR, optimised"),
    "pre-optimization.mlir": ("source", "mlir", "MLIR as emitted"),
    "ptx": ("assembly", "ptx", "PTX"),
}
_EMITTER_LOG: Final = "mlir-passes.log"
_TABLES: Final = ("buffer-assignment.txt", "buffer-assignment-values.txt", "live-range.txt")


@dataclass(slots=True)
class ReadModule:
    """What a profile, or whoever asks, finds a module by."""

    number: int
    name: str
    context: int
    kernels: dict[str, int] = field(default_factory=dict)
    """Contexts of its kernels by their instruction."""
    names: frozenset[str] = frozenset()
    """All instructions of its final state."""
    memory: ModuleMemory | None = None
    full_name: str = ""
    process: str = ""
    compiled: Compiled | None = None
    """When, and why, where a recording noted it."""
    is_loaded: bool = False
    """Whether only its final state is there, as of one that JAX had in its cache."""


class ModuleReader:
    """Reads modules one after the other."""

    def __init__(self, rows: Rows, nodes: NodeRows, disassembly: Disassembly, noted: Noted) -> None:
        self._rows, self._nodes, self._disassembly = rows, nodes, disassembly
        self._unclaimed = [one for one in noted.compiled if not one.hit]
        self._processes: dict[str, int] = {}

    def read(self, files: ModuleFiles, small: bool = True) -> ReadModule | None:
        """Hands over a module; None when none of its files holds a state. Without `small` one of one operation has no
        passes and no memory."""
        states = _States(self, files)
        before = states.of(_named(files, "before_optimizations"))
        is_aside = not small and states.last is not None and _is_small(states.last)
        dumps: list[tuple[PassName, int]] = []
        before_fusion: dict[str, int] = {}
        for dump in () if is_aside else files.dumps:
            last_ids = states.graphs.ids
            graph = states.of(dump.path)
            if graph >= 0:
                dumps.append((dump.name, graph))
                if dump.name.ran == FUSION and not before_fusion:
                    before_fusion = last_ids
        ends = [name for name in files.states if name != "before_optimizations"]
        after = [(name, graph) for name in ends if (graph := states.of(files.states[name])) >= 0]
        if states.last is None:
            return None
        module = ReadModule(files.number, files.name, NONE, full_name=files.full_name, process=files.process)
        module.is_loaded = before < 0 and not dumps
        module.compiled = self._claim(files)
        module.context = self._context(files, module.compiled)
        steps = [PassStep("before_optimizations", 0, before, before)] if before >= 0 else []
        steps += tree(dumps, before)
        for name, graph in after:
            root = steps[-1].after if steps else graph
            steps.append(PassStep(name, 0, root, graph))
        ids = [self._rows.step(module.context, one.name, one.depth, one.root, one.after) for one in steps]
        self._decide(files, states.graphs, steps, ids, before_fusion)
        if ids and module.compiled is not None:
            self._again(module, ids[0], module.compiled.miss)
        self._kernels(module, files, states)
        self._texts(module, files)
        if is_aside:
            module.memory = None
        self._nodes.forget()
        return module

    def is_small(self, files: ModuleFiles) -> bool:
        """Whether a module is one of one operation, by the state that it began with."""
        path = _named(files, "before_optimizations")
        if path is None or path.stat().st_size > SMALL_BYTES:
            return False
        try:
            data = content_of(path)
            return _is_small(TextReader().read(data) if data.startswith(b"HloModule") else read_proto(data))
        except (OSError, Cut, RecursionError):
            return False

    def read_proto(self, number: int, name: str, proto: bytes, process: str = "") -> ReadModule | None:
        """Hands over a module of which a profile carries the final state; None when that cannot be read."""
        files = ModuleFiles(number, name, process=process)
        states = _States(self, files)
        graph = states.of(proto)
        if graph < 0:
            return None
        module = ReadModule(number, name, NONE, full_name=files.full_name, process=process, is_loaded=True)
        module.context = self._context(files)
        self._rows.step(module.context, "after_optimizations", 0, graph, graph)
        self._kernels(module, files, states)
        self._nodes.forget()
        return module

    def _context(self, files: ModuleFiles, compiled: Compiled | None = None) -> int:
        facts: dict[str, Any] = {"keys": json.dumps([str(files.number), files.name])}
        if compiled is not None:
            facts |= {"start": compiled.start, "dur": compiled.past - compiled.start}
            if compiled.miss is not None and compiled.miss.file:
                facts["stack"] = json.dumps([[compiled.miss.file, compiled.miss.line, compiled.miss.caller, ""]])
        return self._rows.context(files.full_name, "module", self._process(files.process), function=files.name, **facts)

    def _process(self, name: str) -> int:
        """The context that stands for one of several processes; none where there is but one."""
        if name and name not in self._processes:
            self._processes[name] = self._rows.context(name, "process")
        return self._processes.get(name, NONE)

    def _claim(self, files: ModuleFiles) -> Compiled | None:
        """The compilation that wrote a module, by its name and the times of the files."""
        times = [path.stat().st_mtime_ns for path in files.paths] if self._unclaimed else []
        for one in self._unclaimed:
            if times and one.wrote(files.name, min(times)):
                self._unclaimed.remove(one)
                return one
        return None

    def _again(self, module: ReadModule, step: int, miss: Miss | None) -> None:
        """Why a module was compiled although its function was compiled before."""
        if miss is not None and miss.is_again:
            self._rows.decision(step, "recompile", NONE, NONE, miss.reason, miss.file or None, miss.line)
            self._rows.marker(miss.time, f"recompile {miss.function}", context=module.full_name, reason=miss.reason)

    def problem(self, reason: str, example: str) -> None:
        """Counts what was not understood."""
        self._rows.sink.problem(reason, 1, example)

    def _decide(
        self,
        files: ModuleFiles,
        graphs: ModuleGraphs,
        steps: list[PassStep],
        ids: list[int],
        before: dict[str, int],
    ) -> None:
        """What the fusion said, as decisions of its step."""
        if not files.fusions or not ids:
            return
        place = next((i for i, one in enumerate(steps) if one.name == FUSION), len(ids) - 1)
        for _, path in files.fusions:
            try:
                words = read_explanations(content_of(path).decode("utf-8", "replace"))
            except (OSError, ValueError) as error:
                self.problem("explanations of fusion that cannot be read", f"{path.name}: {error}")
                continue
            for word in words:
                # a name that only existed while the pass ran is a fusion that went into another
                a, b = (before.get(name, graphs.node(name, FUSION)) for name in (word.a, word.b))
                self._rows.decision(ids[place], word.kind, a, b, word.reason)

    def _kernels(self, module: ReadModule, files: ModuleFiles, states: _States) -> None:
        """Contexts of what runs as one: fusions outside of other kernels, and all that has code of its own."""
        assert states.last is not None
        graphs = states.graphs
        by_name: dict[str, Instruction] = {}
        for computation in _running(states.last):
            for one in computation.instructions:
                by_name[one.name] = one
        module.names = frozenset(one.name for each in states.last.computations for one in each.instructions)
        wanted = [name for name, one in by_name.items() if one.op not in _IDLE or name in files.kernels]
        if len(wanted) > MOST_KERNELS:  # nothing was fused: only what has code of its own
            wanted = [name for name in wanted if by_name[name].op == FUSION or name in files.kernels]
        for name in [*wanted, *(name for name in files.kernels if name not in by_name)]:
            known = by_name.get(name)
            keys = json.dumps([f"{files.number}:{name}"])
            stack = states.stack(known) if known is not None else None
            function = f"{known.op} {known.dtype}{known.shape}"[:200] if known is not None else None
            context = self._rows.context(name, "kernel", module.context, function=function, keys=keys, stack=stack)
            module.kernels[name] = context
            if known is not None and known.op == FUSION and known.bodies:
                body = graphs.ids.get(BODY + known.bodies[0], NONE)
                if body >= 0:
                    self._rows.step(context, KERNEL_STEP, 0, body, body)
            self._code(context, files.kernels.get(name, {}))
            self._emitted(context, files.kernels.get(name, {}))

    def _emitted(self, context: int, paths: dict[str, Path]) -> None:
        """What MLIR's passes made of a kernel, where they were logged."""
        states = States(self._rows, self._nodes, self.problem)
        for what, path in paths.items():
            if what.startswith(_EMITTER_LOG):
                try:
                    states.add(log_blocks(content_of(path).decode("utf-8", "replace"), path.name))
                except OSError as error:
                    self.problem("files that cannot be read", f"{path.name}: {error.strerror or error}")
        states.write(context)

    def _code(self, context: int, paths: dict[str, Path]) -> None:
        for what, (kind, language, title) in _TEXTS.items():
            if what in paths:
                self._file(context, kind, language, title, paths[what])
        if "o" in paths:
            if text := self._disassembly.of(paths["o"]):
                self._rows.artifact(context, "assembly", "asm", "Assembly", text)
            elif not self._disassembly.note:
                self.problem("object files that objdump cannot read", paths["o"].name)
            self._file(context, "data", "", paths["o"].name, paths["o"])

    def _texts(self, module: ReadModule, files: ModuleFiles) -> None:
        context = module.context
        if files.jaxpr is not None:
            self._file(context, "source", "jaxpr", "jaxpr", files.jaxpr)
        if "module.mlir" in files.further:
            self._file(context, "source", "mlir", "StableHLO", files.further["module.mlir"])
        for name, path in files.states.items():
            if path.suffix == ".txt":
                self._file(context, "source", "hlo", f"HLO {name.replace('_', ' ')}", path)
        for what in _TABLES:
            if what in files.further:
                self._file(context, "table", "text", what.removesuffix(".txt").replace("-", " "), files.further[what])
        if all(what in files.further for what in ("live-range.txt", "buffer-assignment.txt")):
            texts = [content_of(files.further[what]).decode("utf-8", "replace") for what in (_TABLES[2], _TABLES[0])]
            module.memory = read_memory(*texts)

    def _file(self, context: int, kind: str, language: str, name: str, path: Path) -> None:
        try:
            self._rows.artifact(context, kind, language, name, content_of(path))
        except OSError as error:
            self.problem("files that cannot be read", f"{path.name}: {error.strerror or error}")


class _States:
    """The states of one module, in the order in which they are asked for."""

    def __init__(self, reader: ModuleReader, files: ModuleFiles) -> None:
        self._reader = reader
        self._text = TextReader()
        self._data = b""
        self._root = NONE
        self.graphs = ModuleGraphs(reader._nodes, reader.problem)
        self.last: Dump | None = None

    def of(self, path: Path | bytes | None) -> int:
        """The graph in a file, or in bytes; -1 when there is none, which is counted."""
        if path is None:
            return NONE
        name = "a profile" if isinstance(path, bytes) else path.name
        try:
            data = path if isinstance(path, bytes) else content_of(path)
        except OSError as error:
            self._reader.problem("files that cannot be read", f"{name}: {error.strerror or error}")
            return NONE
        if data == self._data and self._root >= 0:
            return self._root
        if not data:
            self._reader.problem("dumps that are empty, left out", name)
            return NONE
        try:
            dump = self._text.read(data) if data.startswith(b"HloModule") else read_proto(data)
        except (Cut, RecursionError):
            self._reader.problem("dumps that are neither HLO text nor a whole HloProto, left out", name)
            return NONE
        if self._text.unread:
            self._reader.problem("lines of HLO that were not understood", name)
            self._text.unread = 0
        if dump.cut:
            self._reader.problem("dumps that were cut off, left out", name)
            return NONE
        self._data, self.last = data, dump
        self._root = self.graphs.root(dump)
        return self._root

    def stack(self, one: Instruction) -> str | None:
        """The calls that an instruction was traced on, as a context has them."""
        frames, at = self.last.frames if self.last else {}, one.frame
        found: list[list[str | int]] = []
        while at in frames and len(found) < 32:
            frame = frames[at]
            found.append([frame.file, frame.line, frame.function, ""])
            at = frame.parent
        return json.dumps(found) if found else None


def _is_small(dump: Dump) -> bool:
    """Whether a module does no more than one thing; a loop does what is in it."""
    idle = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "call")
    return sum(one.op not in idle for each in _running(dump) for one in each.instructions) <= 1


def _named(files: ModuleFiles, end: str) -> Path | None:
    return next((path for name, path in files.states.items() if name.endswith(end)), None)


def _running(dump: Dump) -> Iterator[Computation]:
    """The computations whose instructions run one by one: the entry, bodies of loops and branches."""
    by_name = {one.name: one for one in dump.computations}
    pending = [one.name for one in dump.computations if one.entry]
    seen = set(pending)
    while pending:
        computation = by_name.get(pending.pop())
        if computation is None:
            continue
        yield computation
        for one in computation.instructions:
            if one.op in _CONTROL:
                fresh = [name for name in one.bodies if name not in seen]
                seen.update(fresh)
                pending += fresh
