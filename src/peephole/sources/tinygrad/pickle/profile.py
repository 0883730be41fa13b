"""profile.pkl into rows."""

from __future__ import annotations

from typing import Any

from peephole.model.sink import Sink
from peephole.sources.tinygrad.contexts import Contexts
from peephole.sources.tinygrad.enums import REFERENCE
from peephole.sources.tinygrad.pickle.columns import Columns
from peephole.sources.tinygrad.pickle.rewrites import Rewrites
from peephole.sources.tinygrad.text import NOT_UNDERSTOOD, Texts, label
from peephole.sources.tinygrad.timeline import Timeline


def read_profile(events: list[Any], sink: Sink, texts: Texts, rewrites: Rewrites | None) -> None:
    """Writes all rows of a run; the rewrites learn when they were."""
    out = Columns(sink)
    if rewrites is None:
        timeline = Timeline(out, texts, Contexts())
    else:
        timeline = Timeline(out, texts, rewrites.contexts, closed=rewrites.closed)
        if texts.release == REFERENCE:
            try:
                timeline.runs = rewrites.runs(events)
            except NOT_UNDERSTOOD as error:
                sink.problem("what ran cannot be told from the rewrites", 1, label(error.args[0] if error.args else ""))
    # Offsets and allocations come last in the file, and the rest relies on them.
    once = {id(event): event for event in events}
    if len(once) < len(events):
        sink.problem("an event that is there again", len(events) - len(once))
    for event in sorted(once.values(), key=_turn):
        timeline.event(event)
    timeline.finish()
    out.flush()


def _turn(event: Any) -> int:
    kind = type(event).__name__
    if kind == "ProfileDeviceEvent":
        return 0
    if kind == "ProfilePointEvent" and getattr(event, "name", None) in ("alloc", "free"):
        return 1
    return 2
