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
from peephole.server.serving import bind, can_open_browser


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
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (0, "", "")


def test_bad_arguments_are_one_sentence(capture_path: Path, tmp_path: Path) -> None:
    for arguments in (["--port", "70000"], ["--host", "no.such.host.invalid"], [str(tmp_path / "none.peep")]):
        command = [sys.executable, "-m", "peephole", "serve", str(capture_path), *arguments, "--no-open"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
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


def test_run_in_a_terminal_shows_the_capture_when_the_program_has_ended(tmp_path: Path) -> None:
    """As VIZ=1 does. The terminal is a real one; without a screen no browser is started, but the page is served."""
    (tmp_path / "prog.py").write_text("print('done')\n")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "peephole", "run", "-o", "shown.peep", "prog.py"]
    env = {**{k: v for k, v in os.environ.items() if "DISPLAY" not in k}, "PEEPHOLE_DIR": str(tmp_path), "TERM": "dumb"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    text = ""
    try:
        while "(Ctrl-C stops it)" not in text:
            text += os.read(ours, 4096).decode()
        assert "done" in text
        address = text[text.index("http://") :].split()[0]
        with urllib.request.urlopen(f"{address}api/v1/captures") as answer:
            assert b'"shown"' in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_run_elsewhere_prints_the_command_that_would_show_it(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("print('done')\n")
    command = [sys.executable, "-m", "peephole", "run", "-o", "shown.peep", "prog.py"]
    on_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path), "PATH": on_path}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "done\n"
    assert "`peephole serve shown.peep`" in done.stderr


def test_a_raw_file_is_read_while_the_page_loads(tmp_path: Path) -> None:
    tape = tmp_path / "run.log"
    client = "CLIENT CLIENT 00cc"
    tape.write_text(f"  0.100s | #0001 | RECV         | {client:27} | GetData         |         9B | tensor_id=1\n")
    process, lines = start(str(tape), "--port", "0", folder=tmp_path / "kept")
    address = lines[-1].split()[3]
    with urllib.request.urlopen(f"{address}api/v1/captures/run") as answer:
        assert b'"gt"' in answer.read()
    process.send_signal(signal.SIGINT)
    try:
        assert process.communicate(timeout=120) == ("", "")
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0


def test_a_raw_file_that_breaks_off_ends_the_server(tmp_path: Path) -> None:
    bad = tmp_path / "rewrites.pkl"
    bad.write_bytes(
        b"\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94."
    )
    command = [sys.executable, "-m", "peephole", "serve", str(bad), "--no-open", "--port", "0"]
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path / "kept")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "os.system" in done.stderr
    assert not list((tmp_path / "kept").glob("imported/*"))


def test_the_page_and_the_kind_of_a_file_do_not_wait_for_what_reads_captures(tmp_path: Path) -> None:
    tape = tmp_path / "tape.log"
    tape.write_text("  0.001s | #0001 | RECV         | CLIENT CLIENT a                 | BinaryOp        | op=add\n")
    code = f"""
import sys
from pathlib import Path
from peephole import sources
from peephole.server.app import create_app
from peephole.server.library import Library
create_app(Library([Path("x.peep")]))
print(sources.find(Path({str(tape)!r})).name, [name for name in ("numpy", "pyarrow") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "gt []\n"
