"""Wheel and sdist as a stranger gets them: built, put into an empty environment, and tried there without Node."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import peephole
for step in range(3):
    with peephole.span("step"):
        sum(range(1000))
print("done")
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling builds it; `make test` has it"),
    pytest.mark.skipif(os.name != "posix", reason="the environment is laid out as on Linux and macOS"),
]


@dataclass
class Empty:
    """An environment with Peephole and what it declares to need, and nothing else; no Node on its PATH."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PEEPHOLE", "PIP"))}
        home = str(self.folder / "home")
        return {**kept, "PATH": str(self.folder / "bin"), "PEEPHOLE_DIR": home, "HOME": home, "PIP_NO_INDEX": "1"}

    def run(self, *command: str, code: int = 0) -> str:
        """What a command of the environment prints."""
        done = subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, f"{command} ended with {done.returncode}: {done.stderr[-2000:]}"
        return done.stdout

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found


def _needed(name: str, known: set[str]) -> set[str]:
    """A distribution and all that it asks for."""
    key = name.lower().replace("_", "-")
    if key not in known:
        known.add(key)
        for text in importlib.metadata.requires(name) or []:
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                _needed(wanted.name, known)
    return known


def _declared(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(path).decode().splitlines()
    known: set[str] = set()
    for line in lines:
        wanted = Requirement(line.removeprefix("Requires-Dist: ")) if line.startswith("Requires-Dist: ") else None
        if wanted is not None and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            _needed(wanted.name, known)
    return known


def _lend(names: set[str], to: Path) -> None:
    """Makes installed distributions visible in another environment, so that nothing is downloaded again."""
    for name in names:
        for file in importlib.metadata.files(name) or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (to / top).exists():
                (to / top).symlink_to(Path(str(importlib.metadata.distribution(name).locate_file(top))))


def _environment(folder: Path, package: Path, lent: set[str]) -> Empty:
    """A new environment with the package from a file, by pip, without the network."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    empty = Empty(folder)
    _lend(lent, empty.packages)
    if package.suffix == ".gz":
        _lend(_needed("hatchling", set()), empty.packages)  # what the sdist is built with; no network to get it from
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-deps"]
    command = [*pip, "--no-build-isolation", "--no-compile", str(package)]
    done = subprocess.run(command, env=empty.env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return empty


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def empty(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Empty:
    """An environment with the wheel."""
    return _environment(tmp_path_factory.mktemp("empty") / "venv", built[0], _declared(built[0]))


@pytest.fixture(scope="module")
def capture(empty: Empty) -> str:
    """A recorded program of that environment."""
    (empty.folder / "program.py").write_text(PROGRAM)
    assert "done" in empty.run("peephole", "run", "--no-view", "-o", "program.peep", "program.py")
    return "program.peep"


def test_both_are_small_and_have_the_page_but_no_test_data(built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    assert "peephole/server/static/index.html" in inside and "peephole-startup.pth" in inside
    assert "src/peephole/server/static/index.html" in source and "LICENSE" in source and "web/src/main.ts" in source
    assert not [name for name in inside | source if "node_modules" in name or ".venv" in name or "__pycache__" in name]
    assert not [name for name in source if name.startswith(("tests/", "bench/", "fuzz/"))]
    assert wheel.stat().st_size < 4e6 and sdist.stat().st_size < 6e6


def test_the_environment_is_empty_but_for_what_is_declared(empty: Empty) -> None:
    absent = "tinygrad", "torch", "jax", "distributed", "pytest", "mcp"
    code = f"import importlib.util as u; print([name for name in {absent} if u.find_spec(name)])"
    assert empty.run("python", "-c", code) == "[]\n"
    assert empty.run("python", "-c", "import shutil; print(shutil.which('node'), shutil.which('npm'))") == "None None\n"
    where = empty.run("python", "-c", "import peephole; print(peephole.__file__)").strip()
    assert Path(where).is_relative_to(empty.packages), "not this clone"


def test_version_doctor_completion_and_man_page(empty: Empty) -> None:
    assert empty.run("peephole", "--version").startswith(f"peephole {importlib.import_module('peephole').__version__} ")
    said = empty.run("peephole", "doctor")
    assert "pip install" in said and "tinygrad" in said and "✓ page" in said
    for shell in ("bash", "zsh", "fish"):
        assert "peephole" in empty.run("peephole", "completion", shell)
    assert (empty.folder / "share" / "man" / "man1" / "peephole.1").is_file()


def test_a_program_is_recorded_looked_at_asked_and_shared(empty: Empty, capture: str) -> None:
    assert "step" in empty.run("peephole", "show", "-t", capture)
    count = empty.run("peephole", "query", "SELECT count(*) AS n FROM slices WHERE name = 'step'", capture, "--json")
    assert json.loads(count.splitlines()[0]) in ({"n": 3}, [{"n": 3}])
    empty.run("peephole", "share", capture, "-o", "program.html")
    assert "<script" in (empty.folder / "program.html").read_text("utf-8")


def test_a_trace_is_imported(empty: Empty) -> None:
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "name": "matmul"}
    (empty.folder / "trace.json").write_text(json.dumps({"traceEvents": [event]}))
    assert "matmul" in empty.run("peephole", "show", "-t", "trace.json")


def test_the_page_is_served_without_node(empty: Empty, capture: str) -> None:
    command = [str(empty.folder / "bin" / "peephole"), "serve", capture, "--no-open"]
    with subprocess.Popen(command, cwd=empty.folder, env=empty.env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "http://" in line)
            address = line[line.index("http://") :].split()[0]
            with urllib.request.urlopen(address, timeout=120) as reply:
                page = reply.read().decode()
            assert "<title>" in page and ".js" in page
        finally:
            process.terminate()


def test_the_sdist_installs_without_node_and_network(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    empty = _environment(tmp_path / "venv", sdist, _declared(wheel))
    said = empty.run("peephole", "--version")
    assert said.startswith("peephole ")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert names.count("peephole/built_from.txt") <= 1
        commit = archive.read("peephole/built_from.txt").decode() if "peephole/built_from.txt" in names else "unknown"
    assert f"build {commit[:12]}," in said, "the sdist says what the wheel says"
    with zipfile.ZipFile(wheel) as archive:
        page = archive.read("peephole/server/static/index.html")
    assert (empty.packages / "peephole" / "server" / "static" / "index.html").read_bytes() == page
