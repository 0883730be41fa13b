"""Bands of buffers: none overlap, none are lost; windows, uses and the longest time untouched against plain loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.query.memory import placement as memory_place
from peephole.query.memory.bands import DeviceMemory, buffer_use, read_devices
from peephole.query.memory.buffers import alive, memory
from peephole.query.memory.placement import first_fit, place
from peephole.query.timeline.correlations import Links
from peephole.store.capture import Capture, open_capture
from peephole.store.tables.compiled_loops import compiled
from peephole.store.writer import CaptureWriter

buffers = st.lists(
    st.tuples(st.integers(0, 60), st.one_of(st.none(), st.integers(0, 40)), st.integers(0, 30)), min_size=1, max_size=60
)
Rows = list[tuple[int, int | None, int]]


def columns(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = sorted(rows, key=lambda row: row[0])
    alloc = np.array([row[0] for row in rows], np.int64)
    free = np.array([-1 if row[1] is None else row[0] + row[1] for row in rows], np.int64)
    return alloc, free, np.array([row[2] for row in rows], np.int64)


def plain_first_fit(rows: Rows) -> list[int]:
    """Looks through every offset: slow, and hard to get wrong."""
    alloc, free, size = (column.tolist() for column in columns(rows))
    events = [(alloc[i], 1, i) for i in range(len(alloc))]
    events += [(free[i], 2 if free[i] <= alloc[i] else 0, i) for i in range(len(alloc)) if free[i] >= 0]
    # a stable sort: of equal events the first row comes first, frees and allocs alike
    held: dict[int, tuple[int, int]] = {}
    offset = [0] * len(alloc)
    for _, kind, i in sorted(events, key=lambda event: event[:2]):
        if kind != 1:
            held.pop(i, None)
            continue
        at = 0
        for begin, end in sorted(held.values()):
            if size[i] == 0 or begin - at >= size[i]:
                break
            at = max(at, end)
        offset[i] = at if size[i] else 0
        if size[i]:
            held[i] = (at, at + size[i])
    return offset


@given(buffers, st.sampled_from([2, 3, 256]))
@settings(max_examples=200, deadline=None)
def test_place_is_first_fit(rows: Rows, room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_place, "_ROOM", room)
        patch.setattr(memory_place, "_FEW", 0)
        assert place(*columns(rows)).tolist() == plain_first_fit(rows)


@given(buffers)
@settings(max_examples=200, deadline=None)
def test_few_buffers_stand_as_low_as_they_can(rows: Rows) -> None:
    alloc, free, size = columns(rows)
    offset = place(alloc, free, size)
    end = [10**9 if last < 0 else max(last, first) for first, last in zip(alloc.tolist(), free.tolist(), strict=True)]
    for i in range(len(size)):
        others = [
            j for j in range(len(size)) if j != i and alloc[j] < end[i] and end[j] > alloc[i] and size[i] and size[j]
        ]
        for j in others:
            assert offset[i] + size[i] <= offset[j] or offset[j] + size[j] <= offset[i]
        # it lies on the floor or on another one that lives at the same time
        assert offset[i] == 0 or offset[i] in [offset[j] + size[j] for j in others]


def test_what_lives_long_lies_at_the_bottom() -> None:
    # a large one comes and goes between two that stay: in the order of allocation it would leave a hole for ever
    alloc, free, size = np.array([0, 10, 12, 50]), np.array([-1, 20, -1, -1]), np.array([100, 500, 50, 400])
    assert place(alloc, free, size).tolist() == [0, 150, 100, 150]


def test_compiled_and_plain_agree() -> None:
    rng = np.random.default_rng(5)
    alloc = np.sort(rng.integers(0, 10**6, 5000))
    free = alloc + rng.integers(0, 10**5, 5000)
    size = rng.integers(1, 5000, 5000)
    quick = place(alloc, free, size)  # enough of them that it compiles
    assert compiled(first_fit) is not first_fit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_place, "_COMPILED", 10**9)
        assert (place(alloc, free, size) == quick).all()


def device(rows: Rows) -> DeviceMemory:
    alloc, free, size = columns(rows)
    number = np.arange(len(alloc))
    return DeviceMemory("GPU", number, number + 100, alloc, free, size, 200)


@given(buffers, st.integers(0, 100), st.integers(1, 60), st.integers(0, 20))
@settings(max_examples=200, deadline=None)
def test_a_window_has_every_buffer_once(rows: Rows, t0: int, length: int, most: int) -> None:
    found = device(rows)
    t1 = t0 + length
    bands = found.bands(t0, t1, most)
    end = [10**9 if free < 0 else free for free in found.free.tolist()]
    inside = [i for i, a in enumerate(found.alloc.tolist()) if a < t1 and end[i] > t0]
    through = [i for i in inside if found.alloc[i] <= t0 and end[i] >= t1]
    assert bands.folded.tolist() == through
    rest = set(inside) - set(through)
    assert set(bands.drawn.tolist()) <= rest
    assert len(bands.drawn) == min(most, len(rest))
    assert bands.left_out == len(rest) - len(bands.drawn)
    left = rest - set(bands.drawn.tolist())
    assert bands.left_out_bytes == sum(int(found.size[i]) for i in left)

    def area(i: int) -> int:
        return int(found.size[i]) * max(1, min(end[i], t1) - max(int(found.alloc[i]), t0))

    if left and len(bands.drawn):
        assert max(area(i) for i in left) <= min(area(int(i)) for i in bands.drawn)


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    with CaptureWriter(tmp_path / "m.peep") as writer:
        writer.append(
            "buffers",
            {
                "id": [1, 2, 3, 4], "device": ["GPU", "CPU", "GPU", "GPU"], "alloc": [10, 20, 30, 30],
                "free": [-1, 50, 90, 60], "bytes": [100, 7, 50, 50], "dtype": ["float"] * 4,
            },
        )  # fmt: skip
        writer.append(
            "slices",
            {
                "track": [0] * 4, "depth": [0] * 4, "start": [12, 35, 60, 200], "dur": [3, 5, 10, 5],
                "name": ["fill", "make", "use", "late"], "correlation": [5, 6, 7, 8],
            },
        )  # fmt: skip
        uses = {"buffer": [1, 3, 3, 1, 1, 3], "slice": [5, 6, 7, 7, 8, 99], "position": [0, 0, 1, 0, 2, 0]}
        writer.append("uses", {**uses, "mode": ["write", "write", "read", "readwrite", "read", "read"]})
    return open_capture(tmp_path / "m.peep")


def test_devices_agree_with_the_terminal(capture: Capture) -> None:
    found = read_devices(capture, 205)
    assert list(found) == ["GPU", "CPU"]
    for name, device in found.items():
        own = memory(capture, name)
        assert (device.memory.peak, device.memory.peak_time) == (own.peak, own.peak_time)
        for moment in (0, 10, 30, 59, 60, 90, 300):
            ids = [buffer.id for buffer in alive(capture, name, moment)]
            assert device.id[device.at(moment)].tolist() == ids
    assert found["GPU"].memory.peak == 200
    assert found["GPU"].series.window(70, 71, 1).high.tolist() == [150]


def test_uses(capture: Capture) -> None:
    links = Links(capture)
    one = buffer_use(links, 1, 10, 205)
    assert one.producer is not None and one.producer.slice.name == "fill"
    assert [(touch.slice.name, touch.mode, touch.position) for touch in one.readers] == [
        ("late", "read", 2), ("use", "readwrite", 0),
    ]  # fmt: skip
    assert [touch.slice.name for touch in one.writers] == ["use"]
    gap = one.untouched
    assert gap is not None and gap.after is not None and gap.before is not None
    assert (gap.begin, gap.end, gap.after.slice.name, gap.before.slice.name) == (70, 200, "use", "late")
    three = buffer_use(links, 3, 30, 90)
    assert three.unknown == 1 and len(three.readers) == 1 and three.writers == ()
    assert three.untouched is not None and (three.untouched.begin, three.untouched.end) == (40, 60)
    assert links.maker_of(1) == "fill" and links.maker_of(3) == "make" and links.maker_of(2) == ""
    none = buffer_use(links, 2, 20, 50)
    assert none.producer is None and none.readers == () == none.writers and none.untouched is None
