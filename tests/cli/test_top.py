"""`peephole top`: a tape that grows, a capture without workers."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.cli.top_tape import TapeFile, can_follow
from peephole.ingest import import_files
from peephole.query.tape.now import Now, now_of
from peephole.query.tape.tape import tape
from peephole.store.capture import open_capture

Line = Callable[..., str]
TITLE = "=" * 100 + "\nGT2 Dispatcher Instruction Stream\nStarted: 2026-01-02 03:04:05\n" + "=" * 100 + "\n"


def work(line: Line, first: int, commands: int, at: float = 1.0) -> str:
    """Commands of five events each, on two workers in turns."""
    lines = []
    client = "CLIENT CLIENT 00bb"
    for i in range(commands):
        seq, now, worker = first + 5 * i, at + i / 100, f"WORKER w{i % 2}"
        facts = f"result={i} op={'matmul' if i % 3 else 'add'} left=1 right=2"
        lines += [
            line(now, seq, "RECV", client, "BinaryOp", "110B", facts),
            line(now, seq + 1, "MODIFIER_INJECT", client, "BinaryOp", "", facts),
            line(now, seq + 2, "WORKER_SEND", worker, "WorkerBinaryOp", "195B", facts),
            line(now + 0.004, seq + 3, "WORKER_RECV", worker, "WorkerBinaryOp", "91B", f"success={i != 7}"),
            line(now + 0.005, seq + 4, "SEND", client, "BinaryOp", "91B", "success=True"),
        ]
    return "".join(lines)


def registered(line: Line) -> str:
    return TITLE + "".join(
        line(0.1, i + 1, "RECV", f"CLIENT CLIENT 00a{i}", "RegisterWorker", "85B", f"worker_id=w{i}") for i in range(2)
    )


def whole(path: Path, folder: Path) -> Now:
    return now_of(tape(open_capture(import_files([path], folder / "whole.peep"))), False)


def test_a_growing_tape_is_read_once(tmp_path: Path, tape_line: Line) -> None:
    """In many parts, cut anywhere, it gives what the whole gives."""
    path = tmp_path / "grows.log"
    data = (registered(tape_line) + work(tape_line, 3, 900)).encode()
    path.write_bytes(b"")
    file = TapeFile(path)
    assert file.poll().workers == ()
    with path.open("ab") as out:
        for at in range(0, len(data), 33_331):
            out.write(data[at : at + 33_331])
            out.flush()
            now = file.poll()
    other = whole(path, tmp_path)
    assert now.words.startswith("4,502 events, 2 workers, 9.995 s, ")
    for a, b in zip(now.workers, other.workers, strict=True):
        assert (a.name, a.events, a.bytes_in, a.bytes_out, a.failures, a.running, a.bound) == (
            b.name, b.events, b.bytes_in, b.bytes_out, b.failures, b.running, b.bound,
        )  # fmt: skip
        assert a.busy == pytest.approx(b.busy)
    assert now.busiest == other.busiest
    assert sum(worker.failures for worker in now.workers) == 1


def test_an_answer_that_stands_before_its_batch_may_be_cut_off_from_it(tmp_path: Path, tape_line: Line) -> None:
    """Read line by line, so that every pair is cut once: operations and busy time are those of the whole."""
    path = tmp_path / "grows.log"
    client, lines = "CLIENT CLIENT 00bb", [registered(tape_line)]
    for i in range(12):
        seq, at, worker = 3 + 4 * i, 1 + i / 10, f"WORKER w{i % 2}"
        name = "UnaryOp" if i % 3 else "FreeTensor"
        lines += [
            tape_line(at, seq, "RECV", client, name, "72B", f"tensor_id={i}"),
            tape_line(at + 0.03, seq + 1, "WORKER_RECV", worker, "WorkerBatch", "91B", "success=True"),
            tape_line(at + 0.03, seq + 2, "WORKER_SEND", worker, "WorkerBatch", "131B", f"[1 cmds: Worker{name}]"),
            tape_line(at + 0.04, seq + 3, "SEND", client, name, "91B", "success=True"),
        ]
    path.write_text(lines[0])
    file = TapeFile(path)
    with path.open("a") as out:
        for line in lines[1:]:
            out.write(line)
            out.flush()
            now = file.poll()
    other = whole(path, tmp_path)
    assert {op for op, _, _ in other.busiest} == {"UnaryOp", "FreeTensor"}
    assert now.busiest == other.busiest
    assert [worker.busy for worker in now.workers] == pytest.approx([worker.busy for worker in other.workers])
    assert [worker.running for worker in now.workers] == [worker.running for worker in other.workers]


def test_only_what_is_new_is_read(tmp_path: Path, tape_line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.cli import top_tape

    path = tmp_path / "grows.log"
    path.write_text(registered(tape_line) + work(tape_line, 3, 2000))
    sizes: list[int] = []
    real = top_tape._tape

    def counted(lines: list[bytes], run: int | None = None) -> Any:
        sizes.append(len(lines))
        return real(lines, run)

    monkeypatch.setattr(top_tape, "_tape", counted)
    file = TapeFile(path)
    file.poll()
    file.poll()
    with path.open("a") as out:
        out.write(work(tape_line, 10_003, 1, 99.0))
    now = file.poll()
    assert now.words.startswith("10,007 events, 2 workers, 99.005 s")
    assert sizes == [
        10_005,  # all but the rule above the title
        top_tape.CONTEXT + 2 + 5,
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_only_lines_of_bytes_are_followed(tmp_path: Path, tape_line: Line, encoding: str) -> None:
    text = "".join(tape_line(n, n, "RECV", "CLIENT CLIENT 00aa", "GetData", "9B") for n in range(1, 9))
    path = tmp_path / "t"
    path.write_text(text)
    assert can_follow(path)
    path.write_bytes(text.encode(encoding))
    assert not can_follow(path)


def test_another_run_begins_anew(tmp_path: Path, tape_line: Line) -> None:
    path = tmp_path / "grows.log"
    path.write_text(registered(tape_line) + work(tape_line, 3, 40))
    file = TapeFile(path)
    file.poll()
    with path.open("a") as out:
        out.write(registered(tape_line) + work(tape_line, 3, 1))
    assert file.poll().words.startswith("7 events, 2 workers, 1.005 s")
    path.write_text(registered(tape_line))
    assert file.poll().words.startswith("2 events, 2 workers")


def test_in_a_terminal_it_goes_on(tmp_path: Path, tape_line: Line) -> None:
    path = tmp_path / "grows.log"
    path.write_text(registered(tape_line) + work(tape_line, 3, 10))
    mine, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "peephole", "top", str(path), "-n", "0.1"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "PEEPHOLE_DIR": str(tmp_path / "kept"), "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = ""

    def until(words: str) -> None:
        nonlocal seen
        end = time.monotonic() + 60
        while words not in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", seen):
            assert time.monotonic() < end, seen[-2000:]
            if select.select([mine], [], [], 1)[0]:
                seen += os.read(mine, 1 << 16).decode()

    try:
        until("52 events, 2 workers")
        with path.open("a") as out:
            out.write(work(tape_line, 53, 4, 2.0))
        until("72 events, 2 workers")
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=120)
    finally:
        child.kill()
        child.communicate()
        os.close(mine)
    assert child.returncode in (0, 130), errors
    assert b"Traceback" not in errors
    assert not list(tmp_path.glob("kept/imported/*"))  # nothing is kept of what was only looked at


def test_json_without_workers_is_one_object(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", str(small), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["workers"] == 0
    assert {"name": "gemm", "events": 2, "ns": 3_000} in found["operations"]


def test_without_workers_one_blank_line_stands_before_the_operations(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", str(small)]) == 0
    said = capsys.readouterr().out
    assert "gemm" in said
    assert "\n\n\n" not in said
