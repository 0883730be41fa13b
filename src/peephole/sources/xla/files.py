"""Which files of a folder are what: by XLA's and JAX's own names for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Final

from peephole.sources.xla.passes import PassName

MODULE: Final = re.compile(r"module_(\d+)\.(.+)")
_ORDINAL: Final = re.compile(r"(.*?)\.(\d{4,})\.(.+?)\.(txt|hlo\.txt|hlo\.pb|hlo|pb)(?:\.gz)?")
_FUSION: Final = re.compile(r"(.+?)\.(module_\d+\..+)\._fusion\.html(?:\.gz)?")
_STATE: Final = re.compile(r"(.*?)\.((?:[\w.]*_)?(?:before|after)_optimizations)(\.txt|\.hlo\.pb|\.hlo)(?:\.gz)?")
_KERNEL: Final = re.compile(r"(?:__compute_module_)?(.+?)(?:_(?:elemental_)?kernel_module)?")
_JAX_IR: Final = re.compile(r"jax_(?:ir)?(\d+)_(.+?)(?:_compile)?\.(jaxpr\.txt|mlir)")
TRACES: Final = (".trace.json.gz", ".trace.json")
"""How a profile as JSON is called."""
_APART: Final = 1_000_000_000
"""ns between two runs, at least: copied files have the times of the copying, in any order."""
STABLEHLO: Final = "module.mlir"
"""What a module was given as, in a folder of its own."""


@dataclass(slots=True)
class PassDump:
    """A file with the state after a pass."""

    ordinal: int
    name: PassName
    path: Path


@dataclass(slots=True)
class ModuleFiles:
    """The files of one module."""

    number: int
    name: str
    dumps: list[PassDump] = field(default_factory=list)
    states: dict[str, Path] = field(default_factory=dict)
    """`before_optimizations`, `cpu_after_optimizations`: the files of these."""
    fusions: list[tuple[str, Path]] = field(default_factory=list)
    """Explanations of fusion, with the name of the computation."""
    kernels: dict[str, dict[str, Path]] = field(default_factory=dict)
    """By kernel, its files by what they are: `ir-no-opt.ll`, `ir-with-opt.ll`, `o`, `mlir-passes.log`, …"""
    further: dict[str, Path] = field(default_factory=dict)
    """Others by the end of their name: `buffer-assignment.txt`, `module.mlir`, …"""
    jaxpr: Path | None = None
    process: str = ""
    """The folder of the process that wrote it, where several left their dumps in folders of their own."""

    @property
    def paths(self) -> list[Path]:
        """The files with its states."""
        return [*(dump.path for dump in self.dumps), *self.states.values()]

    @property
    def full_name(self) -> str:
        """`module_0012.jit_f`."""
        return f"module_{self.number:04d}.{self.name}"


@dataclass(slots=True)
class Files:
    """All that was found."""

    modules: list[ModuleFiles] = field(default_factory=list)
    profiles: list[Path] = field(default_factory=list)
    traces: list[Path] = field(default_factory=list)
    """`.trace.json.gz`, which an `.xplane.pb` beside it makes superfluous."""
    plain: list[Path] = field(default_factory=list)
    """Files that may be a module under any name."""
    process_of: dict[Path, str] = field(default_factory=dict)
    """The process that a profile is of."""


def is_known(path: Path) -> bool:
    """Whether a file's name is one that XLA or JAX gives."""
    if path.name.endswith(".xplane.pb"):
        return True
    if path.name == STABLEHLO:
        return MODULE.fullmatch(path.parent.name) is not None
    return any(pattern.fullmatch(path.name) for pattern in (MODULE, _FUSION, _JAX_IR))


@dataclass(frozen=True, slots=True)
class StateName:
    """Of which module a file holds the state, and which one."""

    number: int
    module: str
    state: str
    """The ordinal of a dump, or `before_optimizations`."""


def state_name(path: Path) -> StateName | None:
    """What the file of a state says by its name; None when it is none."""
    found = MODULE.fullmatch(path.name)
    named = found and (_ORDINAL.fullmatch(found[2]) or _STATE.fullmatch(found[2]))
    return StateName(int(found[1]), named[1], named[2]) if found and named else None


def owner_name(path: Path) -> tuple[int, str] | None:
    """The number of the module that another file belongs to, and what its name begins with; None when it is of none."""
    html = _FUSION.fullmatch(path.name)
    found = MODULE.fullmatch(html[2] if html else path.parent.name if path.name == STABLEHLO else path.name)
    return (int(found[1]), found[2]) if found else None


def find_files(paths: Sequence[Path], problem: Callable[[str, str], None]) -> Files:
    """What these files, and those in these folders, are."""
    found = Files()
    modules: dict[tuple[int, str], ModuleFiles] = {}
    stray: list[tuple[int, str, Path]] = []
    ir: list[tuple[int, str, str, Path]] = []
    folders: list[tuple[int, str, Path]] = []
    for path in paths:
        name = path.name
        if html := _FUSION.fullmatch(name):
            module = MODULE.fullmatch(html[2])
            if module:
                _module(modules, int(module[1]), module[2]).fusions.append((html[1], path))
        elif module := MODULE.fullmatch(name):
            number, rest = int(module[1]), module[2]
            if dump := _ORDINAL.fullmatch(rest):
                own = _module(modules, number, dump[1])
                own.dumps.append(PassDump(int(dump[2]), PassName.of(dump[3]), path))
            elif state := _STATE.fullmatch(rest):
                own = _module(modules, number, state[1])
                # text is what people read; a proto beside it says the same
                if state[2] not in own.states or path.suffix == ".txt":
                    own.states[state[2]] = path
            else:
                stray.append((number, rest, path))
        elif name.endswith(".xplane.pb"):
            found.profiles.append(path)
        elif name.endswith(TRACES):
            found.traces.append(path)
        elif named := _JAX_IR.fullmatch(name):
            ir.append((int(named[1]), named[2], named[3], path))
        elif name == STABLEHLO and (owner := MODULE.fullmatch(path.parent.name)):
            folders.append((int(owner[1]), owner[2], path))
        else:
            found.plain.append(path)
    for number, name, path in folders:
        # there is such a folder for every module, also for those that were left out
        if (number, name) in modules:
            modules[number, name].further["module.mlir"] = path
    for number, rest, path in stray:
        _place(modules, number, rest, path)
    _jaxprs(list(modules.values()), ir)
    found.modules = sorted(modules.values(), key=lambda module: (module.number, module.name))
    for one in found.modules:
        one.dumps = _in_order(one, problem)
    return found


def _module(modules: dict[tuple[int, str], ModuleFiles], number: int, name: str) -> ModuleFiles:
    return modules.setdefault((number, name), ModuleFiles(number, name))


def _place(modules: dict[tuple[int, str], ModuleFiles], number: int, rest: str, path: Path) -> None:
    """A file whose module is known by the others, or is called what stands before the first point."""
    own = [one for one in modules.values() if one.number == number and rest.startswith(one.name + ".")]
    module = max(own, key=lambda one: len(one.name)) if own else _module(modules, number, rest.partition(".")[0])
    rest = rest[len(module.name) + 1 :]
    for mark in ("-buffer-assignment-values.txt", "-buffer-assignment.txt", "-live-range.txt"):
        if rest.endswith(mark):
            module.further[mark[1:]] = path
            return
    if rest.startswith("obj-file.") and rest.endswith(".o"):
        _kernel(module, rest.removeprefix("obj-file.").removesuffix(".o"), "o", path)
        return
    for mark in ("ir-no-opt.ll", "ir-with-opt.ll", "mlir-passes.log", "mlir-passes.log.gz", "ptx"):
        if rest.endswith("." + mark):
            _kernel(module, rest.removesuffix("." + mark), mark, path)
            return
    for stage in ("-pre-optimization", "-post-optimization", "-post-lowering"):
        if rest.endswith(stage + ".mlir"):
            _kernel(module, rest.removesuffix(stage + ".mlir"), stage[1:] + ".mlir", path)
            return
    module.further[rest] = path


def _kernel(module: ModuleFiles, stem: str, what: str, path: Path) -> None:
    named = _KERNEL.fullmatch(stem)
    module.kernels.setdefault(named[1] if named else stem, {})[what] = path


def _in_order(module: ModuleFiles, problem: Callable[[str, str], None]) -> list[PassDump]:
    """One dump for each ordinal: text before proto; where two runs left theirs, the younger one's."""
    by_ordinal: dict[int, dict[PassName, PassDump]] = {}
    for dump in module.dumps:
        known = by_ordinal.setdefault(dump.ordinal, {})
        if dump.name not in known or dump.path.suffix == ".txt":
            known[dump.name] = dump
    kept = []
    for ordinal in sorted(by_ordinal):
        ways = list(by_ordinal[ordinal].values())
        if len(ways) > 1:
            problem("dumps of another run in the same folder, left out", ways[0].path.name)
            ways.sort(key=lambda dump: dump.path.stat().st_mtime_ns)
        kept.append(ways[-1])
    left = _left_over(kept)
    for dump in kept[left:]:
        problem("dumps of another run in the same folder, left out", dump.path.name)
    return kept[:left]


def _left_over(dumps: list[PassDump]) -> int:
    """Where the dumps of an earlier run begin, of which a later and shorter one wrote over the first ones."""
    times = [dump.path.stat().st_mtime_ns for dump in dumps]
    first, last = list(accumulate(times, min)), list(accumulate(reversed(times), max))[::-1]
    return next((at for at in range(1, len(times)) if last[at] + _APART < first[at - 1]), len(times))


def _jaxprs(modules: list[ModuleFiles], ir: list[tuple[int, str, str, Path]]) -> None:
    """Gives each module the jaxpr and StableHLO of its name that JAX dumped: the n-th of a name belongs to the n-th."""
    for kind in ("jaxpr.txt", "mlir"):
        by_name: dict[str, list[Path]] = {}
        for _, name, what, path in sorted(ir, key=lambda one: one[0]):
            if what == kind:
                by_name.setdefault(name.removeprefix("jit_"), []).append(path)
        for name, paths in by_name.items():
            own = [one for one in modules if one.name.removeprefix("jit_") == name]
            own.sort(key=lambda one: one.number)
            # where some modules were left out, which is whose is not known
            for module, path in zip(own, paths, strict=False) if len(own) == len(paths) else ():
                if kind == "jaxpr.txt":
                    module.jaxpr = path
                else:
                    module.further.setdefault("module.mlir", path)
