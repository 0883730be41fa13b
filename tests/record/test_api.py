"""Any sequence of calls of the API is read back, by a reader that shares no code with us and by the store."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peephole
from peephole.record import active, process

NAMES = st.sampled_from(["a", "b", "läng", "\x00", "x" * 200, ""]) | st.text(max_size=30)
ARGS = st.dictionaries(st.sampled_from(["p", "q"]), st.integers() | st.floats() | NAMES | st.none(), max_size=2)
LEAVES = st.one_of(
    st.tuples(st.just("marker"), NAMES),
    st.tuples(st.just("signal"), NAMES),
    st.tuples(st.just("counter"), st.floats() | st.integers(-(2**70), 2**70)),
    st.tuples(st.just("alloc"), st.integers(0, 2**63 - 1)),
    st.tuples(st.just("match"), NAMES),
    st.tuples(st.just("raise"), NAMES),
)
CALLS = st.recursive(
    st.lists(LEAVES, max_size=4),
    lambda inner: st.lists(
        LEAVES | st.tuples(st.sampled_from(["span", "step", "context", "thread", "task"]), NAMES, ARGS, inner),
        max_size=4,
    ),
    max_leaves=25,
)


class Node:
    src: tuple[Any, ...] = ()

    def __init__(self, op: str) -> None:
        self.op = op


class Player:
    """Makes the calls and counts what should be found."""

    def __init__(self) -> None:
        self.spans: list[str] = []
        self.rows: Counter[str] = Counter()

    def play(self, calls: list[Any]) -> None:
        for what, value, *rest in calls:
            getattr(self, f"_{what}")(value, *rest)

    def _marker(self, name: str) -> None:
        self.rows["markers"] += 1
        peephole.marker(name, colour=name)

    def _signal(self, name: str) -> None:
        self.rows["markers"] += 1
        peephole.signal(name, name=name) if False else peephole.signal(name)

    def _counter(self, value: float) -> None:
        self.rows["counters"] += 1
        peephole.counter("value", value)

    def _alloc(self, size: int) -> None:
        self.rows["buffers"] += 1
        buffer = peephole.alloc(size)
        with self._span_of("user"):
            self.rows["uses"] += 1
            peephole.use(buffer, "write")
        peephole.free(buffer)

    def _match(self, name: str) -> None:
        self.rows["matches"] += 1
        peephole.match(Node(name), Node(name))

    def _raise(self, name: str) -> None:
        with pytest.raises(KeyError), self._span_of(name):
            raise KeyError(name)

    def _span_of(self, name: str, **args: Any) -> peephole.span:
        self.spans.append(name or "span")
        return peephole.span(name, **args)

    def _span(self, name: str, args: dict[str, Any], inner: list[Any]) -> None:
        with self._span_of(name, **args):
            self.play(inner)

    def _step(self, name: str, _: Any, inner: list[Any]) -> None:
        with peephole.rewrite_step(name):
            self.play(inner)

    def _context(self, name: str, _: Any, inner: list[Any]) -> None:
        self.rows["contexts"] += 1
        peephole.track_rewrites(name)(self.play)(inner)

    def _thread(self, name: str, _: Any, inner: list[Any]) -> None:
        thread = threading.Thread(target=self._span, args=(name, {}, inner))
        thread.start()
        thread.join()

    def _task(self, name: str, args: Any, inner: list[Any]) -> None:
        async def both() -> None:
            async def one() -> None:
                with self._span_of(name, **args):
                    await asyncio.sleep(0)

            await asyncio.gather(one(), one())

        thread = threading.Thread(target=asyncio.run, args=(both(),))  # a loop may be running here
        thread.start()
        thread.join()
        self.play(inner)


@settings(max_examples=40, deadline=None)
@given(calls=CALLS)
def test_any_sequence_of_calls_is_read_back(
    calls: list[Any], read_journal: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from peephole.store.capture import open_capture

    path: Path = tmp_path_factory.mktemp("api") / "x.peep"
    process.start_capture(str(path), "x", [])
    active.start(path).begin()
    player = Player()
    try:
        player.play(calls)
    finally:
        active.stop()
    journal = read_journal(path)
    assert sorted(journal.names()) == sorted(player.spans)
    assert journal.problems == {}
    for table, count in player.rows.items():
        assert len(journal.last(table) if table == "contexts" else journal.rows[table]) >= count
    rows: dict[Any, list[tuple[int, int]]] = {}
    for row in journal.slices:
        rows.setdefault((row["track"], row["depth"]), []).append((row["start"], row["start"] + row["dur"]))
        assert row["args"] is None or isinstance(json.loads(row["args"]), dict)
    for spans in rows.values():
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))

    capture = open_capture(path)
    assert capture.manifest.problems == []
    assert sorted(map(str, capture.read("slices", ["name"]).texts("name"))) == sorted(player.spans)
    for table in ("markers", "counters", "buffers", "uses", "matches", "nodes", "flows"):
        assert capture.count(table) == len(journal.rows[table])
    assert capture.count("steps") == len(journal.last("steps"))


def test_a_track_that_two_threads_ask_for_at_once_is_one(tmp_path: Path, read_journal: Any) -> None:
    path = tmp_path / "x.peep"
    process.start_capture(str(path), "x", [])
    recorder = active.start(path)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for name in range(200):
            barrier = threading.Barrier(3)
            found: list[int] = []

            def ask(name: str = str(name), barrier: Any = barrier, found: list[int] = found) -> None:
                barrier.wait()
                found.append(recorder.track(name, "device"))

            threads = [threading.Thread(target=ask) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(set(found)) == 1
    finally:
        sys.setswitchinterval(before)
        active.stop()
    names = [row["name"] for row in read_journal(path).rows["tracks"] if row["kind"] == "device"]
    assert sorted(names) == sorted(set(names)) and len(names) == 200
