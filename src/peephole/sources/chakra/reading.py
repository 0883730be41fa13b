"""One import: an execution trace as a graph, its operators on the timeline where it or a profile has their times."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from peephole.errors import CaptureError
from peephole.model.collector import no_collecting
from peephole.model.sink import Sink
from peephole.sources import find, head_of
from peephole.sources.base import Progress
from peephole.sources.chakra import kind_of
from peephole.sources.chakra.graph import OperatorGraph
from peephole.sources.chakra.messages import read_json_messages, read_messages
from peephole.sources.chakra.observed import read_observed
from peephole.sources.chakra.operators import Operator, Trace
from peephole.sources.chakra.profile import JoinedProfile
from peephole.sources.context_rows import Rows, content_of
from peephole.sources.linked_trace import Numbers
from peephole.sources.node_rows import NodeRows
from peephole.sources.track_rows import TrackRow, TrackRows

COMPILER: Final = "chakra"
STEP: Final = "execution trace"


def read(paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
    """Reads execution traces and the profiles beside them."""
    own = [path for path in paths if find(path).name == "chakra"]
    profiles = [path for path in paths if path not in own]
    if profiles and len(own) != len(profiles):
        raise CaptureError(
            f"{len(own)} execution traces and {len(profiles)} profiles were given; give one of each together, in order."
        )
    reading = _Reading(sink, progress)
    with no_collecting():
        for place, path in enumerate(own):
            reading.add(path, profiles[place] if profiles else None, len(own) > 1)
    reading.finish(own[0])


class _Reading:
    def __init__(self, sink: Sink, progress: Progress) -> None:
        self._sink, self._progress = sink, progress
        self._rows, self._nodes = Rows(sink, COMPILER), NodeRows(sink)
        self._written = 0
        self._numbers = Numbers(0)
        self._tracks = TrackRows()
        self._operators = 0

    def add(self, path: Path, profile: Path | None, several: bool) -> None:
        """Reads one trace, and its profile."""
        trace = self._trace(path)
        if not trace.operators:
            return
        self._operators += len(trace.operators)
        graph = OperatorGraph(trace, self._written, lambda reason, count: self._sink.problem(reason, count, path.name))
        name = f"{path.name.partition('.')[0]} execution trace" if several else "execution trace"
        keys = json.dumps([path.name])
        context = self._rows.context(name, "graph", keys=keys, function=trace.schema or None)
        step = self._rows.step(context, STEP, 0, graph.root, graph.root)

        def place(one: Operator) -> str:
            told: dict[str, int] = {"step": step, "node": graph.nodes[one.number]}
            if graph.is_called(one):
                told["inside"] = graph.nodes[one.parent]
            return json.dumps(told)

        took: dict[int, int] = {}
        if profile is not None:
            joined = JoinedProfile(self._sink, self._numbers, context, trace.operators, place)
            joined.read(profile, self._progress)
            took = joined.took
            self._tell(joined, len(took), trace, profile)
        elif any(one.start >= 0 for one in trace.operators):
            self._slices(trace, context, place, path.name if several else "")
        graph.write(self._nodes, took)
        self._written = graph.root + 1

    def finish(self, first: Path) -> None:
        """Hands over what is left; CaptureError when there was no operator."""
        if not self._operators:
            raise CaptureError(
                f"{first} holds no operator; record one with torch.profiler.ExecutionTraceObserver "
                "while the program runs."
            )
        if len(self._tracks):
            self._tracks.finish(self._sink)
        self._nodes.flush()
        self._rows.finish()
        self._sink.describe(frameworks={COMPILER: ""})

    def _trace(self, path: Path) -> Trace:
        def problem(reason: str, count: int, example: str) -> None:
            self._sink.problem(reason, count, example)

        try:
            data, kind = content_of(path), kind_of(head_of(path))
        except OSError as error:
            raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error
        if kind == "proto":
            found = read_messages(data, str(path), problem)
        else:
            text = data.decode("utf-8-sig", "replace")
            found = (read_observed if kind == "json" else read_json_messages)(text, str(path), problem)
        return _numbered_once(found, self._sink)

    def _tell(self, joined: JoinedProfile, linked: int, trace: Trace, profile: Path) -> None:
        if joined.strangers:
            self._sink.problem(
                "slices whose number is that of another operator: profile and execution trace are of different runs",
                joined.strangers,
                profile.name,
            )
        elif not linked:
            self._sink.problem(
                "no slice of the profile is of an operator of the execution trace: they may be of different runs",
                1,
                profile.name,
            )
        elif missing := sum(1 for one in trace.operators if one.record and one.number not in joined.took):
            self._sink.problem("operators that the profile does not have", missing, profile.name)

    def _slices(self, trace: Trace, context: int, place: Callable[[Operator], str], file: str) -> None:
        """Operators whose times the trace itself has."""
        timed = sorted((one for one in trace.operators if one.start >= 0), key=lambda one: (one.start, -one.dur))
        begin = timed[0].start
        lanes = [self._lane(one, trace, file) for one in timed]
        self._sink.append(
            "slices",
            {
                "track": lanes,
                "start": [one.start - begin for one in timed],
                "dur": [max(one.dur, 0) for one in timed],
                "name": [one.name for one in timed],
                "context": [context] * len(timed),
                "args": [place(one) for one in timed],
            },
        )
        if len(timed) < len(trace.operators):
            self._sink.problem("operators without a time, in the graph only", len(trace.operators) - len(timed))

    def _lane(self, one: Operator, trace: Trace, file: str) -> int:
        name = f"{file} {one.lane}".strip()
        kind = "device" if one.lane.startswith("stream") else "thread"
        return self._tracks.get(name, TrackRow(name, kind, process=trace.process, rank=trace.rank))


def _numbered_once(trace: Trace, sink: Sink) -> Trace:
    """The operators, of those with one number the first."""
    known: dict[int, Operator] = {}
    for one in trace.operators:
        known.setdefault(one.number, one)
    if len(known) < len(trace.operators):
        sink.problem("operators with the number of another one, left out", len(trace.operators) - len(known))
        trace.operators = list(known.values())
    return trace
