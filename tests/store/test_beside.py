"""Work in a second thread."""

from __future__ import annotations

import threading

import pytest

from peephole.store.beside import Beside


def test_it_runs_beside_and_is_waited_for() -> None:
    there, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def work() -> None:
        there.set()
        assert go_on.wait(10)
        done.append("work")

    with Beside(work) as beside:
        assert there.wait(10)
        done.append("body")
        go_on.set()
        beside.wait()
        assert done == ["body", "work"]


def test_its_error_is_raised_where_it_is_waited_for() -> None:
    def work() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), Beside(work):
        pass
    with pytest.raises(OSError, match="No space"), Beside(work) as beside:
        beside.wait()


def test_the_error_of_the_body_comes_first_and_after_the_work() -> None:
    go_on = threading.Event()
    done: list[str] = []

    def work() -> None:
        go_on.wait(10)
        done.append("work")
        raise OSError("hidden")

    with pytest.raises(KeyError), Beside(work):
        threading.Timer(0.05, go_on.set).start()
        raise KeyError
    assert done == ["work"]
