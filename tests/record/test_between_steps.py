"""Whatever comes in between any two bytecodes of the recorder, nothing is lost, doubled, wrong or raised."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.record.interrupts import at_every_step, collect, handler
from tests.record.test_span import assert_rows_never_overlap

import peephole
from peephole.record import active, segment
from peephole.record.span import current

INTERRUPTIONS = ["signal", "collection", "thread"]


@contextlib.contextmanager
def interruption(kind: str, of: Callable[[], object]) -> Iterator[Callable[[int], object]]:
    """What lets `of` happen: in a signal's handler, in a finalizer of a collection, in another thread."""
    if kind == "signal":
        with handler(of) as send:
            yield lambda _: send()
    elif kind == "collection":
        yield lambda _: collect(of)
    else:

        def beside(_: int) -> None:
            thread = threading.Thread(target=of)
            thread.start()
            thread.join()

        yield beside


class Beside:
    """What happens in between: spans of all kinds, each told apart, and other rows."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.done = 0

    def __call__(self) -> None:
        number = next(self.numbers)
        with peephole.span("beside"):
            with peephole.span("beside within", number=number):
                peephole.marker("moment", number=number)
            with peephole.span(f"beside {number}", long="x" * (number % 120)):
                pass
        self.done += 1


def check(journal: Any, beside: Beside, names: Counter[str]) -> None:
    found = Counter(journal.names())
    expected = names + Counter({"beside": beside.done, "beside within": beside.done})
    expected += Counter({f"beside {number}": 1 for number in range(beside.done)})
    assert found == expected
    assert len(journal.rows["markers"]) == beside.done
    assert (journal.dropped, dict(journal.problems)) == (0, {})
    assert_rows_never_overlap(journal.slices)
    assert journal.left_open() == []


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_at_every_step_of_enter_and_exit(kind: str, recorder: Any, finish: Any) -> None:
    beside, names = Beside(), Counter[str]()

    def work(step: int) -> None:
        for name, args in (("plain", {}), (f"own {step}", {}), ("noted", {"step": step}), ("noted", {"x": "y" * 90})):
            with peephole.span(name, **args):
                pass
            names[name] += 1
        with peephole.span("outer"), peephole.span("inner"):
            pass
        names.update(("outer", "inner"))

    with interruption(kind, beside) as interrupt:
        steps = at_every_step(work, interrupt)
    assert steps > 500 and beside.done >= steps
    assert current.get() is None
    check(finish(), beside, names)


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_at_every_step_of_the_first_span(kind: str, tmp_path: Path, read_journal: Any) -> None:
    from peephole.record import process

    numbers = itertools.count()
    beside, names = Beside(), Counter[str]()

    def work(step: int) -> None:
        path = tmp_path / f"{next(numbers)}.peep"
        process.start_capture(str(path), "x", [])
        beside.__init__()  # type: ignore[misc]
        active.start(path)
        with peephole.span("first"):
            pass
        names["first"] = 1
        sys.settrace(None)
        active.stop()
        check(read_journal(path), beside, names)

    def once() -> None:
        if active.recorder is not None:
            beside()

    with interruption(kind, once) as interrupt:
        steps = at_every_step(work, interrupt, each=29)
    assert steps > 500


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_at_every_step_of_flush(kind: str, recorder: Any, finish: Any) -> None:
    beside, names = Beside(), Counter[str]()

    def work(step: int) -> None:
        with peephole.span("long", step=step) as long:
            long.start -= 10**9
            recorder.flush_at = 0
            with peephole.span("short"):
                pass
        names.update(("long", "short"))

    with interruption(kind, beside) as interrupt:
        assert at_every_step(work, interrupt) > 300
    journal = finish()
    assert {row["name"] for row in journal.open_slices} >= {"long"}
    assert Counter(journal.names()) > names
    # `long` was made to begin in the past, over what came in between
    assert_rows_never_overlap([row for row in journal.slices if row["name"] != "long"])


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_at_every_step_of_roll(
    kind: str, recorder: Any, finish: Any, capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "FIRST_BYTES", 1024)
    monkeypatch.setattr(segment, "LARGEST_BYTES", 1024)
    beside, names = Beside(), Counter[str]()

    def fill() -> None:
        place = recorder.slot().writer.place
        while place is recorder.slot().writer.place and (place.size - place.tell() > 32):
            with peephole.span("fill"):
                pass
            names["fill"] += 1

    def work(step: int) -> None:
        tracing = sys.gettrace()
        sys.settrace(None)
        with peephole.span("fill"):
            pass
        names["fill"] += 1
        fill()
        sys.settrace(tracing)
        for name in ("last", "over"):
            with peephole.span(name, much="y" * (step % 3) * 60):
                pass
            names[name] += 1

    with interruption(kind, beside) as interrupt:
        steps = at_every_step(work, interrupt)
    assert steps > 500
    journal = finish()
    assert journal.unfinished == 0 and journal.closed_segments > 300
    check(journal, beside, names)


@pytest.mark.parametrize("kind", ["signal", "collection"])
def test_what_is_left_open_in_between_ends_later(kind: str, recorder: Any, finish: Any) -> None:
    left: list[peephole.span] = []
    total = 0

    def leave() -> None:
        left.append(peephole.span("left").__enter__())

    def work(step: int) -> None:
        nonlocal total
        with peephole.span("outer"), peephole.span("inner"):
            pass
        while left:
            left.pop().__exit__(None, None, None)
            total += 1

    with interruption(kind, leave) as interrupt:
        steps = at_every_step(work, interrupt)
    journal = finish()
    found = Counter(journal.names())
    assert found == {"outer": steps + 1, "inner": steps + 1, "left": total} and total >= steps
    assert_rows_never_overlap(journal.slices)
    assert len({row["track"] for row in journal.slices}) <= 4


def test_a_handler_that_raises_leaves_the_lanes_as_they_were(recorder: Any, finish: Any) -> None:
    class Stop(BaseException):
        pass

    def stop() -> None:
        raise Stop

    def work(step: int) -> None:
        with contextlib.suppress(Stop), peephole.span("interrupted", step=step):
            pass
        sys.settrace(None)
        with peephole.span("after"), peephole.span("within"):
            pass

    with handler(stop) as send:
        steps = at_every_step(work, lambda _: send())
    journal = finish()
    assert steps > 150
    found = Counter(journal.names())
    assert found["after"] >= steps - 1 and found["within"] >= steps - 1
    assert len({row["track"] for row in journal.slices}) <= 3
    assert_rows_never_overlap(journal.slices)
