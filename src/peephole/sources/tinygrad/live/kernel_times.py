"""Times kernels on devices for which tinygrad reports no times. Standard library only.

CPU (0.14) and PYTHON run a kernel inside the call of its program object, in captured JITs too: these devices have
no graph runner, so a captured JIT calls the same objects one by one.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from time import perf_counter_ns
from typing import Any, Final

from peephole.record.unseen import hide, unseen
from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.own_ranges import Ran

_PROGRAMS: Final = (
    ("tinygrad.runtime.ops_cpu", "CPUProgram", "CPU"),
    ("tinygrad.runtime.ops_python", "PythonProgram", "PYTHON"),
)


def time_kernels(ran: deque[Ran]) -> None:
    """Makes the program classes that are loaded and report no times append to `ran`."""
    for module, name, device in _PROGRAMS:
        program = getattr(sys.modules.get(module), name, None)
        if program is None or "_peephole" in vars(program) or not _runs_in_call(program):
            continue
        _wrap(program, device, ran)
        program._peephole = True


def _runs_in_call(program: Any) -> bool:
    """Whether the class itself runs the kernel; older CPU programs hand it to a queue, which reports its times."""
    return "__call__" in vars(program)


def _wrap(program: Any, device: str, ran: deque[Ran]) -> None:
    begin, call = program.__init__, program.__call__
    profile = hidden.of(sys.modules["tinygrad.helpers"], "PROFILE")

    @unseen
    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            begin(self, *args, **kwargs)
            _remember(self, args)
        except BaseException as error:
            hide(error)
            raise

    @unseen
    @functools.wraps(call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            known = self.__dict__.get("_peephole_name")
            if known is None or not profile.value:  # the program may switch it off for a while
                return call(self, *args, **kwargs)
            if known[0] is None:
                known = (_last_exec(device), *known[1:])
            start = perf_counter_ns()
            try:
                return call(self, *args, **kwargs)
            finally:
                ran.append((known, start, perf_counter_ns()))
        except BaseException as error:
            hide(error)
            raise

    program.__init__ = __init__
    program.__call__ = __call__


def _remember(self: Any, args: tuple[Any, ...]) -> None:
    """Device, name and key of a program: (dev, TinyELF) in 0.14, (name, library) or (dev, name, library) before."""
    key = device = None
    for arg in args:
        if hasattr(arg, "device") and type(arg.device) is str:
            device = arg.device
        if type(getattr(arg, "profile_key", None)) is bytes:
            key = arg.profile_key
    name = next((arg if type(arg) is str else arg.name for arg in args if _has_name(arg)), None)
    if name is not None:
        self.__dict__["_peephole_name"] = (device, name, key)


def _last_exec(otherwise: str) -> str:
    """The device that the engine said last it would run something on; before 0.14 it says so just before the run."""
    for event in reversed(hidden.of(sys.modules["tinygrad.helpers"], "cpu_events")[-3:]):
        if event.name == "exec":
            return str(event.device)
    return otherwise


def _has_name(arg: Any) -> bool:
    return type(arg) is str or (type(getattr(arg, "name", None)) is str and hasattr(arg, "lib"))
