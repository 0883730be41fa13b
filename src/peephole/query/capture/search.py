"""Names of a whole capture, found at once: contexts, steps, ops, rules, instructions, kernels, and those of a line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from peephole.errors import AskedError
from peephole.frameworks import PACKAGES
from peephole.model.plain_names import plain
from peephole.query.capture.grammar import FIELDS, Mask, Query, parse
from peephole.query.rewrites.named_nodes import first_seen
from peephole.query.timeline.slice_times import SliceTimes
from peephole.replay.work import work_of_contexts
from peephole.store.capture import Capture

KINDS: Final = ("kernel", "context", "step", "rule", "node", "op", "slice")
"""Kinds in the order in which equally good hits are listed."""
_LINE: Final = re.compile(r"[^\s:\"]+\.\w+:\d+")


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing with a name, and where it is: ids are -1 where they say nothing."""

    kind: str
    text: str
    note: str = ""
    context: int = -1
    step: int = -1
    match: int = -1
    node: int = -1
    count: int = 0
    """Matches of a kernel, context, step or rule, nodes of an op or name, slices of a name."""
    runs: int = 0
    """Slices of that name on the timeline, or of that kernel on devices, and what they took together."""
    total_ns: int = 0
    op: str = ""
    """Of an instruction with a name."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gives: the best hits, how many there were, and close names when there were none."""

    query: str
    total: int
    hits: list[Hit]
    near: list[Hit]
    searched: dict[str, int]


class SearchIndex:
    """All names of a capture. A search looks at each: tens of thousands take a few milliseconds."""

    def __init__(
        self,
        hits: list[Hit],
        searched: dict[str, int],
        times: SliceTimes | None = None,
        kernels_of: Callable[[str], list[Hit]] | None = None,
    ) -> None:
        """`kernels_of` gives the kernels that compute something of a line of the program."""
        self.searched = searched
        self._kernels_of = kernels_of
        self._hits = hits
        self._texts = [f"{hit.text}\n{hit.note}" for hit in hits]
        self._names = [hit.text.lower() for hit in hits]
        self._times = times

    def search(self, text: str, limit: int = 40) -> Found:
        """Hits that the query holds for, those first whose name is it, then those that begin with it.

        AskedError when it has a pattern that is none, or a kind that there is not.
        """
        query = parse(text)
        if not query.terms:
            return Found(text, 0, [], [], self.searched)
        self._check_kinds(query)
        mask = self._mask(query)
        on_tracks = self._on_tracks(query, mask)
        whole = query.words
        ranked = []
        for at in np.flatnonzero(mask).tolist():
            hit = on_tracks.get(at, self._hits[at])
            ranked.append((self._rank(at, whole), -hit.total_ns, -hit.count, at, hit))
        ranked.sort(key=lambda one: one[:4])
        named = [hit for *_, hit in ranked[:limit]]
        of_line = self._of_line(text.strip()) if not any(hit.kind == "rule" for hit in named) else []
        best = (of_line + named)[:limit]
        return Found(text, len(of_line) + len(ranked), best, [] if best else self._near(query), self.searched)

    @staticmethod
    def is_line(text: str) -> bool:
        """Whether the query is a place as `prog.py:4`, whose kernels are looked up in the capture."""
        return _LINE.fullmatch(text.strip()) is not None

    def _of_line(self, text: str) -> list[Hit]:
        return self._kernels_of(text) if self._kernels_of is not None and self.is_line(text) else []

    def _check_kinds(self, query: Query) -> None:
        known = [*KINDS, *dict.fromkeys(hit.note for hit in self._hits if hit.kind == "context" and hit.note)]
        for term in query.of("kind"):
            if not term.excluded and not term.mask(known).any():
                raise AskedError(f"There is no kind {term.text}; there are {', '.join(dict.fromkeys(known))}.")

    def _mask(self, query: Query) -> Mask:
        """What the query holds for, tracks apart: a rule, an op and a name of an instruction are what they are."""
        hits = self._hits
        facts = {
            "kind": [f"{hit.kind} {hit.note}" if hit.kind == "context" else hit.kind for hit in hits],
            "rule": [hit.text if hit.kind == "rule" else "" for hit in hits],
            "op": [hit.text if hit.kind == "op" else hit.op for hit in hits],
        }
        apart = Query(tuple(term for term in query.terms if term.field != "track"))
        # a word may be in the note; a pattern is about the name, which ends where the pattern says it does
        patterns = Query(tuple(term for term in apart.terms if term.regex and not term.field))
        mask = Query(tuple(term for term in apart.terms if term not in patterns.terms)).mask(self._texts, facts)
        mask &= patterns.mask([hit.text for hit in hits], facts)
        for field in set(FIELDS) & {term.field for term in apart.terms if not term.excluded} - {"kind"}:
            mask &= np.array([text != "" for text in facts[field]])
        return mask

    def _on_tracks(self, query: Query, mask: Mask) -> dict[int, Hit]:
        """Slices and kernels that ran on wanted tracks, with what they did there; the mask loses the others."""
        terms = query.of("track")
        if not terms:
            return {}
        counts = self._times.on_tracks(Query(terms)) if self._times is not None else {}
        kernels = self._times.by_context(Query(terms)) if self._times is not None else {}
        found = {}
        for at in np.flatnonzero(mask).tolist():
            hit = self._hits[at]
            runs, total = 0, 0
            if hit.kind == "kernel" and kernels is not None:  # kernels of one name are told apart
                runs, total = kernels.get(hit.context, (0, 0))
            elif hit.kind in ("slice", "kernel"):
                runs, total = counts.get(hit.text, (0, 0))
            mask[at] = runs > 0
            count = runs if hit.kind == "slice" else hit.count
            found[at] = replace(hit, count=count, runs=runs, total_ns=total)
        return found

    def _rank(self, at: int, whole: str) -> tuple[int, int, int]:
        name = self._names[at]
        if not whole:
            fit = 3
        elif name == whole:
            fit = 0
        elif name.startswith(whole):
            fit = 1
        elif re.search(rf"(?<![a-z0-9]){re.escape(whole)}", name):
            fit = 2
        elif all(word in name for word in whole.split()):
            fit = 3
        else:
            fit = 4  # only the note has it
        return fit, KINDS.index(self._hits[at].kind), len(name) if fit <= 1 else 0

    def _near(self, query: Query) -> list[Hit]:
        """Names close to the one that is wanted: of a rule those of rules, of an op those of ops."""
        wanted = [term for term in query.terms if not term.regex and not term.excluded]
        kinds = {term.field for term in wanted} & {"rule", "op"}
        whole = " ".join(term.text.lower() for term in wanted if term.field in kinds or not term.field)
        first: dict[str, int] = {}
        for at, name in enumerate(self._names):
            if not kinds or self._hits[at].kind in kinds:
                first.setdefault(name, at)
        names = list(first)
        if len(names) > 20_000:  # difflib compares one by one; beyond this only names of a similar start
            names = [name for name in names if name[:1] == whole[:1]][:20_000]
        return [self._hits[first[name]] for name in difflib.get_close_matches(whole, names, 3, 0.5)]


def build_index(capture: Capture) -> SearchIndex:
    """The index of a capture."""
    contexts = capture.read("contexts", ["id", "name"])
    names = {id_: plain(name) for id_, name in zip(contexts["id"].tolist(), contexts.texts("name"), strict=True)}
    times = SliceTimes(capture)
    hits = _contexts(capture, names, times) + _steps(capture, names)
    if capture.count("matches"):
        hits += _rules(capture, names) + _ops(capture)
    hits += _named(capture, names)
    hits += _slices(times, set(names.values()))
    tables = ("contexts", "steps", "matches", "nodes", "slices")
    searched = {name: capture.count(name) for name in tables if capture.count(name)}
    return SearchIndex(hits, searched, times, lambda line: _of_line(capture, names, times, line))


def _of_line(capture: Capture, names: dict[int, str], times: SliceTimes, line: str) -> list[Hit]:
    """The kernels that compute something of a line of the program, those first that took longest."""
    from peephole.query.rewrites.origins import kernels_of

    ran = times.by_context() or {}
    found: dict[int, Hit] = {}
    for origin in kernels_of(capture, line):
        runs, total = ran.get(origin.context, (0, 0))
        note = f"{names.get(origin.context, origin.name)} in {names.get(origin.schedule, '?')}"
        found.setdefault(origin.context, Hit("line", line, note, origin.context, runs=runs, total_ns=total))
    return sorted((hit for context, hit in found.items() if context >= 0), key=lambda hit: -hit.total_ns)


def _contexts(capture: Capture, names: dict[int, str], times: SliceTimes) -> list[Hit]:
    frame = capture.read("contexts", ["id", "kind"])
    work = work_of_contexts(capture.read("steps", ["context", "matches"]))
    ran = times.by_context() or {}
    hits = []
    for id_, kind in zip(frame["id"].tolist(), frame.texts("kind"), strict=True):
        runs, total = ran.get(id_, (0, 0)) if kind == "kernel" else (0, 0)
        named = "kernel" if kind == "kernel" else "context"
        count = work.get(id_, (0, 0))[1]
        hits.append(Hit(named, names[id_], kind or "", id_, count=count, runs=runs, total_ns=total))
    return hits


def _steps(capture: Capture, names: dict[int, str]) -> list[Hit]:
    frame = capture.read("steps", ["id", "context", "name", "matches"])
    rows = zip(
        frame["id"].tolist(), frame["context"].tolist(), frame.texts("name"), frame["matches"].tolist(), strict=True
    )
    return [
        Hit("step", name, names.get(context, ""), context, id_, 0, -1, matches)
        for id_, context, name, matches in rows
        if name
    ]


def _rules(capture: Capture, names: dict[int, str]) -> list[Hit]:
    """Each rule once, leading to the match that took longest."""
    frame = capture.read("matches", ["step", "ordinal", "file", "line", "dur"])
    files = frame.texts("file")
    key = files.codes.astype(np.int64) * (1 << 32) + frame["line"]
    order = np.lexsort((-frame["dur"], key))
    firsts = np.flatnonzero(np.diff(key[order], prepend=key[order][:1] - 1))
    counts = np.diff(np.append(firsts, len(order)))
    context_of = _context_of(capture)
    hits = []
    for place, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        row = int(order[place])
        file = files[row]
        if not file:
            continue
        step = int(frame["step"][row])
        context = context_of.get(step, -1)
        text = f"{_short(file)}:{int(frame['line'][row])}"
        hits.append(Hit("rule", text, names.get(context, ""), context, step, int(frame["ordinal"][row]) + 1, -1, count))
    return hits


def _ops(capture: Capture) -> list[Hit]:
    """Each op once, leading to the first match that made one."""
    nodes = capture.read("nodes", ["id", "op"])
    if not len(nodes):
        return []
    ops = nodes.texts("op")
    frame = capture.read("matches", ["step", "ordinal", "after"])
    order = np.argsort(nodes["id"], kind="stable")
    place = np.searchsorted(nodes["id"], frame["after"], sorter=order).clip(0, len(order) - 1)
    known = nodes["id"][order[place]] == frame["after"]
    made = np.where(known, ops.codes[order[place]], -1)
    first_codes, first_rows = np.unique(made, return_index=True)
    first = dict(zip(first_codes.tolist(), first_rows.tolist(), strict=True))
    context_of = _context_of(capture)
    hits = []
    for code, count in zip(*np.unique(ops.codes, return_counts=True), strict=True):
        if code < 0:
            continue
        row = first.get(int(code))
        step = int(frame["step"][row]) if row is not None else -1
        match = int(frame["ordinal"][row]) + 1 if row is not None else -1
        node = int(frame["after"][row]) if row is not None else -1
        hits.append(Hit("op", ops.values[int(code)], "", context_of.get(step, -1), step, match, node, int(count)))
    return hits


def _named(capture: Capture, names: dict[int, str]) -> list[Hit]:
    """Each name of an instruction once, leading to the first graph that it is in."""
    hits = []
    for node in first_seen(capture):
        note = f"{node.op}, {names.get(node.context, '')}"
        ids = (node.context, node.step, node.match, node.id)
        hits.append(Hit("node", node.name, note, *ids, count=node.count, op=node.op))
    return hits


def _slices(times: SliceTimes, known: set[str]) -> list[Hit]:
    """Names on the timeline that no context has."""
    return [
        Hit("slice", text, "timeline", count=count, runs=count, total_ns=total)
        for text, (count, total) in times.by_name().items()
        if text and text not in known
    ]


def _context_of(capture: Capture) -> dict[int, int]:
    steps = capture.read("steps", ["id", "context"])
    return dict(zip(steps["id"].tolist(), steps["context"].tolist(), strict=True))


def _short(path: str) -> str:
    """The part of a path that tells files apart."""
    parts = [part for part in re.split(r"[\\/]", path) if part]
    if "site-packages" in parts[:-2]:
        at = len(parts) - 1 - parts[::-1].index("site-packages")
        return "/".join(parts[at + 2 :])
    for package in PACKAGES:
        if package in parts[:-1]:
            at = len(parts) - 1 - parts[::-1].index(package)
            return "/".join(parts[at + 1 :]) or path
    return "/".join(parts[-2:])
