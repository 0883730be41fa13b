"""Asks XLA for its dumps before JAX starts, and JAX for its profile and its reasons; all is read at sealing.

Standard library only: this runs inside the user's program.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peephole.model.left_files import LEFT
from peephole.record import active
from peephole.sources.xla.live import flags, variables
from peephole.sources.xla.live.compilations import Compilations
from peephole.sources.xla.live.log import Log
from peephole.sources.xla.live.profile import Profile

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

_live: Live | None = None
_cpus: Final[list[set[int]]] = []
"""The CPUs that the program may run on, while it runs on one."""
_started: Final[set[str]] = set()
"""Platforms whose backends have been started."""


def prepare() -> None:
    """Has JAX write its own programs; called before jax is imported, which reads its variables then."""
    recorder = active.recorder
    if recorder is None or not _wants_dumps():
        return
    given = os.environ.get("JAX_DUMP_IR_TO", "")
    if _has_started():
        recorder.problem("JAX had started before the recording began, so XLA was not asked for its dumps")
    elif not given or given.startswith(str(_left(recorder.path))):
        variables.put("JAX_DUMP_IR_TO", str(Log(recorder.path).folder / "ir"))
        variables.put("JAX_DUMP_IR_MODES", "jaxpr")


def attach(recorder: Recorder) -> None:
    """Listens to the jax that is loaded by now; may be called any number of times."""
    global _live  # noqa: PLW0603  one process, one jax
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "__version__"):
        return
    if _live is None:
        if variables.are_set():
            variables.give_back()  # JAX has read them
            _keep_quiet_about_jaxprs()
        if not _ask_at_the_start() and _wants_dumps() and not _has_started():
            _ask(recorder)
        _live = Live(recorder, jax)
    elif _live.recorder is not recorder:
        _live.begin(recorder)


def _wants_dumps() -> bool:
    return os.environ.get("PEEPHOLE_ONLY") != "profile"


def _keep_quiet_about_jaxprs() -> None:
    """Keeps out of the program's log that jaxprs are written, which it did not ask for.

    JAX says so by `logging.log`, which sets up the root logger: the program's own `basicConfig` would do nothing then.
    """
    writer = sys.modules.get("jax._src.jaxpr_util")
    if getattr(writer, "logging", None) is logging:
        writer.logging = Silent(logging)  # type: ignore[union-attr]


def _ask_at_the_start() -> bool:
    """Has XLA_FLAGS ask for dumps while a backend starts, and not before; says whether that is possible."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    start = getattr(bridge, "_init_backend", None)
    if start is None:
        return False

    def started(platform: str, *args: Any, **words: Any) -> Any:
        recorder = active.recorder
        if recorder is not None and _wants_dumps():
            _ask(recorder)
        try:
            return start(platform, *args, **words)
        finally:
            _started.add(platform)
            # on a CPU flags are read with the start; elsewhere they may be with the first compilation
            if _started == {"cpu"}:
                variables.give_back()

    bridge._init_backend = started  # type: ignore[union-attr]
    return True


def _ask(recorder: Recorder) -> None:
    """Adds to the XLA_FLAGS of the program."""
    log = Log(recorder.path)
    given = os.environ.get("XLA_FLAGS", "")
    own = [word for word in given.split() if not _is_ours(word, recorder.path)]
    place = next((word.partition("=")[2] for word in own if flags.name_of(word) == flags.PLACE), None)
    if place is not None:
        # theirs, with what they asked for; what is written there from now on is read when the capture is sealed
        if not _started:
            log.note("dumped", folder=str(Path(place).absolute()), wall=time.time_ns())
        return
    wanted = {flags.PLACE: str(log.folder), **flags.PASSES, **(flags.FULL if _full() else {})}
    taken = {flags.name_of(word) for word in own}
    wanted = {name: value for name, value in wanted.items() if name not in taken}
    libraries = flags.libraries()
    if not libraries:
        recorder.problem("jaxlib's library was not found, so XLA was not asked for its dumps")
        return
    known = flags.known(libraries, wanted)
    if len(known) < len(wanted) and not _started:
        left_out = ", ".join(name for name in wanted if name not in known)
        recorder.problem(f"this jaxlib does not know all flags of XLA's dumps: {left_out} left out")
    if flags.PLACE in known:
        variables.put("XLA_FLAGS", flags.with_flags(" ".join(own), {name: wanted[name] for name in known}))
        if flags.EMITTERS in known and not _cpus:
            _on_one_cpu()


class Silent:
    """`logging` for a module that is to log nothing."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def log(self, *args: Any, **words: Any) -> None:
        """Does nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Live:
    """One recording of one process."""

    def __init__(self, recorder: Recorder, jax: Any) -> None:
        self.recorder = recorder
        self.version = str(jax.__version__)
        self.compilations = Compilations(Log(recorder.path), self._ended)
        missing = self.compilations.watch(jax)
        self.profile: Profile | None = None
        profiler = getattr(sys.modules.get("jax._src.profiler"), "_profiler", None)
        if profiler is None or not hasattr(profiler, "ProfilerSession"):
            missing.append("ProfilerSession")
        elif os.environ.get("PEEPHOLE_ONLY", "") != "rewrites":
            self.profile = Profile(self.compilations.log, profiler, _needs_graphs)
            self.profile.watch()
        if missing:
            recorder.problem(f"this jax is recorded in part: it has no {', '.join(missing)}")
        self.begin(recorder)

    def begin(self, recorder: Recorder) -> None:
        """Records from now on."""
        self.recorder = recorder
        self.compilations.log.folder = Log(recorder.path).folder
        recorder.facts(frameworks={"jax": self.version})
        recorder.on_exit(self._end)
        if self.profile is not None:
            recorder.on_fork(self.profile.forked)
            if _has_started():
                self.profile.begin()

    def _ended(self, phase: str) -> None:
        if phase == "trace":
            return  # JAX's alone: its backend may not have started yet
        if _cpus:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, _cpus.pop())
        # from here on XLA has read its flags; what the program starts is not to dump into this capture
        variables.give_back()
        if self.profile is not None:
            self.profile.begin()

    def _end(self) -> None:
        if self.profile is not None:
            self.profile.end()
        if _full() and self.compilations.spent:
            folder = self.compilations.log.folder
            ends = ("._fusion.html", ".mlir-passes.log", "-optimization.mlir", "-lowering.mlir")
            size = sum(path.stat().st_size for path in folder.glob("*") if path.name.endswith(ends))
            print(
                f"peephole: --full: XLA compiled for {self.compilations.spent / 1e9:.1f} s, on one CPU, and wrote "
                f"{size / 1e6:.1f} MB of explanations of fusion and emitter logs; without --full it is several times "
                "faster.",
                file=sys.stderr,
            )


def _full() -> bool:
    return os.environ.get("PEEPHOLE_FULL", "0") not in ("", "0")


def _on_one_cpu() -> None:
    """Lets JAX's backend start with one thread for compiling.

    XLA writes the logs of emitters from several threads into one place without a lock, and crashes (seen with 0.10.2,
    nearly every time). It makes as many threads as the thread that starts it may run on CPUs.
    """
    with contextlib.suppress(OSError, AttributeError):
        _cpus.append(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {min(_cpus[0])})


def _left(capture: str) -> Path:
    return Path(capture, LEFT)


def _is_ours(word: str, path: str) -> bool:
    """Whether a process that started this one, and is recorded too, has set that."""
    return flags.name_of(word) == flags.PLACE and word.partition("=")[2].startswith(str(_left(path)))


def _has_started() -> bool:
    """Whether a backend of JAX runs: from then on flags are not read."""
    started = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return bool(started is not None and started())


def _needs_graphs() -> bool:
    """Whether there may be modules that XLA dumps nothing of: those of JAX's cache, or all of them."""
    config = getattr(sys.modules.get("jax"), "config", None)
    return os.environ.get("PEEPHOLE_ONLY") == "profile" or bool(getattr(config, "jax_compilation_cache_dir", None))
