"""Peephole shows what a tensor program became and what it did.

In a program: `record`, `span`, `marker`, `signal`, `counter`, `flow`, `alloc`, `free`, `use`, and for rewrite engines
`track_rewrites`, `rewrite_step`, `match`, `decision`, `node`. docs/recording.md explains them.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # importing typing for it would take most of the time
if TYPE_CHECKING:
    from typing import Any, Final

    from peephole.record.events import alloc, counter, flow, free, marker, signal, use
    from peephole.record.nodes import node
    from peephole.record.rewrites import decision, match, rewrite_step, track_rewrites
    from peephole.record.span import span
    from peephole.recording import record

_HOMES: Final = {
    "span": "peephole.record.span",
    "marker": "peephole.record.events",
    "signal": "peephole.record.events",
    "counter": "peephole.record.events",
    "flow": "peephole.record.events",
    "alloc": "peephole.record.events",
    "free": "peephole.record.events",
    "use": "peephole.record.events",
    "track_rewrites": "peephole.record.rewrites",
    "rewrite_step": "peephole.record.rewrites",
    "match": "peephole.record.rewrites",
    "decision": "peephole.record.rewrites",
    "node": "peephole.record.nodes",
}

__all__ = [
    "alloc",
    "counter",
    "decision",
    "flow",
    "free",
    "marker",
    "match",
    "node",
    "record",
    "rewrite_step",
    "signal",
    "span",
    "track_rewrites",
    "use",
]


def __getattr__(name: str) -> Any:
    """Loads a part of the API when it is first asked for: `import peephole` alone costs nothing."""
    import importlib

    if name == "record":
        # the package of that name, which can be called; importing any part of it would put it here anyway
        return importlib.import_module("peephole.record")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'peephole' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
