"""Spans: nesting, lanes, tasks, threads, decorators."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import AsyncIterator, Generator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import event_loop

import peephole
from peephole.record import active, process
from peephole.record.span import current, span
from peephole.record.span_lanes import Lane, free_lane, main_lane


def assert_rows_never_overlap(slices: list[dict[str, Any]]) -> None:
    rows: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for row in slices:
        key = (row["process"], row["track"], row["depth"])
        rows.setdefault(key, []).append((row["start"], row["start"] + row["dur"]))
    for spans in rows.values():
        for (_, end), (start, _) in pairwise(sorted(spans)):
            assert end <= start


def inside(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        row["track"] == other["track"]
        and row["depth"] == other["depth"] + 1
        and other["start"] <= row["start"]
        and row["start"] + row["dur"] <= other["start"] + other["dur"]
    )


def by_name(journal: Any) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in journal.slices}


def test_nested_spans_are_one_row_deeper_and_inside(recorder: Any, finish: Any) -> None:
    with peephole.span("a"), peephole.span("b"):
        with peephole.span("c"):
            pass
        with peephole.span("d"):
            pass
    rows = by_name(finish())
    assert inside(rows["b"], rows["a"]) and inside(rows["c"], rows["b"]) and inside(rows["d"], rows["b"])
    assert rows["a"]["depth"] == 0


def test_args_notes_and_errors(recorder: Any, finish: Any) -> None:
    with peephole.span("a", size=3) as it:
        it.note(loss=0.5)
    with pytest.raises(KeyError), peephole.span("b"):
        raise KeyError("x")
    with peephole.span("c"):
        pass
    rows = by_name(finish())
    assert json.loads(rows["a"]["args"]) == {"size": 3, "loss": 0.5}
    assert json.loads(rows["b"]["args"]) == {"error": "KeyError"}
    assert rows["c"]["args"] is None


def test_nothing_happens_without_a_recording(tmp_path: Path) -> None:
    assert active.recorder is None
    with peephole.span("a") as it:
        peephole.marker("m")
        peephole.counter("c", 1)
        buffer = peephole.alloc(10)
        peephole.use(buffer)
        peephole.free(buffer)
        peephole.flow(it, it)
        peephole.signal("s")
    assert (it.id, buffer, current.get()) == (0, 0, None)
    assert list(tmp_path.iterdir()) == []


def test_a_span_that_began_before_the_recording_is_not_part_of_it(capture: Path, read_journal: Any) -> None:
    with peephole.span("before"):
        active.start(capture)
        with peephole.span("inside"):
            pass
    active.stop()
    assert read_journal(capture).names() == ["inside"]


def test_spans_open_at_the_end_are_written_as_open(recorder: Any, finish: Any) -> None:
    with peephole.span("outer", size=3):
        with peephole.span("inner"):
            journal = finish()
        with peephole.span("later"):
            pass
    assert journal.slices == []
    rows = {row["name"]: row for row in journal.open_slices}
    assert set(rows) == {"outer", "inner"}
    assert (rows["outer"]["depth"], rows["inner"]["depth"]) == (0, 1)
    assert json.loads(rows["outer"]["args"]) == {"size": 3}
    assert current.get() is None


def test_a_span_left_open_by_an_earlier_recording_is_no_parent(tmp_path: Path, read_journal: Any) -> None:
    for name in ("one.peep", "two.peep"):
        process.start_capture(str(tmp_path / name), "x", [])
    active.start(tmp_path / "one.peep")
    with peephole.span("old"):
        active.stop()
        active.start(tmp_path / "two.peep")
        with peephole.span("new"):
            pass
    active.stop()
    (row,) = read_journal(tmp_path / "two.peep").slices
    assert (row["name"], row["depth"], row["correlation"]) == ("new", 0, 0)


def test_each_use_of_an_object_has_an_id_of_its_own(recorder: Any, finish: Any) -> None:
    it = peephole.span("again")
    ids = []
    for _ in range(2):
        with it:
            ids.append(it.id)
    with it:
        pass
    assert [row["correlation"] for row in finish().slices] == [*ids, 0] and ids[0] != ids[1]


def test_one_object_may_be_entered_while_it_is_open(recorder: Any, finish: Any) -> None:
    again = peephole.span("again", n=1)
    with again, again, again:
        pass
    with again:
        pass
    rows = finish().slices
    assert sorted(row["depth"] for row in rows) == [0, 0, 1, 2]
    assert_rows_never_overlap(rows)


def test_what_is_noted_belongs_to_one_use_of_an_object(recorder: Any, finish: Any) -> None:
    it = peephole.span("again", n=1)
    with it:
        it.note(outer=True)
        with it:
            it.note(inner=True)
    with it:
        pass
    args = [json.loads(row["args"]) for row in finish().slices]
    assert args == [{"n": 1, "inner": True}, {"n": 1, "outer": True}, {"n": 1}]


def test_decorated_functions_keep_their_face(recorder: Any, finish: Any) -> None:
    @peephole.span("named")
    def named(x: int, y: int = 2) -> int:
        """Adds."""
        return x + y

    @peephole.span()
    def own(x: int) -> int:
        return x if x == 0 else own(x - 1)

    assert named(1) == 3 and named.__doc__ == "Adds." and named.__name__ == "named"
    assert own(3) == 0
    rows = finish().slices
    assert [row["name"] for row in rows].count("named") == 1
    recursive = sorted(row["depth"] for row in rows if row["name"].endswith("own"))
    assert recursive == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="decorates"):
        peephole.span("x")(3)  # type: ignore[type-var]

    @peephole.span  # type: ignore[arg-type]
    def bare() -> None:
        pass

    with pytest.raises(TypeError, match=r'write @span\("name"\)'):
        bare()


def test_generators_are_recorded_aside_and_pass_everything_through(recorder: Any, finish: Any) -> None:
    @peephole.span("gen")
    def gen() -> Generator[Any, Any, str]:
        with peephole.span("in gen"):
            got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"
        return "value"

    it: Any = gen()
    assert next(it) == 1
    with peephole.span("caller"):
        assert it.send("sent") == "sent"
    assert it.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration, match="value"):
        next(it)
    closed: Any = gen()
    next(closed)
    closed.close()
    journal = finish()
    rows = by_name(journal)
    assert rows["caller"]["track"] != rows["gen"]["track"] == rows["in gen"]["track"]
    assert rows["caller"]["depth"] == 0 and rows["in gen"]["depth"] == 1
    assert journal.names().count("gen") == 2
    assert_rows_never_overlap(journal.slices)


def test_async_functions_and_generators(recorder: Any, finish: Any) -> None:
    @peephole.span("agen")
    async def agen() -> AsyncIterator[int]:
        for number in range(3):
            with peephole.span("in agen"):
                await asyncio.sleep(0)
            yield number

    @peephole.span("coroutine")
    async def coroutine() -> list[int]:
        got = []
        async for number in agen():
            with peephole.span("use"):
                got.append(number)
        return got

    assert event_loop.run(coroutine()) == [0, 1, 2]
    journal = finish()
    rows = by_name(journal)
    assert inside(rows["use"], rows["coroutine"])
    assert inside(rows["in agen"], rows["agen"])
    assert rows["agen"]["track"] != rows["coroutine"]["track"]
    assert_rows_never_overlap(journal.slices)


def test_tasks_that_interleave_get_lanes_of_their_own_and_an_arrow(recorder: Any, finish: Any) -> None:
    async def task(number: int) -> None:
        with peephole.span(f"task {number}"):
            for part in range(3):
                with peephole.span(f"part {number}.{part}"):
                    await asyncio.sleep(0.001)

    async def main() -> None:
        with peephole.span("main"):
            await asyncio.gather(*(task(number) for number in range(4)))
            with peephole.span("after"):
                await asyncio.sleep(0)

    event_loop.run(main())
    journal = finish()
    rows = by_name(journal)
    assert len({rows[f"task {number}"]["track"] for number in range(4)} | {rows["main"]["track"]}) == 5
    for number in range(4):
        for part in range(3):
            assert inside(rows[f"part {number}.{part}"], rows[f"task {number}"])
    assert inside(rows["after"], rows["main"])
    arrows = {(row["from"], row["to"]) for row in journal.rows["flows"] if row["kind"] == "async"}
    assert arrows == {(rows["main"]["correlation"], rows[f"task {n}"]["correlation"]) for n in range(4)}
    assert_rows_never_overlap(journal.slices)


def test_a_task_that_outlives_the_span_it_came_from_does_not_stick_out(recorder: Any, finish: Any) -> None:
    async def late() -> None:
        await asyncio.sleep(0.001)
        with peephole.span("late"):
            await asyncio.sleep(0.005)

    async def main() -> None:
        with peephole.span("short"):
            task = asyncio.create_task(late())
            await asyncio.sleep(0.003)
        with peephole.span("next"):
            await asyncio.sleep(0)
        await task

    event_loop.run(main())
    journal = finish()
    rows = by_name(journal)
    assert rows["late"]["depth"] == 0 and rows["next"]["depth"] == 0
    assert rows["late"]["track"] != rows["short"]["track"]
    assert_rows_never_overlap(journal.slices)


def test_lanes_are_used_again_by_later_tasks(recorder: Any, finish: Any) -> None:
    async def task() -> None:
        with peephole.span("task"):
            await asyncio.sleep(0)

    async def main() -> None:
        for _ in range(50):
            await asyncio.gather(task(), task())

    event_loop.run(main())
    journal = finish()
    assert len({row["track"] for row in journal.slices}) == 2
    assert_rows_never_overlap(journal.slices)


def test_threads_have_tracks_of_their_own(recorder: Any, finish: Any) -> None:
    gate = threading.Barrier(4)

    def work() -> None:
        gate.wait()
        for _ in range(200):
            with peephole.span("outer"), peephole.span("inner"):
                pass
        gate.wait()

    threads = [threading.Thread(target=work, name="twin") for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal = finish()
    tracks = [row for row in journal.rows["tracks"] if row["name"] == "twin"]
    assert len(tracks) == 4 and len({row["id"] for row in tracks}) == 4
    assert len(journal.slices) == 4 * 200 * 2
    assert {row["track"] for row in journal.slices} == {row["id"] for row in tracks}
    assert_rows_never_overlap(journal.slices)


def test_a_thread_that_a_span_was_handed_to_gets_an_arrow(recorder: Any, finish: Any) -> None:
    def work() -> None:
        with peephole.span("there"):
            pass

    with peephole.span("here"):
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(work,))
        thread.start()
        thread.join()
    journal = finish()
    rows = by_name(journal)
    assert rows["there"]["track"] != rows["here"]["track"] and rows["there"]["depth"] == 0
    (arrow,) = journal.rows["flows"]
    assert (arrow["from"], arrow["to"]) == (rows["here"]["correlation"], rows["there"]["correlation"])


def test_a_thousand_short_threads_share_the_segments(recorder: Any, finish: Any, capture: Path) -> None:
    def work() -> None:
        with peephole.span("request"):
            pass

    for _ in range(1000):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    journal = finish()
    assert len(journal.slices) == 1000
    assert len({path.name.split(".")[0] for path in (capture / "journal").glob("*/*.seg")}) <= 3


def test_flows_and_uses_name_spans(recorder: Any, finish: Any) -> None:
    buffer = peephole.alloc(64, "GPU", dtype="float", name="w")
    with peephole.span("a") as a:
        peephole.use(buffer, "write", 1)
        number = a.id
    with peephole.span("b") as b:
        peephole.flow(number, b, bytes=64)
        peephole.use(buffer, by=b)
    with peephole.span("c") as c:
        pass
    peephole.flow(c, b)
    peephole.use(buffer)
    peephole.free(buffer)
    journal = finish()
    rows = by_name(journal)
    assert [(u["slice"], u["mode"], u["position"]) for u in journal.rows["uses"]] == [
        (rows["a"]["correlation"], "write", 1),
        (rows["b"]["correlation"], "read", 0),
    ]
    (arrow,) = journal.rows["flows"]
    assert (arrow["from"], arrow["to"], arrow["bytes"]) == (
        rows["a"]["correlation"],
        rows["b"]["correlation"],
        64,
    )
    assert [(row["bytes"], row["device"], row["name"]) for row in journal.rows["buffers"]] == [(64, "GPU", "w")]
    assert [free[0] for free in journal.frees] == [buffer]
    assert sum(journal.problems.values()) == 2


def test_a_buffer_that_cannot_be_does_not_stop_the_program(recorder: Any, finish: Any) -> None:
    peephole.free(1 << 70)
    peephole.use(1 << 70, by=1)
    journal = finish()
    assert journal.frees == [] and journal.rows["uses"] == []
    assert sum(journal.problems.values()) == 2


def test_moments_and_counters(recorder: Any, finish: Any) -> None:
    peephole.marker("epoch", colour="#ff0000", number=3)
    peephole.signal("START_FORWARD")
    for value in (1, 2.5):
        peephole.counter("loss", value, unit="%")
    journal = finish()
    assert [(m["name"], m["kind"], m["colour"], m["args"]) for m in journal.rows["markers"]] == [
        ("epoch", "marker", "#ff0000", '{"number":3}'),
        ("START_FORWARD", "signal", None, None),
    ]
    (track,) = [row for row in journal.rows["tracks"] if row["kind"] == "counter"]
    assert (track["name"], track["unit"]) == ("loss", "%")
    assert [(row["track"], row["value"]) for row in journal.rows["counters"]] == [
        (track["id"], 1.0),
        (track["id"], 2.5),
    ]


@settings(max_examples=60, deadline=None)
@given(order=st.lists(st.integers(0, 5), max_size=40))
def test_spans_opened_and_closed_in_any_order_never_overlap(
    order: list[int], read_journal: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.peep"
    process.start_capture(str(path), "x", [])
    active.start(path).open_process()
    spans: dict[int, span] = {}
    opened = 0
    for number in order:
        if number in spans:
            spans.pop(number).__exit__(None, None, None)
        else:
            spans[number] = peephole.span(f"s{number}").__enter__()
            opened += 1
    active.stop()
    for left in spans.values():
        left.__exit__(None, None, None)
    current.set(None)
    journal = read_journal(path)
    assert len(journal.slices) == opened - len(spans)
    known = {(row["track"], row["depth"], row["start"]) for row in journal.slices}
    last_open = {(row["track"], row["depth"], row["start"]): row for row in journal.open_slices}
    open_rows = [row for key, row in last_open.items() if key not in known]
    assert len(open_rows) == len(spans)
    assert_rows_never_overlap(journal.slices + open_rows)


def test_a_span_without_a_name_is_called_span_whatever_texts_there_are(recorder: Any, finish: Any) -> None:
    peephole.marker("")  # the empty text has a number from now on
    for _ in range(2):
        with peephole.span(""):
            pass
    assert [row["name"] for row in finish().slices] == ["span", "span"]


def test_two_lanes_of_one_order_are_free_one_after_the_other(recorder: Any) -> None:
    """A handler that comes in while a lane is made makes one of the same order."""
    main = main_lane(recorder)
    lanes = [Lane(recorder, "further", 1, main, main.thread) for _ in range(2)]
    for lane in (*lanes, lanes[0]):
        lane.release()
    assert [free_lane(main, aside=True) for _ in range(2)] == [lanes[0], lanes[0]]
    assert free_lane(main, aside=True) is lanes[1]
