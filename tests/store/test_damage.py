"""Captures that are damaged, hostile or cut short: read, mended or refused in a sentence, and nothing left behind."""

from __future__ import annotations

import json
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.timeline_capture import write_timeline

from peephole.cli.main import main
from peephole.errors import CaptureError, PeepholeError
from peephole.model.tables import TABLES
from peephole.query.capture.info import info
from peephole.query.timeline.idle import idle
from peephole.query.timeline.tracks import timeline_tracks
from peephole.store.capture import open_capture
from peephole.store.pack import pack
from peephole.store.writer import CaptureWriter


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_timeline(tmp_path / "c.peep")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def changed(folder: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Writes a table anew."""
    path = folder / f"{table}.parquet"
    pq.write_table(change(pq.ParquetFile(path).read()), path)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


@pytest.mark.parametrize("name", ["lanes.parquet", "names.parquet"])
def test_an_index_with_a_damaged_column_name_is_made_anew(capture: Path, name: str) -> None:
    path = capture / "index" / name
    column = b"track" if name.startswith("lanes") else b"name"
    data = path.read_bytes()
    assert data.count(column) > 0
    path.write_bytes(data.replace(column, b"\xff" + column[1:]))
    expected = len(open_capture(write_timeline(capture.with_name("other.peep"))).lanes())
    assert len(open_capture(capture).lanes()) == expected
    assert path.read_bytes() != data.replace(column, b"\xff" + column[1:])


def test_every_byte_of_an_index_may_be_damaged(capture: Path) -> None:
    expected = open_capture(capture)
    names, span = expected.names(), expected.span()
    random = np.random.default_rng(5)
    for path in sorted((capture / "index").iterdir()):
        sound = path.read_bytes()
        for at in random.choice(len(sound), 12, replace=False).tolist():
            path.write_bytes(sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :])
            opened = open_capture(capture)
            # either it is noticed, and the index made anew, or what is read is data that a query can bear
            opened.lanes()
            assert len(opened.names()) == len(names)
            assert opened.span()[0] <= opened.span()[1] or span
            opened.close()
        path.write_bytes(sound)


def bomb(path: Path, capture: Path, zeros: int, claim: int | None = None) -> Path:
    """A packed capture of which one table unfolds to very many zeros, and may claim that it does not."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(capture.rglob("*")):
            if file.is_file() and file.name != "slices.parquet":
                archive.write(file, file.relative_to(capture).as_posix())
        with archive.open("slices.parquet", "w", force_zip64=True) as out:
            for _ in range(zeros >> 20):
                out.write(bytes(1 << 20))
    if claim is not None:
        data = bytearray(path.read_bytes())
        at = 0
        while (at := data.find(struct.pack("<I", zeros), at)) >= 0:
            data[at : at + 4] = struct.pack("<I", claim)
        path.write_bytes(bytes(data))
    return path


def test_a_zip_bomb_is_refused_and_leaves_nothing(capture: Path, cache: Path, tmp_path: Path) -> None:
    large = bomb(tmp_path / "large.peep.zip", capture, 400 << 20)
    begun = time.process_time()
    with pytest.raises(CaptureError, match=r"claim to hold|damaged"):
        open_capture(large)
    assert time.process_time() - begun < 2
    for claim in (100, 1000, 10 << 20):
        liar = bomb(tmp_path / f"liar{claim}.peep.zip", capture, 60 << 20, claim)
        with pytest.raises(CaptureError):
            open_capture(liar)
    small = bomb(tmp_path / "small.peep.zip", capture, 8 << 20)  # it may unfold, and is no table
    with pytest.raises(CaptureError, match="cannot be read"):
        open_capture(small)
    assert not [path for path in cache.rglob("*") if path.is_file()]
    assert not list((cache / "peephole" / "unpacked").iterdir())


def test_a_packed_capture_that_somebody_compressed_is_still_opened(capture: Path, cache: Path, tmp_path: Path) -> None:
    packed = pack(capture, tmp_path / "p.peep.zip")
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(tmp_path / "z.peep.zip", "w", zipfile.ZIP_DEFLATED) as to:
        for name in source.namelist():
            to.writestr(name, source.read(name))
    assert open_capture(tmp_path / "z.peep.zip").count("slices") == open_capture(packed).count("slices") > 0


def test_a_member_of_another_length_than_it_claims_is_damage(capture: Path, cache: Path, tmp_path: Path) -> None:
    packed = pack(capture, tmp_path / "p.peep.zip")
    data = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as archive:
        member = archive.getinfo("tracks.parquet")
    field = struct.pack("<II", member.compress_size, member.file_size)
    at = data.rfind(field)
    data[at + 4 : at + 8] = struct.pack("<I", member.file_size - 1)
    packed.write_bytes(bytes(data))
    with pytest.raises(CaptureError):
        open_capture(packed)


IMPORT = """
import os, sys, time
from pathlib import Path
from peephole.sources.chrome import SOURCE
read = type(SOURCE).read
def slow(self, paths, sink, progress):
    read(self, paths, sink, progress)
    print("read", flush=True)
    time.sleep(float(os.environ["PAUSE"]))
type(SOURCE).read = slow
from peephole.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": 1, "name": "k"} for at in range(20)]
    (tmp_path / "t.json").write_text(json.dumps(events))
    return tmp_path / "t.json"


def importing(folder: Path, *arguments: str | Path, pause: float) -> subprocess.Popen[str]:
    env = {"PAUSE": str(pause), "PEEPHOLE_DIR": str(folder), "PATH": "", "HOME": str(folder)}
    command = [sys.executable, "-c", IMPORT, *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "read\n", process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("named", [True, False])
def test_a_killed_import_leaves_nothing_behind_it(trace: Path, tmp_path: Path, number: int, named: bool) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    command: list[str | Path] = ["import", trace, "-o", folder / "a.peep"] if named else ["show", trace]
    with importing(folder, *command, pause=60) as process:
        ready(process)
        process.send_signal(number)
    if number == signal.SIGTERM:
        assert process.returncode == 143
        assert not [path for path in folder.rglob("*") if path.name != "imported"]
    with importing(folder, *command, pause=0) as process:
        ready(process)
        assert process.wait() == 0
    assert [path.name for path in folder.iterdir()] == ["a.peep" if named else "imported"]
    assert len([path for path in folder.rglob("*") if path.name.endswith(".peep")]) == 1
    assert not list(folder.rglob(".*"))


def test_of_two_imports_to_one_name_one_refuses(trace: Path, tmp_path: Path) -> None:
    with importing(tmp_path, "import", trace, "-o", tmp_path / "a.peep", pause=60) as first:
        ready(first)
        second = importing(tmp_path, "import", trace, "-o", tmp_path / "a.peep", pause=0)
        said = second.communicate()[1]
        assert second.returncode == 2
        assert said.startswith(f"peephole: {tmp_path / 'a.peep'} is being written by another command; ")
        first.kill()


def test_many_imports_to_one_name_at_once(trace: Path, tmp_path: Path) -> None:
    all_of_them = [importing(tmp_path, "import", trace, "-o", tmp_path / "a.peep", pause=0.2) for _ in range(4)]
    said = [process.communicate() for process in all_of_them]
    codes = sorted(process.returncode for process in all_of_them)
    assert codes == [0, 2, 2, 2], said
    assert open_capture(tmp_path / "a.peep").count("slices") == 20


def test_two_writers_in_one_process(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "a.peep"), pytest.raises(PeepholeError, match="being written"):
        CaptureWriter(tmp_path / "a.peep")
    with pytest.raises(PeepholeError, match="has come meanwhile"), CaptureWriter(tmp_path / "b.peep", replace=False):
        with CaptureWriter(tmp_path / "b.peep.x") as other:
            other.append("tracks", {"id": [1], "name": ["x"]})
        (tmp_path / "b.peep.x").rename(tmp_path / "b.peep")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.peep", "b.peep"]


def test_force_keeps_the_name(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["import", str(trace), "--force", "-o", str(tmp_path / "tt")]) == 0
        assert main(["info", "--json", str(tmp_path / "tt.peep")]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["name"] == "tt"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["t.json", "tt.peep"]


def test_a_track_numbered_minus_one(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [-1, 1, 2, 3, 4, 5, 6, 7]
    changed(capture, "tracks", lambda t: with_column(t, "id", ids))
    for parents in ([-1] * 8, [-1, 2, 1, -1, 4, 4, 4, 4], ids):
        changed(capture, "tracks", lambda t, parents=parents: with_column(t, "parent", parents))  # type: ignore[misc]
        found: list[int] = []

        def look(found: list[int] = found) -> None:
            found.append(len(timeline_tracks(open_capture(capture))))

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(30)
        assert found
        assert main(["show", str(capture)]) == 0
        assert main(["show", "--ls", str(capture)]) == 0
    capsys.readouterr()


WRONG: tuple[Any, ...] = (
    None, True, -1, 1 << 70, 0.5, "x", [], [1], ["x"], [[]], {}, {"a": 1}, [{}], [{"reason": 1}], {"x": {"y": []}},
)  # fmt: skip
INNER = (
    "problems.0.count", "problems.0.example", "problems.0.reason", "processes.0.ordinal", "processes.0.clock",
    "frameworks.tinygrad", "argv.0", "clocks.CPU", "tables.slices", "tape.sessions", "tape.events", "tape",
    "tape.engine", "tape.resolution", "tape.sessions.0.events", "tape.sessions.0.offset", "tape.wall", "dask",
)  # fmt: skip


@pytest.mark.parametrize("command", ["info", "visualize", "top", "show"])
def test_wrong_types_in_a_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, tape_line: Any
) -> None:
    from peephole.ingest import import_files

    lines = [
        tape_line(1 + n / 10, n + 1, "RECV", "CLIENT CLIENT 00bb", "GetData", "9B", f"tensor_id={n}") for n in range(4)
    ]
    (tmp_path / "t.log").write_text("".join(lines))
    path = import_files([tmp_path / "t.log"], tmp_path / "c.peep")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["problems"] = [{"reason": "lost", "count": 1, "example": "e"}]
    manifest["processes"] = [{"ordinal": 0, "pid": 1, "clock": {}}]
    manifest["argv"] = ["train.py"]
    arguments = {"visualize": ["-o", str(tmp_path / "o.svg")], "top": ["--once"]}.get(command, [])
    facts = [name for name in manifest if name not in ("format", "state")] + [f"extra.{n}" for n in manifest["extra"]]
    for number, place in enumerate([*facts, *INNER]):
        # drawing takes a second: there each place gets some of the values
        for wrong in WRONG[number % 5 :: 5] if command == "visualize" else WRONG:
            damaged = json.loads(json.dumps(manifest))
            box, keys = damaged, place.split(".")
            if keys[0] in ("tape", "dask"):
                keys = ["extra", *keys]
            for key in keys[:-1]:
                box = box[int(key)] if isinstance(box, list) else box.setdefault(key, {})
            if isinstance(box, list):
                box[int(keys[-1])] = wrong
            else:
                box[keys[-1]] = wrong
            (path / "manifest.json").write_text(json.dumps(damaged))
            code = main([command, str(path), *arguments])
            said = capsys.readouterr().err
            assert (code, said.count("\n")) in ((0, said.count("\n")), (2, 1)), (place, wrong, said)
    shutil.rmtree(path)


def test_slices_out_of_order(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(capture, "slices", lambda t: t.take(np.random.default_rng(1).permutation(t.num_rows)))
    for command in (["idle"], ["show"], ["show", "-t"], ["info"], ["export", "-o", str(capture.with_name("o.json"))]):
        code = main([*command, str(capture)])
        said = capsys.readouterr().err
        assert code in (0, 2)
        assert said.count("\n") == (code == 2)


def test_slices_out_of_order_and_without_an_index(capture: Path) -> None:
    changed(capture, "slices", lambda t: t.take(np.random.default_rng(1).permutation(t.num_rows)))
    shutil.rmtree(capture / "index")
    with pytest.raises(CaptureError, match="not in the order"):
        idle(open_capture(capture))


def test_every_table_may_hold_the_ends_of_time(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ends = [-(2**63), 2**63 - 1]
    for table, name in (
        ("markers", "time"),
        ("counters", "time"),
        ("buffers", "alloc"),
        ("buffers", "free"),
        ("contexts", "start"),
    ):
        sound = (capture / f"{table}.parquet").read_bytes()
        changed(capture, table, lambda t, name=name: with_column(t, name, [ends[i % 2] for i in range(t.num_rows)]))  # type: ignore[misc]
        facts = info(open_capture(capture))
        assert facts.span_ns is None or facts.span_ns[0] <= facts.span_ns[1]
        for command in (["info"], ["show"], ["show", "-t"], ["idle"]):
            code = main([*command, str(capture)])
            said = capsys.readouterr().err
            assert code in (0, 2) and said.count("\n") == (code == 2), (table, name, command, said)
        (capture / f"{table}.parquet").write_bytes(sound)
    assert set(TABLES) >= {"markers"}


def test_a_process_described_ever_deeper(tmp_path: Path) -> None:
    """Found by `make fuzz`: it could be read and not be written again."""
    shutil.unpack_archive(Path(__file__).parent / "old" / "version1_killed.zip", tmp_path / "c.peep")
    (path,) = (tmp_path / "c.peep").rglob("process.json")
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({**facts, "pid": 0})[:-1] + ', "deep": ' + "[" * 700 + "]" * 700 + "}")
    assert len(open_capture(tmp_path / "c.peep").manifest.processes) == 1
    manifest = json.loads((write_timeline(tmp_path / "d.peep") / "manifest.json").read_text())
    text = json.dumps(manifest)[:-1] + ', "deep": ' + "[" * 700 + "]" * 700 + "}"
    (tmp_path / "d.peep" / "manifest.json").write_text(text)
    open_capture(tmp_path / "d.peep").manifest.write(tmp_path / "d.peep")
