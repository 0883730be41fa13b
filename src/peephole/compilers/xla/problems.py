"""What may be worth a look in XLA's modules: why JAX compiled again, copies that passes put in, calls that leave the
compiled code, and what holds the memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.compilers.answers import FoundProblem, ProblemWords
from peephole.compilers.program_lines import Call, parse
from peephole.compilers.traces import trace_of
from peephole.compilers.xla.fusion import FUSION
from peephole.compilers.xla.kernels import final_root, instructions
from peephole.model.stacks import StackFrame
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_MOST: Final = 10
"""Problems of one kind that are listed of one capture, the largest first."""
_BITS: Final = re.compile(r"[a-z]+(\d+)")
_SIZES: Final = re.compile(r"\[([\d,]*)\]")
_TARGET: Final = re.compile(r'custom_call_target="((?:[^"\\]|\\.)*)"')
_DIFFERENCE: Final = re.compile(r"^\* at (?P<what>.+?), now (?P<now>.+?) and before (?P<before>.+?)(?:, so .*)?$")
_ARRAY: Final = re.compile(r"(\w+)\[")
_STATIC: Final = "tree_util.Static'>"
"""How JAX calls the type of a static argument."""
_LINK: Final = re.compile(r"https://\S+")
_HOST: Final = ("callback", "infeed", "outfeed", "host")
_MOVES: Final = (FUSION, "fusion-wrapper")
"""Passes that put what is there into computations."""
_LINES: Final = 5
"""Lines of a module's peak that are listed, and its largest buffers."""


def recompiled(reason: str) -> ProblemWords:
    """JAX's explanation of a cache miss in parts."""
    link = _LINK.search(reason)
    lines = [line.strip() for line in _LINK.sub("", reason).splitlines()]
    if any("re-defined repeatedly" in line or "seen another function" in line for line in lines):
        why = "another function defined on the same line was compiled before: it is a new one each time"
        hint = "Define the function, and call jax.jit on it, once and outside of loops and calls"
        return ProblemWords("recompile", "a function that is defined again", why, hint)
    changed = [found for line in lines if (found := _DIFFERENCE.match(line))]
    kinds = [line.rstrip(":") for line in lines if line.startswith(("different", "Tracing context", "Debug"))]
    if not changed:
        said = [line for line in lines if line and not line.startswith(("for ", "all previously seen"))]
        return ProblemWords("recompile", "compiled again", " ".join(said) or reason, link=link[0] if link else "")
    wanted = "\n".join(f"{one['what']}: {one['before']}" for one in changed)
    got = "\n".join(f"{one['what']}: {one['now']}" for one in changed)
    first, more = changed[0], len(changed) - 1
    why = f"{first['what']} was {first['before']} and is {first['now']}" + (f", and {more} more" if more else "")
    why = f"{kinds[0]}: {why}" if kinds else why
    hint = ""
    if all(_without_weak(one["now"]) == _without_weak(one["before"]) for one in changed):
        hint = "Only weak types differ: give the first values a dtype (`jnp.asarray(x, jnp.float32)`)"
    elif any(_STATIC in one["now"] and _STATIC in one["before"] for one in changed):
        hint = "Each value of a static argument is compiled by itself: keep to a few, or pass it as an array"
    elif all(_element(one["now"]) == _element(one["before"]) != "" for one in changed):
        hint = "Pad to a few sizes, or keep the last batch out, so that the shapes stay the same"
    title = f"{first['what']} changed"
    return ProblemWords("recompile", title, why, hint, wanted, got, link=link[0] if link else "")


def _without_weak(text: str) -> str:
    return re.sub(r"\{weak_type=\w+\}", "", text)


def _element(text: str) -> str:
    """The element type of an array; empty for anything else."""
    found = _ARRAY.match(text)
    return found[1] if found else ""


def found_problems(capture: Capture) -> list[FoundProblem]:
    """Copies, calls and memory of all modules, the largest of each first."""
    trace = trace_of(capture)
    frame = capture.read("contexts", ["id", "kind", "compiler"])
    kinds, compilers = frame.texts("kind"), frame.texts("compiler")
    with trace.lock:
        modules = [
            _Module(trace, context)
            for row, context in enumerate(frame["id"].tolist())
            if kinds[row] == "module" and compilers[row] == "xla"
        ]
        found = [one for module in modules for one in module.copies()]
        found += [one for module in modules for one in module.calls()]
        largest, peaks = _memory(capture, modules)
    by_kind: dict[str, list[FoundProblem]] = {"copy": [], "fallback": [], "memory": peaks}
    for one in [*found, *largest]:
        by_kind.setdefault(one.words.kind, []).append(one)
    for kind, all in by_kind.items():
        if kind != "memory":
            by_kind[kind] = sorted(all, key=lambda one: -one.bytes)[:_MOST]
    return [one for all in by_kind.values() for one in all]


class _Module:
    """The instructions of a module's final graph, in all its computations."""

    def __init__(self, trace: RewriteTrace, context: int) -> None:
        self.trace, self.context = trace, context
        self.name = trace.context_names.get(context, "")
        root = final_root(trace, context)
        self.rows = instructions(trace, root) if root >= 0 else []
        nodes = trace.instructions()
        self.by_name = {name: row for row in self.rows if (name := nodes.name(row))}

    def copies(self) -> Iterator[FoundProblem]:
        """Copies that are there in the end and were not in the program, with the pass that put them in.

        A copy of a single value is none: every loop has some of its counters, every module that returns a constant one.
        """
        rows = [row for row in self.rows if self._op(row) == "copy" and self._shape(row).partition("{")[0] != "[]"]
        if not rows:
            return
        nodes = self.trace.instructions()
        came = self._first_steps({key for row in rows for key in self._keys(row)})
        for row in rows:
            name, alike = (came.get(key, "") for key in self._keys(row))
            # one that moved into a fusion has another name there
            step = alike if name in _MOVES and alike else name
            if step == "before_optimizations":
                continue  # the program's own
            if step.endswith("after_optimizations"):
                step = ""  # there are no dumps of passes
            source = next(iter(self.trace.table.sources(row)), -1)
            before, after = (nodes.shape(one) or "" if one >= 0 else "" for one in (source, row))
            layouts = [text.partition("{")[2].rstrip("}") for text in (before, after)]
            if layouts[0] != layouts[1] and all(layouts):
                why = f"its layout is {{{layouts[0]}}} and {{{layouts[1]}}} was wanted"
            else:
                why = "a value that is still needed would be overwritten"
            reason = f"{step or 'a pass'} put it in: {why}"
            yield self._problem("copy", f"{nodes.name(row)} {self._type(row)}", reason, row, self._bytes(row))

    def calls(self) -> Iterator[FoundProblem]:
        """Instructions that leave what XLA compiled: a library's function, or the host's Python."""
        for row in self.rows:
            op, _, arg, _ = self.trace.table.texts(self.trace.table.own(row))
            if op not in ("custom-call", "infeed", "outfeed"):
                continue
            found = _TARGET.search(arg or "")
            target = found[1] if found else op
            hint = ""
            if any(word in target for word in _HOST):
                reason = "the compiled code waits for Python on the host"
                hint = "Keep callbacks out of what runs in every step, or make them rare with jax.lax.cond"
            else:
                reason = "a library computes it: nothing is fused into it, and its operands are put into memory"
            yield self._problem("fallback", f"call of {target}"[:200], reason, row, self._bytes(row), hint)

    def _keys(self, row: int) -> tuple[object, object]:
        """What a copy is found by in earlier graphs: its name, and what it is like."""
        nodes = self.trace.instructions()
        return nodes.name(row) or "", (self._type(row), nodes.metadata(row))

    def _first_steps(self, wanted: set[object]) -> dict[object, str]:
        """The first pass that puts a copy in, by its keys: the innermost, since pipelines hold passes."""
        found: dict[object, tuple[int, str]] = {}
        known: dict[int, set[object]] = {}

        def keys(id: int) -> set[object]:
            if id not in known:
                root = int(self.trace.table.rows([id])[0]) if id >= 0 else -1
                rows = [row for row in instructions(self.trace, root) if self._op(row) == "copy"] if root >= 0 else []
                known[id] = {key for row in rows for key in self._keys(row)} & wanted
            return known[id]

        for place, step in enumerate(self.trace.context_rows(self.context)):
            root, after = (self.trace.number(column, step) for column in ("root", "after"))
            depth = self.trace.number("depth", step)
            for key in keys(after) - keys(root) if place else keys(after):
                if key not in found or depth > found[key][0]:
                    found[key] = (depth, self.trace.text("name", step) or "")
        return {key: step for key, (_, step) in found.items()}

    def _op(self, row: int) -> str:
        return self.trace.table.texts(self.trace.table.own(row))[0]

    def _type(self, row: int) -> str:
        dtype = self.trace.table.texts(self.trace.table.own(row))[1] or ""
        return dtype + (self.trace.instructions().shape(row) or "")

    def _bytes(self, row: int) -> int:
        return bytes_of(self.trace.table.texts(self.trace.table.own(row))[1] or "", self._shape(row))

    def _shape(self, row: int) -> str:
        return self.trace.instructions().shape(row) or ""

    def calls_of(self, row: int) -> tuple[str, list[Call]]:
        """The op_name of an instruction, and the calls that it was traced on."""
        return parse(self.trace.instructions().metadata(row))

    def _problem(self, kind: str, title: str, reason: str, row: int, bytes: int, hint: str = "") -> FoundProblem:
        op_name, calls = self.calls_of(row)
        stack = tuple(StackFrame(call.file, call.line, call.function, "") for call in calls)
        words = ProblemWords(kind, title, reason + (f" · {op_name}" if op_name else ""), hint, stack=stack)
        file, line = (calls[0].file, calls[0].line) if calls else ("", -1)
        return FoundProblem(self.context, words, file, line, bytes)


def _memory(capture: Capture, modules: list[_Module]) -> tuple[list[FoundProblem], list[FoundProblem]]:
    """The largest buffers, and what is live at the peak by line of the program: the modules with the highest first,
    none of them cut in two."""
    frame = capture.read("buffers", ["device", "alloc", "free", "bytes", "name", "dtype"])
    if not len(frame):
        return [], []
    devices, names = np.array(frame.texts("device").codes), frame.texts("name")
    values = list(frame.texts("device").values)
    largest: list[FoundProblem] = []
    peaks: list[tuple[int, list[FoundProblem]]] = []
    for module in modules:
        if module.name not in values:
            continue
        rows = np.flatnonzero(devices == values.index(module.name))
        size, alloc, free = (frame[name][rows] for name in ("bytes", "alloc", "free"))
        live, peak = _at_peak(alloc, free, size)
        lines: dict[tuple[str, int], list[int]] = {}
        places = {}
        for at in live.tolist():
            row = module.by_name.get((names[rows[at]] or "").partition("{")[0], -1)
            op_name, calls = module.calls_of(row) if row >= 0 else ("", [])
            key = (calls[0].file, calls[0].line) if calls else ("", -1)
            lines.setdefault(key, []).append(at)
            places[at] = (op_name, key)
        told = []
        for (file, line), own in sorted(lines.items(), key=lambda one: -int(size[one[1]].sum()))[:_LINES]:
            bytes = int(size[own].sum())
            most = sorted(own, key=lambda at: -int(size[at]))[:4]
            parts = ", ".join(names[rows[at]] or "?" for at in most)
            parts += f" and {len(own) - len(most)} more" if len(own) > len(most) else ""
            what = "of this line" if file else "without a line (arguments, constants, what passes made)"
            title = f"{bytes / max(peak, 1):.0%} of the peak"
            count = f"{len(own)} values {what} are" if len(own) > 1 else f"1 value {what} is"
            words = ProblemWords("memory", title, f"{count} live then: {parts}")
            told.append(FoundProblem(module.context, words, file, line, bytes))
        peaks.append((peak, told))
        for at in np.argsort(-size, kind="stable")[:_LINES].tolist():
            op_name, (file, line) = places.get(at, ("", ("", -1)))
            if at not in places:
                row = module.by_name.get((names[rows[at]] or "").partition("{")[0], -1)
                op_name, calls = module.calls_of(row) if row >= 0 else ("", [])
                file, line = (calls[0].file, calls[0].line) if calls else ("", -1)
            when = "live at the peak" if at in places else "not live at the peak"
            words = ProblemWords("buffer", names[rows[at]] or "?", f"{when}{' · ' if op_name else ''}{op_name}")
            largest.append(FoundProblem(module.context, words, file, line, int(size[at])))
    listed: list[FoundProblem] = []
    for _, told in sorted(peaks, key=lambda one: -one[0]):
        if len(listed) < _MOST:
            listed += told
    return largest, listed


def _at_peak(alloc: np.ndarray, free: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, int]:
    """The places of what is live when most is, and how much that is."""
    moments = np.concatenate([alloc, free])
    change = np.concatenate([size, -size])
    order = np.lexsort((change, moments))  # what ends makes room for what begins
    sums = np.cumsum(change[order])
    top = int(np.argmax(sums))
    moment = moments[order[top]]
    return np.flatnonzero((alloc <= moment) & (free > moment)), int(sums[top])


def bytes_of(dtype: str, shape: str) -> int:
    """The size of an array, without padding; -1 when it is none."""
    bits, sizes = _BITS.fullmatch(dtype), _SIZES.match(shape)
    if (bits is None and dtype != "pred") or sizes is None:
        return -1
    elements = 1
    for size in filter(None, sizes[1].split(",")):
        elements *= int(size)
    return elements * max(int(bits[1]) if bits else 8, 8) // 8
