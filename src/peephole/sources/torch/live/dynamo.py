"""What Dynamo does with a frame: its graph, guards, breaks, recompilations, and giving up. Standard library only."""

from __future__ import annotations

import json
import linecache
import re
import sys
from time import perf_counter_ns
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.record.recorder import Recorder
from peephole.record.rows import json_text
from peephole.sources.torch.live.compilations import NO_ID, Compilations, Context
from peephole.sources.torch.live.hooks import Place, wrap
from peephole.sources.torch.live.passes import MAIN
from peephole.sources.torch.rows import BREAK, FALLBACK, GUARDS, MARKERS, RECOMPILE, SPECIALIZATION

_BROKE: Final = re.compile(r"^Graph break in user code at (.+):(\d+)$", re.MULTILINE)
_FRAMES: Final = 64
_QUIET: Final = frozenset({"SkipFrame", "SkipCodeRecursiveException"})
"""What Dynamo raises where it has nothing against a frame."""
_LIMITS: Final = frozenset({"RecompileLimitExceeded", "FailOnRecompileLimitHit"})


class Dynamo:
    """Follows Dynamo from frame to frame."""

    def __init__(self, at: Compilations) -> None:
        self.at = at
        self._frames: dict[str, tuple[CodeType, str, int]] = {}
        """Code, stack and begin of the frames that are being compiled, by compile id."""

    @property
    def recorder(self) -> Recorder:
        """What rows go to."""
        return self.at.recorder

    # the frame

    def frames(self, module: ModuleType) -> list[str]:
        """Watches the compilation of frames; gives what is not there."""
        return [] if wrap(module, "_compile", self._frame_begins, self._frame_ends) else ["convert_frame._compile"]

    def _frame_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        code, compile_id = args[0] if args else words["code"], words.get("compile_id")
        own = NO_ID if compile_id is None else str(compile_id)
        start = perf_counter_ns()
        if compile_id is not None:
            self.at.begin_frame(own)
        self._frames[own] = (code, json_text(_stack(code)), start)
        return own, start

    def _frame_ends(self, state: tuple[str, int], result: Any, raised: BaseException | None) -> None:
        own, start = state
        code, *_ = self._frames.get(own, (None, "", start))
        context = self.at.known(own)
        if code is not None and (why := _gave_up(context, raised)):
            self._decide(own, FALLBACK, why, _user_place(raised) or (code.co_filename, code.co_firstlineno))
            context = self.at.known(own)
        self._frames.pop(own, None)
        if context is not None:
            context.row["start"] = context.start = min(start, context.start)
            context.close()

    def context(self, compile_id: str | None = None) -> Context:
        """The context of a compile id with what is known about its frame."""
        own = compile_id or self.at.compile_id()
        context = self.at.graph(own)
        frame = self._frames.get(own)
        if frame is not None and "function" not in context.row:
            context.row["function"], context.row["stack"] = frame[0].co_name, frame[1]
            self.recorder.row("contexts", **context.row)
        return context

    # its graph

    def graphs(self, cls: type) -> bool:
        """Watches the graphs that Dynamo hands to a backend."""
        return wrap(cls, "call_user_compiler", self._graph)

    def _graph(self, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        gm = args[1] if len(args) > 1 else words["gm"]
        context = self.context()
        root = self.at.nodes.graph(gm.graph, MAIN)
        context.last = root
        step = self.at.dynamo(context)
        frame = self._frames.get(self.at.compile_id())
        if frame is not None:
            step.file, step.line, step.start = frame[0].co_filename, def_line(frame[0]), frame[2]
        step.write(root, root, perf_counter_ns() - step.start)

    # what it tells

    def log(self, module: ModuleType) -> list[str]:
        """Watches the structured log, whether it is written or not; gives what is not there."""
        return [] if wrap(module, "trace_structured", self._told) else ["trace_structured"]

    def _told(self, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        name = args[0] if args else words.get("name")
        if name == "artifact":
            metadata = (args[1] if len(args) > 1 else words["metadata_fn"])()
            kind = metadata.get("name") if isinstance(metadata, dict) else None
            if kind == "dynamo_graph_break_reason":
                self._broke(words["payload_fn"]())
            elif kind == "recompile_reasons":
                self._recompiles(words["payload_fn"]())
            elif kind in ("aotautograd_cache_hit", "fx_graph_cache_hit"):
                self._from_cache(kind)
        elif name == "dynamo_cpp_guards_str":
            text = words["payload_fn"]()
            own = self.at.compile_id()
            if self.at.known(own) is not None and isinstance(text, str):
                self.recorder.row(
                    "artifacts",
                    context=self.context(own).id,
                    kind=GUARDS,
                    language="text",
                    name="guards",
                    content=text,
                )
        elif name == "symbolic_shape_specialization":
            self._specialized((args[1] if len(args) > 1 else words["metadata_fn"])())

    def _broke(self, text: Any) -> None:
        found = _BROKE.search(str(text))
        place: Place = (found[1], int(found[2])) if found else (None, NONE)
        self._decide(None, BREAK, str(text), place)

    def _recompiles(self, reasons: Any) -> None:
        own = self.at.compile_id()
        frame = self._frames.get(own)
        place: Place = (None, NONE) if frame is None else (frame[0].co_filename, frame[0].co_firstlineno)
        for reason in [reasons] if isinstance(reasons, str) else reasons:
            self._decide(own, RECOMPILE, str(reason), place)

    def _specialized(self, fact: dict[str, Any]) -> None:
        sources = ", ".join(map(str, fact.get("sources") or ()))
        what = f"{fact.get('symbol')}{f' ({sources})' if sources else ''} = {fact.get('value')}: {fact.get('reason')}"
        place: Place = (None, NONE)
        guards = sys.modules.get("torch._guards")
        stack = guards.TracingContext.extract_stack() if guards is not None else ()
        for frame in stack or ():
            if not frame.filename.startswith(self.at.nodes.origins.home):
                place = (frame.filename, frame.lineno or NONE)
        self._decide(None, SPECIALIZATION, what, place)

    def _from_cache(self, kind: str) -> None:
        step = self.at.dynamo(self.context())
        which = "AOTAutograd's cache" if kind.startswith("aot") else "the FX graph cache"
        step.decide("cached", f"it came from {which}, so no pass ran", (None, NONE))

    def _decide(self, compile_id: str | None, kind: str, reason: str, place: Place) -> None:
        context = self.context(compile_id)
        self.at.dynamo(context).decide(kind, reason, place)
        args = {"context": context.row["name"], "reason": reason, "file": place[0], "line": place[1]}
        self.recorder.row("markers", time=perf_counter_ns(), name=MARKERS[kind], kind="event", args=json.dumps(args))


def _gave_up(context: Context | None, raised: BaseException | None) -> str:
    """Why a frame is not compiled; empty when it is, or when the program is being ended."""
    if isinstance(raised, Exception):
        kind = type(raised).__name__
        return "" if kind in _QUIET else str(raised) if kind in _LIMITS else f"{kind}: {raised}"
    empty = context is not None and context.last == NONE and context.dynamo is not None
    return "Dynamo found nothing to compile before the break" if empty and raised is None else ""


def _user_place(raised: BaseException | None) -> Place | None:
    """The program's line that Dynamo could not compile, where it says which."""
    frame = getattr(raised, "innermost_user_frame_summary", None)
    return None if frame is None else (frame.filename, frame.lineno or NONE)


def _stack(code: CodeType) -> list[list[Any]]:
    """Where a frame was called, innermost first: the frame itself, then the program's lines outside of Dynamo."""
    line = def_line(code)
    source = linecache.getline(code.co_filename, line).strip()
    found: list[list[Any]] = [[code.co_filename, line, code.co_name, source]]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _FRAMES:
        file = frame.f_code.co_filename.replace("\\", "/")
        if "/torch/_dynamo/" not in file and "/peephole/" not in file and "/torch/_utils_internal" not in file:
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
            found.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname, text])
        frame = frame.f_back
    return found


def def_line(code: CodeType) -> int:
    """The line of a function's `def`, behind its decorators."""
    for line in range(code.co_firstlineno, code.co_firstlineno + 30):
        text = linecache.getline(code.co_filename, line).lstrip()
        if text.startswith(("def ", "async def ")):
            return line
        if not text:
            break
    return code.co_firstlineno
