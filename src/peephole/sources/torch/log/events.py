"""A log's events: the compiler's phases as slices, and what they tell about the times of steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.torch.log.book import Book
from peephole.sources.torch.log.compilation import Compilation
from peephole.sources.torch.log.phases import Phase, Phases, short_args
from peephole.sources.torch.log.records import Record
from peephole.sources.torch.rows import CODEGEN, FUSION, JOINT, KERNELS_COMPILED, LOWERING, POST_GRAD, PRE_GRAD

_STAGES: Final = {
    "_recursive_pre_grad_passes": PRE_GRAD,
    "_recursive_joint_graph_passes": JOINT,
    "_recursive_post_grad_passes": POST_GRAD,
}
_PASS: Final = re.compile(r"^pass\.(pre_grad_passes|joint_graph_passes|post_grad_passes)\.(.+)$")
_TIMED: Final = {
    "GraphLowering.run": LOWERING,
    "Scheduler.fused_nodes": FUSION,
    "GraphLowering.codegen": CODEGEN,
    "PyCodeCache.load_by_key_path": KERNELS_COMPILED,
}


class Events:
    """The events of one process. `named` gives the compilation of an id, `begun` that of a frame that begins."""

    def __init__(
        self,
        book: Book,
        track: int,
        base: int,
        compilations: Mapping[str, Compilation],
        named: Callable[[str], Compilation],
        begun: Callable[[str], Compilation],
    ) -> None:
        self._book = book
        self._track = track
        self._base = base
        self._compilations = compilations
        self._named = named
        self._begun = begun
        self._problem = book.sink.problem
        self._phases = Phases(self._phase_done, lambda reason, name: self._problem(reason, 1, name))

    def in_backward(self) -> bool:
        """Whether a backward half is being compiled."""
        return any("bw_compiler" in phase.name or "backward_compile" in phase.name for phase in self._phases.open)

    def finish(self) -> None:
        """The log is at its end."""
        self._phases.finish()

    def take(self, record: Record) -> None:
        """Takes an event."""
        event = record.json()
        if not isinstance(event, dict) or not isinstance(name := event.get("name"), str):
            self._problem("event that is not JSON", 1, record.text[:120])
            return
        ts = event.get("ts")
        if not isinstance(ts, int | float) or not 0 <= ts < 1 << 53:
            self._problem("event without a usable time", 1, name)
            return
        time = max(int(ts) * 1000 + round(ts % 1 * 1000) - self._base, 0)
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        id = args.get("compile_id")
        id = id if isinstance(id, str) and id != "None" else ""
        phase = event.get("ph")
        if phase == "B":
            self._begin(name, time, id, args)
        elif phase == "E":
            self._phases.end(name, time, args)
        elif phase in ("i", "I"):
            self._book.moment(None, self._track, time, name, args)
        else:
            self._problem(f"event of an unknown phase {str(phase)[:20]!r}", 1, name)

    def _begin(self, name: str, time: int, id: str, args: dict[str, Any]) -> None:
        context = NONE
        if id:
            one = self._begun(id) if name == "dynamo" else self._named(id)
            if name == "inductor_compile":
                one.half = None
            elif name == "_recursive_post_grad_passes" and one.half is not None:
                one.stage(self._book, one.half.context, POST_GRAD)
            in_half = one.half is not None and any(phase.name == "inductor_compile" for phase in self._phases.open)
            context = one.half.context.id if in_half and one.half else one.context.id
        self._phases.begin(name, time, id, args, context)

    def _phase_done(self, phase: Phase) -> None:
        one = self._compilations.get(phase.compile_id) if phase.compile_id else None
        start, dur = phase.start, phase.end - phase.start
        if one is not None:
            one.context.seen(start)
            one.context.seen(phase.end)
            self._timed(one, phase.name, start, dur, phase)
        self._book.slice(self._track, start, dur, phase.name, phase.context, short_args(phase.args))

    def _timed(self, one: Compilation, name: str, start: int, dur: int, phase: Phase) -> None:
        """Gives steps their times, and passes that the log only names a step without a graph."""
        half = one.half
        stage = _STAGES.get(name)
        found = _PASS.match(name)
        if stage or found:
            group = stage or str(found and found[1])
            context = half.context if half is not None and group == POST_GRAD else one.context
            step = one.stage(self._book, context, group)
            if found:
                step = self._book.step(context, found[2], depth=1)
            step.start, step.dur = start, dur
        elif name == "bytecode_tracing":
            one.dynamo.start = start if one.dynamo.start < 0 else one.dynamo.start
            one.dynamo.dur = max(one.dynamo.dur, 0) + dur
        elif name == "min_cut_rematerialization_partition":
            pass
        elif half is not None and name in _TIMED:
            step = self._book.step(half.context, _TIMED[name])
            step.start, step.dur = start, dur
        elif half is not None and name == "inductor_compile":
            half.context.seen(start)
            half.context.seen(start + dur)
            if isinstance(key := phase.args.get("key"), str) and key not in half.context.keys:
                half.context.keys.append(key)
