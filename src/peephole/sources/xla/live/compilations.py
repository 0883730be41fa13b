"""When JAX traces, lowers and compiles, and why it does so again: told by its own events and its own log.

Standard library only: this runs inside the user's program.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import Any, Final

from peephole.record import active
from peephole.sources.xla.live.log import Log

PHASES: Final = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
_HIT: Final = "/jax/compilation_cache/cache_hits"
_SETTING: Final = "explain_cache_misses"
_LOGGERS: Final = (
    "jax._src.interpreters.partial_eval",
    "jax._src.pjit",
    "jax._src.compiler",
    "jax._src.compilation_cache",
)
_MISS: Final = "TRACING CACHE MISS"
_LOUDER: Final = ("PERSISTENT COMPILATION CACHE MISS", "Not writing persistent cache entry", "Writing %s to persistent")
"""What JAX warns of because it was asked to explain, and else says when debugging."""
_MOST_TEXT: Final = 20_000


class _Ours(int):
    """True, as the value of a setting that the program has not made itself."""


class Compilations:
    """Notes compilations. `ended` is called with the phase after each that ended."""

    def __init__(self, log: Log, ended: Callable[[str], None]) -> None:
        self.log, self._ended = log, ended
        self.hits = 0
        self.spent = 0
        """ns that XLA compiled."""

    def watch(self, jax: Any) -> list[str]:
        """Listens from now on; gives what this jax does not have."""
        missing = []
        try:
            jax.monitoring.register_event_duration_secs_listener(self._lasted)
            jax.monitoring.register_event_listener(self._happened)
        except AttributeError:
            missing.append("jax.monitoring")
        return missing + ([] if self._explain() else [_SETTING])

    def _explain(self) -> bool:
        """Has cache misses explained. What is said only because of that is noted, and not printed."""
        setting = getattr(sys.modules.get("jax._src.config"), _SETTING, None)
        if setting is None or not hasattr(setting, "set_global"):
            return False
        if not setting.value:
            setting.set_global(_Ours(1))
        explained = _Explained(self, setting)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(explained)
        return True

    def _lasted(self, event: str, seconds: float, **facts: Any) -> None:
        phase = PHASES.get(event)
        if phase is None or active.recorder is None:
            return
        taken = int(seconds * 1e9)
        now, wall = perf_counter_ns(), time_ns()
        name = str(facts.get("fun_name", ""))
        hit, self.hits = self.hits, 0 if phase == "compile" else self.hits
        self.log.note(phase, name=name, start=now - taken, dur=taken, wall=wall - taken, hit=bool(hit))
        if phase == "compile":
            self.spent += taken
        self._ended(phase)

    def _happened(self, event: str, **_: Any) -> None:
        if event == _HIT:
            self.hits += 1

    def missed(self, text: str) -> None:
        """Notes why something was traced, in JAX's words."""
        if active.recorder is not None:
            self.log.note("miss", time=perf_counter_ns(), text=text[:_MOST_TEXT])


class _Explained(logging.Filter):
    """Takes explanations out of the log, unless the program asked for them itself."""

    def __init__(self, compilations: Compilations, setting: Any) -> None:
        super().__init__()
        self._compilations, self._setting = compilations, setting

    def filter(self, record: logging.LogRecord) -> bool:
        if not isinstance(record.msg, str) or not record.msg.startswith((_MISS, *_LOUDER)):
            return True
        if is_miss := record.msg.startswith(_MISS):
            self._compilations.missed(record.getMessage())
        if not isinstance(self._setting.value, _Ours):
            return True
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return not is_miss and logging.getLogger(record.name).isEnabledFor(logging.DEBUG)
