"""Attaches to torch. Standard library only: this runs inside the user's program.

`attach` is called after each of torch's modules that `startup.py` names is loaded, and puts ours around its functions;
what a torch of another release does not have is said once.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from peephole.record import process
from peephole.sources.torch.live.compilations import Compilations
from peephole.sources.torch.live.dynamo import Dynamo
from peephole.sources.torch.live.fusion import Fusion
from peephole.sources.torch.live.fx_nodes import FxNodes
from peephole.sources.torch.live.hooks import wrap
from peephole.sources.torch.live.inductor import Inductor
from peephole.sources.torch.live.passes import Passes
from peephole.sources.torch.live.profile import Profile, when_code_runs
from peephole.sources.torch.live.running import Running

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

OLDEST: Final = (2, 6)
_live: Live | None = None


class Live:
    """One recording of one process: what follows Dynamo, passes and Inductor, behind the wrapped functions."""

    def __init__(self, recorder: Recorder, torch: ModuleType) -> None:
        self.recorder = recorder
        self.home = os.path.join(os.path.dirname(os.path.abspath(torch.__file__ or "")), "")
        self.nodes = FxNodes(recorder, self.home)
        self.at = Compilations(recorder, self.nodes)
        self.dynamo = Dynamo(self.at)
        self.passes = Passes(self.at)
        self.inductor = Inductor(self.at)
        self.fusion = Fusion(self.inductor)
        self.profile = Profile(self.at)
        self.running = Running(lambda: self.at.recorder, when_code_runs(self.profile))
        if os.environ.get("PEEPHOLE_ONLY", "") != "rewrites":
            self.inductor.on_module = self.running.watch
        self.missing: dict[str, list[str]] = {}
        self.done: set[str] = set()
        self.version = str(torch.__version__)
        self._begin(recorder)

    def restart(self, recorder: Recorder) -> None:
        """Goes on in another recording: the wrapped functions stay."""
        self.recorder = recorder
        self.nodes.begin(recorder)
        self.at.begin_recording(recorder)
        self.running.begin()
        self._begin(recorder)

    def _begin(self, recorder: Recorder) -> None:
        recorder.facts(frameworks={"torch": self.version})
        self.passes.reset()
        recorder.on_fork(self.passes.reset)
        recorder.on_fork(self.running.begin)
        recorder.on_exit(self.say_missing)
        recorder.on_exit(self.running.say_sampled)

    def look(self) -> None:
        """Attaches to whichever modules are loaded by now."""
        for name, attach in self._modules().items():
            module = sys.modules.get(name)
            if module is None or name in self.done:
                continue
            missing = attach(module)
            if missing:
                self.missing[name] = missing  # it may be loading still: the next time tells
            else:
                self.done.add(name)
                self.missing.pop(name, None)

    def _modules(self) -> dict[str, Callable[[Any], list[str]]]:
        observer = "GraphTransformObserver"
        return {
            "torch._logging": self.dynamo.log,
            "torch._dynamo.convert_frame": self.dynamo.frames,
            "torch._dynamo.output_graph": lambda m: _class(m, "OutputGraph", self.dynamo.graphs),
            "torch.fx.passes.graph_transform_observer": lambda m: _class(m, observer, self.passes.observer),
            "torch._inductor.pattern_matcher": self.passes.rules,
            "torch._functorch.partitioners": self.passes.partitioner,
            "torch._inductor.compile_fx": lambda m: [*self.passes.stages(m), *self.inductor.compile_fx(m)],
            "torch._inductor.graph": self.inductor.lowering,
            "torch._inductor.scheduler": self.fusion.watch,
            "torch._inductor.codegen.cpp": lambda m: _class(m, "CppScheduling", self.inductor.define_kernel),
            "torch._inductor.codegen.triton": lambda m: _class(m, "TritonScheduling", self.inductor.define_kernel),
            "torch.autograd.profiler": self.profile.watch,
            "torch.distributed.distributed_c10d": lambda m: _ranks(m, self.profile),
            "torch._inductor.config": lambda m: _switch_off(m, "fx_graph_cache", "TORCHINDUCTOR_FX_GRAPH_CACHE"),
            "torch._functorch.config": lambda m: _switch_off(
                m, "enable_autograd_cache", "TORCHINDUCTOR_AUTOGRAD_CACHE"
            ),
        }

    def say_missing(self) -> None:
        """Says what this torch lacks, in the terminal and in the capture."""
        missing = [name for names in self.missing.values() for name in names]
        if missing:
            short = ", ".join(missing[:4]) + (" …" if len(missing) > 4 else "")
            why = f"this torch is recorded in part: it has no {short}"
            self.recorder.problem(why)
            print(f"peephole: {why}.", file=sys.stderr)


def attach(recorder: Recorder) -> None:
    """Attaches to whichever of torch's modules are loaded by now; may be called any number of times."""
    global _live  # noqa: PLW0603  one process, one torch
    torch = sys.modules.get("torch")
    version = str(getattr(torch, "__version__", ""))
    if torch is None or not version:
        return
    if _live is None:
        if _is_older(version):
            _refuse(recorder, version)
            return
        _live = Live(recorder, torch)
    elif _live.recorder is not recorder:
        _live.restart(recorder)
    _live.look()


def _is_older(version: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST


def _refuse(recorder: Recorder, version: str) -> None:
    if not _refused:
        _refused.append(version)
        why = f"torch {version} is older than 2.6, which is not recorded"
        print(f"peephole: {why}; the program runs on.", file=sys.stderr)
        recorder.problem(why)


_refused: Final[list[str]] = []


def _ranks(module: Any, profile: Profile) -> list[str]:
    """Learns the rank of a process that no launcher gave one, and what each rank does once they are together."""

    def joined(state: Any, result: Any, raised: BaseException | None) -> None:
        if raised is None:
            process.learn_rank(module.get_rank())
            profile.joined(module.get_world_size())

    return [] if wrap(module, "init_process_group", lambda args, words: True, joined) else ["init_process_group"]


def _class(module: Any, name: str, watch: Callable[[type], bool]) -> list[str]:
    """Watches a class of a module; gives its name when it, or what is watched of it, is not there."""
    cls = getattr(module, name, None)
    return [] if isinstance(cls, type) and watch(cls) else [name]


def _switch_off(config: Any, setting: str, variable: str) -> list[str]:
    """Switches a cache off that would hide the passes, unless the user asked for it by name."""
    if variable not in os.environ and not getattr(getattr(config, "__spec__", None), "_initializing", False):
        with contextlib.suppress(AttributeError, KeyError):
            setattr(config, setting, False)  # of this thread
            config._config[setting].env_value_default = False  # of all others, unless they ask for it themselves
        return []
    return [] if variable in os.environ else [setting]
