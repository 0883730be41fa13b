"""Whatever a program hands to the API, recording it does not change how the program runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

import peephole

HUGE = 10**5000
"""More digits than Python is willing to write."""


class Mute:
    """An object without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Closed(dict[str, int]):
    """A mapping that cannot be walked."""

    def items(self) -> Any:
        raise RuntimeError("closed")


class Odd(str):
    """A text that has its own mind about everything."""

    __slots__ = ()

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise RuntimeError("not today")

    def __hash__(self) -> int:
        raise RuntimeError("not today")


ODD: list[Any] = [
    None, "", "\ud800", "\x1b[31mred\x00", HUGE, -HUGE, math.nan, -math.inf, b"\xff", Mute(), {HUGE: 1}, {Mute(): 1},
    [HUGE], {1, 2}, 1 + 2j, Closed(a=1), Odd("odd"), [[[[[[[[[[[HUGE]]]]]]]]]]], object,
]  # fmt: skip


def span(name: Any, **args: Any) -> None:
    with peephole.span(name, **args) as one:
        one.note(more=args)


CALLS: dict[str, Callable[[Any], object]] = {
    "span": span,
    "decorated": lambda value: peephole.span(value)(lambda: None)(),
    "args": lambda value: span("a", x=value),
    "signal": lambda value: peephole.signal(value, x=value),
    "marker": lambda value: peephole.marker(value, value, x=value),
    "counter": lambda value: peephole.counter(value, 1, value),
    "value": lambda value: peephole.counter("c", value),
    "alloc": lambda value: peephole.alloc(value, value, value, value),
    "free": peephole.free,
    "use": peephole.use,
    "flow": lambda value: peephole.flow(value, value, value, value),
    "node": lambda value: peephole.node(op=value, dtype=value, arg=value, tag=value),
}


@pytest.mark.parametrize("call", CALLS)
def test_nothing_that_a_program_gives_stops_it(recorder: Any, finish: Any, call: str) -> None:
    for value in ODD:
        CALLS[call](value)
    journal = finish()
    for row in (*journal.slices, *journal.rows["markers"]):
        assert row["args"] is None or isinstance(json.loads(row["args"]), dict)


def test_what_has_no_digits_says_how_large_it_is(recorder: Any, finish: Any) -> None:
    span(-HUGE, x=HUGE, y=[HUGE, 5], z=Closed(a=1), small=10**100)
    (row,) = finish().slices
    assert row["name"] == "<int of 16610 bits>"
    args = json.loads(row["args"])
    assert args["x"] == "<int of 16610 bits>" and args["y"] == ["<int of 16610 bits>", 5]
    assert args["z"] == "{'a': 1}" and args["small"] == 10**100


def test_a_counter_of_no_number_is_counted(recorder: Any, finish: Any) -> None:
    peephole.counter("loss", HUGE)
    peephole.counter("loss", "much")  # type: ignore[arg-type]
    peephole.counter("loss", math.nan)
    journal = finish()
    assert len(journal.rows["counters"]) == 1 and math.isnan(journal.rows["counters"][0]["value"])
    assert journal.problems == {"a counter was given something that is no number": 2}


def test_a_text_of_another_class_is_the_same_name(recorder: Any, finish: Any) -> None:
    for name in ("odd", Odd("odd")):
        peephole.counter(name, 1)
        peephole.signal(name)
    journal = finish()
    assert [row["name"] for row in journal.rows["tracks"]] == ["odd"]
    assert [row["name"] for row in journal.rows["markers"]] == ["odd", "odd"]
