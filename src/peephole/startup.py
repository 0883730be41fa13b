"""What `peephole-startup.pth` runs when an interpreter starts with PEEPHOLE set. Standard library only.

Opens the recorder, in the capture that PEEPHOLE_CAPTURE names or in a new one that every process started from here
on joins, and waits for the program to import a framework that a source can attach to.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple

from peephole.errors import PeepholeError
from peephole.record import active, place
from peephole.record.recorder import Recorder
from peephole.record.unseen import hide, unseen


class Framework(NamedTuple):
    """A package that a source attaches to: `prepare()` before it runs, `attach(recorder)` after each of `ready`."""

    package: str
    attach: str
    ready: tuple[str, ...]
    recoded: str = ""
    """A module that gives the package's modules other code: `recodes`, `begin`, `code_of` and `end`."""


FRAMEWORKS: Final = (
    Framework(
        "tinygrad",
        "peephole.sources.tinygrad.live.attach",
        (
            "tinygrad.helpers",
            "tinygrad.uop.ops",
            "tinygrad.device",
            "tinygrad.tensor",
            "tinygrad.engine.worker",
            "tinygrad.engine.realize",
            "tinygrad.runtime.ops_cpu",
            "tinygrad.runtime.ops_python",
            "tinygrad.runtime.ops_npy",
            "tinygrad.runtime.ops_disk",
            "tinygrad.runtime.ops_null",
        ),
        "peephole.sources.tinygrad.live.hidden",
    ),
    Framework(
        "torch",
        "peephole.sources.torch.live.attach",
        (
            "torch",
            "torch._logging",
            "torch._dynamo.convert_frame",
            "torch._dynamo.output_graph",
            "torch.fx.passes.graph_transform_observer",
            "torch._inductor.pattern_matcher",
            "torch._functorch.partitioners",
            "torch._inductor.compile_fx",
            "torch._inductor.graph",
            "torch._inductor.scheduler",
            "torch._inductor.codegen.cpp",
            "torch._inductor.codegen.triton",
            "torch.autograd.profiler",
            "torch.distributed.distributed_c10d",
            "torch._inductor.config",
            "torch._functorch.config",
        ),
    ),
    Framework("jax", "peephole.sources.xla.live.attach", ("jax",)),
    Framework("distributed", "peephole.sources.dask.attach", ("distributed",)),
)


def begin() -> None:
    """Records this interpreter; called when PEEPHOLE asks for it. Never raises: the program comes first."""
    if active.recorder is not None or _is_peephole():
        return
    other = _other_module()
    if other:
        os.environ["PEEPHOLE"] = "0"
        print(
            f"peephole: {other} is another module named peephole, which the program means by that name; "
            "rename it to record. The program runs unrecorded.",
            file=sys.stderr,
        )
        for name in [name for name in sys.modules if name.partition(".")[0] == "peephole"]:
            del sys.modules[name]
        return
    collects = gc.isenabled()
    gc.disable()  # what is imported here stays: the program's collections come when they would come without us
    try:
        _begin()
    except Exception as error:  # nothing that goes wrong here may stop the program
        why = str(error) if isinstance(error, PeepholeError) else f"{type(error).__name__}: {error}."
        os.environ["PEEPHOLE"] = "0"  # once is enough: the processes it starts need not say it again
        print(f"peephole: {why} The program runs unrecorded.", file=sys.stderr)
    finally:
        if collects:
            gc.enable()


def _begin() -> None:
    path = os.environ.get("PEEPHOLE_CAPTURE")
    if path:
        _check_joinable(path)
    else:
        path = place.begin_capture(None, place.program_name(), place.program_words())
        os.environ["PEEPHOLE_CAPTURE"] = path
        active.finish_here(path)
    recorder = active.start(path)
    if not os.listdir(os.path.join(path, "journal")) or _took_the_place_of_the_first(path):
        recorder.begin()  # the capture's first process is there even when it records nothing
    watch(recorder)


def watch(recorder: Recorder) -> None:
    """Attaches the sources to the frameworks that are loaded already, and to the others when they are imported."""
    for framework in FRAMEWORKS:
        if any(name in sys.modules for name in framework.ready):
            _call(recorder, framework, "prepare")
            _call(recorder, framework, "attach", recorder)
    if not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """Sees the imports of frameworks; finds nothing itself."""

    def __init__(self) -> None:
        self._packages = {framework.package: framework for framework in FRAMEWORKS}
        self._ready = {name: framework for framework in FRAMEWORKS for name in framework.ready}

    @unseen
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        try:
            recorder, framework = active.recorder, self._packages.get(name.partition(".")[0])
            if recorder is None or framework is None:
                return None
            if name in self._packages:
                _call(recorder, framework, "prepare")
            recoding = _recoding(framework, name)
            if name in self._ready or recoding is not None:
                return self._spec_that_attaches(framework, name, path, target, recoding)
            return None
        except BaseException as error:
            hide(error)
            raise

    def _spec_that_attaches(
        self, framework: Framework, name: str, path: Sequence[str] | None, target: ModuleType | None, recoding: Any
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                break
        else:
            return None
        loader: Any = spec.loader
        execute, code_of = getattr(loader, "exec_module", None), getattr(loader, "get_code", None)
        if execute is None:
            return spec
        if code_of is None:
            recoding = None

        @unseen
        def get_code(name: str) -> CodeType | None:
            try:
                del loader.get_code  # once
                code: CodeType | None = code_of(name)  # type: ignore[misc]
                with contextlib.suppress(ValueError, TypeError):  # a Python whose code we do not know
                    code = recoding.code_of(code)
                return code
            except BaseException as error:
                hide(error)
                raise

        @unseen
        def exec_module(module: ModuleType) -> None:
            try:
                del loader.exec_module  # once; the loader is its old self again
                if recoding is not None:
                    recoding.begin(module)
                    loader.get_code = get_code
                execute(module)
                if recoding is not None and "get_code" not in vars(loader):
                    recoding.end(module)
                if active.recorder is not None and name in self._ready:
                    _call(active.recorder, framework, "attach", active.recorder)
            except BaseException as error:
                hide(error)
                raise

        loader.exec_module = exec_module
        return spec


def _recoding(framework: Framework, name: str) -> Any:
    """What gives a module other code; None where its own is right."""
    if not framework.recoded or name == framework.package or framework.recoded not in sys.modules:
        return None
    found = sys.modules[framework.recoded]
    return found if found.recodes(name) else None


def _call(recorder: Recorder, framework: Framework, function: str, *args: object) -> None:
    collects = gc.isenabled()
    gc.disable()
    try:
        call = getattr(importlib.import_module(framework.attach), function, None)
        if call is not None:
            call(*args)
    except Exception as error:  # another version of the framework may be unlike the one we know
        recorder.problem(f"{framework.package} could not be attached ({function}): {type(error).__name__}: {error}")
    finally:
        if collects:
            gc.enable()


def _check_joinable(path: str) -> None:
    """PeepholeError when nothing can be recorded into the capture that PEEPHOLE_CAPTURE names."""
    why, journal = "", os.path.join(path, "journal")
    try:
        with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
            state = json.load(file).get("state")
    except (OSError, ValueError, AttributeError):
        why = "where no capture is being recorded"
    else:
        if state != "recording" or not os.path.isdir(journal):
            why = "which is sealed by now, so that nothing can be added"
        else:
            probe = os.path.join(journal, f".{os.getpid()}")
            try:
                os.mkdir(probe, 0o700)
                os.rmdir(probe)
            except OSError as error:
                why = f"which cannot be written ({(error.strerror or str(error)).lower()})"
    if why:
        raise PeepholeError(
            f"PEEPHOLE_CAPTURE names {path}, {why}; "
            "leave it unset and say where captures go with PEEPHOLE_DIR or `peephole run -o`."
        )


def _took_the_place_of_the_first(path: str) -> bool:
    """Whether this process is the capture's first one, which called exec: how this program ends is how that one did."""
    try:
        with open(os.path.join(path, "journal", "p00000", "process.json"), encoding="utf-8") as file:
            return bool(json.load(file).get("pid") == os.getpid())
    except (OSError, ValueError, AttributeError):
        return False


def _other_module() -> str:
    """A module of our name in the folder that the program imports from first, which Python adds to its path later."""
    argv = list(getattr(sys, "orig_argv", None) or [""])
    if sys.flags.safe_path or sys.flags.isolated:
        return ""
    program = place.program_script()
    folder = os.path.dirname(os.path.realpath(program)) if program else os.getcwd()
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ("peephole.py", os.path.join("peephole", "__init__.py")):
        found = os.path.join(folder, name)
        if argv and os.path.isfile(found) and not os.path.samefile(folder, here):
            return found
    return ""


def _is_peephole() -> bool:
    """Whether this is Peephole's own command, which looks at captures and must not become the newest one."""
    argv = list(getattr(sys, "argv", None) or [""])
    name = place.program_name() if argv[0] == "-m" else os.path.basename(argv[0])
    return name in ("peephole", "peephole.exe", "peephole.cli.main")
