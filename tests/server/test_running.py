"""The command itself: ports, stopping, several captures."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from peephole.errors import PeepholeError
from peephole.server.running import bind, can_open_browser


def start(*arguments: str, folder: Path) -> tuple[subprocess.Popen[str], list[str]]:
    """The running command and the lines that it printed until it was up."""
    command = [sys.executable, "-m", "peephole", "serve", *arguments, "--no-open"]
    env = {**os.environ, "PEEPHOLE_DIR": str(folder)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or "Peephole is at" not in lines[-1]:
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        lines.append(line)
    return process, lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_stops_cleanly(capture_path: Path, tmp_path: Path, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process, lines = start(str(capture_path), "--port", str(port), folder=tmp_path)
        assert lines[0] == f"Port {port} is taken; using {port + 1}.\n" or "is taken; using" in lines[0]
        address = lines[-1].split()[3]
        with urllib.request.urlopen(f"{address}api/v1/captures") as answer:
            assert b'"hand"' in answer.read()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (0, "", "")


def test_bad_arguments_are_one_sentence(capture_path: Path, tmp_path: Path) -> None:
    for arguments in (["--port", "70000"], ["--host", "no.such.host.invalid"], [str(tmp_path / "none.peep")]):
        command = [sys.executable, "-m", "peephole", "serve", str(capture_path), *arguments, "--no-open"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr


def test_the_next_free_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with bind("127.0.0.1", port) as sock:
            assert sock.getsockname()[1] > port


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(PeepholeError, match=r"192\.0\.2\.1"):
        bind("192.0.2.1", 8800)


def test_no_browser_is_opened_without_a_terminal() -> None:
    assert not can_open_browser()
