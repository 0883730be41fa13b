"""`show --calls`, and self time and shares in `show -t`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.store.writer import CaptureWriter


def show(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(["show", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def records(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in show(capsys, *arguments, "--json").splitlines()]


@pytest.fixture
def nested(capture_dir: Path) -> Path:
    """A thread whose calls nest, one of them recursive and one without an end; a device with fifty kernels."""
    path = capture_dir / "nested.peep"
    rows: list[tuple[int, int, int, str, str | None]] = [
        (0, 0, 100_000, "main", '{"open": true}'),
        (0, 10_000, 60_000, "step", '{"location": "/prog/train.py:7"}'),
        (0, 20_000, 30_000, "step", '{"location": "/prog/other.py:9"}'),
        (0, 75_000, 15_000, "save", None),
        *((1, 1000 * i, 500 + i, f"kernel_{i}", None) for i in range(50)),
    ]
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["MainThread", "GPU"], "kind": ["thread", "device"]})
        track, start, dur, name, args = zip(*rows, strict=True)
        writer.append("slices", {"track": track, "start": start, "dur": dur, "name": name, "args": args})
    return path


def test_calls_are_a_tree(capsys: pytest.CaptureFixture[str], nested: Path) -> None:
    found = records(capsys, nested, "--calls", "-s", "MainThread")
    assert list(found[0]) == ["name", "depth", "count", "total_ns", "self_ns", "track", "place", "depth_cut"]
    assert [(r["name"], r["depth"], r["count"], r["total_ns"], r["self_ns"]) for r in found] == [
        ("main", 0, 1, 100_000, 25_000),
        ("step", 1, 1, 60_000, 30_000),
        ("step", 2, 1, 30_000, 30_000),
        ("save", 1, 1, 15_000, 15_000),
    ]
    assert {r["track"] for r in found} == {"MainThread"}
    assert len(records(capsys, nested, "--calls")) == 54


def test_inverted_has_functions_first_then_their_callers(capsys: pytest.CaptureFixture[str], nested: Path) -> None:
    found = records(capsys, nested, "--calls", "--inverted", "-s", "MainThread")
    assert [(r["name"], r["depth"], r["count"], r["total_ns"], r["self_ns"]) for r in found] == [
        ("step", 0, 2, 60_000, 60_000),
        ("main", 1, 1, 60_000, 30_000),
        ("step", 1, 1, 0, 30_000),
        ("main", 2, 1, 0, 30_000),
        ("main", 0, 1, 100_000, 25_000),
        ("save", 0, 1, 15_000, 15_000),
        ("main", 1, 1, 15_000, 15_000),
    ]


def test_calls_of_a_range_a_search_and_by_place(capsys: pytest.CaptureFixture[str], nested: Path) -> None:
    part = records(capsys, nested, "--calls", "--interval", "0ms", "0.015ms", "-s", "MainThread")
    assert [(r["name"], r["total_ns"], r["self_ns"]) for r in part] == [
        ("main", 15_000, 10_000),
        ("step", 5_000, 5_000),
    ]
    save = records(capsys, nested, "--calls", "-i", "SAV")
    assert [(r["name"], r["total_ns"], r["self_ns"]) for r in save] == [("main", 15_000, 0), ("save", 15_000, 15_000)]
    assert records(capsys, nested, "--calls", "-i", "/^SAV.$/") == save
    assert main(["show", str(nested), "--calls", "-i", "/(/"]) == 2
    assert "(" in capsys.readouterr().err
    assert main(["show", str(nested), "--calls", "-i", "sav3"]) == 2
    assert "did you mean 'save'?" in capsys.readouterr().err
    apart = records(capsys, nested, "--calls", "--by-place", "-s", "MainThread")
    assert [r["place"] for r in apart] == [None, "/prog/train.py:7", "/prog/other.py:9", None]
    merged = records(capsys, nested, "--calls", "--inverted", "--by-place", "-s", "MainThread")
    assert [r["place"] for r in merged if r["name"] == "step" and r["depth"] == 0] == [
        "/prog/train.py:7",
        "/prog/other.py:9",
    ]
    assert main(["show", str(nested), "--inverted"]) == 2
    assert "--calls" in capsys.readouterr().err


def test_the_screen_says_what_there_is(capsys: pytest.CaptureFixture[str], nested: Path) -> None:
    lines = show(capsys, nested, "--calls").splitlines()
    assert lines[0] == "MainThread  100.0 µs busy, 4 slices"
    assert lines[2].split() == ["100.0", "µs", "100.0%", "25.00", "µs", "1", "main"]
    assert lines[3].endswith("train.py:7") and "  step" in lines[3]
    assert any("1 track without nested slices" in line for line in lines)
    assert any("1 slice has no end and counts to the end of the trace" in line for line in lines)
    assert "No slices in this interval." in show(capsys, nested, "--calls", "--interval", "5ms", "6ms")
    # of a part the time is that part's, and no number of slices is said to be
    assert show(capsys, nested, "--calls", "-i", "save").splitlines()[0] == "MainThread  15.00 µs in calls that match"
    assert "4 smaller ones not shown" in show(capsys, nested, "--calls", "-t", "0")


def test_shares_are_of_what_was_there_to_spend(capsys: pytest.CaptureFixture[str], nested: Path) -> None:
    found = records(capsys, nested, "-t", "-1")
    frame = next(r for r in found if r["name"] == "main")
    assert (frame["share"], frame["self_ns"], frame["total_ns"]) == (1.0, 25_000, 100_000)
    step = next(r for r in found if r["name"] == "step")
    assert (step["share"], step["self_ns"], step["total_ns"], step["count"]) == (0.6, 60_000, 60_000, 2)
    kernels = [r for r in found if r["track"] == "GPU"]
    assert sum(r["share"] for r in kernels) == pytest.approx(1.0, abs=1e-4)
    assert sum(r["self_ns"] for r in found if r["track"] == "MainThread") == 100_000


def test_devices_and_host_are_both_on_the_first_screen(capsys: pytest.CaptureFixture[str], nested: Path) -> None:
    lines = show(capsys, nested, "-t").splitlines()
    assert lines[0] == "Devices" and "Host" in lines and len(lines) <= 27
    assert any(line.startswith("MainThread  main") for line in lines)
    host = lines[lines.index("Host") + 1].split()
    assert host == ["track", "name", "total", "share", "self", "count", "mean", "longest"]
    assert "and 33 others" in lines[-1]
    few = records(capsys, nested, "-t", "2")
    assert [r["track"] for r in few[:2]] == ["MainThread", "GPU"] and few[2]["other_names"] == 51


def test_threads_of_one_name_have_a_base_each(capsys: pytest.CaptureFixture[str], capture_dir: Path) -> None:
    path = capture_dir / "two.peep"
    with CaptureWriter(path) as writer:
        same = {"name": ["worker"] * 2, "kind": ["thread"] * 2, "process": [10, 20]}
        writer.append("tracks", {"id": [0, 1], **same})
        times = {"track": [0, 0, 1, 1], "start": [0, 10, 0, 5], "dur": [100, 20, 300, 50]}
        writer.append("slices", {**times, "name": ["main", "f", "serve", "f"]})
    found = {(r["track"], r["name"]): r["share"] for r in records(capsys, path, "-t", "-1")}
    one, other = "worker · process 10", "worker · process 20"
    assert found == {(one, "main"): 1.0, (one, "f"): 0.2, (other, "serve"): 1.0, (other, "f"): 0.166667}
    tops = [(r["track"], r["name"]) for r in records(capsys, path, "--calls") if r["depth"] == 0]
    assert tops == [(one, "main"), (other, "serve")]
    assert {r["name"] for r in records(capsys, path, "-t", "-s", other)} == {"serve", "f"}
    text = show(capsys, path, "--calls")
    assert "worker · process 10  100 ns busy" in text and "worker · process 20  300 ns busy" in text
    assert text.count("100.0%") == 2


def write_deep(path: Path, levels: int) -> Path:
    """A thread on which calls nest so deep, and another one on which they do not."""
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["deep", "flat"], "kind": ["thread", "thread"]})
        start = list(range(levels))
        dur = [2 * levels - at for at in start]
        writer.append("slices", {"track": [0] * levels, "start": start, "dur": dur, "name": ["f"] * levels})
        writer.append("slices", {"track": [1, 1], "start": [0, 1], "dur": [9, 2], "name": ["a", "b"]})
    return path


def test_a_tree_that_is_cut_says_at_which_depth(capsys: pytest.CaptureFixture[str], capture_dir: Path) -> None:
    deep = write_deep(capture_dir / "deep.peep", 32_020)
    rows = records(capsys, deep, "--calls")
    assert {r["depth_cut"] for r in rows if r["track"] == "deep"} == {32_000} == {max(r["depth"] for r in rows)}
    assert {r["depth_cut"] for r in rows if r["track"] == "flat"} == {None}
    out = show(capsys, deep, "--calls", "-t", "1")
    assert out.count("cut at depth") == 1 and "cut at depth 32,000: deeper calls stand at that depth" in out


def test_an_inverted_tree_says_how_far_up_its_callers_go(
    capsys: pytest.CaptureFixture[str], capture_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = write_deep(capture_dir / "deep.peep", 60)
    assert {r["depth_cut"] for r in records(capsys, deep, "--calls", "--inverted")} == {None}
    monkeypatch.setattr("peephole.query.calls.tree._INVERTED", 200)
    rows = records(capsys, deep, "--calls", "--inverted")
    assert {r["depth_cut"] for r in rows if r["track"] == "deep"} == {3} == {max(r["depth"] for r in rows)}
    assert {r["depth_cut"] for r in rows if r["track"] == "flat"} == {None}
    out = show(capsys, deep, "--calls", "--inverted", "-t", "1")
    assert out.count("cut at depth") == 1 and "cut at depth 3: what calls those is left out" in out


def test_a_tree_that_just_fits_is_not_cut(capsys: pytest.CaptureFixture[str], capture_dir: Path) -> None:
    fits = write_deep(capture_dir / "fits.peep", 32_001)
    rows = records(capsys, fits, "--calls")
    assert {r["depth_cut"] for r in rows} == {None} and max(r["depth"] for r in rows) == 32_000
