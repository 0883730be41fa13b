"""The compiler's phases, which a log tells as begins and ends, as slices of a track."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

_LONG: Final = 4000
_SHORT: Final = 300


@dataclass(slots=True)
class Phase:
    """One phase; `end` is -1 while it is open."""

    name: str
    start: int
    compile_id: str
    args: dict[str, Any]
    end: int = -1
    context: int = -1
    inside: Phase | None = None


@dataclass(slots=True)
class Phases:
    """The phases of one process in the order of their ends: `done` is called with each."""

    done: Callable[[Phase], None]
    problem: Callable[[str, str], None]
    open: list[Phase] = field(default_factory=list)
    last: int = 0

    def begin(self, name: str, time: int, compile_id: str, args: dict[str, Any], context: int) -> Phase:
        """A phase begins."""
        phase = Phase(name, time, compile_id, args, context=context, inside=self.open[-1] if self.open else None)
        self.open.append(phase)
        self.last = max(self.last, time)
        return phase

    def end(self, name: str, time: int, args: dict[str, Any]) -> None:
        """The phase of that name that began last has ended."""
        self.last = max(self.last, time)
        for at in range(len(self.open) - 1, -1, -1):
            phase = self.open[at]
            if phase.name == name:
                del self.open[at]
                phase.end = max(time, phase.start)
                phase.args |= args
                self.done(phase)
                return
        self.problem("end of a phase that did not begin", name)

    def finish(self) -> None:
        """The log is at its end: what is open goes on to its last moment."""
        for phase in reversed(self.open):
            phase.end = max(self.last, phase.start)
            phase.args["open"] = True
            self.done(phase)
            self.problem("phase that did not end, shown to the end of the log", phase.name)
        self.open.clear()


def short_args(args: dict[str, Any]) -> str | None:
    """The facts of a phase as JSON, without long ones: the compilation's metrics are kept apart."""
    if not args:
        return None
    text = json.dumps(args, ensure_ascii=False, default=str)
    if len(text) <= _LONG:
        return text
    kept = {key: value for key, value in args.items() if len(str(value)) <= _SHORT and value is not None}
    while len(text := json.dumps(kept, ensure_ascii=False, default=str)) > _LONG and kept:
        kept.pop(next(reversed(kept)))
    return text
