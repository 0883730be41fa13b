"""Peephole shows what a tensor program became and what it did.

In a program: `record`, `span`, `marker`, `signal`, `counter`, `flow`, `alloc`, `free`, `use`, and for rewrite engines
`track_rewrites`, `rewrite_step`, `match`, `decision`, `node`. docs/recording.md explains them.
In a notebook: `capture` and `view` (docs/notebook.md).
"""

from __future__ import annotations

__version__ = "0.2.0"

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
    "capture": "peephole.notebook.cell",
    "view": "peephole.notebook.viewing",
    "load_ipython_extension": "peephole.notebook.magic",
    "unload_ipython_extension": "peephole.notebook.magic",
}

_CALLED: Final = {"capture": "CaptureCell"}
"""What a part of the API is called where it is."""

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


class _Nothing:
    """Stands for a part of the API that is being loaded when a handler asks for it, or cannot be loaded now."""

    id = 0

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if args and callable(args[0]) else self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def note(self, **_: Any) -> None:
        pass


def __getattr__(name: str) -> Any:
    """Loads a part of the API when it is first asked for: `import peephole` alone costs nothing."""
    import importlib

    if name == "record":
        # the package of that name, which can be called; importing any part of it would put it here anyway
        return importlib.import_module("peephole.record")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'peephole' has no attribute {name!r}")
    if _is_loading(library=True):
        # the collector came in while `typing` was being loaded, say: what ours need is not there yet
        return _Nothing()
    try:
        value = getattr(importlib.import_module(home), _CALLED.get(name, name))
        importlib.import_module("peephole.record.active").recorder  # noqa: B018 - it may be half loaded
    except OSError:  # no descriptor is left, for example: the program goes on
        return _Nothing()
    except (ImportError, AttributeError):
        if _is_loading():
            return _Nothing()
        raise
    globals()[name] = value
    return value


def _is_loading(library: bool = False) -> bool:
    """Whether a module of ours, or one of the standard library, is half loaded."""
    import sys

    modules = [
        module
        for name, module in sys.modules.copy().items()  # in one go: a collection may import in between
        if (name in sys.stdlib_module_names if library else name.startswith("peephole."))
    ]
    return any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in modules)
