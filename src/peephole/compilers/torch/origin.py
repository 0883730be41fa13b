"""From a kernel to the program: the operations and lines that its FX nodes come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Operation, Origin
from peephole.compilers.torch.halves import halves
from peephole.compilers.torch.schedule import schedule
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.natural import whole_number
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_METADATA: Final = re.compile(r"([^@]*?)(?:@(.+?:\d+))?(?: in ([\w.]+))?$")


def parsed(metadata: str) -> tuple[str, str | None, str | None]:
    """Operation, `file:line` and module path of a node's metadata."""
    found = _METADATA.match(metadata)
    return (found[1].strip(), found[2], found[3]) if found else (metadata, None, None)


def origins_in(metadata: str) -> list[str]:
    """The origins that a metadata lists."""
    return [text for text in metadata.split(", ") if text]


def all_origins(capture: Capture) -> list[Origin]:
    """The origins of all kernels, half by half."""
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("torch origins", {})
        if 0 not in kept:
            kept[0] = _origins(capture, trace)
        result: list[Origin] = kept[0]
        return result


def _origins(capture: Capture, trace: RewriteTrace) -> list[Origin]:
    found = []
    frame = capture.read("contexts", ["id", "parent"])
    parents = dict(zip(frame["id"].tolist(), frame["parent"].tolist(), strict=True))
    for half in halves(capture):
        try:
            made = schedule(capture, half.context)
        except PeepholeError:
            continue
        line = trace.user_line(parents.get(half.context, -1))
        for kernel, call in zip(made.kernels, half.calls, strict=True):
            members: dict[tuple[str, str | None], list[int]] = {}
            for name in call.parts:
                node = half.fx.get(name)
                if node is None:
                    continue
                for text in origins_in(node.metadata):
                    operation, at, _ = parsed(text)
                    members.setdefault((operation, at), []).append(node.id)
            operations = [Operation(name, at, source(trace, at), nodes) for (name, at), nodes in members.items()]
            found.append(
                Origin(kernel.context, kernel.name, half.context, kernel.index, operations, line, source(trace, line))
            )
    return found


def source(trace: RewriteTrace, line: str | None) -> str | None:
    """The text of a line of the program, where it is known."""
    file, _, number = (line or "").rpartition(":")
    return trace.places.line(file, whole_number(number)) if number.isdecimal() else None
