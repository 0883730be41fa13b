"""Sealing: atomic, begun again after a kill, by several at once, where nothing may be written."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.store.journal import journals as j

from peephole.errors import CaptureError
from peephole.store.capture import open_capture
from peephole.store.journal.seal import seal
from peephole.store.manifest import read_manifest

SEAL = "import sys; from peephole.store.journal.seal import seal; seal(sys.argv[1])"


def journal(path: Path, count: int) -> Path:
    """An unsealed capture with many slices on three tracks, in four segments."""
    rows = np.zeros(count, np.dtype("<i8,<i8,<u4,<u4,<u4,<u2,u1,u1"))
    rows["f0"] = np.arange(count) * 10
    rows["f1"], rows["f2"], rows["f7"] = 9, 1, 1
    rows["f4"] = np.arange(count) % 3
    rows["f3"] = np.arange(count)
    head = j.text("kernel") + b"".join(j.row("tracks", id=i, name=1, kind=1) for i in range(3))
    parts = np.array_split(rows, 4)
    segments = {
        f"p00000/t0000.{i:06}.seg": j.segment((head if i == 0 else b"") + part.tobytes(), True, number=i)
        for i, part in enumerate(parts)
    }
    return j.capture_folder(path, segments)


def check(path: Path, count: int) -> None:
    capture = open_capture(path)
    assert capture.manifest.state == "sealed"
    frame = capture.read("slices", ["start", "correlation"])
    assert np.array_equal(np.sort(frame["start"]), np.arange(count) * 10)
    assert not capture.manifest.problems
    capture.close()


def sealing(path: Path) -> subprocess.Popen[bytes]:
    """A process that has begun to seal."""
    process = subprocess.Popen([sys.executable, "-c", SEAL, str(path)])
    deadline = time.monotonic() + 90
    while not (path / ".lock").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    return process


def test_killed_at_any_moment(tmp_path: Path) -> None:
    count = 150_000
    source = journal(tmp_path / "source.peep", count)
    whole = Path(shutil.copytree(source, tmp_path / "whole.peep"))
    process = sealing(whole)
    begun = time.monotonic()
    assert process.wait() == 0
    taken = time.monotonic() - begun  # of this machine, as busy as it is
    states = set()
    for attempt, moment in enumerate([0.0, *np.random.default_rng(1).uniform(0, taken, 7).tolist()]):
        path = tmp_path / f"{attempt}.peep"
        shutil.copytree(source, path)
        process = sealing(path)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        states.add(read_manifest(path).state)
        assert read_manifest(path).state == "sealed" or (path / "journal").is_dir()
        check(path, count)
        assert not (path / "journal").exists()
        assert not (path / ".sealing").exists()
        shutil.rmtree(path)
    assert "recording" in states, "no kill came in time: the test proves nothing"


def test_two_at_once(tmp_path: Path) -> None:
    path = journal(tmp_path / "a.peep", 60_000)
    processes = [subprocess.Popen([sys.executable, "-c", SEAL, str(path)]) for _ in range(3)]
    assert [p.wait() for p in processes] == [0, 0, 0]
    check(path, 60_000)


def test_progress_goes_from_begin_to_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    seal(journal(tmp_path / "a.peep", 1000), lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(seen))


def test_sealed_again_is_nothing(tmp_path: Path) -> None:
    path = journal(tmp_path / "a.peep", 100)
    seal(path)
    before = (path / "slices.parquet").stat().st_mtime_ns
    seal(path)
    assert (path / "slices.parquet").stat().st_mtime_ns == before


def test_nothing_to_seal(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="is not a capture"):
        seal(tmp_path)
    with pytest.raises(CaptureError, match="There is no capture"):
        seal(tmp_path / "missing.peep")


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = journal(tmp_path / "a.peep", 500)
    real = os.access
    # root may write anywhere, so the test says what a user would be told
    monkeypatch.setattr(os, "access", lambda p, mode: False if Path(p) == path else real(p, mode))
    for _ in range(2):
        capture = open_capture(path)
        assert capture.count("slices") == 500
        assert capture.name == "t"
    assert (path / "journal").is_dir()
    assert not (path / "slices.parquet").exists()
    assert len(list((tmp_path / "cache" / "peephole" / "sealed").iterdir())) == 1


def test_a_large_journal_goes_through_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.store.sealing import spool

    monkeypatch.setattr(spool, "CHUNK", 1 << 12)
    monkeypatch.setattr(spool, "PART", 3000)
    monkeypatch.setattr(spool, "IN_MEMORY", 1 << 18)
    path = journal(tmp_path / "a.peep", 50_000)
    check(path, 50_000)
    capture = open_capture(path)
    assert capture.lanes().count.tolist() == [16_667, 16_667, 16_666]
    frame = capture.read("slices", ["track", "start"])
    assert np.array_equal(frame["start"] // 10 % 3, frame["track"])


FULL = """
import gc, os, resource, signal, sys
from peephole.errors import PeepholeError
from peephole.store.journal.seal import seal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    seal(sys.argv[1])
except PeepholeError as error:
    print(error)
fds = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
files = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in fds]
print(*(file for file in files if sys.argv[1] in file), file=sys.stderr, end="")
gc.collect()
"""


@pytest.mark.parametrize("limit", [0, 3, 100, 4_500])
def test_no_room_leaves_the_journal(tmp_path: Path, limit: int) -> None:
    path = journal(tmp_path / "a.peep", 60_000)
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", FULL, str(path), str(limit)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "cannot be sealed" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stderr == "", "no file stays open, and nobody complains when the last of it is collected"
    assert done.returncode == 0
    assert not (path / ".sealing").exists()
    check(path, 60_000)
