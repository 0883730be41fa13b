"""`peephole show`: events, top, sources, intervals, items, JSON, narrow terminals, hostile names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.query.capture.names import missing
from peephole.store.writer import CaptureWriter


def show(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(["show", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def records(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in show(capsys, *arguments, "--json").splitlines()]


def test_events_come_in_time_order_with_track_duration_start_and_nesting(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = show(capsys, small).splitlines()
    assert [line.split()[-1] for line in lines[:4]] == ["epoch", "forward", "START", lines[3].split()[-1]]
    assert lines[0].split() == ["0.000", "ms", "20.00", "µs", "USER", "epoch"]
    assert lines[1].index("forward") == lines[0].index("epoch") + 2
    assert "gemm  2.00 TFLOPS  4.10 kB" in lines[3]


def test_a_capture_behind_its_items_is_told_to_stand_before_them(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PEEPHOLE_DIR", str(tmp_path))
    shutil.copytree(small, tmp_path / "mine.peep")
    assert main(["show", "-i", "nothing", "mine"]) == 2
    error = capsys.readouterr().err
    assert "There is no" in error and "`peephole show mine -i nothing`" in error
    assert main(["show", "-i", "nothing", "other"]) == 2
    assert "comes before" not in capsys.readouterr().err


def test_json_has_the_documented_keys_and_integer_times(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = records(capsys, small)
    assert [event["start_ns"] for event in events] == [1_000, 2_000, 2_500, 3_000, 5_000, 8_000, 9_000, 12_000]
    assert events[2] == {
        "kind": "marker", "name": "START", "start_ns": 2_500, "track": None, "track_id": None, "args": {},
    }  # fmt: skip
    assert events[3] == {
        "kind": "slice",
        "name": "gemm",
        "start_ns": 3_000,
        "dur_ns": 1_000,
        "depth": 0,
        "track": "GPU:0",
        "track_id": 2,
        "context": 7,
        "args": {"flops": 2e12, "bytes": 4096},
    }
    assert events[5]["kind"] == "signal"
    assert events[6]["name"] == "softmax"
    assert events[6]["args"] == {"text": "not json"}


def test_names_are_data(small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    text = show(capsys, small)
    assert "\x1b[" in text
    assert "\x1b]0;" not in text
    assert "\x07" not in text
    assert "\\x1b]0;owned\\x07[bold red]<script>\\n" in text
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in show(capsys, small)


def test_top_sums_by_track_and_name(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = records(capsys, small, "-t", "2")
    assert rows[0] == {
        "track": "USER",
        "name": "epoch",
        "total_ns": 20_000,
        "count": 1,
        "self_ns": 15_000,
        "share": 1.0,
        "mean_ns": 20_000,
        "min_ns": 20_000,
        "max_ns": 20_000,
        "context": None,
    }
    assert rows[1]["name"] == "gemm"  # the longest of the device, though `forward` on the host is longer
    other = {"other_names": 3, "total_ns": 6_500, "self_ns": 6_500, "count": 3}
    assert rows[2] == {**other, "share": round(6_500 / 24_500, 6)}
    gemm = records(capsys, small, "-s", "GPU:0", "-t")[0]
    assert (gemm["name"], gemm["total_ns"], gemm["count"], gemm["context"]) == ("gemm", 3_000, 2, 7)
    assert len(records(capsys, small, "-t", "-1")) == 5


def test_the_capture_may_follow_the_bare_top_option(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, "-t", small) == show(capsys, small, "-t")


def test_the_capture_may_follow_the_words_of_an_option(
    small: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with CaptureWriter(small.with_name("newest.peep")):
        pass
    assert show(capsys, "-i", "gemm", small) == show(capsys, small, "-i", "gemm")
    assert show(capsys, "--interval", "START", "STOP", small) == show(capsys, small, "--interval", "START", "STOP")
    assert main(["show", "-i", "gemm", "nothing", str(small)]) == 2
    assert "There is no step of gemm 'nothing'" in capsys.readouterr().err


def test_interval_by_markers_times_and_clock(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def starts(*ends: str) -> list[int]:
        return [event["start_ns"] for event in records(capsys, small, "--interval", *ends)]

    assert starts("START", "STOP") == [2_500, 3_000, 5_000, 8_000]  # both ends, as in VIZ
    assert starts("STOP") == [8_000, 9_000, 12_000]
    assert starts("0ns", "1.5us") == [1_000, 2_000, 2_500]
    assert starts("2000", "3001") == [2_000, 2_500, 3_000]
    assert starts("2000", str(2**63 - 1)) == starts("2000")
    assert starts(f"-{10**18}", "2000") == [1_000, 2_000]
    summed = records(capsys, small, "-t", "--interval", "START", "STOP")
    assert {row["name"]: row["total_ns"] for row in summed} == {"epoch": 5_500, "forward": 4_500, "gemm": 3_000}


def test_interval_errors(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(small), "--interval", "STRAT", "STOP"]) == 2
    assert "did you mean 'START'?" in capsys.readouterr().err
    assert main(["show", str(small), "--interval", "STOP", "START"]) == 2
    assert "ends before it begins" in capsys.readouterr().err
    for beyond in (str(2**63), f"{10**12}s"):
        assert main(["show", str(small), "--interval", "START", beyond]) == 2
        assert f"{beyond!r} is further than any clock goes" in capsys.readouterr().err


def test_sources_are_listed_and_chosen(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["source"] for row in records(capsys, small, "--ls")][:3] == ["ALL", "USER", "GPU:0"]
    assert {event["track"] for event in records(capsys, small, "-s", "GPU:0") if event["kind"] == "slice"} == {"GPU:0"}
    assert show(capsys, small, "-s", "ALL") == show(capsys, small)
    assert main(["show", str(small), "-s", "GPU:1"]) == 2
    assert "did you mean 'GPU:0'?" in capsys.readouterr().err


def test_the_nearest_name_may_be_written_in_other_letters() -> None:
    near = missing("Python Memory", ["CPU Memory", "PYTHON Memory"], "source")
    assert str(near).endswith("did you mean 'PYTHON Memory'?")


def test_an_item_is_a_name_or_a_compilation(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [event["name"] for event in records(capsys, small, "-i", "softmax")] == ["softmax"]
    found = records(capsys, small, "-i", "gemm")
    assert [item["kind"] for item in found] == ["context", "step", "step"]
    assert [(step["name"], step["depth"], step["matches"]) for step in found[1:]] == [
        ("simplify", 0, 12),
        ("expand", 1, 0),
    ]
    assert "simplify - 12" in show(capsys, small, "-i", "gemm")
    assert main(["show", str(small), "-i", "gem"]) == 2
    assert "did you mean 'gemm'?" in capsys.readouterr().err


def test_an_item_of_a_device_is_its_runs_there(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *events = records(capsys, small, "-s", "GPU:0", "-i", "gemm")
    assert first == {
        "kind": "runs",
        "track": "GPU:0",
        "name": "gemm",
        "count": 2,
        "total_ns": 3_000,
        "mean_ns": 1_500,
        "min_ns": 1_000,
        "max_ns": 2_000,
        "contexts": [7],
        "flops": 2_000_000_000_000,
    }
    assert [(event["kind"], event["name"], event["start_ns"]) for event in events] == [
        ("slice", "gemm", 3_000),
        ("slice", "gemm", 5_000),
    ]
    text = show(capsys, small, "-s", "GPU:0", "-i", "gemm")
    assert 'compiled  -i "gemm"  2 steps, 12 matches' in text and "2.00 TFLOPS" in text
    assert main(["show", str(small), "-s", "GPU:0", "-i", "forwar"]) == 2
    assert "There is no item 'forwar'" in capsys.readouterr().err
    assert records(capsys, small, "-s", "GPU:0", "-i", "gemm", "--interval", "4us", "6us")[0]["count"] == 1


def test_the_items_of_a_source(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [(row["item"], row["slices"], row["total_ns"]) for row in records(capsys, small, "-s", "GPU:0", "--ls")][
        :2
    ] == [("gemm", 2, 3_000), ("softmax", 1, 1_500)]
    assert show(capsys, small, "-s", "USER", "--ls").splitlines()[1].split() == ["epoch", "1", "20.00", "µs"]
    assert show(capsys, small, "-s", "ALL", "--ls") == show(capsys, small, "--ls")
    # contexts of one name are told apart, and each can be asked for
    path = small.with_name("compiled.peep")
    with CaptureWriter(path) as writer:
        named = {"name": ["E_4", "E_4"], "compiler": ["tinygrad", None]}
        writer.describe(frameworks={"tinygrad": "0.14"})
        writer.append("contexts", {"id": [1, 2], "kind": ["kernel", "kernel"], **named})
        writer.append("steps", {"id": [1], "context": [2], "ordinal": [0], "name": ["expand"], "matches": [3]})
    assert [row["source"] for row in records(capsys, path, "--ls")] == ["ALL", "TINY"]
    expected = [
        {"item": "E_4", "kind": "kernel", "context": 1, "steps": 0, "matches": 0, "dur_ns": None},
        {"item": "E_4#2", "kind": "kernel", "context": 2, "steps": 1, "matches": 3, "dur_ns": None},
    ]
    assert records(capsys, path, "-s", "TINY", "--ls") == records(capsys, path, "-s", "TINY") == expected
    assert [row["id"] for row in records(capsys, path, "-s", "TINY", "-i", "E_4#2") if row["kind"] == "context"] == [2]
    # and by number
    assert [row["id"] for row in records(capsys, path, "-i", "2") if row["kind"] == "context"] == [2]
    assert main(["show", str(path), "-i", "3"]) == 2
    assert "There is no item '3'" in capsys.readouterr().err
    assert main(["show", str(path), "-s", "TINY", "-i", "E_5"]) == 2
    assert "There is no item 'E_5' in this capture; did you mean 'E_4'?" in capsys.readouterr().err


def test_a_match_needs_its_step_and_a_step_its_context(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for items in ((), ("-i", "gemm")):
        assert main(["show", str(small), *items, "--match", "1"]) == 2
        assert "-i CONTEXT STEP --match K" in capsys.readouterr().err
    assert main(["show", str(small), "-i", "gemm", "simplify", "--match", "13"]) == 2
    assert "simplify of gemm has matches 0 to 12; there is no match 13." in capsys.readouterr().err
    # softmax is an event's name, and no context: what is printed must not be that event
    assert main(["show", str(small), "-i", "gem", "softmax"]) == 2
    assert capsys.readouterr() == ("", "peephole: There is no context 'gem' in this capture; did you mean 'gemm'?\n")


def test_the_time_of_one_item(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = records(capsys, small, "-t", "1", "-i", "softmax")  # not the first by time
    assert (row["name"], row["total_ns"]) == ("softmax", 1_500)
    (row,) = records(capsys, small, "-t", "-i", "gemm")  # a compilation too
    assert (row["name"], row["count"]) == ("gemm", 2)
    assert main(["show", str(small), "-t", "-i", "sofmax"]) == 2
    assert "did you mean 'softmax'?" in capsys.readouterr().err


def test_a_capture_without_events_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CaptureWriter(tmp_path / "empty.peep"):
        pass
    assert show(capsys, tmp_path / "empty.peep") == "No events.\n"
    assert show(capsys, tmp_path / "empty.peep", "--json") == ""


def test_debug_adds_detail(small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "4")
    text = show(capsys, small)
    assert text.count("void gemm() {}") == 1
    assert "simplify" not in text
    monkeypatch.setenv("DEBUG", "5")
    assert "simplify - 12" in show(capsys, small)
    monkeypatch.setenv("DEBUG", "much")
    assert main(["show", str(small)]) == 2
    assert "DEBUG is 'much'" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("-t",)])
def test_eighty_columns(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(len(line) for line in show(capsys, small, *options).splitlines()) <= 80


def test_a_reader_who_has_seen_enough(small: Path) -> None:
    command = f"{sys.executable} -m peephole show {small} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
