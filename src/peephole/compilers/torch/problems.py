"""Dynamo's texts about breaks, recompilations and failures in parts: what, why, what to do."""

from __future__ import annotations

import re
from typing import Final

from peephole.compilers.answers import ProblemWords
from peephole.model.stacks import StackFrame

_REASON: Final = re.compile(r"^(?:Graph Break )?Reason:\s*", re.MULTILINE | re.IGNORECASE)
_TRACES: Final = re.compile(
    r"^(?:User code traceback:|User stack(?: trace)?:|Traceback \(most recent|from user code:)", re.MULTILINE
)
_WRAPS: Final = (
    "Encountered graph break when attempting to trace",
    "Failed to handle graph break gracefully",
    "Encountered graph break that we cannot resume from",
)
_GENERAL: Final = ("Please report an issue", "Please file an issue", "It may be possible to write Dynamo tracing rules")
_FIELD: Final = re.compile(r"^\s*(Explanation|Hint|Developer debug context): ?", re.MULTILINE)
_LINK: Final = re.compile(r"https://[\w./#-]+")
_FRAME: Final = re.compile(r'^\s*File "(.+?)", line (\d+), in (.+)\n(?:\s+(\S.*))?', re.MULTILINE)
_MISSED: Final = re.compile(r"^(!?[\d/]+): ?")
_MISMATCH: Final = re.compile(
    r"^tensor '(?P<name>.+?)' (?P<what>.+?) mismatch(?: at index (?P<at>\d+))?\. "
    r"expected (?P<wanted>.+?), actual (?P<got>.+)$"
)
_GRADIENT: Final = re.compile(
    r"^tensor '(?P<name>.+?)' requires_grad mismatch\. expected requires_grad=(?P<wanted>[01])"
)
_SYMBOL: Final = re.compile(r"^(?P<symbol>\w+)(?: \((?P<sources>.*)\))? = (?P<value>.+?)(?:: (?P<why>.*))?$", re.DOTALL)
_EQUAL: Final = re.compile(r"^(?P<name>[\w.'\"\[\]()]+) == (?P<value>.+)$")
_LOCAL: Final = re.compile(r"[LG]\['([^']*)'\]")
_RANGE_WORDS: Final = {
    "range_refined_to_singleton": "the program left only one size possible",
    "find": "two sizes must be equal",
    "solve": "it follows from an equation between sizes",
}


def problem_words(kind: str, reason: str) -> ProblemWords | None:
    """A decision of torch's in parts; None when it is no problem."""
    if kind == "break":
        return _broke(reason)
    if kind == "recompile":
        return _again(reason)
    if kind == "specialization":
        return _specialized(reason)
    if kind == "fallback":
        return _failed(reason)
    if kind == "restart":
        title, why, _ = _told(reason)
        return ProblemWords("slow", "tracing was begun again", why or title)
    return None


def _broke(text: str) -> ProblemWords:
    begin, end = _REASON.search(text), _TRACES.search(text)
    body = text[begin.end() if begin else 0 : end.start() if end else len(text)]
    title, why, hint = _told(body)
    link = _LINK.search(body)
    return ProblemWords("break", title, why or title, hint, link=link[0] if link else "", stack=_stack(text))


def _told(body: str) -> tuple[str, str, str]:
    """Title, explanation and hints of one of Dynamo's texts."""
    fields = list(_FIELD.finditer(body))
    head = body[: fields[0].start()] if fields else body
    lines = [line.strip() for line in head.splitlines() if line.strip() and not _LINK.search(line)]
    while len(lines) > 1 and lines[0].startswith(_WRAPS):
        lines.pop(0)
    title = lines[0] if lines else "graph break"
    why, hints = " ".join(lines[1:]), list[str]()
    for place, found in enumerate(fields):
        end = fields[place + 1].start() if place + 1 < len(fields) else len(body)
        value = body[found.end() : end]
        if found[1] == "Explanation":
            why = " ".join(value.split())
        elif found[1] == "Hint":
            hint = " ".join(value.partition("\n\n")[0].split())
            if not hint.startswith(_GENERAL):
                hints.append(hint)
    return title, why, "\n".join(hints)


def _stack(text: str) -> tuple[StackFrame, ...]:
    """The frames of the user's traceback, innermost first."""
    begin = re.search(r"^(?:User code traceback|User stack(?: trace)?|from user code):", text, re.MULTILINE)
    if begin is None:
        return ()
    rest = text[begin.end() :].partition("\nTraceback (most recent")[0]
    found = [StackFrame(one[1], int(one[2][:9]), one[3].strip(), one[4] or "") for one in _FRAME.finditer(rest)]
    return tuple(found[::-1])


def _again(text: str) -> ProblemWords:
    missed = _MISSED.match(text)
    rest = text[missed.end() if missed else 0 :]
    guard, _, comment = rest.partition("\nUser stack")[0].partition("  #")
    guard, source = guard.strip(), comment.partition("  #")[0].strip()
    id = missed[1] if missed else ""
    why, hint, wanted, got = _guard_words(guard)
    if not guard:
        why = "torch gives no reason"
    elif source and "  #" in comment:
        why += f", in `{source}`"
    return ProblemWords("recompile", "compiled again", why, hint, wanted, got, id, stack=_stack(text))


def _guard_words(guard: str) -> tuple[str, str, str, str]:
    """Why a guard failed, what helps, what it wanted and what it got."""
    found = _MISMATCH.match(guard)
    if found is None:
        equal = _EQUAL.match(guard)
        if equal:
            name, value = plain_source(equal["name"]), equal["value"]
            hint = ""
            if re.fullmatch(r"-?\d+\.\d+(?:e[+-]?\d+)?", value):
                hint = f"Pass {name} as a tensor, or set `torch._dynamo.config.specialize_float = False`"
            return f"{name} is another than before: the guard wanted {value}", hint, f"{name} == {value}", ""
        setting = guard.partition("GLOBAL_STATE changed: ")[2].strip()
        if setting:
            return f"a setting of torch is another than before: {setting}", "", guard, ""
        if found := _GRADIENT.match(guard):
            name, wanted = plain_source(found["name"]), "a" if found["wanted"] == "1" else "no"
            got = "no" if wanted == "a" else "a"
            return f"{name} has {got} gradient now: the guard wanted {wanted} gradient", "", guard, ""
        if guard.startswith("Unexpected recompilation"):
            return guard.partition(". ")[0], "", "", ""
        return f"the guard {guard} does not hold", "", guard, ""
    name, what, wanted, got = plain_source(found["name"]), found["what"], found["wanted"], found["got"]
    if found["at"] is not None:
        read = f"{name}.{what}({found['at']})"
        why = f"{what} of {name} changed in dimension {found['at']}: the guard wanted {wanted}, got {got}"
        hint = ""
        if what == "size" and {wanted, got} & {"0", "1"}:
            why += " (sizes 0 and 1 always get a graph of their own)"
        elif what == "size":
            setting = f"torch._dynamo.mark_dynamic({name}, {found['at']})"
            hint = f"Mark the size as dynamic before the first call: `{setting}`"
    else:
        read = f"{name}.{what.replace(' ', '_')}"
        why = f"{what} of {name} changed: the guard wanted {wanted}, got {got}"
        hint = ""
    return why, hint, f"{read} == {wanted}", f"{read} == {got}"


def plain_source(text: str) -> str:
    """What a user calls a value: `x` for `L['x']`."""
    return _LOCAL.sub(r"\1", text)


def _specialized(text: str) -> ProblemWords:
    found = _SYMBOL.match(text)
    if found is None:
        return ProblemWords("specialization", text.partition("\n")[0], text)
    name = plain_source(found["sources"] or found["symbol"])
    why = _RANGE_WORDS.get((found["why"] or "").strip(), (found["why"] or "").replace("_", " ").strip())
    reason = f"{name} may vary, but is taken as {found['value']}" + (f": {why}" if why else "")
    return ProblemWords("specialization", f"{name} = {found['value']}", reason)


def _failed(text: str) -> ProblemWords:
    end = _TRACES.search(text)
    body = text[: end.start() if end else len(text)].strip()
    kind, _, rest = body.partition(": ")
    if " " in kind or not rest:
        kind, rest = "", body
    title, why, hint = _told(rest)
    if kind and kind != "Unsupported":
        title = f"{kind}: {title}"
    title, more = _sentence(title)
    why = " ".join(filter(None, (more, why)))
    link = _LINK.search(body)
    return ProblemWords("fallback", title, why or title, hint, link=link[0] if link else "", stack=_stack(text))


def _sentence(title: str) -> tuple[str, str]:
    """The first sentence of a title that has several, and the others."""
    found = re.match(r"^(.{10,}?[.!:])(?: (.*))?$", title) if len(title) > 60 or title.endswith(":") else None
    return (found[1].rstrip(".!:"), found[2] or "") if found else (title, "")


PHASES: Final = {
    "bytecode_tracing": "Dynamo traces the function",
    "dynamo": "Dynamo, what is not in its phases",
    "build_guards": "guards are built",
    "aot_trace_joint_graph": "forward and backward are traced into one graph",
    "aot_collect_metadata": "the function is run with fake tensors",
    "create_aot_dispatcher_function": "AOTAutograd, what is not in its phases",
    "_recursive_pre_grad_passes": "passes before autograd",
    "_recursive_joint_graph_passes": "passes over the joint graph",
    "_recursive_post_grad_passes": "passes over a half",
    "min_cut_rematerialization_partition": "the joint graph is split",
    "additional_fake_tensor_prop": "shapes are worked out again",
    "fx_codegen_and_compile": "Inductor, what is not in its phases",
    "GraphLowering.run": "nodes become buffers",
    "GraphLowering.codegen": "code is written",
    "Scheduler.__init__": "buffers are sorted and fused",
    "Scheduler.fused_nodes": "buffers are fused",
    "Scheduler.codegen": "kernels are written",
    "PythonWrapperCodegen.generate": "the wrapper is written",
    "PyCodeCache.load_by_key_path": "kernels are compiled and loaded",
    "compile_file": "the C++ compiler",
    "async_compile.wait": "waiting for kernels to be compiled",
    "async_compile.precompile": "kernels are compiled",
    "triton_heuristics": "Triton kernels are tuned",
    "lowering": "nodes become buffers",
    "fusion": "buffers are fused",
    "codegen": "code is written",
    "compile kernels": "kernels are compiled and loaded",
    "partition": "the joint graph is split",
    "pre_grad_passes": "passes before autograd",
    "joint_graph_passes": "passes over the joint graph",
    "post_grad_passes": "passes over a half",
}
"""What happens in a phase of the log, or in a step."""


def phase_words(name: str) -> str:
    """What a phase does; empty when it is not known."""
    if name.startswith("pass."):
        return "a pass over the graph"
    if name.startswith("compile_attempt"):
        return "Dynamo, what is not in its phases"
    return PHASES.get(name, "")
