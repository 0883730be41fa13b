"""Text columns that are put together of parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from peephole.model.sink import Joined, Strings
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter


def parts() -> Joined:
    words = ["ä\n", 'quote "', "\udc80 lone"]
    return Joined(('{"n":', np.array([7, -1, 2**62]), Strings(np.array([1, 0, 1]), ["", "x|"]), words, "}"))


def test_rows_are_told_one_by_one_too() -> None:
    assert len(parts()) == 3
    assert list(parts()) == ['{"n":7x|ä\n}', '{"n":-1quote "}', '{"n":4611686018427387904x|\udc80 lone}']


def test_args_of_slices_and_other_texts_come_back(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "a.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        writer.append("slices", {"track": [0, 0, 0], "start": [0, 10, 20], "dur": [5, 5, 5], "args": parts()})
        # a column of names that repeat, and one of texts
        writer.append("markers", {"time": [1, 2, 3], "name": parts(), "kind": ["signal"] * 3, "args": parts()})
    capture = open_capture(tmp_path / "a.peep")
    wanted = ['{"n":7x|ä\n}', '{"n":-1quote "}', '{"n":4611686018427387904x|\\udc80 lone}']
    assert list(capture.read("slices", ["args"]).texts("args")) == wanted
    markers = capture.read("markers")
    assert list(markers.texts("name")) == wanted
    assert list(markers.texts("args")) == wanted
