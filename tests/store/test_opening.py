"""Whatever lies at a path: a capture, or one clear sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peephole.errors import CaptureError, PeepholeError
from peephole.store.capture import open_capture
from peephole.store.pack import pack
from peephole.store.writer import CaptureWriter


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "a.peep"
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        writer.append("slices", {"track": [0] * 3, "start": [0, 10, 20], "dur": [5, 5, 5], "name": ["a", "b", None]})
    return path


def refused(path: Path, words: str) -> None:
    with pytest.raises(CaptureError, match=words) as error:
        open_capture(path).read("slices")
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert str(path) in text


def test_no_capture(tmp_path: Path, capture: Path) -> None:
    refused(tmp_path / "missing.peep", "There is no capture")
    empty = tmp_path / "empty.peep"
    empty.mkdir()
    refused(empty, "neither a manifest.json nor a journal")
    file = tmp_path / "file.peep"
    file.write_bytes(b"hello")
    refused(file, "no packed capture")


@pytest.mark.parametrize(
    "name", ["manifest.json", "slices.parquet", "index/names.parquet", "journal/p00001/t0000.000000.seg"]
)
@pytest.mark.timeout(120)
def test_a_pipe_in_a_capture_is_refused_and_not_waited_for(capture: Path, tmp_path: Path, name: str) -> None:
    path = capture / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    refused(capture, "not a file")
    with pytest.raises(CaptureError, match="not a file"):
        pack(capture, tmp_path / "x.peep.zip")


@pytest.mark.parametrize("name", ["notes.json", "index/names.parquet", "manifest.json"])
def test_a_link_in_a_capture_is_not_packed(capture: Path, tmp_path: Path, name: str) -> None:
    path, secret = capture / name, tmp_path / "secret"
    secret.write_bytes(path.read_bytes() if path.exists() else b"secret")
    path.unlink(missing_ok=True)
    path.symlink_to(secret)
    with pytest.raises(CaptureError, match="is a link"):
        pack(capture, tmp_path / "x.peep.zip")
    assert sorted(tmp_path.iterdir()) == sorted([capture, secret])


def test_a_name_that_is_no_text(capture: Path) -> None:
    odd = capture.with_name(os.fsdecode(b"a\xff.peep"))
    capture.rename(odd)
    refused(odd, "is no UTF-8; rename")


def test_newer_format(capture: Path) -> None:
    facts = json.loads((capture / "manifest.json").read_text())
    (capture / "manifest.json").write_text(json.dumps(facts | {"format": 99}))
    refused(capture, "format 99.*upgrade")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "1"}', "\0\0"])
def test_damaged_manifest(capture: Path, text: str) -> None:
    (capture / "manifest.json").write_text(text)
    refused(capture, "damaged|no manifest")


def test_missing_and_damaged_table(capture: Path) -> None:
    good = (capture / "slices.parquet").read_bytes()
    (capture / "slices.parquet").unlink()
    refused(capture, "slices.parquet is missing")
    for damage in (b"", b"PAR1", good[: len(good) // 2], b"\0" * len(good), good[:-8] + b"\xff" * 8):
        (capture / "slices.parquet").write_bytes(damage)
        refused(capture, "damaged")
    shutil.copy(capture / "tracks.parquet", capture / "slices.parquet")
    refused(capture, "no table of a capture")


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(0, 7), st.booleans())
def test_a_flipped_bit_in_a_table(capture: Path, place: int, bit: int, cut: bool) -> None:
    good = (capture / "slices.parquet").read_bytes()
    data = bytearray(good)
    data[place % len(data)] ^= 1 << bit
    (capture / "slices.parquet").write_bytes(bytes(data[: place % len(data)] if cut else data))
    try:
        opened = open_capture(capture)
        opened.read("slices")
        opened.lanes()
        opened.buckets(0, 0, 0, 100, 10)
    except CaptureError:
        pass
    finally:
        (capture / "slices.parquet").write_bytes(good)


def _wrong_index(capture: Path, damage: str) -> None:
    lanes = pq.ParquetFile(capture / "index" / "lanes.parquet").read()
    other = {
        "a text": pa.array(["x"] * len(lanes)),
        "nothing": pa.array([None] * len(lanes), pa.int64()),
        "too far": pa.array([10**9] * len(lanes)),
        "negative": pa.array([-1] * len(lanes)),
    }
    if damage in other:
        pq.write_table(lanes.set_column(2, "first", other[damage]), capture / "index" / "lanes.parquet")
        return
    directory = {
        "deep": b"[" * 100_000,
        "no levels": b'[{"kind": "counter", "name": "0"}]',
        "no text": b"\xff\xfe",
    }[damage]
    whole = b"PEEPSER1" + directory + len(directory).to_bytes(8, "little") + b"PEEPSER1"
    (capture / "index" / "series.bin").write_bytes(whole)


@pytest.mark.parametrize("damage", ["a text", "nothing", "too far", "negative", "deep", "no levels", "no text"])
def test_an_index_that_cannot_be_is_made_anew(capture: Path, damage: str) -> None:
    good = {path.name: path.read_bytes() for path in (capture / "index").iterdir()}
    _wrong_index(capture, damage)
    opened = open_capture(capture)
    assert opened.lanes().count.tolist() == [3]
    assert len(opened.buckets(0, 0, 0, 100, 50)) == 3
    assert {path.name: path.read_bytes() for path in (capture / "index").iterdir()} == good


def test_never_sealed_and_no_journal(capture: Path) -> None:
    facts = json.loads((capture / "manifest.json").read_text())
    (capture / "manifest.json").write_text(json.dumps(facts | {"state": "recording"}))
    refused(capture, "nothing to show")


def test_a_million_odd_facts_in_the_manifest(capture: Path) -> None:
    facts = json.loads((capture / "manifest.json").read_text())
    odd = {"argv": "no list", "clean": 3, "problems": [1, {"reason": 2}, {"reason": "r", "count": 1}], "host": None}
    (capture / "manifest.json").write_text(json.dumps(facts | odd))
    manifest = open_capture(capture).manifest
    assert manifest.argv == []
    assert manifest.problems == [{"reason": "r", "count": 1}]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_packed_capture_with_a_damaged_member(capture: Path, tmp_path: Path, method: int) -> None:
    packed = tmp_path / "damaged.peep.zip"
    with zipfile.ZipFile(packed, "w", method) as archive:
        for path in (capture / "manifest.json", capture / "slices.parquet"):
            archive.write(path, path.name)
    data = bytearray(packed.read_bytes())
    at = data.index(b"slices.parquet") + len("slices.parquet")
    data[at : at + 40] = b"\xff" * 40
    packed.write_bytes(data)
    with pytest.raises(PeepholeError, match=r"cannot be unpacked|damaged"):
        open_capture(packed)


def test_pack_and_open(capture: Path, cache: Path, tmp_path: Path) -> None:
    packed = pack(capture)
    assert packed.name == "a.peep.zip"
    assert zipfile.ZipFile(packed).testzip() is None
    shutil.rmtree(capture)
    renamed = packed.rename(tmp_path / "anything")
    for _ in range(2):
        opened = open_capture(renamed)
        assert opened.name == "a"
        assert list(opened.read("slices").texts("name")) == ["a", "b", None]
        assert len(opened.buckets(0, 0, 0, 100, 50)) == 3
    assert len(list((cache / "peephole" / "unpacked").iterdir())) == 1


def test_pack_where_nothing_can_be_written(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PeepholeError, match="cannot be written"):
        pack(capture, tmp_path / "file" / "a.peep.zip")


def test_a_packed_file_from_a_stranger(capture: Path, cache: Path, tmp_path: Path) -> None:
    packed = pack(capture)
    evil = tmp_path / "evil.peep.zip"
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(evil, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
        target.writestr("../../outside", "x")
        target.writestr("/tmp/peephole-outside", "x")
        target.writestr("notes.txt", "x")
    opened = open_capture(evil)
    assert opened.count("slices") == 3
    names = {path.name for path in cache.rglob("*")}
    assert "outside" not in names
    assert "notes.txt" not in names
    assert not Path("/tmp/peephole-outside").exists()
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as target:
        target.writestr("hello", "x")
    refused(tmp_path / "other.zip", "no packed capture")
    cut = tmp_path / "cut.peep.zip"
    cut.write_bytes(packed.read_bytes()[:-300])
    refused(cut, "no packed capture|damaged")


def test_writer_leaves_nothing_after_an_error(tmp_path: Path) -> None:
    def failing() -> None:
        with CaptureWriter(tmp_path / "b.peep") as writer:
            writer.append("slices", {"track": [0], "start": [0], "dur": [1]})
            raise RuntimeError("source failed")

    with pytest.raises(RuntimeError):
        failing()
    assert [path.name for path in tmp_path.iterdir() if "b.peep" in path.name] == []


def test_writer_replaces_captures_only(capture: Path, tmp_path: Path) -> None:
    with CaptureWriter(capture) as writer:
        writer.append("slices", {"track": [0], "start": [0], "dur": [1]})
    assert open_capture(capture).count("slices") == 1
    other = tmp_path / "documents"
    other.mkdir()
    (other / "letter").write_text("dear")
    with pytest.raises(CaptureError, match="is not a capture"):
        CaptureWriter(other)
    assert (other / "letter").exists()


def test_writer_refuses_columns_that_are_not_declared(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "c.peep") as writer:
        with pytest.raises(KeyError, match="colour"):
            writer.append("slices", {"track": [0], "colour": [1]})
        with pytest.raises(ValueError, match="different length"):
            writer.append("slices", {"track": [0], "start": [0, 1]})


SLOW = """
import sys
from pathlib import Path
import peephole
from peephole.record import active, process
path = sys.argv[1]
process.start_capture(path, "p", ["p"])
recorder = active.start(path)
track = recorder.track("CPU", "device")
for number in range(500):
    recorder.slice(track, number * 10, 8, "k")
    recorder.row("contexts", id=number, name=f"c{number}", kind="kernel")
    recorder.row("steps", id=number, context=number, ordinal=0, name="pass")
    recorder.row("buffers", id=number, device="CPU", alloc=number, bytes=8)
    recorder.free(number, number + 5)
active.stop()
from peephole.query.capture.info import info
from peephole.query.timeline.source_items import compiled
from peephole.query.timeline.top import top
from peephole.store.capture import open_capture
capture = open_capture(path)
assert len(compiled(capture)) == 500 and top(capture).rows and info(capture).name
print([name for name in ("numpy.ma", "pyarrow.compute", "pandas", "numba", "duckdb") if name in sys.modules])
"""


def test_the_first_answers_load_nothing_that_takes_longer_than_they_do(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLOW, str(tmp_path / "a.peep")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
