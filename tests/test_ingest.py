"""Foreign files become captures: found by content, once, whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from peephole import ingest, sources
from peephole.errors import CaptureError, PeepholeError
from peephole.ingest import cache_folder, import_files
from peephole.model.sink import Sink
from peephole.sources.base import Progress
from peephole.store.capture import open_capture

TRACE = {"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}


class Lines:
    """A source of our own: a line is a slice of that name."""

    name = "lines"

    def sniff(self, head: bytes, path: Path) -> bool:
        return head.startswith(b"LINES")

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        sink.append("tracks", {"id": [0], "name": ["lines"]})
        for path in paths:
            names = path.read_text().splitlines()[1:]
            if "BAD" in names:
                raise CaptureError(f"{path} has a bad line.")
            sink.append("slices", {"track": [0] * len(names), "start": range(len(names)), "name": names})


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    source = Lines()
    real = sources.every
    monkeypatch.setattr(sources, "every", lambda: iter([source, *real()]))
    return source


def test_every_source_is_there() -> None:
    assert [source.name for source in sources.every()] == list(sources.NAMES)


def test_the_content_decides_not_the_name(capture_dir: Path, tmp_path: Path) -> None:
    for name, text in (("a.pkl", json.dumps(TRACE).encode()), ("b", gzip.compress(json.dumps(TRACE).encode()))):
        path = tmp_path / name
        path.write_bytes(text)
        assert sources.find(path).name == "chrome"
        capture = open_capture(import_files([path]))
        assert capture.manifest.source == "chrome"
        assert capture.count("slices") == 1


def test_the_second_time_nothing_is_read(capture_dir: Path, tmp_path: Path, lines: Lines) -> None:
    path = tmp_path / "x.txt"
    path.write_text("LINES\na\nb\n")
    first = import_files([path])
    written = (first / "slices.parquet").stat().st_mtime_ns
    copy = tmp_path / "renamed"
    copy.write_text("LINES\na\nb\n")
    assert import_files([copy]) == first
    assert (first / "slices.parquet").stat().st_mtime_ns == written
    path.write_text("LINES\na\nc\n")
    assert import_files([path]) != first


def test_a_newer_reader_reads_again(
    capture_dir: Path, tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("LINES\na\n")
    first = import_files([path])
    monkeypatch.setattr(ingest, "_code_version", lambda _source: "other")
    assert import_files([path]) != first


def test_several_files_are_one_capture_when_they_are_of_one_source(
    capture_dir: Path, tmp_path: Path, lines: Lines
) -> None:
    paths = [tmp_path / "1", tmp_path / "2", tmp_path / "3"]
    paths[0].write_text("LINES\na\n")
    paths[1].write_text("LINES\nb\n")
    paths[2].write_text(json.dumps(TRACE))
    assert open_capture(import_files(paths[:2])).count("slices") == 2
    with pytest.raises(CaptureError, match="one of chrome; import them one by one"):
        import_files(paths)


def test_a_file_that_fails_leaves_nothing(capture_dir: Path, tmp_path: Path, lines: Lines) -> None:
    path = tmp_path / "x"
    path.write_text("LINES\na\nBAD\n")
    with pytest.raises(CaptureError, match="bad line"):
        import_files([path])
    assert list(cache_folder().iterdir()) == []
    with pytest.raises(CaptureError, match="bad line"):
        import_files([path], tmp_path / "out.peep")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["captures", "x"]


def test_what_cannot_be_read_or_written(capture_dir: Path, tmp_path: Path, lines: Lines) -> None:
    with pytest.raises(CaptureError, match="Cannot read"):
        import_files([tmp_path / "absent"])
    with pytest.raises(PeepholeError, match="No file"):
        import_files([])
    path = tmp_path / "x"
    path.write_text("LINES\na\n")
    (tmp_path / "file").write_text("")
    with pytest.raises(PeepholeError):
        import_files([path], tmp_path / "file" / "out.peep")


def test_the_newest_of_what_was_left_behind_and_the_captures(
    capture_dir: Path, tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peephole.cli.target import find_target

    left = tmp_path / "left"
    left.write_text("LINES\na\n")
    monkeypatch.setattr(sources, "left_behind", lambda: [left])
    old = import_files([left], capture_dir / "old.peep")
    os.utime(left, (time.time() + 10,) * 2)
    assert find_target(None).parent.parent == cache_folder()
    os.utime(left, (time.time() - 1000,) * 2)
    assert find_target(None) == old


def test_neither_writing_nor_reading_waits_for_wrappers_of_arrow(tmp_path: Path, tape_line: Callable[..., str]) -> None:
    tape = tmp_path / "tape.log"
    tape.write_text(
        "".join(tape_line(i, i + 1, "RECV", "CLIENT CLIENT a", "UnaryOp", "8B", "op=relu") for i in range(9))
    )
    code = f"""
import sys
from pathlib import Path
from peephole.ingest import import_files
from peephole.store.capture import open_capture
capture = open_capture(import_files([Path({str(tape)!r})], Path({str(tmp_path / "tape.peep")!r})))
print(len(capture.read("slices")), list(capture.read("markers").texts("name")), "pyarrow.compute" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "18 [] False\n"


class LineFolders(Lines):
    """The same source, of whose files a folder is full and which takes Chrome traces along."""

    takes_along = ("chrome",)

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        own = [path for path in paths if path.suffix != ".json"]
        super().read(own, sink, progress)
        sink.describe(extra={"beside": [path.name for path in paths[len(own) :]]})

    def files_in(self, folder: Path) -> Sequence[Path]:
        return sorted(folder.glob("*.lines"))


def test_a_folder_is_its_files_and_what_belongs_beside_them(
    capture_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = LineFolders()
    load, every = sources.load, sources.every
    monkeypatch.setattr(sources, "every", lambda: iter([source, *every()]))
    monkeypatch.setattr(sources, "load", lambda name: source if name == "lines" else load(name))
    monkeypatch.setattr(sources, "READ_FOLDERS", ("lines",))
    folder = tmp_path / "run7"
    folder.mkdir()
    with pytest.raises(CaptureError, match="run7 is a folder with neither a capture nor files of a known source"):
        import_files([folder])
    for name in ("b", "a"):
        (folder / f"{name}.lines").write_text(f"LINES\n{name}\n")
    (folder / "other").write_text("not read")
    path = import_files([folder])
    assert path.name == "run7.peep" and open_capture(path).count("slices") == 2
    (tmp_path / "t.json").write_text(json.dumps(TRACE))
    both = open_capture(import_files([tmp_path / "t.json", folder], tmp_path / "both.peep"))
    assert both.manifest.source == "lines" and both.manifest.extra["beside"] == ["t.json"]

    from peephole.cli.serve import find_all
    from peephole.cli.target import find_target

    assert find_target(str(folder)) == path
    first, *_ = find_all([str(folder), str(tmp_path / "t.json")])
    assert not isinstance(first, Path) and first.name == "run7.peep", "one capture of both"
