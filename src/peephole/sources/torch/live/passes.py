"""Passes over FX graphs, the rules that fire in them, and the partition into halves. Standard library only."""

from __future__ import annotations

from time import perf_counter_ns
from types import ModuleType
from typing import Any, Final

from peephole.model.tables import GRAPH, NONE
from peephole.record.recorder import Recorder
from peephole.record.rows import json_text
from peephole.sources.torch.live.compilations import Compilations, Context, Step
from peephole.sources.torch.live.fx_nodes import FxNodes
from peephole.sources.torch.live.hooks import Place, caller, wrap, written_at
from peephole.sources.torch.rows import (
    BACKWARD,
    FORWARD,
    HALF_GRAPHS,
    INFERENCE,
    JOINT,
    JOINT_GRAPH,
    OUTPUT,
    PARTITION,
    POST_GRAD,
    PRE_GRAD,
)

MAIN: Final = "graph"
"""The name of a context's graph, so that it stays the same box from pass to pass."""


class Passes:
    """What happens to FX graphs."""

    def __init__(self, at: Compilations) -> None:
        self.at = at
        self.nodes = at.nodes
        self._files: set[str] = set()
        self._vain: dict[Place, list[int]] = {}
        """Rules that matched and changed nothing: how often, how long."""

    @property
    def recorder(self) -> Recorder:
        """What rows go to."""
        return self.at.recorder

    def reset(self) -> None:
        """Forgets what the recording before, or the process before a fork, has written."""
        self._files.clear()
        self._vain.clear()

    # stages: the passes of one kind as a whole

    def stages(self, module: ModuleType) -> list[str]:
        """Watches the stages of Inductor's compile_fx; gives what is not there."""
        missing = []
        for name, stage in (
            ("_recursive_pre_grad_passes", PRE_GRAD),
            ("_recursive_joint_graph_passes", JOINT),
            ("_recursive_post_grad_passes", POST_GRAD),
        ):
            enter = {PRE_GRAD: self._pre_grad, JOINT: self._joint, POST_GRAD: self._post_grad}[stage]
            if not wrap(module, name, enter, self._stage_left):
                missing.append(name)
        return missing

    def _pre_grad(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        gm = args[0]
        outermost = self.at.step() is None
        if outermost:
            context = self.at.graph()
            if context.passed:
                context = self.at.part()
            context.passed = True
        return self._stage(PRE_GRAD, gm)

    def _joint(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        gm = args[0]
        if self.at.step() is None:
            context = self.at.context()
            inputs = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
            training = any(name.startswith("tangents") for name in inputs)
            context.passed = True
            name = JOINT_GRAPH if training else HALF_GRAPHS[INFERENCE]
            came_out = self.nodes.graph(gm.graph, MAIN)
            if context.traced:
                self._traced(name, gm.graph, came_out, context)
            else:
                self.at.show(name, came_out, context)
        return self._stage(JOINT, gm)

    def _traced(self, name: str, graph: Any, came_out: int, context: Context) -> None:
        """A step from Dynamo's graph to the one that AOTAutograd traced: what each operation of the program became."""
        step = Step(context, name, 0)
        for (before, gradient), made in traced_from(graph, context.traced).items():
            added = [self.nodes.seen(node) for node in made]
            row = {"before": before, "after": added[-1], "removed": None if gradient else [before], "added": added}
            self.recorder.row("matches", step=step.id, ordinal=step.matches, line=NONE, **row)
            step.matches += 1
        step.write(context.last, came_out, 0)
        context.last, context.traced = came_out, {}

    def _post_grad(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        return self._stage(POST_GRAD, args[0])

    def _stage(self, name: str, gm: Any) -> tuple[Step, Any]:
        root = self.nodes.graph(gm.graph, MAIN)
        return self.at.begin(name, root, caller(), gm.graph, stage=True), gm

    def _stage_left(self, state: tuple[Step, Any], result: Any, raised: BaseException | None) -> None:
        step, gm = state
        graph = getattr(result, "graph", None) or gm.graph  # some give a new module
        self.at.end(step, self.nodes.graph(graph, MAIN), None if raised is None else repr(raised))
        if step.depth == 0:
            self._write_vain(step)
            if step.name == PRE_GRAD and raised is None:
                step.context.traced = {node.name: self.nodes.seen(node) for node in graph.nodes if node.op != OUTPUT}

    # each pass inside

    def observer(self, cls: type) -> bool:
        """Watches every pass that torch itself observes."""
        return wrap(cls, "__enter__", self._pass_begins) and wrap(cls, "__exit__", self._pass_ends)

    def _pass_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        observer, outer = args[0], self.at.step()
        if outer is not None and not outer.is_stage and not _is_of(observer.gm, outer.graph):
            return  # a rule traces its own pattern
        root = self.nodes.graph(observer.gm.graph, MAIN)
        step = self.at.begin(str(observer.passname), root, caller(), observer.gm.graph)
        observer.__dict__.setdefault("_peephole_steps", []).append(step)

    def _pass_ends(self, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        observer = args[0]
        steps = observer.__dict__.get("_peephole_steps")
        if steps:
            error = args[2] if len(args) > 2 else None
            root = self.nodes.graph(observer.gm.graph, MAIN)
            self.at.end(steps.pop(), root, None if error is None else repr(error))

    # rules

    def rules(self, module: ModuleType) -> list[str]:
        """Watches the rules of the pattern matcher; gives what is not there."""
        missing = []
        for name in ("LoweringPatternEntry", "GraphPatternEntry", "ReplacementPatternEntry"):
            cls = getattr(module, name, None)
            if cls is None or not wrap(cls, "apply", self._rule_begins, self._rule_ends):
                missing.append(f"{name}.apply")
        return missing

    def _rule_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        step = self.at.step()
        if step is None or len(args) < 4 or args[2] is not step.graph:
            return None
        found = _Fired(self, step, args[0], args[1], args[2], args[3])
        found.start = perf_counter_ns()
        return found

    def _rule_ends(self, fired: _Fired, result: Any, raised: BaseException | None) -> None:
        dur = perf_counter_ns() - fired.start
        fired.unhook()
        place = rule_place(fired.entry)
        if not fired.changed():
            counts = self._vain.setdefault(place, [0, 0])
            counts[0] += 1
            counts[1] += dur
            return
        self._keep_file(place[0])
        step = fired.step
        before, after, removed, added = fired.nodes()
        self.recorder.row(
            "matches",
            step=step.id,
            ordinal=step.matches,
            before=before,
            after=NONE if raised is not None else after,
            file=place[0],
            line=place[1],
            dur=dur,
            removed=removed or None,
            added=added or None,
        )
        step.matches += 1

    def _keep_file(self, file: str | None) -> None:
        """Keeps the source that rules are written in with the capture, which may be read elsewhere."""
        if file is None or file in self._files or len(self._files) > 200:
            return
        self._files.add(file)
        try:
            with open(file, "rb") as opened:
                content = opened.read(1 << 20)
        except OSError:
            return
        self.recorder.row("artifacts", kind="file", language="python", name=file, content=content)

    def _write_vain(self, step: Step) -> None:
        """Writes how often rules matched and then changed nothing."""
        if self._vain:
            rows = [[file, line, *counts] for (file, line), counts in self._vain.items()]
            self._vain = {}
            content = json_text(rows)
            self.recorder.row(
                "artifacts", context=step.context.id, kind="data", language="json", name=VAIN, content=content
            )

    # the partition

    def partitioner(self, module: ModuleType) -> list[str]:
        """Watches the functions that make two halves of a joint graph; gives what is not there."""
        names = ("min_cut_rematerialization_partition", "default_partition")
        there = [name for name in names if wrap(module, name, self._partition_begins, self._partition_ends)]
        return [] if names[0] in there else [names[0]]

    def _partition_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        gm = args[0] if args else words.get("joint_module")
        if gm is None or self.at.step() is not None:
            return None  # of a rule's pattern, or one partitioner in another
        root = self.nodes.graph(gm.graph, MAIN)
        return self.at.begin(PARTITION, root, caller(), gm.graph)

    def _partition_ends(self, step: Step, result: Any, raised: BaseException | None) -> None:
        if raised is not None or not isinstance(result, tuple) or len(result) != 2:
            self.at.end(step, NONE, repr(raised))
            return
        roots = []
        for half, gm in zip((FORWARD, BACKWARD), result, strict=True):
            roots.append(self.nodes.graph(gm.graph, half))
            step.context.halves[half] = inputs_of(gm)
        self.at.end(step, self.nodes.add(op=GRAPH, src=roots))


MOST_LINES: Final = 12
"""Origins that a node inherits at most."""
VAIN: Final = "rules tried in vain"
"""The artifact with [file, line, count, ns] of rules that matched and changed nothing."""


class _Fired:
    """A rule at work: what it makes, takes and alters."""

    __slots__ = (
        "after",
        "created",
        "entry",
        "erased",
        "graph",
        "hooks",
        "match",
        "node",
        "owner",
        "rules",
        "start",
        "step",
    )

    def __init__(self, rules: Passes, step: Step, entry: Any, match: Any, graph: Any, node: Any) -> None:
        self.rules, self.step, self.entry, self.match, self.graph, self.node = rules, step, entry, match, graph, node
        self.start = 0
        self.created: dict[Any, None] = {}
        self.erased: dict[Any, int] = {}
        self.after: Any = None
        self.owner = graph.owning_module
        rules.nodes.of(node)
        for one in match.nodes:
            rules.nodes.of(one)
        self.hooks: list[tuple[str, Any]] = []
        for name, hook in (("create_node", self._create), ("erase_node", self._erase), ("replace_node", self._replace)):
            register = getattr(self.owner, f"_register_{name}_hook", None)
            if register is not None:
                register(hook)
                self.hooks.append((name, hook))

    def unhook(self) -> None:
        for name, hook in self.hooks:
            getattr(self.owner, f"_unregister_{name}_hook")(hook)
        self.hooks = []

    def _create(self, node: Any) -> None:
        self.created[node] = None

    def _erase(self, node: Any) -> None:
        if node in self.created:
            del self.created[node]
        else:
            self.erased[node] = self.rules.nodes.seen(node)

    def _replace(self, old: Any = None, new: Any = None, user: Any = None) -> None:
        if old is self.node:
            nodes = [*self.created, *old.all_input_nodes]
            self.after = next((node for node in nodes if node.name == new), new)

    def changed(self) -> bool:
        return bool(self.created or self.erased or self.after) or any(
            not self.rules.nodes.is_same(node) for node in self.match.nodes if not node._erased
        )

    def nodes(self) -> tuple[int, int, list[int], list[int]]:
        """The match's before, after, removed and added."""
        nodes = self.rules.nodes
        before = self.erased.get(self.node, -1)
        if before < 0:
            before = nodes.seen(self.node)
        removed = [number for number in self.erased.values() if number >= 0]
        self._inherit(nodes)
        added = [nodes.of(node) for node in self.created if not node._erased]
        for node in self.match.nodes:
            if not node._erased and node not in self.created and not nodes.is_same(node):
                removed.append(nodes.seen(node))
                added.append(nodes.of(node))
        after = self._new(nodes)
        return before, (added[-1] if added else before) if after is None else after, removed, added

    def _inherit(self, nodes: FxNodes) -> None:
        """What a rule puts without a line of the program comes from the lines of what it took."""
        texts: list[str] = []
        for node in self.created:
            if "stack_trace" not in node.meta:
                if not texts:
                    found = (nodes.origins.metadata(old.meta) for old in self.erased)
                    texts = list(dict.fromkeys(text for text in found if text and "@" in text))[:MOST_LINES]
                if texts:
                    nodes.inherited[node.name] = ", ".join(texts)

    def _new(self, nodes: FxNodes) -> int | None:
        """What the users of the node read now."""
        if isinstance(self.after, str):
            self.after = next((node for node in self.graph.nodes if node.name == self.after), None)
        return None if self.after is None or self.after._erased else nodes.of(self.after)


def _is_of(gm: Any, graph: Any) -> bool:
    """Whether a module is that of a graph, or inside it: the branches of a condition, the body of a loop."""
    if gm.graph is graph:
        return True
    owner = getattr(graph, "owning_module", None)
    return owner is not None and any(inner is gm for inner in owner.modules())


def rule_place(entry: Any) -> Place:
    """Where a rule is written: its handler, or the function that its pattern is traced from."""
    handler = getattr(entry, "handler", None)
    if handler is None:
        check = getattr(entry, "extra_check", None)
        code = getattr(check, "__code__", None)
        cells = getattr(check, "__closure__", None) or ()
        for name, cell in zip(code.co_freevars if code is not None else (), cells, strict=False):
            if name == "search_fn":
                handler = cell.cell_contents
    if handler is None:
        handler = getattr(entry, "normalize_args", None)
    return written_at(handler) if handler is not None else (None, NONE)


def traced_from(graph: Any, known: dict[str, int]) -> dict[tuple[int, bool], list[Any]]:
    """What each node of Dynamo's graph was traced into, by `from_node`, and then what its gradient was.

    Nodes of a gradient carry no such word, but the number of the operation that they are the gradient of.
    """
    found: dict[tuple[int, bool], list[Any]] = {}
    by_number: dict[Any, int] = {}
    for node in graph.nodes:
        number = node.meta.get("seq_nr")
        sources = node.meta.get("from_node") or ()
        before = next((known[one.name] for one in reversed(sources) if one.name in known), NONE)
        gradient = before == NONE
        if gradient:
            before = by_number.get(number, NONE)
        elif number is not None:
            by_number[number] = before
        if before != NONE:
            found.setdefault((before, gradient), []).append(node)
    return found


def inputs_of(gm: Any) -> tuple[str, ...]:
    """The names of a graph's inputs."""
    return tuple(node.name for node in gm.graph.nodes if node.op == "placeholder")
