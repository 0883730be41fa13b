"""A capture in which two kernels have one name: compiled on the host, run on two devices."""

from __future__ import annotations

from pathlib import Path

from peephole.store.writer import CaptureWriter

MS = 1_000_000
NAME = "E_16384_4"
OTHER = "r_512"
TOTALS = {0: (4, 4 * 9 * MS), 1: (1, 5 * MS), 2: (2, 2 * 3 * MS)}
"""Runs and ns by context; 0 and 1 are the two of one name."""
FIRST_RUN, LAST_END = 500 * MS, 500 * MS + 3 * 20 * MS + 9 * MS
"""From the first run of the first kernel to the end of its last."""


def write_kernels(path: Path) -> Path:
    """Each compiled for 100 ms, which is longer than all of their runs."""
    columns: dict[str, list[int | str]] = {name: [] for name in ("track", "depth", "start", "dur", "name", "context")}

    def add(track: int, start: int, dur: int, name: str, context: int) -> None:
        values: tuple[int | str, ...] = (track, 0, start, dur, name, context)
        for column, value in zip(columns, values, strict=True):
            columns[column].append(value)

    for context, name in enumerate((NAME, NAME, OTHER)):
        add(0, context * 110 * MS, 100 * MS, name, context)
    for run in range(4):
        add(1 + run % 2, FIRST_RUN + run * 20 * MS, 9 * MS, NAME, 0)
    add(1, 800 * MS, 5 * MS, NAME, 1)
    add(1, 810 * MS, 3 * MS, OTHER, 2)
    add(2, 810 * MS, 3 * MS, OTHER, 2)
    add(0, 0, 999 * MS, "the program", -1)
    columns["depth"][-1] = 1
    with CaptureWriter(path) as writer:
        writer.describe(name="alike", source="test")
        writer.append(
            "tracks",
            {
                "id": [0, 1, 2],
                "name": ["TINY", "GPU", "GPU:1"],
                "kind": ["tiny", "device", "device"],
                "order": [0, 1, 2],
            },
        )
        writer.append("slices", columns)
        names = {"id": [0, 1, 2], "name": [NAME, NAME, OTHER], "kind": ["kernel"] * 3, "parent": [-1] * 3}
        writer.append("contexts", {**names, "function": [""] * 3, "keys": ["[]"] * 3, "stack": ["[]"] * 3})
        code = {"context": [0, 1, 2], "step": [-1] * 3, "kind": ["source"] * 3, "language": ["c"] * 3}
        texts = [b"void a() {}", b"void a() {}\n\n", b"void b() {\n}\n"]
        writer.append("artifacts", {**code, "name": [NAME, NAME, OTHER], "content": texts})
    return path
