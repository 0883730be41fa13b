"""Fusion: scheduler nodes become fewer, round by round, and every pair that was tried has a decision.

Standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from peephole.model.tables import GRAPH, NONE
from peephole.sources.torch.live.compilations import Step
from peephole.sources.torch.live.hooks import Place, caller, failed, wrap
from peephole.sources.torch.live.inductor import Half, Inductor
from peephole.sources.torch.live.ir_texts import origins_of, outputs, types
from peephole.sources.torch.rows import FUSED, FUSION, REFUSED, fusion_round


class Fusion:
    """Follows the scheduler."""

    def __init__(self, inductor: Inductor) -> None:
        self.inductor = inductor
        self.at = inductor.at
        self.nodes = inductor.nodes

    def watch(self, module: ModuleType) -> list[str]:
        """Watches the scheduler; gives what is not there."""
        cls, missing = getattr(module, "Scheduler", None), []
        if cls is None or not wrap(cls, "fuse_nodes", self._fusion_begins, self._fusion_ends):
            missing.append("Scheduler.fuse_nodes")
        if cls is None or not wrap(cls, "fuse_nodes_once", self._round_begins, self._round_ends):
            missing.append("Scheduler.fuse_nodes_once")
        log = getattr(module, "fusion_log", None)
        if log is None:
            missing.append("scheduler.fusion_log")
        elif not isinstance(log, FusionLog):
            module.fusion_log = FusionLog(log, self)  # type: ignore[attr-defined]
        return missing

    def _fusion_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        half = self.inductor.half
        if half is None:
            return None
        nodes = args[1] if len(args) > 1 else words["nodes"]
        if half.lowering is not None and half.lowering.root != NONE and half.came_out == NONE:
            self.inductor.finish_lowering(half, nodes)
        half.context.last = NONE  # scheduler nodes are another graph
        step = self.at.begin(FUSION, self._schedule(half, nodes), caller())
        return half, step

    def _fusion_ends(self, state: tuple[Half, Step], result: Any, raised: BaseException | None) -> None:
        half, step = state
        if raised is not None:
            self.at.end(step, NONE, repr(raised))
            return
        half.came_out = self._schedule(half, result)
        self.at.end(step, half.came_out)
        half.fused_at = perf_counter_ns()

    def _round_begins(self, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        half, outer = self.inductor.half, self.at.step()
        if half is None or outer is None or outer.name != FUSION:
            return None
        half.rounds += 1
        nodes = args[1] if len(args) > 1 else words["nodes"]
        return half, self.at.begin(fusion_round(half.rounds), self._schedule(half, nodes), caller())

    def _round_ends(self, state: tuple[Half, Step], result: Any, raised: BaseException | None) -> None:
        half, step = state
        self.at.end(
            step, NONE if raised is not None else self._schedule(half, result), None if raised is None else repr(raised)
        )

    def _schedule(self, half: Half, nodes: Iterable[Any]) -> int:
        """Writes the graph of scheduler nodes as they are now."""
        half.scheduled = {}
        half.written_by = {}
        half.sources, half.fused_into = {}, {}
        listed = []
        for node in nodes:
            number = self._scheduled(node, half)
            half.scheduled[node.get_name()] = number
            listed.append(number)
        return self.nodes.add(op=GRAPH, name="schedule", src=listed)

    def _scheduled(self, node: Any, half: Half) -> int:
        by_buffer = half.written_by
        written = [output.get_name() for output in outputs(node)]
        reads = sorted({dep.name for dep in node.read_writes.reads} - set(written))
        sources = list(dict.fromkeys(by_buffer[name] for name in reads if name in by_buffer))
        inside = [getattr(one, "node", None) for one in node.get_nodes()]
        origins = list(dict.fromkeys(origin for one in inside if one is not None for origin in origins_of(one)))
        first = next((one for one in inside if one is not None), None)
        number = self.nodes.add(
            op=type(node).__name__,
            name=node.get_name(),
            src=sources,
            arg=", ".join(written) or None,
            **types(first),
            **self.inductor.from_fields(origins),
        )
        half.sources[number] = sources
        for name in written:
            by_buffer[name] = number
        return number

    def said(self, message: Any, args: tuple[Any, ...]) -> None:
        """What the fusion log is told: two nodes fused, or a reason why not."""
        half, step = self.inductor.half, self.at.step()
        if half is None or step is None:
            return
        if isinstance(message, str):
            if message.startswith("fusing %s with %s") and len(args) == 2:
                self._fused(half, step, str(args[0]), str(args[1]))
            return
        first, second, reason = (getattr(message, name, None) for name in ("name1", "name2", "reason"))
        if isinstance(reason, str):
            words = reason % message.args if message.args else reason
            a, b = (half.scheduled.get(str(name), NONE) for name in (first, second))
            step.decide(REFUSED, words, caller_of_reason(), a, b)

    def _fused(self, half: Half, step: Step, first: str, second: str) -> None:
        a, b = half.scheduled.get(first, NONE), half.scheduled.get(second, NONE)
        place = caller_of_reason()
        step.decide(FUSED, "", place, a, b)
        name = f"{first}_{second}"
        both = [number for number in (a, b) if number != NONE]
        if len(both) == 2:
            # what the scheduler says about the pair is in the graph after the round
            read = dict.fromkeys(half.now(source) for one in both for source in half.sources.get(one, ()))
            sources = [source for source in read if source not in both]
            number = self.nodes.add(op="FusedSchedulerNode", name=name, src=sources, arg=None)
            half.scheduled[name], half.sources[number] = number, sources
            half.fused_into[a] = half.fused_into[b] = number
            self.inductor.match(step, a, number, both, [number], place)


class FusionLog:
    """The log of fusions, which is told of every one that was done or refused, whether anybody listens or not."""

    def __init__(self, log: Any, fusion: Fusion) -> None:
        self._log = log
        self._fusion = fusion

    def debug(self, message: Any, *args: Any, **words: Any) -> None:
        """As a logger's."""
        try:
            self._fusion.said(message, args)
        except Exception as error:
            failed("fusion log", error)
        words["stacklevel"] = words.get("stacklevel", 1) + 1
        self._log.debug(message, *args, **words)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def caller_of_reason() -> Place:
    """The line of the scheduler that gave a reason: behind the object that keeps it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        "/peephole/sources/torch/" in frame.f_code.co_filename or frame.f_code.co_name == "__call__"
    ):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
