"""Importing what VIZ leaves: content against tinygrad's own objects, pairs, names, AMD captures."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SharedFile
from tests.sources.tinygrad.runs import PROGRAM, environment, run

from peephole.errors import CaptureError
from peephole.ingest import import_files
from peephole.sources import find
from peephole.sources.tinygrad import SOURCE
from peephole.store.capture import open_capture

DUMP = """
import json, pickle, sys
from tinygrad.helpers import ansistrip
trace = pickle.load(open(sys.argv[1], "rb"))
events = pickle.load(open(sys.argv[2], "rb"))
json.dump({
  "contexts": [ansistrip(k.display_name) for k in trace.keys],
  "steps": [[c, s.name, s.loc[0], s.loc[1], s.sink, s.depth, s.bottom_up, s.walk, s.enter_calls, len(s.matches)]
            for c, group in enumerate(trace.rewrites) for s in group],
  "matches": [[m[0], m[1], m[2][0], m[2][1]] for group in trace.rewrites for s in group for m in s.matches],
  "nodes": [[n, f[0].name, str(f[1]), list(f[2])] for n, f in trace.uop_fields.items()],
  "kinds": [type(e).__name__ + "/" + (e.name if type(e).__name__ == "ProfilePointEvent" else "") for e in events],
  "entries": sum(len(e.ents) + 1 for e in events if type(e).__name__ == "ProfileGraphEvent"),
}, sys.stdout)
"""


@pytest.fixture(scope="module")
def viz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two files of a run on NULL."""
    folder = tmp_path_factory.mktemp("viz")
    (folder / "program.py").write_text(PROGRAM)
    run([sys.executable, folder / "program.py"], environment(folder, "NULL", VIZ="-1"))
    for file in folder.glob("*.pkl.*"):
        file.rename(folder / file.name.rpartition(".")[0])
    return folder


def test_content_is_tinygrads_own(viz: Path, tmp_path: Path) -> None:
    (tmp_path / "dump.py").write_text(DUMP)
    command: list[str | Path] = [sys.executable, tmp_path / "dump.py", viz / "rewrites.pkl", viz / "profile.pkl"]
    real: dict[str, Any] = json.loads(run(command, environment(tmp_path, "NULL")).stdout)
    capture = open_capture(import_files([viz / "rewrites.pkl"], tmp_path / "x.peep"))
    assert capture.manifest.problems == [] and capture.manifest.frameworks == {"tinygrad": "0.14.0"}
    assert list(capture.read("contexts").texts("name")) == real["contexts"]
    s = capture.read("steps")
    assert [
        [int(s["context"][i]), s.texts("name")[i], s.texts("file")[i], int(s["line"][i]), int(s["root"][i]),
         int(s["depth"][i]),
         bool(s["bottom_up"][i]), bool(s["walk"][i]), bool(s["enter_calls"][i]), int(s["matches"][i])]
        for i in range(len(s))
    ] == real["steps"]  # fmt: skip
    m = capture.read("matches")
    assert [
        [int(m["before"][i]), int(m["after"][i]), m.texts("file")[i], int(m["line"][i])] for i in range(len(m))
    ] == real["matches"]
    n = capture.read("nodes")
    assert [[int(n["id"][i]), n.texts("op")[i], n.texts("dtype")[i], n.lists("src")[i]] for i in range(len(n))] == real[
        "nodes"
    ]
    kinds = real["kinds"]
    assert capture.count("buffers") == kinds.count("ProfilePointEvent/alloc")
    assert capture.count("markers") == kinds.count("ProfilePointEvent/marker") == 4
    # every range, every batch with its entries, and the copies that only an exec point tells of
    untimed = sum(name.startswith("copy") for name in capture.read("slices").texts("name") if name)
    assert capture.count("slices") == kinds.count("ProfileRangeEvent/") + real["entries"] + untimed


def test_source_binary_and_op_list_of_each_kernel(viz: Path, tmp_path: Path) -> None:
    capture = open_capture(import_files([viz / "rewrites.pkl", viz / "profile.pkl"], tmp_path / "x.peep"))
    contexts, artifacts = capture.read("contexts"), capture.read("artifacts")
    kernels = [i for i in range(len(contexts)) if contexts.texts("kind")[i] == "kernel"]
    assert len(kernels) >= 2
    for i in kernels:
        own = [a for a in range(len(artifacts)) if artifacts["context"][a] == contexts["id"][i]]
        found = {artifacts.texts("kind")[a]: artifacts.blobs("content")[a] or b"" for a in own}
        assert set(found) == {"source", "binary", "oplist"}
        assert f"void {contexts.texts('name')[i]}(".encode() in found["source"]
        assert b"STORE" in found["oplist"] and b"dtypes.float" in found["oplist"]


def test_one_file_finds_the_other(viz: Path, tmp_path: Path) -> None:
    assert list(SOURCE.complete([viz / "profile.pkl"])) == [viz / "profile.pkl", viz / "rewrites.pkl"]
    shutil.copy(viz / "profile.pkl", tmp_path / "profile.pkl")
    assert list(SOURCE.complete([tmp_path / "profile.pkl"])) == [tmp_path / "profile.pkl"]
    stale = tmp_path / "rewrites.pkl"
    shutil.copy(viz / "rewrites.pkl", stale)
    os.utime(stale, (1, 1))  # of another day
    assert list(SOURCE.complete([tmp_path / "profile.pkl"])) == [tmp_path / "profile.pkl"]


def test_what_viz_left_behind(viz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import getpass
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert list(SOURCE.left_behind()) == []
    for kind in ("rewrites", "profile"):
        shutil.copy(viz / f"{kind}.pkl", tmp_path / f"{kind}.pkl.{getpass.getuser()}")
    assert [path.name.split(".")[0] for path in SOURCE.left_behind()] == ["rewrites", "profile"]


def test_each_file_alone_and_under_any_name(viz: Path, tmp_path: Path) -> None:
    for kind, table in (("rewrites", "nodes"), ("profile", "slices")):
        nameless = tmp_path / f"{kind[0]}.bin"
        shutil.copy(viz / f"{kind}.pkl", nameless)
        assert find(nameless).name == "tinygrad"
        capture = open_capture(import_files([nameless], tmp_path / f"{kind}.peep"))
        assert capture.count(table) > 50 and capture.manifest.frameworks == {"tinygrad": "0.14.0"}


def test_two_of_a_kind_are_refused(viz: Path, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="second profile"):
        import_files([viz / "profile.pkl", viz / "profile.pkl"], tmp_path / "x.peep")
    with pytest.raises(CaptureError, match="second file of rewrites"):
        import_files([viz / "rewrites.pkl", viz / "rewrites.pkl"], tmp_path / "x.peep")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_understood_is_counted(tmp_path: Path) -> None:
    stream = (
        b"\x80\x04]("
        b"ctinygrad.somewhere\nProfileNewEvent\n)\x81"
        b"ctinygrad.helpers\nProfileRangeEvent\n)\x81}(\x8c\x06device\x8c\x04TINY\x8c\x04name\x8c\x01x\x8c\x02stN\x8c\x02enNub"
        b"e."
    )
    (tmp_path / "odd").write_bytes(stream)
    capture = open_capture(import_files([tmp_path / "odd"], tmp_path / "x.peep"))
    reasons = {problem["reason"]: problem["count"] for problem in capture.manifest.problems}
    assert reasons == {
        "unknown event ProfileNewEvent": 1,
        "ProfileRangeEvent not understood: NoneType is no time": 1,
    }


def test_another_pickle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(pickle.dumps({"tinygrad.": 1}))
    with pytest.raises(CaptureError, match="holds no rewrites of tinygrad"):
        import_files([tmp_path / "other"], tmp_path / "x.peep")


@pytest.mark.parametrize(
    "name", ["gfx1100/profile_gemm_run_0.pkl", "gfx1200/profile_sync_run_0.pkl", "gfx950/profile_plus_run_0.pkl"]
)
def test_amd_captures(shared: SharedFile, tmp_path: Path, name: str) -> None:
    file = shared(f"fixtures/sqtt/{name}")
    capture = open_capture(import_files([file], tmp_path / "x.peep"))
    assert capture.manifest.problems == []
    hardware, tracks = capture.read("hardware"), capture.read("tracks")
    (arch,) = set(hardware.texts("arch"))
    assert arch is not None and arch[:-1] == name.split("/", maxsplit=1)[0][:-1]
    assert set(hardware.texts("kind")) == {"sqtt", "pmc"}
    assert all(content for content in hardware.blobs("content").values)
    assert {"AMD", "USER", "TINY"} <= set(tracks.texts("name"))
    slices = capture.read("slices")
    amd = next(int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("name")[i] == "AMD")
    host = next(int(tracks["id"][i]) for i in range(len(tracks)) if tracks.texts("name")[i] == "TINY")
    kernel, program = slices["start"][slices["track"] == amd], slices["start"][slices["track"] == host]
    assert len(kernel) and program.min() < kernel.min() < program.max() + 10**9  # one clock
    artifacts = capture.read("artifacts")
    assert (artifacts.blobs("content")[0] or b"").startswith(b"\x7fELF")


class Runs:
    """Pickled, it makes a folder when it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_a_pickle_of_something_else_is_refused_by_name(tmp_path: Path) -> None:
    hostile, other, empty = tmp_path / "hostile.pkl", tmp_path / "other.pkl", tmp_path / "empty.pkl"
    hostile.write_bytes(pickle.dumps([Runs(tmp_path / "ran")]))
    with pytest.raises(CaptureError, match=rf"{os.mkdir.__module__}\.mkdir"):
        import_files([hostile], tmp_path / "a.peep")
    assert not (tmp_path / "ran").exists()
    other.write_bytes(pickle.dumps(["weights", 1.0, 2.0]))
    with pytest.raises(CaptureError, match="holds no profile of tinygrad"):
        import_files([other], tmp_path / "b.peep")
    assert not (tmp_path / "b.peep").exists()
    empty.write_bytes(pickle.dumps([]))  # a program that ran nothing
    assert open_capture(import_files([empty], tmp_path / "c.peep")).count("slices") == 0
