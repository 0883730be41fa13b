"""Every name that a screen prints, and every name that VIZ's documentation uses, can be asked for; and what VIZ's
terminal does with lanes and intervals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.kernels_of_one_name import NAME, OTHER, TOTALS, write_kernels

from peephole.cli.main import main
from peephole.query.capture.info import span
from peephole.query.capture.names import lane_key, missing
from peephole.query.timeline.tracks import range_figures
from peephole.sources.tinygrad.tracks import kind_of, order_of
from peephole.store.capture import open_capture

PROGRAM = """
from tinygrad import Tensor
from tinygrad.helpers import cpu_profile, profile_marker
a = Tensor.empty(34, 34).realize()
profile_marker("train @ 0")
a.sin().realize()
with cpu_profile("my own work", "MINE"):
    a.sum(1).realize()
profile_marker("train @ 1")
a.softmax().realize()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    (folder / "names.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "peephole", "run", "-o", "names.peep", "names.py"],
        cwd=folder,
        env={**os.environ, "DEV": "NULL", "PEEPHOLE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "names.peep"


def shown(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[dict[str, Any]]:
    assert main(["show", *map(str, words), "--json"]) == 0, (words, capsys.readouterr().err)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_printed_name_is_accepted(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {(row["track"], row["name"]) for row in shown(capsys, recorded) if row["kind"] == "slice"}
    for source in [row["source"] for row in shown(capsys, recorded, "--ls")]:
        names |= {(source, row["item"]) for row in shown(capsys, recorded, "-s", source, "--ls") if "item" in row}
    assert len(names) > 60
    for source, name in sorted(names):
        assert main(["show", str(recorded), "-s", source, "-i", name]) == 0, capsys.readouterr().err
    capsys.readouterr()


def test_the_names_of_vizs_documentation(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = shown(capsys, recorded, "-s", "TINY", "-i", "E_34_34", "initial symbolic")
    for name in ("do_to_program for E_34_34", "codegen@E_34_34"):
        assert shown(capsys, recorded, "-s", "TINY", "-i", name, "initial symbolic") == plain
    (source,) = shown(capsys, recorded, "-s", "TINY", "-i", "do_to_program for E_34_34", "View Source")
    assert source["artifact"] == "source" and "E_34_34(" in source["text"]
    (listed,) = shown(capsys, recorded, "-s", "TINY", "-i", "E_34_34", "View UOp List")
    assert listed["artifact"] == "oplist"
    assert shown(capsys, recorded, "-s", "TINY", "-i", "Schedule 3 Kernels n3", "earliest rewrites")


def test_the_nearest_names_whatever_stands_before(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("do_to_program for E_34_33", "codegen@E_34_33", "the kernel E_34_33"):
        assert main(["show", str(recorded), "-s", "TINY", "-i", name, "initial symbolic"]) == 2
        assert "did you mean 'E_34_34'" in capsys.readouterr().err
    several = str(missing("r_34_35", ["r_34_34", "r_34_36", "Callify 1 Buffer n1"], "kernel"))
    assert several.endswith("did you mean 'r_34_36' or 'r_34_34'?")


def test_an_interval_has_both_its_ends(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = shown(capsys, recorded, "--interval", "train @ 0", "train @ 1")
    assert [row["name"] for row in rows if row["kind"] == "marker"] == ["train @ 0", "train @ 1"]


def test_a_lane_of_ones_own_is_host_time(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = {row["source"]: row.get("kind") for row in shown(capsys, recorded, "--ls")}
    assert sources["MINE"] == "host" and sources["NULL"] == "device"
    rows = shown(capsys, recorded)
    (mine,) = [row for row in rows if row["name"] == "my own work"]
    (between,) = [row for row in rows if row["name"] == "train @ 1"]
    inner = [row for row in rows if row["name"].startswith("do_to_program for r_34_34")]
    assert mine["start_ns"] <= inner[0]["start_ns"] <= mine["start_ns"] + mine["dur_ns"] <= between["start_ns"]
    assert main(["info", str(recorded)]) == 0
    assert "clock" not in capsys.readouterr().out


def test_lanes_stand_as_in_viz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEV", "NULL")
    serve = pytest.importorskip("tinygrad.viz.serve")
    names = """GC USER TINY NULL NULL:1 NULL:10 NULL:2 NULL:1:COPY NULL:COPY NULL_Graph NULL:1_Graph NULL_Memory CPU
        NULL:1_Memory DISK DISK:/a CPU_Memory PYTHON AMD AMD:SDMA:1 AMD:SDMA:0 AMD:1:SDMA:0 AMD_Graph AMD:1 MINE CPU:1
        ANOTHER_lane NVIDIA NV NV:COPY METAL DISK_Memory TINYFS usb CPUX AMD_Memory AMD:1_Memory"""
    lanes = [name.replace("_", " ") for name in names.split()]
    ours = sorted(lanes, key=lambda name: (order_of(name), lane_key(kind_of(name), name)))
    assert ours == sorted(lanes, key=serve.device_sort_fn)


def test_top_keeps_kernels_of_one_name_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`show -t` and the timeline's figures have the runs and times that Top, Code and Schedule have."""
    path = write_kernels(tmp_path / "alike.peep")
    assert main(["show", str(path), "-t", "-1", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row["track"] != "TINY":
            runs, total = found.get(row["name"], (0, 0))
            found[row["name"]] = runs + row["count"], total + row["total_ns"]
    assert found == {NAME: TOTALS[0], f"{NAME}#2": TOTALS[1], OTHER: TOTALS[2]}
    assert [row["count"] for row in rows if row["track"] == "TINY" and row["name"] == NAME] == [2], "host code by name"
    assert main(["show", str(path), "-t", "-i", f"{NAME}#2", "--json"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["context"] == 1
    capture = open_capture(path)
    whole = span(capture)
    assert whole is not None
    figures = range_figures(capture, *whole)
    assert {(one.name, one.serial): (one.count, one.total) for one in figures.top} == {
        (NAME, 1): TOTALS[0],
        (NAME, 2): TOTALS[1],
        (OTHER, 1): TOTALS[2],
    }
