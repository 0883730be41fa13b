"""A capture is its owner's: who may read it, and what of the command line is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peephole.record.secrets import kept
from peephole.store.capture import open_capture


def open_to_others(path: Path) -> list[str]:
    """What of a capture somebody else could read."""
    if path.stat().st_mode & 0o077 == 0:
        return []
    return [str(path)]


def run(words: list[str], tmp_path: Path, **variables: str) -> Any:
    environment = {**os.environ, "PEEPHOLE_DIR": str(tmp_path / "new" / "captures"), **variables}
    command = f"umask 022; exec {' '.join(words)}"
    return subprocess.run(
        ["sh", "-c", command], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
    )


CODE = "-c 'import peephole, os; peephole.span(\"a\").__enter__(); {end}'"


@pytest.mark.parametrize("how", ["run", "variable", "record", "killed", "import"])
def test_folders_and_manifests_are_for_their_owner_alone(how: str, tmp_path: Path) -> None:
    peephole = f"{Path(sys.executable).parent / 'peephole'}"
    if how == "run":
        run([peephole, "run", "--no-view", "--", sys.executable, CODE.format(end="pass")], tmp_path)
    elif how == "record":
        code = "import peephole; peephole.record().__enter__()"
        run([sys.executable, "-c", f"'{code}'"], tmp_path)
    elif how == "import":
        trace = '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}'
        (tmp_path / "trace.json").write_text(trace)
        run([peephole, "import", "trace.json"], tmp_path)
    else:
        end = "os._exit(0)" if how == "killed" else "pass"
        run([sys.executable, CODE.format(end=end)], tmp_path, PEEPHOLE="1")
    folder = tmp_path / "new" / "captures"
    (capture,) = folder.glob("*.peep")
    inside = [capture, *capture.rglob("*")]
    assert [path for path in (folder, *inside) if open_to_others(path)] == []
    assert (how == "killed") == (capture / "journal").is_dir()


def test_secrets_in_args_are_masked(tmp_path: Path) -> None:
    script = tmp_path / "it.py"
    script.write_text(
        """
import peephole
with peephole.span("a", password="hunter2", api_key="k-1", tokens=5, token="the", step=1) as span:
    span.note(hf_token="0123456789abcdefXYZ")
peephole.marker("b", user="me", db_password="hunter2")
peephole.marker("c", auth_token="0123456789abcdefXYZ", author="somebody with a long name")
"""
    )
    run([f"{Path(sys.executable).parent / 'peephole'}", "run", "-o", "a.peep", str(script)], tmp_path)
    capture = open_capture(tmp_path / "a.peep")
    (args,) = capture.read("slices").texts("args")
    assert json.loads(args or "") == {
        "password": "***", "api_key": "***", "tokens": 5, "token": "the", "step": 1, "hf_token": "***"
    }  # fmt: skip
    markers = [json.loads(text or "") for text in capture.read("markers").texts("args")]
    assert markers == [
        {"user": "me", "db_password": "***"},
        {"auth_token": "***", "author": "somebody with a long name"},
    ]


def test_what_looks_like_a_secret_is_masked(tmp_path: Path) -> None:
    script = tmp_path / "it.py"
    script.write_text("import peephole\nwith peephole.span('a'): pass")
    words = [
        "--password=one2",
        "--hf-token",
        "three4",
        "--tokenizer",
        "gpt2",
        "https://me:five6@host/x",
        "API_KEY=seven8",
    ]
    run([sys.executable, str(script), *words], tmp_path, PEEPHOLE="1")
    (capture,) = (tmp_path / "new" / "captures").glob("*.peep")
    text = (capture / "manifest.json").read_text()
    assert not [secret for secret in ("one2", "three4", "five6", "seven8") if secret in text]
    argv = json.loads(text)["argv"]
    assert argv[1:] == [
        "--password=***",
        "--hf-token",
        "***",
        "--tokenizer",
        "gpt2",
        "https://me:***@host/x",
        "API_KEY=***",
    ]


def test_a_variable_keeps_all_arguments_out(tmp_path: Path) -> None:
    script = tmp_path / "it.py"
    script.write_text("import peephole\nwith peephole.span('a'): pass")
    run([sys.executable, str(script), "patient-0815"], tmp_path, PEEPHOLE="1", PEEPHOLE_ARGS="0")
    (capture,) = (tmp_path / "new" / "captures").glob("*.peep")
    text = (capture / "manifest.json").read_text()
    assert "patient-0815" not in text and json.loads(text)["argv"] == [str(script)]


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        (["--token", "--verbose"], ["--token", "--verbose"]),
        (["--max-tokens", "5", "--token-count", "3"], ["--max-tokens", "5", "--token-count", "3"]),
        (["--password-file", "x"], ["--password-file", "x"]),
        (["-H", "Authorization: Bearer abc.def"], ["-H", "Authorization: Bearer ***"]),
        (["sk-abcdefghijklmnopqrstuv"], ["***"]),
        (["--api-key", "k", "--secret", "s", "--auth", "a"], ["--api-key", "***", "--secret", "***", "--auth", "***"]),
        (["monkey=1", "keyboard=2", "author=me"], ["monkey=1", "keyboard=2", "author=me"]),
    ],
)
def test_which_words_are_secrets(words: list[str], masked: list[str]) -> None:
    assert kept(["it.py", *words]) == ["it.py", *masked]


def test_the_command_line_of_every_kind_of_program_is_known(tmp_path: Path) -> None:
    environment = {**os.environ, "PEEPHOLE": "1", "PEEPHOLE_DIR": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-m", "timeit", "-n", "1", "pass"], env=environment, check=True, capture_output=True
    )
    subprocess.run([sys.executable, "-c", "pass", "x"], env=environment, check=True, capture_output=True)
    manifests = {
        path.name.split("-")[0]: json.loads((path / "manifest.json").read_text()) for path in tmp_path.glob("*.peep")
    }
    assert set(manifests) == {"timeit", "python"}
    assert manifests["timeit"]["program"] == "timeit"
