"""`peephole demo` and VIZ's language in `peephole show`, on a real recording of a real tinygrad."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from peephole.cli.called import called
from peephole.cli.main import main
from peephole.query.capture.names import tracks
from peephole.store.capture import open_capture


class Demo(NamedTuple):
    path: Path
    output: str

    @property
    def other(self) -> Path:
        return self.path.with_name("demo-tanh.peep")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, recorded once, on the device that is everywhere."""
    folder = tmp_path_factory.mktemp("demo")
    path = folder / "demo.peep"
    on_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "STEPS": "3", "DEV": "PYTHON", "PEEPHOLE_DIR": str(folder), "NO_COLOR": "1", "PATH": on_path}
    done = subprocess.run(
        [sys.executable, "-m", "peephole", "demo", "-o", str(path)],
        env={name: value for name, value in env.items() if name != "COLUMNS"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Demo(path, done.stdout)


def records(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    assert main(["show", *map(str, arguments), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_summary_shows_the_training(demo: Demo) -> None:
    assert re.search(r"loss \d\.\d+ -> \d\.\d+", demo.output)
    assert "tinygrad 0." in demo.output
    assert re.search(r"\d+ compilations, [\d,]+ passes, [\d,]+ rewrites; [\d,]+ slices, \d+ buffers", demo.output)
    assert f"peephole serve {demo.path} {demo.other}" in demo.output


def test_commands_to_type_work_where_the_path_does_not_lead_to_peephole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = Path(sys.executable).with_name("peephole")
    monkeypatch.setenv("PATH", str(script.parent))
    assert called() == "peephole"
    (tmp_path / "peephole").write_text("#!/bin/sh\n")
    (tmp_path / "peephole").chmod(0o755)
    for elsewhere in (tmp_path, tmp_path / "nowhere"):
        monkeypatch.setenv("PATH", str(elsewhere))
        monkeypatch.chdir(script.parent.parent)
        assert called() == os.path.join("bin", "peephole")  # noqa: PTH118 - as one types it
        monkeypatch.chdir(tmp_path)
        assert shlex.split(called()) == [str(script)]


def test_an_interpreters_speed_is_not_shown(demo: Demo) -> None:
    assert "apt-get install clang" in demo.output
    assert "FLOPS" not in demo.output
    assert re.search(r"^matches +total +mean +contexts +rule", demo.output, re.MULTILINE)


def test_it_says_in_four_lines_what_to_click_first(demo: Demo) -> None:
    lines = demo.output.split("What to click first in the page\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == ["Rewrites", "Timeline", "Memory", "Compare"]


def test_there_is_a_second_capture_to_compare_with(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(demo.path), str(demo.other), "--json"]) == 1
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    assert kernels["changed"], "the other activation is in some kernels"
    assert kernels["same"], "and not in others"
    assert main(["diff", str(demo.path), str(demo.other)]) == 1
    parting = capsys.readouterr().out.split("Where they part: ")[1].splitlines()
    assert re.match(r"[1-9]\d* of their own", parting[0]), "what follows from others begins somewhere"
    assert "Callify" in parting[1], "the change is in the program, so that the first graph differs already"


def test_the_capture_has_the_compilation_and_the_run(demo: Demo) -> None:
    capture = open_capture(demo.path)
    assert capture.manifest.clean
    for table in ("slices", "contexts", "steps", "matches", "nodes", "artifacts", "buffers", "uses", "markers"):
        assert capture.count(table) > 0, table
    assert {"USER", "TINY", "PYTHON"} <= {track.name for track in tracks(capture)}
    names = list(capture.read("markers", ["name"]).texts("name"))
    assert names == ["TRAIN", "step 0", "step 1", "step 2", "EVALUATE", "END"]


def test_sources_are_vizs(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [row["source"] for row in records(capsys, demo.path, "--ls")]
    assert sources[0] == "ALL"
    assert {"USER", "TINY", "PYTHON", "PYTHON Memory"} <= set(sources)


def test_intervals_by_the_programs_markers(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    trained = records(capsys, demo.path, "-s", "PYTHON", "--interval", "TRAIN", "EVALUATE")
    everything = records(capsys, demo.path, "-s", "PYTHON")
    assert 0 < len(trained) < len(everything)
    assert trained[0]["name"] == "TRAIN"


def test_a_schedule_and_a_kernel_by_name(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    events = records(capsys, demo.path, "-s", "TINY")
    schedule = next(e["name"] for e in events if e["name"].startswith("Schedule"))
    found = records(capsys, demo.path, "-s", "TINY", "-i", schedule)
    assert found[0]["kind"] == "context"
    assert found[0]["context_kind"] == "schedule"
    assert any(item["kind"] == "step" and item["matches"] for item in found)
    kernels = [e for e in records(capsys, demo.path, "-s", "PYTHON") if e.get("context") is not None]
    assert kernels, "kernels link to the compilation that made them"
    steps = [s["name"] for s in records(capsys, demo.path, "-i", kernels[0]["name"]) if s["kind"] == "step"]
    assert "View Base AST" in steps
    assert main(["show", str(demo.path), "-s", "TINY", "-i", schedule[:-1] + "999"]) == 2
    assert "did you mean 'Schedule" in capsys.readouterr().err


def test_debug_levels(demo: Demo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = next(e for e in records(capsys, demo.path, "-s", "PYTHON") if e.get("context") is not None)["name"]

    def kinds(level: int) -> dict[str, int]:
        monkeypatch.setenv("DEBUG", str(level))
        count: dict[str, int] = {}
        for item in records(capsys, demo.path, "-s", "PYTHON", "-i", kernel):
            kind = item["artifact"] if item["kind"] == "artifact" else item["kind"]
            count[kind] = count.get(kind, 0) + 1
        return count

    three, four, five, six, seven = (kinds(level) for level in (3, 4, 5, 6, 7))
    assert three["node"] > 0
    assert "source" not in three
    assert four["source"] > 0
    assert five["step"] > 0
    assert six["node"] > five["node"] >= three["node"]
    assert "match" not in six
    assert seven["match"] > 0
