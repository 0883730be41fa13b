"""The rewrites of each capture, under the rules of its compilers, read once and kept while the capture is."""

from __future__ import annotations

import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING

from peephole.compilers import assumed_name, compiler_named
from peephole.replay.rules import Rules
from peephole.replay.trace import RewriteTrace, size_of

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_traces: weakref.WeakKeyDictionary[Capture, RewriteTrace] = weakref.WeakKeyDictionary()
_traces_lock = threading.Lock()


def trace_of(capture: Capture) -> RewriteTrace:
    """The rewrites of a capture, read when first asked for, and again when a live one has grown."""
    with _traces_lock:
        trace = _traces.get(capture)
        if trace is None or (capture.live and trace.size != size_of(capture)):
            manifest = capture.manifest

            @cache
            def rules(name: str) -> Rules:
                return compiler_named(name).rules(manifest.frameworks)

            trace = _traces[capture] = RewriteTrace(capture, rules, assumed_name(capture))
        return trace


def known_trace(capture: Capture) -> RewriteTrace | None:
    """The rewrites of a capture if somebody has asked for them; does not wait."""
    return _traces.get(capture)
