"""Records a running, unmodified tinygrad. Standard library only: this runs inside the user's program.

`prepare` is called before tinygrad's modules run, which get switches and lists that the program does not see
(hidden.py); `attach` after each of the modules below, to set these as VIZ=-1 would, to put our exit handlers where
tinygrad has its own (which would write its pickles and start its server) and to follow the lists from a thread.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
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
    hidden,
    kernel_times,
    matching,
    node_lines,
    repeats,
    workers,
)
from peephole.sources.tinygrad.live.follow import Followed, Follower
from peephole.sources.tinygrad.live.installation import missing_of_profile, missing_of_rewrites

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

_before: dict[str, str | None] = {}
_follower: Follower | None = None
_done: set[str] = set()


def prepare() -> None:
    """Looks which tinygrad will be imported; what older ones read from the environment is put back when it is read."""
    if "prepared" in _done or "tinygrad.helpers" in sys.modules:
        return
    _done.add("prepared")
    if _is_ancient():
        _refuse(active.recorder)
    elif not _has_workers():
        _before["PARALLEL"] = os.environ.get("PARALLEL")
        os.environ["PARALLEL"] = "0"  # processes that compile are not recorded there


def attach(recorder: Recorder) -> None:
    """Attaches to whichever of tinygrad's modules are loaded by now; may be called any number of times."""
    ops, device = sys.modules.get("tinygrad.uop.ops"), sys.modules.get("tinygrad.device")
    worker = sys.modules.get("tinygrad.engine.worker")
    if worker is not None and _loaded(worker):
        workers.share_pool(worker, lambda: _follower)
    if ops is not None and _loaded(ops) and "ops" not in _done:
        _done.add("ops")
        _replace_exit(ops, "print_match_stats", _finish_rewrites)
    if device is not None and _loaded(device) and "device" not in _done:
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
    if tensor is not None and _loaded(tensor) and "tensor" not in _done:
        _done.add("tensor")
        helpers = _follower.followed.helpers
        if _follower.followed.rewrites and "TRACEMETA" not in os.environ and node_lines.add_lines(tensor):
            hidden.of(helpers, "TRACEMETA").value = 2  # only with it do the nodes' fields have the metadata
            effect_lines.add_effect_lines(_follower.followed.ops, tensor)
    if _follower.followed.profile:
        kernel_times.time_kernels(_follower.ran)
        copy_times.time_copies(_follower.ran)
        repeats.plan_repeats(repeats.loaded(), _follower.ran)


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
    if not followed.rewrites and not followed.profile:
        return
    learn_devices(getattr(getattr(device, "Device", None), "_devices", ()))
    if followed.rewrites:
        matching.match_quietly(ops)
        matching.number_quickly(ops)
    if followed.profile:
        credit_whole_buffers(device.Buffer)
        repeats.count_lives(device.Buffer, hidden.of(helpers, "PROFILE"))
    _follow(recorder, followed, None)
    _hurry_before_exit()


def _follow(recorder: Recorder, followed: Followed, before: Follower | None) -> None:
    global _follower  # noqa: PLW0603  one process, one tinygrad
    helpers, ops = followed.helpers, followed.ops
    if followed.rewrites:
        matching.track(ops)
        _switch_on(helpers, ops)
    profile = hidden.of(helpers, "PROFILE")
    level = profile.value
    if followed.profile:
        # a program that profiles itself gets all of it in tinygrad's way
        profile.value = level if hidden.by_the_program("PROFILE") else repeats.Ours(level or 1)
        collected = getattr(helpers, "my_gc_callback", None)
        if collected is not None and collected not in gc.callbacks:
            gc.callbacks.append(collected)
    if followed.profile and not level and not hidden.is_hidden():
        atexit.unregister(_finish_profile)
        atexit.register(_finish_profile)
    tracks = getattr(hidden.of(ops, "TRACK_MATCH_STATS"), "value", 0) if followed.rewrites else 2
    if tracks < 2:
        recorder.problem(f"no rewrites were recorded: TRACK_MATCH_STATS is {tracks}")
    _follower = Follower(recorder, followed, before)
    recorder.on_exit(_follower.close)
    recorder.on_fork(_follower.forked)
    _follower.start()


def _switch_on(helpers: ModuleType, ops: ModuleType) -> None:
    """Sets what VIZ=-1 would set; TRACK_MATCH_STATS of 1 only counts, which is not enough."""
    viz, tracks = hidden.of(helpers, "VIZ"), hidden.of(ops, "TRACK_MATCH_STATS")
    viz.value = -abs(viz.value) or -1
    asked = os.environ.get("TRACK_MATCH_STATS", "2")
    tracks.value = max(tracks.value, 2) if asked != "0" else 0
    if not (hidden.is_hidden() and workers.are_recorded()) and hasattr(helpers, "PARALLEL"):
        hidden.of(helpers, "PARALLEL").value = 0


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
    asked = os.environ.get("TRACK_MATCH_STATS") or "0"
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
    if own is not None or hidden.is_hidden():
        atexit.register(ours)  # type: ignore[arg-type]


def _loaded(module: ModuleType) -> bool:
    """Whether a module has run to its end."""
    spec = getattr(module, "__spec__", None)
    return module.__name__ in hidden.ran or not getattr(spec, "_initializing", False)
