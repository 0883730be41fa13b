"""The notes of a capture, each with the place of the page that shows what it is pinned to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.query.rewrites.step_graphs import check_match, graph_at, step_name
from peephole.query.timeline.slice_facts import slice_detail
from peephole.query.timeline.slice_lookup import row_by_start
from peephole.query.timeline.tracks import timeline_span
from peephole.store.capture import Capture
from peephole.store.notes import Note, read_notes


@dataclass(frozen=True, slots=True)
class PlacedNote:
    """A note, and the view and parameters of the address that lead to what it is about; no view when that is gone."""

    note: Note
    view: str
    params: dict[str, str]
    start: int = 0
    """When a slice begins, ns from the begin of the timeline."""


@dataclass(frozen=True, slots=True)
class Pin:
    """Something that a note can be pinned to: its name, and the numbers of `store.notes.KINDS`."""

    kind: str
    label: str
    at: dict[str, int]


def notes(capture: Capture) -> list[PlacedNote]:
    """Every note, oldest first. Rows of a live capture's slices change: they are looked up each time."""
    found = read_notes(capture.notes_folder)
    begin = timeline_span(capture)[0] if any(note.kind in ("slice", "range") for note in found) else 0
    return [_placed(capture, note, begin) for note in found]


def pin(capture: Capture, kind: str, numbers: Mapping[str, int]) -> Pin:
    """What a note is about, from the numbers of an address; PeepholeError when there is no such thing.

    A slice is told by its `row`, a range by `start` and `end` from the begin of the timeline, a match by `step` and
    `match`, a node by its identity `node` too.
    """
    if kind == "slice":
        try:
            detail = slice_detail(capture, numbers["row"])
        except IndexError as error:
            raise PeepholeError(f"There are {error.args[0]:,} slices, and none is number {numbers['row']}.") from None
        at = {"track": detail.track, "depth": detail.depth, "start": detail.start, "dur": detail.dur}
        return Pin(kind, detail.name, at)
    if kind == "range":
        begin = timeline_span(capture)[0]
        if numbers["end"] <= numbers["start"]:
            raise PeepholeError("A range ends after it begins.")
        return Pin(kind, "", {name: begin + numbers[name] for name in ("start", "end")})
    step, match = numbers["step"], numbers["match"]
    trace = trace_of(capture)
    check_match(trace, step, match)
    name = step_name(trace, step)
    if kind == "match":
        return Pin(
            kind, f"{name}, match {match}" if match else f"{name}, before its matches", {"step": step, "match": match}
        )
    nodes = graph_at(capture, step, match).nodes
    if numbers["node"] not in nodes.identity:
        raise PeepholeError(f"{name} has no node {numbers['node']} after match {match}.")
    at_node = nodes.identity.index(numbers["node"])
    label = (nodes.name[at_node] if nodes.name else None) or nodes.op[at_node]
    return Pin(kind, f"{label} in {name}", {"step": step, "match": match, "node": numbers["node"]})


def _placed(capture: Capture, note: Note, begin: int) -> PlacedNote:
    at = note.at
    if note.kind == "range":
        start, end = at["start"] - begin, at["end"] - begin
        margin = max((end - start) // 20, 1)
        numbers = {"r0": start, "r1": end, "t0": start - margin, "t1": end + margin}
        return PlacedNote(note, "timeline", {name: str(value) for name, value in numbers.items()})
    if note.kind == "slice":
        row = row_by_start(capture, at["track"], at["start"], at["depth"])
        place = ("timeline", {"slice": str(row)}) if row >= 0 else ("", {})
        return PlacedNote(note, *place, at["start"] - begin)
    return PlacedNote(note, "rewrites", {name: str(value) for name, value in at.items()})
