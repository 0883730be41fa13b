"""`peephole doctor`, `completion`, `--version`: what a new user asks first."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from peephole import __version__, machine
from peephole.cli.main import COMMANDS, load, main, parser_of
from peephole.model.checkout import built_from
from peephole.model.tables import FORMAT_VERSION

ROOT = Path(__file__).resolve().parent.parent.parent


def test_what_is_installed_is_found_with_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    import tinygrad

    assert rows["tinygrad"]["works"] and tinygrad.__name__ in rows["tinygrad"]["gives"]
    assert rows["Python"]["version"] == sys.version.split()[0]
    assert {"group", "name", "version", "works", "gives", "get", "problem"} == set(rows["torch"])


def test_what_is_missing_comes_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "_RECORDED", (machine._Package("no_such_framework", (3, 1), "nothing"),))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "pip install 'no_such_framework>=3.1'" in out and "apt-get install clang" in out


def test_a_framework_that_is_too_old_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_RECORDED", (machine._Package("numpy", (99, 0), "nothing"),))
    (part,) = [part for part in machine.parts() if part.name == "numpy"]
    assert not part.works and "99.0 or newer" in part.problem


def test_a_tool_that_hangs_or_prints_nothing_is_there_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, body in (("clang", "exec sleep 60"), ("g++", "echo no number")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(machine, "_PATIENCE", 0.2)
    monkeypatch.setattr(machine, "_TOOLS", machine._TOOLS[:2])
    assert {part.name: part.version for part in machine.parts() if part.group == "tool"} == {
        "clang": "there",
        "g++": "there",
    }


def test_the_version_names_release_and_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"peephole {__version__} (format {FORMAT_VERSION}, build ")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert f"build {head[:12] or 'unknown'}, CPython " in out


def test_a_package_outside_of_a_clone_says_what_its_wheel_was_built_from(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "peephole"
    package.mkdir(parents=True)
    assert built_from(package) is None
    (package / "built_from.txt").write_text("not a commit\n")
    assert built_from(package) is None
    (package / "built_from.txt").write_text("0123456789abcdef0123456789abcdef01234567\n")
    assert built_from(package) == "0123456789ab"


def completed(script: Path, words: list[str], folder: Path) -> list[str]:
    """What bash offers for the last of these words."""
    code = f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _peephole; printf \'%s\\n\' "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", code, "bash", *words],
        env={"PEEPHOLE_DIR": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_choices_and_captures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    folder = tmp_path / "captures"
    for name in ("mnist.peep", "$(touch ran).peep", "two words.peep"):
        (folder / name).mkdir(parents=True)
    assert completed(script, ["peephole", "ex"], folder) == ["export"]
    for command in COMMANDS:
        wanted = {word for a in parser_of(command, load(command))._actions for word in a.option_strings}
        assert set(completed(script, ["peephole", command.name, "-"], folder)) == wanted
    assert "chrome" in completed(script, ["peephole", "export", "--format", ""], folder)
    assert completed(script, ["peephole", "completion", "f"], folder) == ["fish"]
    assert "mnist" in completed(script, ["peephole", "show", "mn"], folder)
    assert "$(touch ran)" in completed(script, ["peephole", "show", "$"], folder)
    assert not (folder / "ran").exists(), "a name was run"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_name_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(f"{command.name}" in out for command in COMMANDS)
    assert "--json" in out or "-l json" in out


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
def test_the_manual_page_is_one() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "peephole.1"
    done = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True, check=True)
    assert done.stderr == "" and all(f"peephole {command.name}" in done.stdout for command in COMMANDS)
