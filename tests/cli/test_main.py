"""The front door: help, unknown commands, errors, closed pipes."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from peephole.cli import main as cli
from peephole.errors import PeepholeError
from peephole.store.writer import CaptureWriter


def test_alone_it_explains_itself_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    text = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert f"  {command.name} " in text
    assert "peephole run train.py" in text
    assert max(map(len, text.splitlines())) <= 80


def test_help_is_quick() -> None:
    def once() -> float:
        begun = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-m", "peephole", "--help"], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        # other work on the machine is not ours: no more than it took, no more than it computed
        return min(time.perf_counter() - begun, used.ru_utime + used.ru_stime)

    assert min(once() for _ in range(5)) < 0.150


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from peephole.cli.main import main; main(['--help']); "
        "print([m for m in ('numpy','pyarrow','rich','duckdb','numba','starlette') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_pandas_is_not_loaded_where_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("print('pandas was loaded')\n__version__ = '3.0.0'\n")
    with CaptureWriter(tmp_path / "a.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        writer.append("slices", {"track": [0], "start": [5], "dur": [10], "name": ["k"]})
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}
    for words in (["info"], ["show", "-t"], ["query", "select name from slices"]):
        command = [sys.executable, "-m", "peephole", *words, str(tmp_path / "a.peep")]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
        assert done.stdout
        assert "pandas was loaded" not in done.stdout


@pytest.mark.parametrize("command", cli.COMMANDS, ids=lambda command: command.name)
@pytest.mark.parametrize("width", [80, 200])
def test_every_command_explains_itself(
    command: cli.Command, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit) as exit:
        cli.main([command.name, "--help"])
    assert exit.value.code == 0
    text = capsys.readouterr().out
    assert " ".join(cli.load(command).HELP.split()) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width, "no word is broken by the terminal"


def test_unknown_command_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sho"]) == 2
    assert "did you mean `show`?" in capsys.readouterr().err


def test_an_error_is_one_sentence_with_its_control_characters_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_args: argparse.Namespace) -> int:
        raise PeepholeError("no \x1b[31mred\x07")

    monkeypatch.setattr(cli.load(cli.find("ls")), "run", fail)
    assert cli.main(["ls"]) == 2
    assert capsys.readouterr().err == "peephole: no \\x1b[31mred\\x07\n"


def test_ctrl_c_is_130_and_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.load(cli.find("ls")), "run", interrupt)
    assert cli.main(["ls"]) == 128 + signal.SIGINT
    assert capsys.readouterr().err == ""


def test_a_closed_pipe_is_silent() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "peephole"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", [["info"], ["show", "-i", "a"], ["run"]])
def test_a_name_that_no_file_system_takes(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*command, "x" * 5000]) == 2
    said = capsys.readouterr().err
    assert said.startswith("peephole: xxx") and len(said.splitlines()) == 1 and len(said) < 300
