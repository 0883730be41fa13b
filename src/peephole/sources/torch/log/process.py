"""One process' records, kind by kind, into rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.torch.log import reasons
from peephole.sources.torch.log.book import Book, Context, Step
from peephole.sources.torch.log.code import write_code
from peephole.sources.torch.log.compilation import Compilation, new_compilation
from peephole.sources.torch.log.events import Events
from peephole.sources.torch.log.fx_text import Graph, is_graph, parse
from peephole.sources.torch.log.records import Record
from peephole.sources.torch.rows import (
    BACKWARD,
    CACHED,
    FALLBACK,
    FORWARD,
    GRAPH_TEXT,
    GUARDS,
    HALF_GRAPHS,
    INFERENCE,
    JOINT,
    JOINT_GRAPH,
    PARTITION,
    POST_GRAD,
    PRE_GRAD,
)

LOG: Final = "log"
"""Kind of artifact of what a log has beside graphs, code and guards."""

_HALF_RECORDS: Final = {"aot_forward_graph": FORWARD, "aot_backward_graph": BACKWARD, "aot_inference_graph": INFERENCE}
_BEFORE: Final = {"before_pre_grad_graph": PRE_GRAD, "before_joint_graph": JOINT, "before_post_grad_graph": POST_GRAD}
_AFTER: Final = {"after_pre_grad_graph": PRE_GRAD, "after_joint_graph": JOINT, "inductor_post_grad_graph": POST_GRAD}
_CACHES: Final = {"fx_graph_cache": "the FX graph cache", "aotautograd_cache": "the AOTAutograd cache"}
_OF_HALF: Final = ("fx_graph_runnable", "inductor_", "fx_graph_cache", "triton_kernel_info", "cudagraph")
_SYMBOLS: Final = frozenset(
    (
        *("create_symbol", "create_unbacked_symbol", "guard_added", "guard_added_fast", "expression_created"),
        *("symbolic_shape_specialization", "propagate_real_tensors_provenance", "describe_storage"),
        *("describe_tensor", "describe_source", "evaluate_expr"),
    )
)
_FLUSH: Final = 20_000


class Process:
    """What one process compiled. `time` gives the capture's time of a record."""

    def __init__(self, book: Book, track: int, parent: int, time: Callable[[Record], int], base: int) -> None:
        self._book = book
        self._track = track
        self._parent = parent
        self._time = time
        self._strings: dict[int, str] = {}
        self._compilations: dict[str, Compilation] = {}
        self._frames: dict[str, tuple[tuple[str, int], str]] = {}
        self._events = Events(book, track, base, self._compilations, self._named, self._begun)
        self.version = ""
        self.records = 0

    # which compilation

    def _of(self, record: Record) -> Compilation | None:
        """The compilation that a record belongs to; None for one of the whole process."""
        own = record.envelope
        graph, frame, count = own.get("compiled_autograd_id"), own.get("frame_id"), own.get("frame_compile_id")
        if isinstance(frame, int) and isinstance(count, int):
            id = f"{frame}/{count}"
            id = f"!{graph}/{id}" if isinstance(graph, int) else id
        elif isinstance(graph, int):
            id = f"!{graph}"
        else:
            return None
        return self._named(id)

    def _named(self, id: str) -> Compilation:
        found = self._compilations.get(id)
        if found is None:
            found = self._compilations[id] = new_compilation(self._book, id, self._parent)
            found.place, found.context.function = self._frames.get(id.rpartition("/")[0], (("", NONE), ""))
        return found

    def _begun(self, id: str) -> Compilation:
        """The compilation of a frame that Dynamo begins with: ids come again after `torch._dynamo.reset()`."""
        if id in self._compilations and self._compilations[id].ended:
            del self._compilations[id]
        return self._named(id)

    # records

    def take(self, record: Record) -> None:
        """Takes a record."""
        self.records += 1
        kind = record.kind
        if kind == "str":
            self._intern(record)
            return
        if kind == "chromium_event":
            self._events.take(record)
            return
        one = self._of(record)
        if kind == "dynamo_start" and one is not None and one.ended:
            one = self._begun(one.id)
        time = self._time(record)
        if one is not None:
            one.context.seen(time)
        if kind == "artifact":
            self._artifact(record, one, time)
        elif kind in _SYMBOLS:
            self._symbol(record, one, time)
        elif one is None:
            self._keep(NONE, record, kind)
        elif handler := self._handlers().get(kind):
            handler(record, one, time)
        else:
            self._other(record, one, kind)

    def _handlers(self) -> dict[str, Callable[[Record, Compilation, int], None]]:
        return {
            "dynamo_start": self._started,
            "dynamo_output_graph": self._dynamo_graph,
            "aot_joint_graph": self._joint_graph,
            **dict.fromkeys(_HALF_RECORDS, self._half_graph),
            "inductor_post_grad_graph": lambda record, one, time: self._after(record, one, record.kind),
            "inductor_output_code": self._code,
            "dynamo_cpp_guards_str": self._guards,
            "dynamo_guards": self._guards,
            "compilation_metrics": self._metrics,
            "bwd_compilation_metrics": self._metrics,
            "missing_fake_kernel": self._fake_kernel,
            "mismatched_fake_kernel": self._fake_kernel,
        }

    def _intern(self, record: Record) -> None:
        value = record.body.get("value")
        if isinstance(value, list) and len(value) == 2 and isinstance(value[1], int) and isinstance(value[0], str):
            self._strings[value[1]] = value[0]

    def _stack(self, frames: Any) -> list[list[Any]]:
        """A stack as contexts have it, innermost first."""
        rows = []
        for frame in frames if isinstance(frames, list) else []:
            if isinstance(frame, dict) and isinstance(line := frame.get("line"), int):
                file = frame.get("filename")
                name = self._strings.get(file, "?") if isinstance(file, int) else str(file or "?")
                rows.append([name, line, str(frame.get("name") or ""), str(frame.get("loc") or "")])
        return rows[::-1]

    def _started(self, record: Record, one: Compilation, time: int) -> None:
        stack = self._stack(record.body.get("stack"))
        if stack:
            one.context.stack = stack
            one.context.function = one.context.function or stack[0][2]
            self._placed(one, stack[0][0], stack[0][1])

    def _placed(self, one: Compilation, file: Any, line: Any) -> None:
        if isinstance(file, str) and file and isinstance(line, int):
            one.place = (file, line)
            self._frames[one.id.rpartition("/")[0]] = (one.place, one.context.function)

    # graphs

    def _graph(self, record: Record, context: Context, name: str) -> tuple[int, Graph | None]:
        """The root of a payload's graph, -1 when it has none; its text is kept too."""
        text = record.text
        self._book.artifact(context.id, GRAPH_TEXT, "python", name, record.payload)
        graph = parse(text)
        if graph is None:
            if text.strip():
                self._book.sink.problem("graph that could not be parsed, kept as text", 1, f"{context.name} {name}")
            return NONE, None
        if graph.unread:
            self._book.sink.problem(
                "line of a graph that could not be parsed", len(graph.unread), graph.unread[0][:120]
            )
        return self._book.graph(graph, record.payload), graph

    def _show(self, record: Record, context: Context, name: str) -> Step:
        """A step that shows a graph."""
        step = self._book.step(context, name)
        step.root = step.after = self._graph(record, context, name)[0]
        return step

    def _dynamo_graph(self, record: Record, one: Compilation, time: int) -> None:
        root, _ = self._graph(record, one.context, record.kind)
        step = one.dynamo if one.dynamo.root == NONE else self._book.step(one.context, one.dynamo.name)
        step.root = step.after = root

    def _joint_graph(self, record: Record, one: Compilation, time: int) -> None:
        one.joint = self._show(record, one.context, JOINT_GRAPH).root

    def _half_graph(self, record: Record, one: Compilation, time: int) -> None:
        kind = _HALF_RECORDS[record.kind]
        half = one.new_half(self._book, kind)
        half.context.seen(time)
        half.root, graph = self._graph(record, half.context, record.kind)
        half.names = frozenset(item.name for item in graph.instructions) if graph else frozenset()
        if kind == BACKWARD and one.joint != NONE:
            front = next((other for other in reversed(one.halves) if other.kind == FORWARD), None)
            if front is not None and NONE not in (front.root, half.root):
                step = self._book.step(one.context, PARTITION)
                step.root, step.after = one.joint, self._book.over([front.root, half.root])
            one.joint = NONE
        elif one.joint == NONE:
            step = self._book.step(half.context, HALF_GRAPHS[kind])
            step.root = step.after = half.root

    def _before(self, record: Record, one: Compilation, name: str) -> None:
        stage = _BEFORE[name]
        context, names = one.context, frozenset[str]()
        if stage == POST_GRAD:
            graph = parse(record.text)
            names = frozenset(item.name for item in graph.instructions) if graph else names
            context = one.enter(self._book, self._backward(record), names).context
        step = one.stage(self._book, context, stage, anew=True)
        step.root, _ = self._graph(record, context, name)

    def _after(self, record: Record, one: Compilation, name: str) -> None:
        stage = _AFTER[name]
        context = one.context
        if stage == POST_GRAD:
            context = one.enter(self._book, self._backward(record)).context
        step = one.stage(self._book, context, stage)
        step.after, _ = self._graph(record, context, name)
        if step.root == NONE:  # a cache had it, or an older torch: only what came out is known
            step.root = step.after

    def _backward(self, record: Record) -> bool:
        """Whether Inductor is at a backward half: by the phases that are open, else by the inputs of the graph."""
        return self._events.in_backward() or b"tangents_1" in record.payload

    # code, guards, metrics

    def _code(self, record: Record, one: Compilation, time: int) -> None:
        half = one.enter(self._book, self._backward(record))
        half.context.seen(time)
        name = record.body.get("filename")
        file = PurePath(name).name if isinstance(name, str) else "output_code.py"
        write_code(self._book, half.context, file, record.payload)

    def _guards(self, record: Record, one: Compilation, time: int) -> None:
        self._book.artifact(one.context.id, GUARDS, "text", record.kind, record.payload)

    def _metrics(self, record: Record, one: Compilation, time: int) -> None:
        facts = record.body
        one.ended = one.ended or record.kind == "compilation_metrics"
        text = json.dumps(self._named_files(facts), ensure_ascii=False, default=str)
        self._book.artifact(one.context.id, LOG, "json", record.kind, text.encode())
        name, file, line = (facts.get(key) for key in ("co_name", "co_filename", "co_firstlineno"))
        if isinstance(name, str) and name:
            one.context.function = name
            for half in one.halves:
                half.context.function = name
        if one.place[1] == NONE or not one.context.stack:
            self._placed(one, file, line)
        self._frames[one.id.rpartition("/")[0]] = (one.place, one.context.function)
        if not one.context.stack and one.place[1] != NONE:
            one.context.stack = [[*one.place, one.context.function, ""]]
        for problem in reasons.of_metrics(facts, one.breaks):
            self._decide(one, problem, time)

    def _named_files(self, value: Any, depth: int = 0) -> Any:
        """Facts with the names of files in place of their numbers."""
        if depth > 8:
            return value
        if isinstance(value, list):
            return [self._named_files(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {
                key: self._strings.get(item, item)
                if key == "filename" and isinstance(item, int)
                else self._named_files(item, depth + 1)
                for key, item in value.items()
            }
        return value

    def _fake_kernel(self, record: Record, one: Compilation, time: int) -> None:
        facts = ", ".join(f"{key}: {value}" for key, value in record.body.items())
        text = f"{record.kind.replace('_', ' ')}: {facts}"
        self._decide(one, reasons.Decision(FALLBACK, text, *one.place), time)

    def _decide(self, one: Compilation, found: reasons.Decision, time: int, step: Step | None = None) -> None:
        file, line = (found.file, found.line) if found.file else one.place
        self._book.decide(one.context, step or one.dynamo, found.kind, found.reason, file, line)
        if found.kind != CACHED:
            facts = {"reason": found.reason, "file": file, "line": line}
            self._book.moment(one.context, self._track, time, found.kind, facts)

    # artifacts by name

    def _artifact(self, record: Record, one: Compilation | None, time: int) -> None:
        name = record.body.get("name")
        name = name if isinstance(name, str) and name else "artifact"
        if one is None:
            if name == "torch_version" and isinstance(facts := record.json(), dict):
                self.version = str(facts.get("pytorch_version") or facts.get("version") or self.version)
            self._keep(NONE, record, name)
        elif name in _BEFORE:
            self._before(record, one, name)
        elif name in _AFTER:
            self._after(record, one, name)
        elif name == "dynamo_graph_break_reason":
            found = reasons.of_break(record.text)
            one.breaks.append(record.text)
            self._decide(one, found, time)
            self._keep(one.context.id, record, name)
        elif name == "recompile_reasons":
            for found in reasons.of_recompile(record.text, one.place):
                self._decide(one, found, time)
            self._keep(one.context.id, record, name)
        elif (cache := name.rpartition("_")[0]) in _CACHES:
            self._cached(record, one, name, cache)
        else:
            self._other(record, one, name)

    def _cached(self, record: Record, one: Compilation, name: str, cache: str) -> None:
        facts = record.json()
        context = one.context
        if cache == "fx_graph_cache":
            half = one.enter(self._book, self._backward(record))
            context = half.context
            if isinstance(facts, dict) and isinstance(key := facts.get("key"), str) and key not in context.keys:
                context.keys.append(key)
        if name.endswith("_hit"):
            step = context.steps[0] if context.steps else self._book.step(context, POST_GRAD)
            reason = f"it came from {_CACHES[cache]}: no pass ran"
            self._decide(one, reasons.Decision(CACHED, reason, *one.place), NONE, step)
        self._keep(context.id, record, name)

    def _other(self, record: Record, one: Compilation, name: str) -> None:
        """What has no row of its own: its payload is kept, and shown as a graph when it is one."""
        context = one.context
        if name.startswith(_OF_HALF):
            context = one.enter(self._book, self._backward(record)).context
        if record.kind in ("graph_dump", "dump_file") and isinstance(given := record.body.get("name"), str):
            name = given
        if record.payload and is_graph(record.text):
            self._show(record, context, name)
        else:
            self._keep(context.id, record, name)

    def _keep(self, context: int, record: Record, name: str) -> None:
        kind = "error" if name.endswith("error") else LOG
        content, language = record.payload, _language(record)
        if not record.sum:
            content = json.dumps(self._named_files(record.body), ensure_ascii=False, default=str).encode()
            language = "json"
        self._book.artifact(context, kind, language, name, content)

    # symbols

    def _symbol(self, record: Record, one: Compilation | None, time: int) -> None:
        body = record.body
        stack = self._stack(body.get("user_stack"))
        if one is not None and record.kind == "symbolic_shape_specialization":
            self._decide(one, reasons.of_specialization(body, stack), time)
        facts = {key: value for key, value in body.items() if key not in ("stack", "user_stack", "view_func")}
        if stack:
            facts["at"] = f"{stack[0][0]}:{stack[0][1]}"
        if one is None:
            return
        one.facts.append({"record": record.kind, **facts})
        if len(one.facts) >= _FLUSH:
            self._write_facts(one)

    def _write_facts(self, one: Compilation) -> None:
        inputs = [fact for fact in one.facts if str(fact["record"]).startswith("describe_")]
        symbols = [fact for fact in one.facts if not str(fact["record"]).startswith("describe_")]
        for name, facts in (("inputs", inputs), ("symbols", symbols)):
            if facts:
                text = "\n".join(json.dumps(fact, ensure_ascii=False, default=str) for fact in facts)
                self._book.artifact(one.context.id, LOG, "json", name, text.encode())
        one.facts = []

    def finish(self) -> None:
        """The log is at its end."""
        self._events.finish()
        for one in self._compilations.values():
            self._write_facts(one)


def _language(record: Record) -> str:
    if record.body.get("encoding") == "json":
        return "json"
    head = record.payload[:200].lstrip()
    return "python" if head.startswith((b"class ", b"import ", b"from ", b"def ", b"#")) else "text"
