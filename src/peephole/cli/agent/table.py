"""The table of tools: name, what each is for, what it takes. Every request pays for descriptions: short ones."""

from __future__ import annotations

from typing import Final

from peephole.cli.agent import answers
from peephole.cli.agent.commands import exists
from peephole.cli.agent.tools import Tool

_CAPTURE: Final = {"capture": ("string", "name or path of a capture; the newest when left out")}
_LARGE: Final = {"max_chars": ("integer", "how large the answer may be (default 8000, at most 50000)")}
_PAGE: Final = {"offset": ("integer", "first row to give, to go on where an answer was cut"), **_LARGE}

TOOLS: Final = (
    Tool(
        "captures",
        "Which recordings there are, newest first. Start here when it is not clear which one is meant.",
        answers.captures,
        _PAGE,
        command="ls",
    ),
    Tool(
        "overview",
        "What a program did: time by kernel and by host function, idle devices, memory peaks, problems, and what to "
        "ask next. Ask this first for 'why is it slow'.",
        answers.overview,
        {**_CAPTURE, **_LARGE},
        command="info",
    ),
    Tool(
        "kernel",
        "One kernel or function by name: runs and times, generated source, the program's lines it came from.",
        answers.kernel,
        {
            "name": ("string", "as overview or search gives it"),
            **_CAPTURE,
            "source_offset": ("integer", "where to go on in a long source"),
            **_LARGE,
        },
        ("name",),
        command="show",
    ),
    Tool(
        "why_not_fused",
        "Why two kernels (or operations) did not become one: the buffer between them, the reason, the pass and rule "
        "that decided, the program's line. Not for times.",
        answers.why_not_fused,
        {"a": ("string", "one kernel, by name or #place"), "b": ("string", "the other"), **_CAPTURE, **_PAGE},
        ("a", "b"),
        command="why",
    ),
    Tool(
        "origin",
        "From a kernel to the program's lines it computes, or from FILE:LINE to the kernels that it became.",
        answers.origin,
        {"what": ("string", "a kernel's name, or file.py:12"), **_CAPTURE, **_PAGE},
        ("what",),
        command="origin",
    ),
    Tool(
        "rules",
        "Which rewrite rules of the compiler fired, how often, for how long, with their source line.",
        answers.rules,
        {**_CAPTURE, **_PAGE},
        command="rules",
    ),
    Tool(
        "rewrites",
        "The passes of one compilation that changed something; with `step` each match of that pass as a difference "
        "with its rule; with `match` also the graph after it.",
        answers.rewrites,
        {
            "context": ("string", "a compilation's name, as `search` or `kernel` gives it"),
            "step": ("string", "one of its passes"),
            "match": ("integer", "one match of that pass"),
            **_CAPTURE,
            **_PAGE,
        },
        ("context",),
        command="show",
    ),
    Tool(
        "memory_at_peak",
        "What held the memory of each device when most was held.",
        answers.memory_at_peak,
        {**_CAPTURE, **_PAGE},
        command="show",
    ),
    Tool(
        "problems",
        "What went wrong while compiling: graph breaks, recompilations, fallbacks, slow phases, each with the "
        "program's line and a hint.",
        answers.problems,
        {**_CAPTURE, **_PAGE},
        command="problems",
    ),
    Tool(
        "ranks",
        "Of a run of many ranks: who waited for whom, slowest ranks and steps.",
        answers.ranks,
        {**_CAPTURE, **_PAGE},
        command="ranks",
    ),
    Tool(
        "diff",
        "What changed between two recordings: kernels, code, where compilations part, times with statistics, memory.",
        answers.diff,
        {"a": ("string", "the recording before"), "b": ("string", "the one after"), **_LARGE},
        ("a", "b"),
        command="diff",
    ),
    Tool(
        "search",
        "Kernels, compilations, passes, rules, ops and slices by name: words, /regex/, kind: track: rule: op:.",
        answers.search,
        {"words": ("string", "what to look for"), **_CAPTURE, **_PAGE},
        ("words",),
        command="search",
    ),
    Tool(
        "query",
        "One SELECT (DuckDB) over the recording. Tables: slices(track, start, dur, depth, name, context, args), "
        "tracks(id, name, kind, parent), contexts(id, name, kind, parent, start, dur), steps(id, context, ordinal, "
        "name, root, after), matches(step, ordinal, before, after, file, line), nodes(id, op, dtype, arg, src, name), "
        "buffers(id, device, alloc, free, bytes), uses(buffer, slice, mode), decisions(step, kind, a, b, reason), "
        "artifacts(context, kind, content), counters, markers, flows. Times in ns. DESCRIBE a table for the rest.",
        answers.query,
        {"sql": ("string", "one SELECT"), **_CAPTURE, **_PAGE},
        ("sql",),
        command="query",
    ),
)


def offered() -> list[Tool]:
    """The tools whose command there is."""
    return [tool for tool in TOOLS if exists(tool.command)]
