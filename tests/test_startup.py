"""PEEPHOLE=1: recording with nothing but the variable, and what it costs without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from peephole.store.capture import open_capture

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def python(tmp_path: Path, capture_dir: Path) -> Any:
    """Runs Python with PEEPHOLE=1 and gives what it did."""

    def run(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PEEPHOLE": "1", **variables},
        )

    return run


def captures(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.peep"))


def test_the_variable_alone_records_and_seals(python: Any, capture_dir: Path) -> None:
    done = python("-c", "import peephole\nwith peephole.span('it'): print('out')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "")
    (path,) = captures(capture_dir)
    assert json.loads((path / "manifest.json").read_text())["state"] == "sealed"
    assert list(open_capture(path).read("slices", ["name"]).texts("name")) == ["it"]


@pytest.mark.parametrize("value", ["", "0", "no", "off", "False"])
def test_off_is_off(value: str, python: Any, capture_dir: Path) -> None:
    code = "import sys; print('peephole.record.recorder' in sys.modules)"
    assert python("-c", code, PEEPHOLE=value).stdout == "False\n"
    assert captures(capture_dir) == []


def test_without_the_variable_nothing_of_ours_is_loaded() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PEEPHOLE")}
    code = "import sys; print([name for name in sys.modules if 'peephole' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[]\n"
    (line,) = (ROOT / "packaging" / "peephole-startup.pth").read_text().splitlines()
    import timeit

    # what site does with the line at every start of Python
    code_object = compile(line, "x.pth", "exec")
    assert "PEEPHOLE" not in os.environ
    assert min(timeit.repeat(lambda: exec(code_object), number=100, repeat=20)) / 100 < 50e-6


def test_a_place_that_cannot_be_written_is_said_and_the_program_runs(python: Any) -> None:
    code = "import subprocess, sys; print('ran', flush=True); subprocess.run([sys.executable, '-c', 'print(1)'])"
    done = python("-c", code, PEEPHOLE_DIR="/proc/nowhere")
    assert (done.returncode, done.stdout) == (0, "ran\n1\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("peephole: Cannot write /proc/nowhere") and line.endswith("The program runs unrecorded.")


def test_processes_join_the_capture_of_the_first(python: Any, capture_dir: Path) -> None:
    code = """
    import subprocess, sys, peephole
    with peephole.span("parent"):
        for _ in range(2):
            subprocess.run([sys.executable, "-c", "import peephole\\nwith peephole.span('child'): pass"], check=True)
    """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    (path,) = captures(capture_dir)
    capture = open_capture(path)
    assert sorted(map(str, capture.read("slices", ["name"]).texts("name"))) == ["child", "child", "parent"]
    assert all(facts["clean"] for facts in capture.manifest.processes)


def test_a_capture_that_is_sealed_is_said_and_the_program_runs(python: Any, capture_dir: Path) -> None:
    python("-c", "pass")
    (path,) = captures(capture_dir)
    code = "import peephole\nwith peephole.span('late'): print('ran')"
    done = python("-c", code, PEEPHOLE_CAPTURE=str(path))
    assert (done.returncode, done.stdout) == (0, "ran\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"peephole: PEEPHOLE_CAPTURE names {path}, which is sealed by now")
    assert line.endswith("The program runs unrecorded.")
    assert open_capture(path).count("slices") == 0
    assert captures(capture_dir) == [path]


@pytest.mark.parametrize("place", ["file", "nothing", "no journal", "read-only"])
def test_a_capture_that_cannot_be_used_is_said(place: str, python: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.peep"
    if place == "file":
        path.write_text("no capture")
    elif place != "nothing":
        path.mkdir()
        (path / "manifest.json").write_text('{"format": 2, "state": "recording"}')
    if place == "read-only":
        (path / "journal").symlink_to("/proc/self")  # a folder in which nobody can make anything
    done = python("-c", "print('ran')", PEEPHOLE_CAPTURE=str(path))
    assert (done.returncode, done.stdout) == (0, "ran\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"peephole: PEEPHOLE_CAPTURE names {path}, wh"), line
    assert line.endswith("The program runs unrecorded.") and ("cannot be written" in line) == (place == "read-only")


@pytest.mark.parametrize("where", ["PYTHONPATH", "beside the script", "folder"])
def test_another_module_of_that_name_is_said_and_is_the_programs(
    where: str, python: Any, capture_dir: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    script = tmp_path / "scripts" / "it.py"
    script.parent.mkdir()
    script.write_text("import peephole; print(peephole.mine)")
    if where == "PYTHONPATH":
        (other / "peephole.py").write_text("mine = 3; print('loaded')")
        done = python(script, PYTHONPATH=str(other))
    elif where == "folder":
        (other / "peephole").mkdir()
        (other / "peephole" / "__init__.py").write_text("mine = 3; print('loaded')")
        done = python(script, PYTHONPATH=str(other))
    else:
        (script.parent / "peephole.py").write_text("mine = 3; print('loaded')")
        done = python(script)
    assert (done.returncode, done.stdout) == (0, "loaded\n3\n"), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("peephole: ") and "another module named peephole" in line
    assert line.endswith("The program runs unrecorded.")
    assert captures(capture_dir) == []


def test_a_capture_that_is_not_there_is_said_once(python: Any, capture_dir: Path, tmp_path: Path) -> None:
    code = "import subprocess, sys; print('ran', flush=True); subprocess.run([sys.executable, '-c', 'print(1)'])"
    done = python("-c", code, PEEPHOLE_CAPTURE=str(tmp_path / "never.peep"))
    assert (done.returncode, done.stdout, captures(capture_dir)) == (0, "ran\n1\n", [])
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"peephole: PEEPHOLE_CAPTURE names {tmp_path / 'never.peep'}, where no capture is being")
    assert line.endswith("The program runs unrecorded.")


def test_peephole_does_not_record_itself(python: Any, capture_dir: Path) -> None:
    assert python("-m", "peephole", "--help").returncode == 0
    assert captures(capture_dir) == []


def test_a_run_of_pytest(python: Any, capture_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("import peephole\n@peephole.span('the test')\ndef test_it(): pass\n")
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert done.returncode == 0 and "1 passed" in done.stdout
    (path,) = captures(capture_dir)
    assert path.name.startswith("pytest-")
    assert list(open_capture(path).read("slices", ["name"]).texts("name")) == ["the test"]


@pytest.mark.parametrize(
    "options", [["-m", "tool"], ["-mtool"], ["-Bm", "tool"], ["-W", "error", "-Xdev", "-m", "tool"]]
)
def test_a_module_is_called_by_its_name(options: list[str], python: Any, capture_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("import sys; print(sys.argv[1:])")
    assert python(*options, "-q", "-m", "x").stdout == "['-q', '-m', 'x']\n"
    (path,) = captures(capture_dir)
    manifest = open_capture(path).manifest
    assert path.name.startswith("tool-") and (manifest.program, manifest.argv) == ("tool", ["tool", "-q", "-m", "x"])


def test_a_recording_inside_a_recorded_program_goes_into_the_same_capture(python: Any, capture_dir: Path) -> None:
    code = "import peephole\nwith peephole.record('inner.peep') as r:\n  with peephole.span('a'): print(r.path)"
    done = python("-c", code)
    (path,) = captures(capture_dir)
    assert done.stdout.strip() == str(path)
    assert open_capture(path).count("slices") == 1


ATTACH = """
import sys
calls = []
def prepare():
    calls.append(("prepare", sorted(name for name in sys.modules if name.startswith("tinygrad"))))
def attach(recorder):
    calls.append(("attach", "tinygrad.uop.ops" in sys.modules, type(recorder).__name__))
    if len(calls) == 3:
        raise RuntimeError("unlike what we know")
"""


def test_sources_attach_to_a_framework_when_it_is_imported(python: Any, capture_dir: Path, tmp_path: Path) -> None:
    # a stand-in for the framework: what is tested is when we are called
    package = tmp_path / "tinygrad"
    (package / "uop").mkdir(parents=True)
    (package / "__init__.py").write_text("from tinygrad.uop import ops\nfrom tinygrad import device\n")
    (package / "uop" / "__init__.py").touch()
    (package / "uop" / "ops.py").write_text("import sys; assert 'their_attach' in sys.modules\nX = 1\n")
    (package / "device.py").touch()
    (tmp_path / "their_attach.py").write_text(ATTACH)
    code = """
    import sys
    sys.path.insert(0, "")
    import peephole.startup as startup
    startup.FRAMEWORKS = (startup.Framework("tinygrad", "their_attach", ("tinygrad.uop.ops", "tinygrad.device")),)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, startup._Watch)]
    from peephole.record import active
    startup.watch(active.recorder)
    import tinygrad, their_attach
    assert tinygrad.uop.ops.X == 1 and tinygrad.uop.ops.__spec__.loader.get_source("tinygrad.uop.ops")
    print(their_attach.calls)
    """
    done = python("-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([("prepare", []), ("attach", True, "Recorder"), ("attach", True, "Recorder")])
    (path,) = captures(capture_dir)
    (problem,) = open_capture(path).manifest.problems
    assert "tinygrad could not be attached (attach): RuntimeError: unlike what we know" in problem["reason"]


def test_importing_peephole_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import peephole; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['__future__', 'peephole']\n"


def test_what_runs_inside_a_program_is_small(python: Any) -> None:
    code = "import sys; print([n for n in ('numpy', 'pyarrow', 'asyncio', 'subprocess') if n in sys.modules])"
    assert python("-c", "import peephole\npeephole.span('x').__enter__()\n" + code).stdout == "[]\n"
