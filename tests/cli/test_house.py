"""`ls`, `info`, `pack`, `import`, `query`, `export`, and how a capture is found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.cli.target import find_target
from peephole.errors import PeepholeError


def out(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def one(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    (line,) = out(capsys, *arguments, "--json").splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main([str(a) for a in arguments]) == 2
    text = capsys.readouterr().err
    assert text.startswith("peephole: ")
    assert text.count("\n") == 1
    return text


def test_info_json_has_what_was_promised(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = one(capsys, "info", small)
    assert facts["name"] == "small"
    assert facts["clean"] is True
    assert facts["tables"]["slices"] == 6
    assert facts["tables"]["hardware"] == 0
    assert facts["bytes"]["total"] == sum(f.stat().st_size for f in small.rglob("*") if f.is_file())
    assert facts["bytes"]["slices"] == (small / "slices.parquet").stat().st_size
    assert facts["span_ns"] == [1_000, 21_000]
    assert facts["problems"] == [{"reason": "one we did not understand", "count": 3, "example": "example"}]


def test_info_for_people(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "info", small)
    assert "train.py --fast" in text
    assert "20.00 µs" in text
    assert "one we did not understand" in text


def test_ls_lists_the_newest_first_and_the_broken_too(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = small.with_name("zz.peep")
    shutil.copytree(small, other)
    broken = small.with_name("broken.peep")
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    for age, path in enumerate((broken, other, small)):
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    listed = [json.loads(line) for line in out(capsys, "ls", "--json").splitlines()]
    assert [row["name"] for row in listed] == ["broken", "zz", "small"]
    assert listed[0]["state"] == "unreadable"
    assert listed[2]["program"] == "train.py"
    assert "unreadable" in out(capsys, "ls")


def test_a_manifest_that_a_stranger_wrote(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads((small / "manifest.json").read_text())
    odd = {
        "argv": [1, None, {"a": 2}],
        "host": "box",
        "created": "",
        "program": "/a/very/long/way/to/a/program/train.py",
    }
    (small / "manifest.json").write_text(json.dumps(facts | odd))
    assert one(capsys, "info", small)["argv"] == ["1", "None", "{'a': 2}"]
    text = out(capsys, "info", small)
    assert "program    1 None '{'\"'\"'a'\"'\"': 2}'\n" in text and "made       on box\n" in text
    assert "to/a/program" not in (listed := out(capsys, "ls")) and "program/train.py" in listed


def test_ls_of_nothing_says_what_to_do(capture_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "peephole run" in out(capsys, "ls")
    assert out(capsys, "ls", "--json") == ""
    assert "There is no folder" in refused(capsys, "ls", capture_dir / "none")


def test_a_packed_capture_is_a_capture(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "sent.peep.zip"
    assert one(capsys, "pack", small, "-o", packed) == {"path": str(packed), "bytes": packed.stat().st_size}
    assert out(capsys, "show", packed, "--json") == out(capsys, "show", small, "--json")
    assert one(capsys, "info", packed)["bytes"]["total"] == packed.stat().st_size
    assert "packed already" in refused(capsys, "pack", packed)
    assert "has to end in .peep.zip" in refused(capsys, "pack", small, "-o", tmp_path / "x.zip")


def test_a_capture_is_found_by_name_path_or_age(small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    # nothing that tinygrad may have left on this machine is newer
    monkeypatch.setattr("peephole.sources.left_behind", lambda: [])
    for target in (None, [], "small", "small.peep", small, [str(small)]):
        assert find_target(target) == small
    with pytest.raises(PeepholeError, match="did you mean 'small'"):
        find_target("smal")
    with pytest.raises(PeepholeError, match=r"no other/x\.peep"):
        find_target("other/x.peep")
    with pytest.raises(PeepholeError, match="give one capture"):
        find_target([small, small])
    with pytest.raises(PeepholeError, match=r"There is no abc\."):
        find_target([small, "abc"])


def test_no_capture_at_all(capture_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peephole.sources.left_behind", lambda: [])
    with pytest.raises(PeepholeError, match=r"peephole run script\.py"):
        find_target(None)


@pytest.mark.parametrize(
    ("content", "word"), [(b"", "is empty"), (b"hello there", "neither a capture nor"), (b"\x1f\x8bnope", "gzip")]
)
def test_files_that_are_nothing(
    capture_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, word: str
) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(content)
    assert word in refused(capsys, "show", file)
    assert word in refused(capsys, "import", file, "-o", tmp_path / "y.peep")
    assert not (tmp_path / "y.peep").exists()
    assert list(capture_dir.rglob("*.peep")) == []


def test_what_is_neither_file_nor_folder_is_refused(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command in ("info", "import", "show"):  # none of them waits for somebody to write
        assert "is neither a file nor a folder" in refused(capsys, command, pipe)
    file = tmp_path / "file"
    file.touch()
    assert "is not a folder" in refused(capsys, "diff", small, small, "--baseline", file)


def test_a_folder_that_is_no_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a capture" in refused(capsys, "info", tmp_path)


CHROME = {"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}


def test_import_makes_a_capture_that_is_the_newest(
    capture_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peephole.sources.left_behind", lambda: [])
    file = tmp_path / "run.trace"
    file.write_text(json.dumps(CHROME))
    first = one(capsys, "import", file)
    assert first["path"] == str(capture_dir / "run.peep")
    assert first["source"] == "chrome"
    assert first["tables"]["slices"] == 1
    assert one(capsys, "import", file)["path"] == str(capture_dir / "run-2.peep")
    assert find_target(None) == capture_dir / "run-2.peep"
    assert json.loads(out(capsys, "show", "--json"))["name"] == "a"
    assert "exists already" in refused(capsys, "import", file, "-o", capture_dir / "run.peep")
    assert "exists already" in refused(capsys, "import", file, "-o", capture_dir / "run")
    assert one(capsys, "import", file, "-o", tmp_path / "named")["path"] == str(tmp_path / "named.peep")
    other = tmp_path / "other.trace"
    other.write_text(json.dumps({"traceEvents": CHROME["traceEvents"] * 2}))
    assert one(capsys, "import", other, "--force", "-o", tmp_path / "named")["tables"]["slices"] == 2
    assert [path.name for path in tmp_path.glob("*.peep")] == ["named.peep"]
    (tmp_path / "mine.peep").mkdir()
    assert "is not a capture" in refused(capsys, "import", other, "--force", "-o", tmp_path / "mine.peep")
    assert sorted(path.name for path in tmp_path.glob("*.peep")) == ["mine.peep", "named.peep"]
    assert "control characters" in refused(capsys, "import", file, "-o", tmp_path / "a\nb")


def test_query_reads_and_only_reads(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT name, sum(dur) AS ns FROM slices WHERE track = 2 GROUP BY name ORDER BY ns DESC LIMIT 1"
    assert one(capsys, "query", sql, small) == {"name": "gemm", "ns": 3_000}
    assert out(capsys, "query", sql, small).split() == ["name", "ns", "gemm", "3000"]
    assert one(capsys, "query", "SELECT content FROM artifacts", small)["content"] == b"void gemm() {}\n".hex()
    assert "\x1b" not in out(capsys, "query", "SELECT name FROM slices", small)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    before = {f.name: f.stat().st_mtime_ns for f in small.iterdir()}
    for bad in (
        f"SELECT * FROM read_csv('{secret}')",
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM read_parquet('{small}/slices.parquet')",
        f"COPY slices TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW slices",
        "SELECT 1; SELECT 2",
        "SELECT * FROM nowhere",
        "SELECT * FROM capture",
        "PRAGMA database_list",
        "nonsense",
        "",
    ):
        refused(capsys, "query", bad, small)
    assert {f.name: f.stat().st_mtime_ns for f in small.iterdir()} == before
    assert sorted(f.name for f in tmp_path.iterdir()) == ["captures", "secret.csv"]


def test_query_is_readable_in_a_narrow_terminal(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT *, start + 48519563920419 AS moment FROM slices"
    piped = out(capsys, "query", sql, small).splitlines()
    assert len(piped) == 7 and max(map(len, piped)) > 80
    for width in (80, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = out(capsys, "query", sql, small).splitlines()
        assert max(map(len, lines)) <= width
        assert lines[0] == "row 1" and "  name         epoch" in lines and "\x1b" not in "".join(lines)
        assert [line for line in lines if line.startswith("row ")][-1] == "row 6"
    monkeypatch.setenv("COLUMNS", "80")
    assert len(out(capsys, "query", "SELECT name, dur FROM slices", small).splitlines()) == 7
    long = out(capsys, "query", f"SELECT moment.* FROM range(10001), ({sql}) AS moment LIMIT 10001", small)
    assert long.splitlines()[-10] == "row 10001", "the form of the first part is that of all"


def test_query_prints_every_row_of_a_long_answer(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, "query", "SELECT range AS r FROM range(25000)", small).splitlines()
    assert len(lines) == 25_001
    assert lines[-1].strip() == "24999"


@pytest.mark.parametrize("form", ["chrome", "bytepack"])
def test_export_can_be_imported_again(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    file = tmp_path / "out.file"
    assert one(capsys, "export", small, "--format", form, "-o", file)["slices"] == 6
    names = {
        event["name"] for event in map(json.loads, out(capsys, "show", small, "-s", "GPU:0", "--json").splitlines())
    }
    again = {event["name"] for event in map(json.loads, out(capsys, "show", file, "--json").splitlines())}
    assert names <= again
    assert "Cannot write" in refused(capsys, "export", small, "--format", form, "-o", tmp_path / "no" / "x")


def test_a_capture_that_is_being_recorded(
    capture_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peephole.sources.left_behind", lambda: [])
    code = (
        "import sys, peephole\n"
        "with peephole.record(sys.argv[1]):\n"
        "    with peephole.span('done'): pass\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    path = capture_dir / "live.peep"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        assert one(capsys, "ls")["state"] == "recording"
        assert one(capsys, "info")["live"] is True
        assert json.loads(out(capsys, "show", "--json").splitlines()[0])["name"] == "done"
        assert one(capsys, "query", "SELECT name FROM slices") == {"name": "done"}
        program.kill()
    assert one(capsys, "ls")["state"] == "recording, broken off"
    killed = one(capsys, "info")
    assert (killed["live"], killed["clean"], killed["tables"]["slices"]) == (False, False, 1)
    assert "broken off" in out(capsys, "info")


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (["origin", "gemm"], "peephole origin KERNEL CAPTURE"),
        (["why", "gemm", "softmax"], "peephole why KERNEL_A KERNEL_B CAPTURE"),
        (["why"], "peephole why KERNEL_A KERNEL_B CAPTURE"),
        (["query", "SELECT 1"], "peephole query SQL CAPTURE"),
    ],
)
def test_a_capture_before_the_words_of_a_command(
    small: Path, capsys: pytest.CaptureFixture[str], command: list[str], usage: str
) -> None:
    words = command[1:] or ["gemm"]
    order = [*words, str(small)] if len(command) == 1 else [str(small), *words]
    assert main([command[0], *order]) == 2
    assert capsys.readouterr().err == f"peephole: {small} is a capture, which comes last: {usage}\n"


def test_words_may_be_longer_than_the_name_of_a_file(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ", ".join(f"{number} AS column_{number}" for number in range(100))
    assert one(capsys, "query", f"SELECT {columns}", str(small))["column_99"] == 99
    assert main(["search", "x" * 300, str(small)]) in (0, 1)
    assert "File name too long" not in capsys.readouterr().err
