"""What a capture says of its compilations, by content: contexts, steps, matches, rules and code as columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from peephole.compilers import assumed_name, compiler_named
from peephole.model.plain_names import numbered, plain
from peephole.model.stacks import frames, user_frame
from peephole.query.compare.by_content.content import COUNTERS, Content, content_of, distinct
from peephole.query.compare.by_content.hash_loops import Hashes, Ints
from peephole.query.compare.by_content.text_hashes import mixed, text_hash, text_hashes, without_accidents

if TYPE_CHECKING:
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Frame

OWN_NAMES: Final = "kernels' own names in their code"
_CODE: Final = ("source", "assembly", "oplist", "binary")
"""Artifacts that are a kernel's code, the first kind that it has."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A context, as it is compared."""

    id: int
    name: str
    """What a user calls it: `#2` behind the second of its name."""
    plain: str
    """Its name without counters."""
    kind: str
    place: str
    """`file.py:12` of the program; empty when unknown."""
    compiler: str
    start: int
    dur: int
    code: int
    """Hash of its code, 0 for none."""
    input: int
    """Hash of the graph that went into its first step, 0 for none."""
    first: int
    past: int
    """Its steps, by their rows."""
    parent: int = -1
    """The context that it was compiled in, -1 for none."""

    @property
    def is_kernel(self) -> bool:
        """Whether it is compared as a kernel."""
        return self.kind == "kernel" or self.code != 0


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule by where it is written; `text` is that line when it is at hand."""

    file: str
    line: int
    text: str | None
    matches: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """The compilations of a capture. Steps are sorted by context and order, matches by step."""

    units: tuple[Unit, ...]
    """In the order in which they were opened."""
    step_id: Ints
    step_name: list[str]
    step_root: Hashes
    step_after: Hashes
    """0 where the graph that came out is replayed."""
    step_decisions: Hashes
    """Of all that the step decided, in order; 0 for nothing."""
    step_first: Ints
    step_matches: Ints
    step_depth: Ints
    step_start: Ints
    """ns, -1 when unknown"""
    step_end: Ints
    """ns, with the steps inside it; -1 when unknown"""
    step_dur: Ints
    """ns without the steps inside it; -1 when unknown."""
    match_rule: NDArray[np.int32]
    match_before: Hashes
    match_after: Hashes
    match_short: NDArray[np.uint16]
    """Of before and after: all that a baseline keeps."""
    rules: tuple[RuleLine, ...]
    normalised: frozenset[str]

    @property
    def has_steps(self) -> bool:
        """Whether rewrites were recorded."""
        return len(self.step_id) > 0

    def match_rows(self, step: int) -> slice:
        """The matches of a step, by its row."""
        first = int(self.step_first[step])
        return slice(first, first + int(self.step_matches[step]))


def compiled_of(capture: Capture) -> Compiled:
    """The compilations of a capture by content."""
    content = content_of(capture)
    steps = capture.read("steps", ["id", "context", "depth", "root", "after", "start", "dur", "name"])
    matches = capture.read("matches", ["step", "before", "after", "file", "line"])
    ids: Ints = steps["id"]
    # matches are sorted by the number of their step, steps by context and order
    first, past = (np.searchsorted(matches["step"], ids, side) for side in ("left", "right"))
    root, after = content.rows(steps["root"]), content.rows(steps["after"])
    before_row, after_row = content.rows(matches["before"]), content.rows(matches["after"])
    seen: set[str] = set()
    decided, decided_rows = _decisions(capture, ids)
    roots, afters = np.zeros(len(ids), np.uint64), np.zeros(len(ids), np.uint64)
    befores, results = np.zeros(len(before_row), np.uint64), np.zeros(len(after_row), np.uint64)
    decisions = np.zeros(len(ids), np.uint64)
    units = _units(capture, content, steps, seen)
    inputs: dict[int, int] = {}
    for unit in units:
        own = slice(unit.first, unit.past)
        parts = [slice(int(a), int(b)) for a, b in zip(first[own], past[own], strict=True) if b > a]
        nodes = [decided_rows[step] for step in range(unit.first, unit.past) if step in decided_rows]
        starts = [
            root[own],
            after[own],
            *(column[part] for part in parts for column in (before_row, after_row)),
            *nodes,
        ]
        hashes = content.in_context(np.concatenate(starts))
        roots[own], afters[own] = hashes(root[own]), hashes(after[own])
        if parts and parts[-1].stop - parts[0].start == sum(part.stop - part.start for part in parts):
            parts = [slice(parts[0].start, parts[-1].stop)]
        for part in parts:
            befores[part], results[part] = hashes(before_row[part]), hashes(after_row[part])
        for step, words in ((step, decided[step]) for step in range(unit.first, unit.past) if step in decided):
            decisions[step] = _sequence(mixed(words, *hashes(decided_rows[step]).reshape(2, -1)))
        inputs[unit.id] = int(roots[unit.first]) if unit.past > unit.first else 0
    rule, rules = _rules(capture, matches)
    return Compiled(
        tuple(replace(unit, input=inputs[unit.id]) for unit in units),
        ids,
        [plain(name) for name in steps.texts("name")],
        roots,
        afters,
        decisions,
        first.astype(np.int64),
        (past - first).astype(np.int64),
        steps["depth"].astype(np.int64),
        steps["start"],
        np.where((steps["start"] >= 0) & (steps["dur"] >= 0), steps["start"] + steps["dur"], -1),
        _self_times(steps),
        rule,
        befores,
        results,
        (mixed(befores, results) >> np.uint64(40)).astype(np.uint16),
        rules,
        frozenset(content.normalised | seen),
    )


def code_of(capture: Capture, unit: int) -> tuple[str, str]:
    """The code of a context and its language; two empty texts when it has none."""
    frame = capture.read("artifacts", ["context", "kind", "language"])
    owner, kinds, languages = frame["context"], frame.texts("kind"), frame.texts("language")
    for kind in _CODE[:3]:
        rows = np.flatnonzero((owner == unit) & (kinds.codes == kinds.code(kind))).tolist()
        if rows:
            blobs = (capture.read("artifacts", ["content"], slice(row, row + 1)).blobs("content")[0] for row in rows)
            return "\n".join((blob or b"").decode("utf-8", "replace") for blob in blobs), languages[rows[0]] or ""
    return "", ""


def _units(capture: Capture, content: Content, steps: Frame, seen: set[str]) -> list[Unit]:
    columns = ["id", "name", "kind", "stack", "start", "dur", "compiler", "parent"]
    frame = capture.read("contexts", columns)
    assumed, code = assumed_name(capture), _code_hashes(capture, seen)
    names = list(frame.texts("name"))
    owners = steps["context"]
    units = []
    rows = zip(
        *(frame[name].tolist() for name in ("id", "start", "dur", "parent")), names, numbered(names),
        *(frame.texts(name) for name in ("kind", "stack", "compiler")), strict=True,
    )  # fmt: skip
    for id, start, dur, parent, name, shown, kind, stack, own in rows:
        compiler = compiler_named(own or assumed)
        called = compiler.context_name(plain(name))
        bare = compiler.counted_name(called)
        if bare != called:
            seen.add(COUNTERS)
        found = user_frame(frames(stack))
        place = f"{found.file}:{found.line}" if found else ""
        first, past = (int(np.searchsorted(owners, id, side)) for side in ("left", "right"))
        units.append(
            Unit(
                id, shown, bare, kind or "", place, own or assumed, start, dur, code.get(id, 0), 0, first, past, parent
            )
        )
    units.sort(key=lambda unit: (unit.start < 0, unit.start, unit.id))
    return units


def _code_hashes(capture: Capture, seen: set[str]) -> dict[int, int]:
    """Hashes of the contexts' code, each without the context's own name."""
    if not capture.count("artifacts"):
        return {}
    names = capture.read("contexts", ["id", "name", "compiler"])
    called = {id: plain(name) for id, name in zip(names["id"].tolist(), names.texts("name"), strict=True)}
    assumed = assumed_name(capture)
    compiled_by = {
        id: compiler_named(own or assumed)
        for id, own in zip(names["id"].tolist(), names.texts("compiler"), strict=True)
    }
    frame = capture.read("artifacts", ["context", "step", "kind", "content"])
    kinds, contents = frame.texts("kind"), frame.blobs("content")
    rows: dict[int, dict[str, list[int]]] = {}
    for row, (owner, kind) in enumerate(zip(frame["context"].tolist(), kinds, strict=True)):
        if owner in called and kind in _CODE:
            rows.setdefault(owner, {}).setdefault(kind, []).append(row)
    found = {}
    for owner, by_kind in rows.items():
        kind = next(kind for kind in _CODE if kind in by_kind)
        text = "\n".join((contents[row] or b"").decode("utf-8", "replace") for row in by_kind[kind])
        if kind != "binary":
            text, away = compiled_by[owner].comparable_code(without_name(text, called[owner], seen))
            seen |= {away} if away else set()
        found[owner] = text_hash(without_accidents(text, seen))
    return found


def without_name(text: str, name: str, seen: set[str]) -> str:
    """Code without the name of the kernel that it is of."""
    if len(name) < 2 or name not in text:
        return text
    bare = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "@", text)
    if bare != text:
        seen.add(OWN_NAMES)
    return bare


def _rules(capture: Capture, matches: Frame) -> tuple[NDArray[np.int32], tuple[RuleLine, ...]]:
    """The rule of each match by its number, and the rules."""
    from peephole.compilers.traces import trace_of

    if not len(matches):
        return np.zeros(0, np.int32), ()
    places = trace_of(capture).places
    files, lines = matches.texts("file"), matches["line"].astype(np.int64)
    last = int(lines.max()) + 2
    unique, place = distinct((files.codes.astype(np.int64) + 1) * last + (lines + 1))
    rules = []
    for key, fired in zip(unique.tolist(), np.bincount(place).tolist(), strict=True):
        code, line = key // last - 1, key % last - 1
        file = files.values[code] if code >= 0 else ""
        rules.append(RuleLine(file, line, places.line(file, line), fired))
    return place.astype(np.int32), tuple(rules)


def _decisions(capture: Capture, steps: Ints) -> tuple[dict[int, Hashes], dict[int, Ints]]:
    """By the row of a step: the words of what it decided, and the rows of the nodes that it is about, a then b."""
    if not capture.count("decisions"):
        return {}, {}
    frame = capture.read("decisions", ["step", "kind", "a", "b", "reason"])
    content, seen = content_of(capture), set[str]()
    reasons = [without_accidents(text, seen) for text in frame.texts("reason").values]
    reason = np.append(text_hashes(reasons), np.uint64(0))[frame.texts("reason").codes]
    kind = np.append(text_hashes(frame.texts("kind").values), np.uint64(0))[frame.texts("kind").codes]
    words, a, b = mixed(kind, reason), content.rows(frame["a"]), content.rows(frame["b"])
    row_of = {step: row for row, step in enumerate(steps.tolist())}
    found: dict[int, Hashes] = {}
    nodes: dict[int, Ints] = {}
    bounds = np.flatnonzero(np.diff(frame["step"], prepend=-2, append=-2))
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        row = row_of.get(int(frame["step"][low]))
        if row is not None:
            found[row], nodes[row] = words[low:high], np.concatenate([a[low:high], b[low:high]])
    return found, nodes


def _sequence(words: Hashes) -> np.uint64:
    """One number of a sequence; never 0."""
    return np.uint64(text_hash(words.tobytes().hex()) | 1)


def _self_times(steps: Frame) -> Ints:
    """How long each step took without those inside it."""
    dur: Ints = steps["dur"].astype(np.int64)
    own = dur.copy()
    open_steps: list[int] = []
    previous = None
    for row, (context, depth) in enumerate(zip(steps["context"].tolist(), steps["depth"].tolist(), strict=True)):
        if context != previous:
            open_steps, previous = [], context
        while open_steps and steps["depth"][open_steps[-1]] >= depth:
            open_steps.pop()
        if open_steps and dur[row] > 0 and own[open_steps[-1]] >= 0:
            own[open_steps[-1]] = max(0, own[open_steps[-1]] - dur[row])
        open_steps.append(row)
    return own
