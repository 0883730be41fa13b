"""Nodes are read many at a time; few of them, and those without a list, one by one: the table is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from peephole.record.place import begin_capture
from peephole.record.recorder import Recorder
from peephole.store.capture import open_capture
from peephole.store.journal.seal import seal


@pytest.mark.parametrize("count", [3, 63, 64, 500])
def test_nodes_keep_their_order_and_sources(tmp_path: Path, count: int) -> None:
    path = begin_capture(str(tmp_path / "nodes.peep"), "test", [])
    recorder = Recorder(path)
    rows: list[tuple[int, str, str | None, list[int]]] = []
    for number in range(count):
        sources = [max(0, number - back) for back in range(1, 1 + number % 7)] if number else []
        rows.append((number, f"OP{number % 5}", None if number % 3 else f"arg {number}", sources))
        source_column = {} if number % 50 == 40 else {"src": sources}  # one that was written without a list
        if not source_column:
            rows[-1] = (*rows[-1][:3], [])
        recorder.row("nodes", id=number, op=rows[-1][1], dtype="int", arg=rows[-1][2], **source_column)
    recorder.close()
    seal(path)
    frame = open_capture(path).read("nodes", ["id", "op", "arg", "src"])
    low = (1 << 40) - 1
    lists = frame.lists("src")
    found = [
        (int(frame["id"][i]) & low, frame.texts("op")[i], frame.texts("arg")[i], [int(s) & low for s in lists[i]])
        for i in range(len(frame))
    ]
    assert found == rows
