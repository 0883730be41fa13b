"""Records a running, unmodified tinygrad. Standard library only: this runs inside the user's program.

`prepare` is called before tinygrad's modules run and sets what they read from the environment, as VIZ=-1 would;
`attach` after each of the modules below, to put our exit handlers in the place of tinygrad's (which would write
its pickles and start its server) and to follow its append-only lists from a thread.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from peephole.record import active
from peephole.sources.tinygrad.buffers import credit_whole_buffers
from peephole.sources.tinygrad.clock import learn_devices
from peephole.sources.tinygrad.live import (
    copy_times,
    effect_lines,
    kernel_times,
    matching,
    node_lines,
    repeats,
    workers,
)
from peephole.sources.tinygrad.live.follow import Followed, Follower
from peephole.sources.tinygrad.live.installation import missing_of_profile, missing_of_rewrites
from peephole.sources.tinygrad.live.kept import KeptList, keep

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

_before: dict[str, str | None] = {}
_follower: Follower | None = None
_done: set[str] = set()


def prepare() -> None:
    """Sets the environment that tinygrad reads when it is imported; put back once it has been read."""
    if _before or "tinygrad.helpers" in sys.modules:
        return
    if _is_ancient():
        _refuse(active.recorder)
        return
    only = os.environ.get("PEEPHOLE_ONLY", "")
    if only == "profile":
        _set(VIZ="0", PROFILE="0")  # the tracking matcher stays out; the profile is switched on after the import
        return
    level = os.environ.get("VIZ", "0").lstrip("-")
    if level == "0" and "PARALLEL" not in os.environ and _has_workers() and workers.are_recorded():
        _done.add("parallel")
        _set(VIZ="-1")
    else:
        parallel = os.environ.get("PARALLEL", "0") if _has_workers() and workers.are_recorded() else "0"
        _set(VIZ=f"-{level}" if level.isdigit() and int(level) > 1 else "-1", PARALLEL=parallel)
    if os.environ.get("TRACK_MATCH_STATS") == "1":
        _set(TRACK_MATCH_STATS="2")  # counting matches is not enough
    if only == "rewrites":
        _set(PROFILE="0")


def attach(recorder: Recorder) -> None:
    """Attaches to whichever of tinygrad's modules are loaded by now; may be called any number of times."""
    ops, device = sys.modules.get("tinygrad.uop.ops"), sys.modules.get("tinygrad.device")
    _keep(sys.modules.get("tinygrad.helpers"), ops, device)
    worker = sys.modules.get("tinygrad.engine.worker")
    if worker is not None and _loaded(worker, "terminate_worker_pool", "get_worker_pool"):
        workers.share_pool(worker, lambda: _follower)
    if ops is not None and _loaded(ops, "print_match_stats", "UOp") and "ops" not in _done:
        _done.add("ops")
        _replace_exit(ops, "print_match_stats", _finish_rewrites)
    if device is not None and _loaded(device, "finalize_profile", "Compiled") and "device" not in _done:
        _done.add("device")
        _replace_exit(device, "finalize_profile", _finish_profile)
    if ops is not None and device is not None and {"ops", "device"} <= _done and "started" not in _done:
        _done.add("started")
        _start(recorder, ops, device)
    if _follower is None:
        return
    if _follower.recorder is not recorder:  # the program ended that recording and began another
        _follow(recorder, _follower.followed, _follower)
    tensor = sys.modules.get("tinygrad.tensor")
    if tensor is not None and _loaded(tensor, "_METADATA", "_METADATA") and "tensor" not in _done:
        _done.add("tensor")
        helpers = _follower.followed.helpers
        if _follower.followed.rewrites and "TRACEMETA" not in os.environ and node_lines.add_lines(tensor):
            helpers.TRACEMETA.value = 2  # only with it do the nodes' fields have the metadata
            effect_lines.add_effect_lines(_follower.followed.ops, tensor)
    if _follower.followed.profile:
        kernel_times.time_kernels(_follower.ran)
        copy_times.time_copies(_follower.ran)
        repeats.plan_repeats(repeats.loaded(), _follower.ran)


def _keep(helpers: ModuleType | None, ops: ModuleType | None, device: ModuleType | None) -> None:
    """Keeps what the program takes out of tinygrad's lists, when they are seen before anybody else has them."""
    if helpers is not None and "helpers" not in _done and _loaded(helpers, "cpu_events", "cpu_profile"):
        _done.add("helpers")
        if keep(helpers, "cpu_events"):
            _done.add("kept")
    if "kept" in _done and ops is not None and "ops" not in _done and _loaded(ops, "print_match_stats", "UOp"):
        keep(ops, "tracked_keys", "tracked_ctxs", "uop_fields")
    if "kept" in _done and device is not None and _loaded(device, "finalize_profile", "Compiled"):
        for owner in (device.Compiled, device.Buffer):
            if type(getattr(owner, "profile_events", None)) is list and "device" not in _done:
                owner.profile_events = KeptList(owner.profile_events)


def _is_ancient() -> bool:
    """Whether the tinygrad that will be imported lacks the modules that we attach to: its VIZ could not be tamed."""
    for entry in sys.path:
        package = Path(entry, "tinygrad")
        if (package / "__init__.py").is_file():
            return not (package / "uop" / "ops.py").is_file()
    return False


def _has_workers() -> bool:
    """Whether the tinygrad that will be imported compiles in processes that we know how to record."""
    for entry in sys.path:
        package = Path(entry, "tinygrad")
        if (package / "__init__.py").is_file():
            return (package / "engine" / "worker.py").is_file()
    return False


def _refuse(recorder: Recorder | None) -> None:
    if "refused" in _done:
        return
    _done.add("refused")
    print("peephole: this tinygrad is older than 0.12, which is not recorded; the program runs on.", file=sys.stderr)
    if recorder is not None:
        recorder.problem("tinygrad is older than 0.12 and was not recorded")


def _say_missing(recorder: Recorder, rewrites: list[str], profile: list[str]) -> None:
    """Says what this tinygrad lacks, in the terminal and in the capture."""
    for what, missing in (("rewrites", rewrites), ("run", profile)):
        if missing:
            short = ", ".join(missing[:4]) + (" …" if len(missing) > 4 else "")
            why = f"the {what} of this tinygrad are not recorded: it has no {short}"
            why = why.replace("run of this tinygrad are", "run of this tinygrad is")
            print(f"peephole: {why}; the program runs on.", file=sys.stderr)
            recorder.problem(why)


def _start(recorder: Recorder, ops: ModuleType, device: ModuleType) -> None:
    helpers = sys.modules["tinygrad.helpers"]
    _put_back(helpers)
    if not hasattr(ops, "RewriteTrace"):
        ops.TRACK_MATCH_STATS.value = helpers.PROFILE.value = 0
        _refuse(recorder)
        return
    only = os.environ.get("PEEPHOLE_ONLY", "")
    modules = {"helpers": helpers, "uop.ops": ops, "device": device}
    no_rewrites, no_profile = missing_of_rewrites(modules), missing_of_profile(modules)
    followed = Followed(
        helpers,
        device,
        ops,
        rewrites=only != "profile" and not no_rewrites,
        profile=only != "rewrites" and not no_profile,
    )
    _say_missing(recorder, no_rewrites, no_profile)
    if no_rewrites and hasattr(ops, "TRACK_MATCH_STATS"):
        ops.TRACK_MATCH_STATS.value = 0
    if not followed.rewrites and not followed.profile:
        return
    learn_devices(getattr(getattr(device, "Device", None), "_devices", ()))
    if followed.rewrites:
        matching.match_quietly(ops)
        matching.number_quickly(ops)
    if followed.profile:
        credit_whole_buffers(device.Buffer)
        repeats.count_lives(device.Buffer, helpers.PROFILE)
    if "parallel" in _done:  # what it is without VIZ
        each = max(1, int(helpers.getenv("PYTEST_XDIST_WORKER_COUNT", 1)))
        helpers.PARALLEL.value = helpers.NUM_CPU_THREADS.value // each
    _follow(recorder, followed, None)
    _hurry_before_exit()


def _follow(recorder: Recorder, followed: Followed, before: Follower | None) -> None:
    global _follower  # noqa: PLW0603  one process, one tinygrad
    helpers, ops = followed.helpers, followed.ops
    if followed.rewrites and not helpers.VIZ.value:
        # tinygrad was there before us, untracked: its matchers are of the class that does not look
        tracked = ops.TrackedPatternMatcher
        tracked.__mro__[1].rewrite = tracked.rewrite
        ops.TRACK_MATCH_STATS.value = 2
        helpers.VIZ.value = -1
        if "PARALLEL" in helpers.ContextVar._cache:
            helpers.ContextVar._cache["PARALLEL"].value = 0
    level = helpers.PROFILE.value
    if followed.profile:
        helpers.PROFILE.value = repeats.Ours(level or 1)
    if followed.profile and not level:
        atexit.unregister(_finish_profile)
        atexit.register(_finish_profile)
    if followed.rewrites and ops.TRACK_MATCH_STATS.value < 2:
        recorder.problem(f"no rewrites were recorded: TRACK_MATCH_STATS is {ops.TRACK_MATCH_STATS.value}")
    _follower = Follower(recorder, followed, before)
    recorder.on_exit(_follower.close)
    recorder.on_fork(_follower.forked)
    _follower.start()


def _hurry_before_exit() -> None:
    """Has what the follower would take in its next rounds written before `os._exit`, which calls nobody."""
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        """Exits the process with specified status, without normal exit processing."""
        with contextlib.suppress(BaseException):
            if _follower is not None:
                _follower.hurry()
        leave(status)

    os._exit = _exit


def _put_back(helpers: ModuleType) -> None:
    """Gives the environment, which the program's children see too, its own values again."""
    for name, value in _before.items():
        helpers.getenv(name)  # 0.12 asks again while it runs, and then remembers the answer
        helpers.getenv(name, 0)
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _finish_rewrites() -> None:
    if _follower is None:
        return
    with contextlib.suppress(KeyboardInterrupt):
        _follower.finish_rewrites()
    asked = _before.get("TRACK_MATCH_STATS", os.environ.get("TRACK_MATCH_STATS")) or "0"
    if "0" not in (asked, os.environ.get("PRINT_MATCH_STATS", "0")):
        _follower.followed.ops.print_match_stats()  # there is nothing left that it would save


def _finish_profile() -> None:
    if _follower is not None:
        with contextlib.suppress(KeyboardInterrupt):  # the program has ended; what is not recorded by now is not missed
            _follower.finish_profile()


def _replace_exit(module: ModuleType, name: str, ours: object) -> None:
    """Puts our handler where tinygrad registered its own, which then never runs."""
    own = getattr(module, name, None)
    if own is not None:
        atexit.unregister(own)
        atexit.register(ours)  # type: ignore[arg-type]


def _loaded(module: ModuleType, last: str, always: str) -> bool:
    """Whether a module has run to its end; `last` is defined late, but only under VIZ."""
    if not hasattr(module, always):
        return False
    spec = getattr(module, "__spec__", None)
    return hasattr(module, last) or not getattr(spec, "_initializing", False)


def _set(**values: str) -> None:
    for name, value in values.items():
        _before.setdefault(name, os.environ.get(name))
        os.environ[name] = value
