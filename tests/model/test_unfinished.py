"""What is not finished when its writer is killed is gone, at once or when the next one comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from peephole.model.unfinished import Busy, WorkFolder, sweep, whole_file

HOLD = """
import sys, time
from pathlib import Path
from peephole.model.unfinished import WorkFolder, whole_file
if sys.argv[1] == "folder":
    work = WorkFolder(Path(sys.argv[2]))
    (work.path / "table").write_text("x")
    print("ready", flush=True)
    time.sleep(60)
with whole_file(Path(sys.argv[2])) as file:
    file.write(b"x" * 100_000)
    print("ready", flush=True)
    time.sleep(60)
"""


def hold(what: str, path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, what, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_folder_whose_writer_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    with hold("folder", tmp_path / "a.peep") as process:
        with pytest.raises(Busy, match="being written"):
            WorkFolder(tmp_path / "a.peep")
        WorkFolder(tmp_path / "b.peep").close()
        assert [path.name for path in tmp_path.iterdir()] == [".a.peep.work"]
        process.send_signal(signal.SIGKILL)
    with WorkFolder(tmp_path / "b.peep", shared=True) as other:
        assert [path.name for path in tmp_path.iterdir()] == [other.path.name]
    with hold("folder", tmp_path / "a.peep") as process:
        process.send_signal(signal.SIGKILL)
    with WorkFolder(tmp_path / "a.peep") as again:
        assert not list(again.path.iterdir())
    assert not list(tmp_path.iterdir())


def test_only_work_folders_are_swept(tmp_path: Path) -> None:
    (tmp_path / ".config").mkdir()
    (tmp_path / ".notes.work").write_text("a file")
    (tmp_path / "x.work").mkdir()
    (tmp_path / ".link.work").symlink_to(tmp_path / "x.work")
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".config", ".link.work", ".notes.work", "x.work"]


def test_what_has_become_its_target_stays(tmp_path: Path) -> None:
    with WorkFolder(tmp_path / "a") as work:
        (work.path / "x").write_text("x")
        work.path.rename(tmp_path / "a")
    assert (tmp_path / "a" / "x").read_text() == "x"
    with WorkFolder(tmp_path / "a") as work:
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_many_make_shared_ones_while_others_sweep(tmp_path: Path) -> None:
    """Sixteen threads stand for processes: locks are of a file's opening, not of a process."""
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(30):
                with WorkFolder(tmp_path / "t", shared=True) as folder:
                    (folder.path / "x").write_text(f"{number} {turn}")
                    assert (folder.path / "x").read_text() == f"{number} {turn}"
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_file_whose_writer_was_killed(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with hold("file", tmp_path / "out") as process:
        process.send_signal(signal.SIGKILL)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool) -> None:
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "out", Path("out")):
        path.write_text("old")

        def fail(path: Path = path) -> None:
            with whole_file(path) as file:
                file.write(b"new")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert path.read_text() == "old"
        with whole_file(path) as file:
            file.write(b"new")
        assert path.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_is_not_a_file_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with whole_file(pipe) as file:
            file.write(b"whole")
        assert reader.communicate(timeout=120)[0] == b"whole"
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "file", tmp_path / "link"
    real.write_bytes(b"before")
    link.symlink_to(real)
    with whole_file(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert (real.read_bytes(), list(real.parent.iterdir())) == (b"after", [real])
