"""Problems of compiling: graph breaks, recompilations, specialisations, fallbacks, slow phases. One list for every
output; a compiler says in its own words what its decisions mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from peephole.compilers import compiler_named, compiler_of
from peephole.compilers.answers import ProblemWords
from peephole.compilers.protocol import PROBLEMS, Compiler
from peephole.model.json_text import json_object
from peephole.model.stacks import StackFrame, frames
from peephole.model.user_code import is_installed, is_library_file
from peephole.query.capture.contexts import Context, contexts
from peephole.query.problems.compile_time import CompileTimes, compile_times
from peephole.store.capture import Capture

SLOW_NS: Final = 500_000_000
"""A phase that took longer by itself is a problem."""
_NOT_COMPILED: Final = frozenset({"other", "rewrites"})
"""Kinds of contexts that only hold others."""
_QUIET: Final = frozenset({"fused", "refused"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. Times are -1 when they are not known."""

    id: str
    """What it goes by among those of its kind: the compilation, `#2` for its second."""
    kind: str
    title: str
    context: int
    """The compilation that it happened in."""
    context_name: str
    """`0/1`."""
    group: str
    """The rank or process, where there are several; empty otherwise."""
    function: str
    reason: str
    hint: str
    file: str
    line: int
    time: int
    cost: int
    """How long it took, in ns."""
    text: str
    """All that the compiler says about it."""
    wanted: str = ""
    got: str = ""
    missed: str = ""
    link: str = ""
    stack: tuple[StackFrame, ...] = ()
    others: tuple[str, ...] = ()
    """Further reasons: those of other compilations that did not fit either."""
    bytes: int = -1
    """How much memory it is about; -1 for none."""

    @property
    def is_own(self) -> bool:
        """Whether it is at a line of the user's program."""
        return bool(self.file) and not is_library_file(self.file) and not is_installed(self.file)


@dataclass(frozen=True, slots=True)
class Compilation:
    """One compilation: which of its frame it is, and how long it took."""

    context: int
    name: str
    group: str
    function: str
    place: str
    cost: int
    start: int


@dataclass(slots=True)
class Problems:
    """The problems in the order of their kinds and times, and all compilations."""

    problems: list[Problem] = field(default_factory=list)
    compilations: list[Compilation] = field(default_factory=list)

    @property
    def compiling(self) -> int:
        """How long compiling took altogether, in ns."""
        return sum(max(one.cost, 0) for one in self.compilations)


def tells_problems(capture: Capture) -> bool:
    """Whether there is anything to say: a compiler that tells problems, or a decision that is one."""
    names = capture.read("contexts", ["compiler"]).texts("compiler").values if capture.count("contexts") else ()
    if any(compiler_named(name).tells_problems for name in names):
        return True
    return bool(set(capture.read("decisions", ["kind"]).texts("kind")) & set(PROBLEMS))


def problems(capture: Capture) -> Problems:
    """Every problem of a capture."""
    known = {context.id: context for context in contexts(capture)}
    owner = {id: _compilation(id, known) for id in known}
    functions, stacks = _frames(capture)
    compilers: dict[int, Compiler] = {}
    for id in {one for one in owner.values() if one >= 0}:
        compilers[id] = compiler_of(capture, id)
    times = compile_times(capture, owner, known)
    told = [id for id, compiler in compilers.items() if compiler.tells_problems]
    found = Problems()
    for id in sorted(told):
        place = user_place(stacks.get(id, ()))
        text = f"{place.file}:{place.line}" if place else ""
        found.compilations.append(
            Compilation(
                id,
                known[id].name,
                _group(known, id),
                functions.get(id, ""),
                text,
                times.total.get(id, -1),
                known[id].start,
            )
        )
    made = [
        *_decided(capture, known, owner, compilers, functions, times, stacks),
        *_slow(known, compilers, times, stacks, functions),
        *_seen(capture, known, set(compilers.values()), functions),
    ]
    found.problems = _numbered(made)
    return found


def user_place(stack: Sequence[StackFrame]) -> StackFrame | None:
    """The innermost frame that is the user's, else the innermost."""
    own = [frame for frame in stack if not is_library_file(frame.file) and not is_installed(frame.file)]
    return next(iter(own or stack), None)


def _compilation(id: int, known: dict[int, Context]) -> int:
    """The outermost context that a context is compiled in, those that only hold others aside; -1 for such a one."""
    found, seen = -1, set()
    while id in known and id not in seen:
        seen.add(id)
        if known[id].kind not in _NOT_COMPILED:
            found = id
        id = known[id].parent
    return found


def _group(known: dict[int, Context], id: int) -> str:
    parent = known.get(known[id].parent) if id in known else None
    return parent.name if parent is not None and parent.kind in _NOT_COMPILED else ""


def _frames(capture: Capture) -> tuple[dict[int, str], dict[int, tuple[StackFrame, ...]]]:
    frame = capture.read("contexts", ["id", "function", "stack"])
    ids = frame["id"].tolist()
    functions = {id: text or "" for id, text in zip(ids, frame.texts("function"), strict=True)}
    return functions, {id: frames(text) for id, text in zip(ids, frame.texts("stack"), strict=True)}


def _decided(
    capture: Capture,
    known: dict[int, Context],
    owner: dict[int, int],
    compilers: dict[int, Compiler],
    functions: dict[int, str],
    times: CompileTimes,
    stacks: dict[int, tuple[StackFrame, ...]],
) -> list[Problem]:
    """Those that passes decided; a compilation that was made again for several reasons is one."""
    if not capture.count("decisions"):
        return []
    steps = capture.read("steps", ["id", "context"])
    of_step = dict(zip(steps["id"].tolist(), steps["context"].tolist(), strict=True))
    frame = capture.read("decisions", ["step", "kind", "reason", "file", "line"])
    kinds, reasons, files = (frame.texts(name) for name in ("kind", "reason", "file"))
    moments = _moments(capture)
    found: list[Problem] = []
    again: dict[int, int] = {}
    for row, (step, line) in enumerate(zip(frame["step"].tolist(), frame["line"].tolist(), strict=True)):
        kind, reason = kinds[row] or "", reasons[row] or ""
        context = owner.get(of_step.get(step, -1), -1)
        if context < 0 or kind in _QUIET:
            continue
        words = compilers[context].problem(kind, reason)
        if words is None:
            continue
        one = known[context]
        if words.kind == "recompile" and context in again:
            first = found[again[context]]
            found[again[context]] = replace(first, others=(*first.others, reason), text=f"{first.text}\n{reason}")
            continue
        time = moments.get((one.name, reason), -1)
        cost = times.total.get(context, -1) if words.kind in ("recompile", "fallback") else -1
        problem = _problem(words, one, _group(known, context), functions.get(context, ""), reason)
        problem = replace(problem, file=files[row] or "", line=line, cost=cost)
        if words.kind != "break" and not problem.is_own:
            problem = _at_the_users_line(problem, stacks.get(context, ()))
        found.append(replace(problem, time=one.start if time < 0 and words.kind == "recompile" else time))
        if words.kind == "recompile":
            again[context] = len(found) - 1
    return found


def _at_the_users_line(problem: Problem, stack: Sequence[StackFrame]) -> Problem:
    """A problem of a frame that is a library's, or that no line is known of, at the user's line that led to it."""
    place = user_place(stack)
    if place is None or (problem.file and (is_library_file(place.file) or is_installed(place.file))):
        return problem
    return replace(problem, file=place.file, line=place.line)


def _problem(words: ProblemWords, context: Context, group: str, function: str, text: str) -> Problem:
    title = words.title
    if words.kind == "recompile":
        title = f"{function or 'frame'} {context.name}"
    return Problem(
        id="",
        kind=words.kind,
        title=title,
        context=context.id,
        context_name=context.name,
        group=group,
        function=function,
        reason=words.reason,
        hint=words.hint,
        file="",
        line=-1,
        time=-1,
        cost=-1,
        text=text,
        wanted=words.wanted,
        got=words.got,
        missed=words.missed,
        link=words.link,
        stack=words.stack,
    )


def _moments(capture: Capture) -> dict[tuple[str, str], int]:
    """When decisions were made, by the name of the compilation and the reason, as markers tell it."""
    found: dict[tuple[str, str], int] = {}
    frame = capture.read("markers", ["time", "kind", "args"])
    for time, kind, args in zip(frame["time"].tolist(), frame.texts("kind"), frame.texts("args"), strict=True):
        if kind == "event" and args and '"reason"' in args:
            facts = json_object(args) or {}
            found.setdefault((str(facts.get("context")), str(facts.get("reason"))), time)
    return found


def _slow(
    known: dict[int, Context],
    compilers: dict[int, Compiler],
    times: CompileTimes,
    stacks: dict[int, tuple[StackFrame, ...]],
    functions: dict[int, str],
) -> list[Problem]:
    found = []
    for id, phases in times.phases.items():
        compiler = compilers.get(id)
        if compiler is None or not compiler.tells_problems:
            continue
        place = user_place(stacks.get(id, ()))
        whole = times.total.get(id, 0)
        for phase in sorted(phases, key=lambda one: -one.own):
            if phase.own < SLOW_NS:
                break
            what = compiler.phase(phase.name)
            times_ = f" in {phase.count} parts" if phase.count > 1 else ""
            share = f"{phase.own / whole:.0%} of compiling {known[id].name}{times_}" if whole else times_.strip()
            reason = f"{what}: {share}" if what else share
            words = ProblemWords("slow", phase.name, reason)
            problem = _problem(words, known[id], _group(known, id), functions.get(id, ""), reason)
            if place is not None:
                problem = replace(problem, file=place.file, line=place.line)
            found.append(replace(problem, time=phase.start, cost=phase.own))
    return found


def _seen(
    capture: Capture, known: dict[int, Context], compilers: set[Compiler], functions: dict[int, str]
) -> list[Problem]:
    """Those that compilers see in what was recorded."""
    found = []
    for one in (one for compiler in compilers for one in compiler.found_problems(capture)):
        context = known[one.context]
        group, function = _group(known, one.context), functions.get(one.context, "")
        problem = _problem(one.words, context, group, function, one.words.reason)
        found.append(replace(problem, file=one.file, line=one.line, bytes=one.bytes))
    return found


def _numbered(found: list[Problem]) -> list[Problem]:
    """In the order of kinds, then as they happened; slow and large ones first. Each gets what it goes by."""
    order = {kind: place for place, kind in enumerate(PROBLEMS)}
    found = sorted(
        found,
        key=lambda one: (order.get(one.kind, len(order)), -one.cost if one.kind == "slow" else 0, -one.bytes),
    )
    seen: dict[tuple[str, str], int] = {}
    named = []
    for one in found:
        name = f"{one.group} {one.context_name}".strip()
        seen[one.kind, name] = number = seen.get((one.kind, name), 0) + 1
        named.append(replace(one, id=name if number == 1 else f"{name}#{number}"))
    return named
