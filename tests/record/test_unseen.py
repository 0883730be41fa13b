"""What stands between a program and what it called is in none of its tracebacks."""

from __future__ import annotations

import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from peephole.record.unseen import hide, unseen


def plain(function: Any) -> Any:
    return function


@contextmanager
def interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@pytest.fixture(autouse=True)
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of this file are taken for ours; those of a program are compiled under another name."""
    monkeypatch.setattr("peephole.record.unseen._HOME", __file__)


def program(text: str, **names: Any) -> Any:
    exec(compile(text, "program.py", "exec"), names)
    return names


def test_an_exception_passes_unseen() -> None:
    @unseen
    def wrapper(call: Callable[[], object]) -> object:
        try:
            return helper(call)
        except BaseException as error:
            hide(error)
            raise

    def helper(call: Callable[[], object]) -> object:
        return call()

    names = program("def fail(): raise ValueError(1)\ndef outer(): return wrapper(fail)", wrapper=wrapper)
    with pytest.raises(ValueError) as caught:
        names["outer"]()
    assert frames(caught.value)[1:] == ["outer", "fail"]
    names = program("def well(): return 3\ndef outer(): return wrapper(well)", wrapper=wrapper)
    assert names["outer"]() == 3


def interrupted(decorate: Callable[[Any], Any]) -> Counter[str]:
    """In which function each of many interrupts came, of a program that does little but enter a wrapper."""

    class Wrapper:
        @decorate
        def __enter__(self) -> Any:
            try:
                return self.__dict__
            except BaseException as error:
                hide(error)
                raise

        def __exit__(self, *_: object) -> None: ...

    lines = "\n".join(["        with wrapper: pass"] * 5)
    names = program(f"def run(wrapper):\n    while True:\n{lines}\n")
    found: Counter[str] = Counter()
    for _ in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
            names["run"](Wrapper())
        except KeyboardInterrupt as error:
            found[frames(error)[-1]] += 1
    return found


def test_an_interrupt_when_it_is_entered_is_not_in_it() -> None:
    with interrupts():
        assert interrupted(plain)["__enter__"] > 0
        found = interrupted(unseen)
    assert found["__enter__"] == 0 and found["run"] > 0
