"""A command that is killed while it writes a file leaves nothing of it, and what was there before stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.timeline_capture import write_timeline

SLOW = """
import sys, time
from peephole.cli.main import main
def slowly(write):
    def call(*args, **kwargs):
        write(*args, **kwargs)
        print("written", flush=True)
        time.sleep(60)
    return call
if sys.argv[1] == "export":
    import peephole.render.chrome as chrome
    chrome.write_chrome = slowly(chrome.write_chrome)
elif sys.argv[1] == "pack":
    import zipfile
    zipfile.ZipFile.write = slowly(zipfile.ZipFile.write)
else:
    from matplotlib.figure import Figure
    Figure.savefig = slowly(Figure.savefig)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def given(tmp_path: Path, tape_line: Any) -> dict[str, Path]:
    lines = [
        tape_line(1 + n / 10, n + 1, "RECV", "CLIENT CLIENT 00bb", "GetData", "9B", f"tensor_id={n}") for n in range(4)
    ]
    (tmp_path / "t.log").write_text("".join(lines))
    capture = write_timeline(tmp_path / "c.peep")
    return {"export": capture, "pack": capture, "visualize": tmp_path / "t.log"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("export", "o.json"),
        ("export", "o.json.gz"),
        ("visualize", "o.png"),
        ("visualize", "o.svg"),
        ("pack", "o.peep.zip"),
    ],
)
def test_nothing_is_left(given: dict[str, Path], tmp_path: Path, command: str, name: str, number: int) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("before")
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path / "captures")}
    arguments = [sys.executable, "-c", SLOW, command, str(given[command]), "-o", str(out / name)]
    with subprocess.Popen(arguments, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.send_signal(number)
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == "before"
