"""What happens on a cluster as rows: submissions, dispatches, results, failures, workers. Standard library only."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any, Final

from peephole.model.journal import KIND_ARGS, KIND_SLICE, PREFIX, SLICE, TABLE_KINDS, record_format
from peephole.model.tables import NONE, TABLES
from peephole.record.writer import CONTEXT, slots
from peephole.sources.dask.worker_lanes import Cluster, Lane

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder

Event = tuple[Any, int, str | None, Lane | None, int, Any, tuple[float, ...], tuple[str, ...]]
"""What most often happens to a task: its key and the time; its op, None when its result is released; the lane of the
worker that computed it, None when it is dispatched; the result's size; the thread; beginning and end of each time that
it was computed, in seconds of the wall clock; the clients that wait for it."""
FIELDS: Final = 8

_FLOW: Final = TABLE_KINDS["flows"]
_NO_CONTEXT: Final = CONTEXT.pack(NONE)
_pack_slice: Final = SLICE.pack
_pack_flow: Final = record_format(TABLES["flows"]).pack
_ENDS: Final = struct.Struct("<qq")


class TapeRows:
    """Writes events of a cluster; times are on the capture's clock. A task is told by its key."""

    def __init__(self, recorder: Recorder, version: str) -> None:
        self.cluster = Cluster(recorder, version)
        self._recorder = recorder
        self._slice = recorder.slice
        self._dispatcher = self.cluster.dispatcher
        self._sent: dict[Any, tuple[int, int]] = {}
        """Number and time of the dispatch of what is being computed."""
        self._held: dict[Any, tuple[int, int, str]] = {}
        """Track, row and name of the release of what is in memory."""

    def submitted(self, now: int, client: str, op: str, details: str) -> None:
        """A client submitted work: one event per graph."""
        recorder = self._recorder
        facts = {"event": "RECV", "command": "update-graph", "op": op, "client": client, "details": details}
        said, heard = recorder.new_correlation(), recorder.new_correlation()
        self._slice(self.cluster.client(client), now, 0, op, correlation=said, args=facts)
        self._slice(self._dispatcher, now, 0, op, correlation=heard, args={"message": "update-graph"})
        self.cluster.flow(said, heard, "message")

    def write(self, events: Iterable[Event]) -> None:
        """Writes what happened to tasks. Made for speed: there are three events per task, so the records are put
        together here, without a call for each, and go into the journal as one."""
        cluster, number, sent, held = self.cluster, self._recorder.new_correlation, self._sent, self._held
        writer = self._recorder.slot().writer
        dispatcher, offset, client_of = self._dispatcher, cluster.offset(), cluster.client
        texts, intern = writer.texts, writer.intern
        launch = intern("launch")
        # all arrows are alike but for their ends, which come first
        flow = slots(_pack_flow(0, 0, NONE, max(launch, 0)), _FLOW)
        flow_head, flow_tail = flow[: PREFIX.size], flow[PREFIX.size + _ENDS.size :]
        records: list[bytes] = []
        add, pack_ends = records.append, _ENDS.pack
        for key, now, op, lane, size, thread, spans, wanted in events:
            if op is None:
                if key in held:
                    track, row, op = held.pop(key)
                    if (name := texts.get(op) or intern(op)) > 0:
                        add(_pack_slice(now, 0, name, 0, track, row, 0, KIND_SLICE))
                continue
            if (name := texts.get(op) or intern(op)) < 0:
                continue  # no room on the disk
            if lane is None:
                source = number()
                sent[key] = source, now
                add(_pack_slice(now, 0, name, source, dispatcher, 0, 0, KIND_SLICE))
                continue
            source, sent_at = sent.pop(key, (0, 0))
            try:
                for i in range(0, len(spans), 2):
                    start, end = round(spans[i] * 1e9) + offset, round(spans[i + 1] * 1e9) + offset
                    # Dask puts a worker's times on the scheduler's clock by one heartbeat, which may have been a slow
                    # one: what was computed lies between its dispatch and its report
                    if sent_at > start:
                        start, end = sent_at, min(now, end + sent_at - start)
                    elif end > now:
                        start, end = start + now - end, now
                    args = (
                        f'{{"event":"COMPUTE","command":"task","op":{quoted(op)},"size":{size:d},'
                        f'"report":{now - end if now > end else 0},"details":{quoted(str(key))}}}'
                    )
                    target, row, dur = number(), lane.thread_row(thread, start, end), end - start if end > start else 0
                    slot = _pack_slice(start, dur, name, target, lane.track, row, 0, KIND_SLICE)
                    add(slots(_NO_CONTEXT + args.encode(), KIND_ARGS))
                    add(slot)
                    if source and launch > 0:
                        add(flow_head + pack_ends(source, target) + flow_tail)
                        source = 0
            except (ArithmeticError, TypeError, ValueError, struct.error):
                self._recorder.problem("Dask told times or sizes that are no numbers")
            held[key] = lane.release(op)
            for client in wanted:
                add(_pack_slice(now, 0, name, 0, client_of(client), 1, 0, KIND_SLICE))
        writer.records(records)

    def gone(self, key: Any) -> None:
        """What was dispatched will not be reported: it was cancelled, or its worker was lost."""
        self._sent.pop(key, None)

    def failed(self, key: Any, now: int, op: str, lane: Lane, words: str) -> None:
        """A task raised."""
        args = {"event": "ERROR", "command": "task", "op": op, "success": False, "details": f"{key}: {words}"[:2000]}
        (sent, _), number = self._sent.pop(key, (0, 0)), self._recorder.new_correlation()
        self._slice(lane.track, now, 0, op, lane.release_row, correlation=number, args=args)
        if sent:
            self.cluster.flow(sent, number, "launch")

    def worker_event(self, lane: Lane, now: int, event: str, details: str) -> None:
        """A worker joined (CONNECT) or left (DISCONNECT)."""
        facts = {"event": event, "command": "WORKER", "op": event.lower(), "worker": lane.name, "details": details}
        number, other = self._recorder.new_correlation(), self._recorder.new_correlation()
        self._slice(lane.track, now, 0, event.lower(), lane.release_row, correlation=number, args=facts)
        self._slice(self._dispatcher, now, 0, event.lower(), correlation=other, args={"message": event})
        self.cluster.flow(number, other, "message")
