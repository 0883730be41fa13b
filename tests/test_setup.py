"""The set-up: what a fresh machine gets, and that the house stays tidy."""

from __future__ import annotations

import importlib.metadata
import os
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import web_build

ROOT = Path(__file__).resolve().parent.parent
STARTUP = ROOT / "packaging" / "peephole-startup.pth"
LONG_FOR_A_REASON: set[str] = set()
"""Files over 500 lines, each with its reason as a comment here."""


def test_ci_runs_make_test() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("target", ["test", "demo", "bench", "format", "clean"])
def test_make_knows_its_targets(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    known_tools = ("ruff", "mypy", "pytest>", "hypothesis")
    for dependency in wanted:
        if not dependency.startswith(known_tools):
            (line, *_) = [line for line in text.splitlines() if f'"{dependency}"' in line]
            assert "#" in line, f"{dependency} has no reason next to it"


def test_the_start_up_line_does_nothing_without_the_variable() -> None:
    line = STARTUP.read_text()
    code = f"import sys; before = set(sys.modules)\n{line}\nprint(sorted(set(sys.modules) - before))"
    env = {key: value for key, value in os.environ.items() if not key.startswith("PEEPHOLE")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert line.count("\n") == 1


def test_the_installation_has_the_start_up_file() -> None:
    try:
        files = importlib.metadata.files("peephole") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("peephole is on the path, not installed; `make test` installs it")
    assert STARTUP.name in [str(file) for file in files]


def test_the_page_is_built_again_only_when_its_sources_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = tmp_path / "web"
    (web / "src").mkdir(parents=True)
    for name in ("package-lock.json", "package.json", "tsconfig.json", "index.html", "src/main.ts"):
        (web / name).write_text(name)
    static = tmp_path / "static"
    built = []

    def npm(*arguments: str, folder: Path = web) -> None:
        built.append(arguments)
        static.mkdir(exist_ok=True)

    monkeypatch.setattr(web_build, "WEB", web)
    monkeypatch.setattr(web_build, "STATIC", static)
    monkeypatch.setattr(web_build, "STAMP", static / ".built")
    monkeypatch.setattr(web_build, "npm", npm)
    web_build.build()
    assert [arguments[0] for arguments in built] == ["ci", "run"]
    web_build.build()
    assert len(built) == 2
    (web / "src" / "main.ts").write_text("changed")
    (web / "node_modules" / "esbuild").mkdir(parents=True)
    web_build.build()
    assert built[2:] == [("run", "--silent", "build")]


def test_files_stay_small() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "web" / "src").rglob("*.ts")]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {name for name, lines in lengths.items() if lines > 500} <= LONG_FOR_A_REASON
    assert statistics.median(lines for lines in lengths.values() if lines > 5) <= 200


def test_no_absolute_machine_path_or_registry_is_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs git and the repository's own folder")
    bad = re.compile(rb"/(?:work|root)/[\w.]|registry\.npmjs|pypi\.org/simple|file://")
    found = []
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix not in (".png",) and path != Path(__file__).resolve():
            found += [f"{name}: {match.group().decode()}" for match in bad.finditer(path.read_bytes())]
    assert found == []


def test_measurements_need_nothing_outside_the_repository(tmp_path: Path) -> None:
    """The programs that they record are here; another folder may have those that older figures are of."""
    from bench import workloads

    for name in ("add", "mnist", "gpt"):
        own = Path(workloads.__file__).with_name("programs") / f"{name}.py"
        assert own.is_file() and workloads.workload(name).is_file()


def test_the_page_of_measurements_is_that_of_their_results() -> None:
    from bench.results_page import PAGE, page

    assert PAGE.read_text("utf-8") == page().rstrip() + "\n", (
        "docs/benchmarks.md is stale: python bench/results_page.py"
    )


def test_measurements_start_in_a_clone() -> None:
    """As `make bench` starts them, with nothing but the root of a clone on the path."""
    from bench.results_page import names
    from bench.short import SHORT

    assert set(SHORT) <= set(names())
    code = f"import importlib\nfor name in {names()}: importlib.import_module(f'bench.{{name}}')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for file in (ROOT / "bench").glob("*.py"):
        assert "import-not-found" not in file.read_text("utf-8"), f"{file.name} finds a helper beside it only"
