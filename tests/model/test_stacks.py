"""Stacks of contexts: whose line it was, whatever tree the program runs in, and whatever a stranger wrote there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peephole.compilers.traces import trace_of
from peephole.query.capture.contexts import contexts
from peephole.query.timeline.slice_facts import slice_detail
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

INSIDE = [
    ["/me/tinygrad/tinygrad/uop/ops.py", 900, "realize", ""],
    ["/usr/lib/python3.11/contextlib.py", 81, "inner", ""],
    ["<string>", 2, "__init__", ""],
]


def write(folder: Path, stack: str) -> Capture:
    with CaptureWriter(folder / "x.peep") as writer:
        writer.append("contexts", {"id": [0], "name": ["Schedule"], "kind": ["schedule"], "stack": [stack]})
        writer.append("slices", {"track": [0], "start": [0], "dur": [1], "name": ["k"], "context": [0]})
    return open_capture(folder / "x.peep")


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("/me/prog.py", "main"),
        ("/me/tinygrad/examples/mnist.py", "main"),
        ("/me/tinygrad/mine.py", "<module>"),
        ("/v/lib/python3.11/site-packages/peephole/demo/train.py", "step"),
        ("<string>", "<module>"),
    ],
)
def test_the_users_line_is_the_innermost_that_no_library_has(tmp_path: Path, file: str, function: str) -> None:
    capture = write(tmp_path, json.dumps([*INSIDE, [file, 7, function, "x.realize()"]]))
    assert trace_of(capture).user_line(0) == f"{file}:7"
    assert contexts(capture)[0].place == f"{file}:7 {function}"


def test_a_package_that_the_program_uses_gives_way_to_the_program(tmp_path: Path) -> None:
    package = ["/v/lib/python3.11/site-packages/models/net.py", 3, "forward", ""]
    capture = write(tmp_path, json.dumps([*INSIDE, package, ["/me/prog.py", 7, "main", ""]]))
    assert trace_of(capture).user_line(0) == "/me/prog.py:7"
    capture = write(tmp_path / "alone", json.dumps([*INSIDE, package]))
    assert trace_of(capture).user_line(0) == "/v/lib/python3.11/site-packages/models/net.py:3"
    assert trace_of(write(tmp_path / "none", json.dumps(INSIDE))).user_line(0) is None


@pytest.mark.parametrize(
    ("stack", "found"),
    [
        ([["/a.py", 1, "f", None]], [("/a.py", 1, "f", "")]),
        ([["/a.py", "1", "f", ""], ["/b.py", 2], 5, None, ["/c.py", 3, None, "c"]], [("/c.py", 3, "", "c")]),
        ({"a": 1}, []),
    ],
)
def test_what_is_no_frame_is_left_out(tmp_path: Path, stack: Any, found: list[tuple[Any, ...]]) -> None:
    detail = slice_detail(write(tmp_path, json.dumps(stack)), 0)
    assert [(frame.file, frame.line, frame.function, frame.source) for frame in detail.stack] == found


@pytest.mark.parametrize("stack", ["[" * 100_000, "no JSON", "[[" + "1" * 5000 + "]]"])
def test_what_is_no_stack_has_no_frames(tmp_path: Path, stack: str) -> None:
    capture = write(tmp_path, stack)
    assert slice_detail(capture, 0).stack == ()
    assert contexts(capture)[0].place == ""
    assert trace_of(capture).user_line(0) is None
