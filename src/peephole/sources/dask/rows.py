"""What happens on a cluster as rows: submissions, dispatches, results, failures, workers. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from peephole.model.tables import NONE
from peephole.sources.dask.lanes import Cluster, Lane

if TYPE_CHECKING:
    from peephole.record.recorder import Recorder


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

    def submitted(self, now: int, client: str, op: str, details: str) -> None:
        """A client submitted work: one event per graph."""
        recorder = self._recorder
        facts = {"event": "RECV", "command": "update-graph", "op": op, "client": client, "details": details}
        said, heard = recorder.new_correlation(), recorder.new_correlation()
        self._slice(self.cluster.client(client), now, 0, op, correlation=said, args=facts)
        self._slice(self._dispatcher, now, 0, op, correlation=heard, args={"message": "update-graph"})
        self.cluster.flow(said, heard, "message")

    def dispatched(self, key: Any, now: int, op: str) -> None:
        """A task went to a worker."""
        number = self._recorder.new_correlation()
        self._sent[key] = (number, now)
        self._recorder.slot().writer.slice(self._dispatcher, now, 0, op, 0, number)

    def released(self, key: Any, now: int) -> None:
        """A worker forgot a result."""
        if key in self._held:
            track, row, op = self._held.pop(key)
            self._recorder.slot().writer.slice(track, now, 0, op, row, 0)

    def done(
        self, key: Any, now: int, op: str, lane: Lane, size: int, thread: Any, spans: Iterable[Sequence[float]],
        wanted: Iterable[str],
    ) -> None:  # fmt: skip
        """A result is in memory: what was computed in which spans (seconds of the wall clock), and who waits for it."""
        cluster, recorder = self.cluster, self._recorder
        writer = recorder.slot().writer
        sent, sent_at = self._sent.pop(key, (0, 0))
        for span in spans:
            start, end = cluster.clock(span[0]), cluster.clock(span[1])
            # Dask puts a worker's times on the scheduler's clock by one heartbeat, which may have been a slow one: what
            # was computed lies between its dispatch and its report
            shift = sent_at - start if sent_at > start else min(0, now - end)
            start, end = start + shift, end + shift
            # by hand, since this happens once per task: twice as quick as a dictionary that is made and dumped
            text = (
                f'{{"event":"COMPUTE","command":"task","op":{quoted(op)},"size":{size},'
                f'"report":{max(0, now - end)},"details":{quoted(str(key))}}}'
            )
            number = recorder.new_correlation()
            row = lane.thread_row(thread)
            writer.slice_with_args(lane.track, start, max(0, end - start), op, row, number, NONE, text)
            if sent:
                cluster.flow(sent, number, "launch")
                sent = 0
        self._held[key] = lane.release(op)
        for client in wanted:
            writer.slice(cluster.client(client), now, 0, op, 1, 0)

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
