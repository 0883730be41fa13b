"""What Inductor makes of a half: buffers, scheduler nodes and their fusion, the wrapper and its kernels.

Standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from time import perf_counter_ns
from types import ModuleType
from typing import Any, Final

from peephole.model.tables import GRAPH, NONE
from peephole.record.recorder import Recorder
from peephole.record.rows import json_text
from peephole.sources.torch.kernels import kernel_graph
from peephole.sources.torch.live.compilations import Compilations, Context, Step
from peephole.sources.torch.live.hooks import Place, caller, failed, wrap, written_at
from peephole.sources.torch.live.ir_texts import kind_of, origins_of, outputs, reads_of, types
from peephole.sources.torch.live.passes import MAIN, inputs_of
from peephole.sources.torch.rows import (
    BACKWARD,
    CACHED,
    CODEGEN,
    COMPILER,
    FORWARD,
    HALF_GRAPHS,
    INFERENCE,
    KERNEL_CONTEXT,
    KERNELS_COMPILED,
    LOWERING,
    PLACEHOLDER,
    SOURCE,
)
from peephole.sources.torch.wrapper import Wrapper, read_wrapper

MOST_ORIGINS: Final = 40
"""FX nodes that are named as what a kernel computes."""


class Half:
    """A half that is being compiled."""

    def __init__(self, context: Context, name: str) -> None:
        self.context = context
        self.name = name
        self.lowering: Step | None = None
        self.fx_root = NONE
        self.rounds = 0
        self.scheduled: dict[str, int] = {}
        """Scheduler nodes of the current round by name."""
        self.sources: dict[int, list[int]] = {}
        """What these nodes read."""
        self.fused_into: dict[int, int] = {}
        """Which node of the current round has taken the place of another."""
        self.came_out = NONE
        """The graph of scheduler nodes after fusion."""
        self.made_by: dict[str, list[Any]] = {}
        """The scheduler nodes that each kernel computes."""
        self.made_at: Place = (None, NONE)
        """What gave the kernels their code."""
        self.buffers: dict[str, dict[str, Any]] = {}
        """Type, shape and origin of inputs and buffers by name."""
        self.coded_at: dict[str, Place] = {}
        """For each buffer, what writes the code of a library's call."""
        self.written_by: dict[str, int] = {}
        """The scheduler node that writes each buffer."""
        self.module: Any = None
        self.fused_at = 0
        """When the last fusion ended."""
        self.written_at = 0
        """When all code was written: what follows is the compiler of the kernels."""

    def now(self, node: int) -> int:
        """What a scheduler node has become by now in the current round."""
        while node in self.fused_into:
            node = self.fused_into[node]
        return node


class Inductor:
    """Follows Inductor through a half."""

    def __init__(self, at: Compilations) -> None:
        self.at = at
        self.nodes = at.nodes
        self.halves: list[Half] = []
        self.on_module: Any = None
        """Called with a half's name and context, the loaded wrapper module, what it says, its kernels' contexts."""

    @property
    def recorder(self) -> Recorder:
        """What rows go to."""
        return self.at.recorder

    @property
    def half(self) -> Half | None:
        """The half that is being compiled."""
        return self.halves[-1] if self.halves else None

    # the half as a whole

    def compile_fx(self, module: ModuleType) -> list[str]:
        """Watches what compiles a half; gives what is not there."""
        for name in ("_compile_fx_inner", "compile_fx_inner"):
            if wrap(module, name, self._half_begins, self._half_ends):
                return []
        return ["_compile_fx_inner"]

    def _half_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Half:
        gm = args[0] if args else words["gm"]
        name = BACKWARD if words.get("is_backward") else INFERENCE if words.get("is_inference") else FORWARD
        context = self.at.half(name, inputs_of(gm))
        half = Half(context, name)
        self.halves.append(half)
        self.at.enter(context)
        self.at.show(HALF_GRAPHS[name], self.nodes.graph(gm.graph, MAIN), context)
        return half

    def _half_ends(self, half: Half, result: Any, raised: BaseException | None) -> None:
        if half in self.halves:
            del self.halves[self.halves.index(half) :]
        self.finish_lowering(half, [])
        key = getattr(result, "_fx_graph_cache_key", None)
        if isinstance(key, str):
            half.context.row["keys"] = json_text([key])
        if half.lowering is None and raised is None and half.module is None and key:
            step = self.at.show(CACHED, half.context.last, half.context)
            step.decide(CACHED, "it came from the FX graph cache, so no pass ran", (None, NONE))
            step.write(half.context.last, half.context.last, 0)
        self.at.leave(half.context)
        half.context.close()
        if not self.halves:
            self.nodes.forget()

    # lowering: FX nodes become buffers

    def lowering(self, module: ModuleType) -> list[str]:
        """Watches the lowering and the code that comes out; gives what is not there."""
        cls = getattr(module, "GraphLowering", None)
        missing = []
        if cls is None or not wrap(cls, "run", self._run_begins, self._run_ends):
            missing.append("GraphLowering.run")
        if cls is None or not wrap(cls, "compile_to_module", self._code_begins, self._code_ends):
            missing.append("GraphLowering.compile_to_module")
        if cls is not None:
            wrap(cls, "codegen", lambda args, words: self.half, self._code_written)
        return missing

    def _run_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        half, lowering = self.half, args[0]
        if half is None or half.lowering is not None or not hasattr(lowering, "graph"):
            return None  # a subgraph is lowered within its caller
        root = self.nodes.graph(lowering.graph, MAIN)
        half.fx_root = root
        half.lowering = self.at.begin(LOWERING, root, caller())
        return half

    def _run_ends(self, half: Half, result: Any, raised: BaseException | None) -> None:
        if raised is not None and half.lowering is not None:
            self.at.end(half.lowering, NONE, repr(raised))
            half.lowering.root = NONE

    def finish_lowering(self, half: Half, scheduler_nodes: Iterable[Any]) -> None:
        """Writes the buffers that came out; what they read is known when they are scheduled."""
        step = half.lowering
        if step is None or step.root == NONE or not self.at.is_open(step):
            return
        came_out = NONE
        try:
            came_out = self._buffers(half, step, scheduler_nodes)
        except Exception as error:  # fusion and code are recorded all the same
            failed("buffers of the lowering", error)
        self.at.end(step, came_out)

    def _buffers(self, half: Half, step: Step, scheduler_nodes: Iterable[Any]) -> int:
        """Writes the buffers, with a match for each; gives the root of their graph."""
        virtual = sys.modules.get("torch._inductor.virtualized")
        lowering: Any = getattr(getattr(virtual, "V", None), "graph", None)
        # those of the functions inside a template, such as flex attention's, have no name and are in its code
        buffers = [one for one in getattr(lowering, "buffers", ()) if getattr(one, "name", "") is not None]
        reads = {name: reads for one in scheduler_nodes for name, reads in reads_of(one)}
        ids: dict[str, int] = {}
        listed: list[int] = []
        for name, value in getattr(lowering, "graph_inputs", {}).items():
            half.buffers[name] = types(value)
            ids[name] = self.nodes.add(op=PLACEHOLDER, name=name, src=[], **half.buffers[name])
            listed.append(ids[name])
        for buffer in buffers:
            name = buffer.get_name()
            origins = origins_of(buffer)
            fields = half.buffers[name] = {**types(buffer), **self.from_fields(origins)}
            sources = [ids[source] for source in reads.get(name, ()) if source in ids]
            if hasattr(buffer, "codegen"):
                half.coded_at[name] = written_at(type(buffer).codegen)
            number = self.nodes.add(op=type(buffer).__name__, name=name, src=sources, arg=kind_of(buffer), **fields)
            ids[name] = number
            listed.append(number)
            taken = [known for node in origins if (known := self.nodes.seen(node)) >= 0]
            if taken:
                anchor = getattr(buffer, "origin_node", None) or origins[-1]
                before = self.nodes.seen(anchor)
                place = _lowering_place(anchor)
                self.match(step, before if before >= 0 else taken[-1], number, taken, [number], place)
        return self.nodes.add(op=GRAPH, name=MAIN, src=listed)

    def match(self, step: Step, before: int, after: int, removed: list[int], added: list[int], place: Place) -> None:
        """Writes what became what in a step."""
        self.recorder.row(
            "matches",
            step=step.id,
            ordinal=step.matches,
            before=before,
            after=after,
            file=place[0],
            line=place[1],
            removed=removed,
            added=added,
        )
        step.matches += 1

    def from_fields(self, origins: list[Any]) -> dict[str, str | None]:
        """Tag and metadata of what FX nodes became: their names, and where they come from."""
        texts = [self.nodes.origins.metadata(node.meta) for node in origins]
        names = [node.name for node in origins]
        return {
            "tag": ", ".join(names[:MOST_ORIGINS]) or None,
            "metadata": ", ".join(dict.fromkeys(text for text in texts if text)) or None,
        }

    # code

    def define_kernel(self, cls: type) -> bool:
        """Watches what gives a kernel its name and code."""
        return wrap(cls, "define_kernel", self._kernel_begins, self._kernel_ends)

    def _kernel_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        half = self.half
        nodes = args[2] if len(args) > 2 else words.get("nodes", words.get("node_schedule"))
        if half is None or nodes is None:
            return None
        half.made_at = written_at(type(args[0]).define_kernel)
        return half, nodes

    def _kernel_ends(self, state: tuple[Half, Any], result: Any, raised: BaseException | None) -> None:
        half, nodes = state
        if isinstance(result, str):
            named = [node for node in nodes if hasattr(node, "get_name")]
            half.made_by.setdefault(result, []).extend(named)

    def _code_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        half = self.half
        if half is None:
            return None
        return half, perf_counter_ns(), caller()

    def _code_written(self, half: Half, result: Any, raised: BaseException | None) -> None:
        half.written_at = perf_counter_ns()

    def _code_ends(self, state: tuple[Half, int, Any], module: Any, raised: BaseException | None) -> None:
        half, start, place = state
        self.finish_lowering(half, [])
        if raised is not None:
            return
        path = getattr(module, "__file__", None)
        if not isinstance(path, str):
            return
        with open(path, encoding="utf-8") as file:
            code = file.read()
        half.module = module
        name = path.rpartition("/")[2]
        self.recorder.row("artifacts", context=half.context.id, kind=SOURCE, language="python", name=name, content=code)
        wrapper = read_wrapper(code)
        if wrapper is None:
            return
        contexts = self._kernels(half, wrapper)
        self._codegen(half, wrapper, start, place)
        if self.on_module is not None:
            try:
                self.on_module(half.context.row["name"], half.context.id, module, wrapper, contexts)
            except Exception as error:
                failed("kernels of the module", error)

    def _kernels(self, half: Half, wrapper: Wrapper) -> dict[str, int]:
        """Writes a context and its source for each kernel."""
        found = {}
        for kernel in wrapper.kernels.values():
            number = found[kernel.name] = self.recorder.new_id()
            self.recorder.row(
                "contexts",
                id=number,
                name=kernel.name,
                kind=KERNEL_CONTEXT,
                parent=half.context.id,
                keys=json_text([kernel.name]),
                compiler=COMPILER,
            )
            self.recorder.row(
                "artifacts",
                context=number,
                kind=SOURCE,
                language=kernel.language,
                name=kernel.name,
                content=kernel.source,
            )
        return found

    def _codegen(self, half: Half, wrapper: Wrapper, start: int, place: Any) -> None:
        origins: dict[int, dict[str, Any]] = {}
        for at, call in enumerate(wrapper.calls):
            nodes = half.made_by.get(call.name, ())
            inside = [one.node for node in nodes for one in node.get_nodes() if getattr(one, "node", None) is not None]
            origins[at] = self.from_fields(list(dict.fromkeys(origin for one in inside for origin in origins_of(one))))
            for name in call.writes if not inside else ():
                known = half.buffers.get(name, {})
                origins[at] = {key: known[key] for key in ("tag", "metadata") if key in known} or origins[at]
        graph = kernel_graph(wrapper, self.nodes.add, half.buffers, origins)
        half.context.last = NONE
        step = self.at.begin(CODEGEN, half.came_out, place)
        step.start = max(start, half.fused_at)
        for number, call in zip(graph.calls, wrapper.calls, strict=True):
            written = [output.get_name() for node in half.made_by.pop(call.name, ()) for output in outputs(node)]
            by = (half.written_by.get(name, NONE) for name in [*written, *call.writes])
            taken = [node for node in dict.fromkeys(by) if node != NONE]
            if taken:
                library = next((half.coded_at[name] for name in call.writes if name in half.coded_at), (None, NONE))
                self.match(step, taken[0], number, taken, [number], library if call.extern else half.made_at)
        loaded = perf_counter_ns()
        ended = min(half.written_at, loaded) if half.written_at > step.start else loaded
        self.at.end(step, graph.root, at=ended)
        if ended < loaded:
            step = self.at.begin(KERNELS_COMPILED, NONE, place)
            step.start = ended
            self.at.end(step, NONE, at=loaded)


def _lowering_place(node: Any) -> Place:
    """Where the lowering of an FX node's operation is written."""
    lowering = sys.modules.get("torch._inductor.lowering")
    found = getattr(lowering, "lowerings", {}).get(node.target)
    return (None, NONE) if found is None else written_at(found)
