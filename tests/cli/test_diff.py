"""`peephole diff`: its JSON, exit codes, the gate, baselines, and sentences for what cannot be compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.query.compare.generated import Kernel, write_kernels, write_runs

from peephole.store.writer import CaptureWriter

OLD = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "E_8", 2, "  y = 2;", 4), Kernel(2, "r_9", 3, "  z = 3;", 5)]
NEW = [Kernel(0, "r_4", 1, "  x = 1;", 3), Kernel(1, "E_8", 2, "  y = 7;", 4), Kernel(3, "E_5", 8, "  w = 4;", 9)]
RUNS = {"r_4": [900_000 + 300 * i for i in range(20)], "E_8": [50_000 + 100 * i for i in range(20)]}


@pytest.fixture
def captures(tmp_path: Path) -> tuple[Path, Path]:
    slower = {name: [round(ns * 1.2) for ns in own] for name, own in RUNS.items()}
    return write_kernels(tmp_path / "old.peep", OLD, RUNS), write_kernels(tmp_path / "new.peep", NEW, slower)


def test_the_json_is_the_contract(peephole: Cli, captures: tuple[Path, Path]) -> None:
    done = peephole("diff", *captures, "--json", check=False)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["same"] is False
    assert found["kernels"]["same"] == ["r_4"]
    assert sorted(found["kernels"]["changed"] + found["kernels"]["removed"] + found["kernels"]["added"]) != []
    assert set(found["kernels"]) == {"added", "removed", "changed", "same"}
    assert {"kernel", "context", "step", "match", "what"} <= set(found["divergence"][0])
    assert isinstance(found["rules"], list) and all({"rule", "a", "b"} <= set(row) for row in found["rules"])
    times = {row["name"]: row for row in found["times"]}
    assert {"name", "n_a", "n_b", "median_a_ns", "median_b_ns", "p", "verdict"} <= set(times["r_4"])
    assert (times["r_4"]["n_a"], times["r_4"]["verdict"]) == (19, "slower")
    assert times["r_4"]["median_b_ns"] == pytest.approx(1.2 * times["r_4"]["median_a_ns"], rel=1e-3)
    assert found["memory"] == [] and all(isinstance(text, str) for text in found["normalised"])


def test_the_same_ends_with_0_and_says_so(inside: Cli, captures: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.peep"
    shutil.copytree(captures[0], copy)
    done = inside("diff", captures[0], copy)
    assert done.stdout.startswith("The same: the same 3 kernels")
    again = inside("diff", captures[0], captures[0])
    assert "Both sides are the same capture, old." in again.stdout


@pytest.mark.parametrize(
    ("rules", "code"),
    [("kernels", 1), ("code", 1), ("memory>1%", 0), ("time>5%", 1), ("time>50%", 0), ("compile>20%", 0), ("rules", 0)],
)
def test_the_gate(inside: Cli, captures: tuple[Path, Path], rules: str, code: int) -> None:
    new = NEW if rules == "code" else [*NEW[:1], Kernel(1, "E_8", 2, "  y = 2;", 4)]
    times = 2 if rules == "time>5%" else 1
    runs = {name: [ns * times for ns in own] for name, own in RUNS.items()}
    changed = write_kernels(captures[1].with_name("gate.peep"), new, runs)
    done = inside("diff", captures[0], changed, "--fail-on", rules, check=False)
    assert done.returncode == code, done.stdout
    assert ("FAILED" in done.stdout) == (code == 1)


def test_one_kernel_in_depth(inside: Cli, captures: tuple[Path, Path]) -> None:
    text = inside("diff", *captures, "--kernel", "E_8", check=False).stdout
    assert "-   y = 2;" in text and "+   y = 7;" in text and "matched by input" in text
    found = json.loads(inside("diff", *captures, "--kernel", "E_8", "--json", check=False).stdout)
    assert [line["text_b"] for line in found["code"] if line["kind"] == "changed"] == ["  y = 7;"]
    missing = inside("diff", *captures, "--kernel", "E_88", check=False)
    assert missing.returncode == 2 and "near names: E_8" in missing.stderr


def test_markdown_holds_names_as_data(inside: Cli, tmp_path: Path) -> None:
    odd = "k|<script>alert(1)</script>`*_x_"
    a = write_runs(tmp_path / "a.peep", {odd: [5000] * 9})
    b = write_runs(tmp_path / "b.peep", {odd + "2": [5000] * 9})
    text = inside("diff", a, b, "--markdown", check=False).stdout
    assert text.startswith("### ") and "<script>" not in text and "k\\|&lt;script&gt;" in text


def test_parts_that_are_asked_for(inside: Cli, captures: tuple[Path, Path]) -> None:
    text = inside("diff", *captures, "--only", "time", check=False)
    assert "Time of kernels" in text.stdout and "Kernels:" not in text.stdout and text.returncode == 0
    assert inside("diff", *captures, "--only", "tea", check=False).returncode == 2
    assert inside("diff", *captures, "--fail-on", "memory>lots", check=False).returncode == 2


def test_a_time_that_no_code_explains_is_said_to_be_that(inside: Cli, tmp_path: Path) -> None:
    slower = {name: [round(ns * 1.4) for ns in own] for name, own in RUNS.items()}
    a, b = write_kernels(tmp_path / "a.peep", OLD, RUNS), write_kernels(tmp_path / "b.peep", OLD, slower)
    found = json.loads(inside("diff", a, b, "--json").stdout)
    assert found["same"] and ", with the same code" in found["verdict"]
    assert any("what ran beside the program" in note for note in found["notes"])
    code = [*OLD[:1], Kernel(1, "E_8", 2, "  y = 7;", 4), OLD[2]]
    slow = {"r_4": RUNS["r_4"], "E_8": [ns * 3 for ns in RUNS["E_8"]]}
    found = json.loads(inside("diff", a, write_kernels(tmp_path / "c.peep", code, slow), "--json", check=False).stdout)
    assert {row["name"]: row["verdict"] for row in found["times"]}["E_8"] == "slower"
    assert "same code" not in found["verdict"] and not any("beside" in note for note in found["notes"])


def test_the_first_run_is_left_out_of_sums_too(inside: Cli, tmp_path: Path) -> None:
    """What a table is sorted by is what its verdicts are about."""
    warming = {name: [50_000_000, *own] for name, own in RUNS.items()}
    a, b = write_kernels(tmp_path / "a.peep", OLD, RUNS), write_kernels(tmp_path / "b.peep", OLD, warming)
    times = {row["name"]: row for row in json.loads(inside("diff", a, b, "--json", check=False).stdout)["times"]}
    assert times["r_4"]["total_a_ns"] == sum(RUNS["r_4"][1:])
    assert times["r_4"]["total_b_ns"] == sum(RUNS["r_4"])


def test_several_a_side(inside: Cli, captures: tuple[Path, Path], tmp_path: Path) -> None:
    more = write_kernels(tmp_path / "more.peep", OLD, RUNS)
    found = json.loads(inside("diff", captures[0], more, "--", captures[1], "--json", check=False).stdout)
    assert found["a"]["captures"] == ["old", "more"] and found["b"]["captures"] == ["new"]
    assert inside("diff", *captures, more, check=False).returncode == 2
    same = inside("diff", captures[0], more, "--", more)
    assert same.stdout.startswith("The same: the same 3 kernels"), "two captures do not launch twice as much as one"


def test_a_baseline_is_small_and_as_good(inside: Cli, captures: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "baselines"
    first = inside("diff", "--baseline", folder, captures[0])
    assert "kept old as" in first.stdout and (folder / "gen.baseline").stat().st_size < 20_000
    assert inside("diff", "--baseline", folder, captures[0]).stdout.startswith("The same: ")
    done = inside("diff", "--baseline", folder, captures[1], "--json", check=False)
    direct = json.loads(inside("diff", *captures, "--json", check=False).stdout)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["kernels"] == direct["kernels"]
    assert [(row["name"], row["verdict"]) for row in found["times"]] == [
        (row["name"], row["verdict"]) for row in direct["times"]
    ]
    inside("diff", "--baseline", folder, "--save", "mine", captures[1])
    assert inside("diff", "--baseline", folder, "mine", captures[1]).returncode == 0
    (folder / "mine.baseline").write_bytes(b"nothing of the kind")
    bad = inside("diff", "--baseline", folder, "mine", captures[1], check=False)
    assert bad.returncode == 2 and "is not a baseline that can be read" in bad.stderr
    assert inside("diff", "--baseline", folder, "--save", "../x", captures[1], check=False).returncode == 2


def test_an_unknown_name_says_which_baselines_there_are(
    inside: Cli, captures: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "ci"
    inside("diff", "--baseline", folder, "--save", "v12", captures[0])
    done = inside("diff", "--baseline", folder, "v13", captures[1], check=False)
    assert done.returncode == 2 and str(folder) in done.stderr and "v12" in done.stderr


def test_captures_that_both_sides_have_are_named(inside: Cli, captures: tuple[Path, Path], tmp_path: Path) -> None:
    more = write_kernels(tmp_path / "more.peep", OLD, RUNS)
    one = inside("diff", captures[0], captures[1], "--", captures[0], more, check=False).stdout
    assert "old is on both sides." in one and "the same capture" not in one
    both = inside("diff", captures[0], more, "--", more, captures[0], check=False).stdout
    assert "Both sides are the same captures, old, more." in both


def test_a_phase_of_the_host_may_be_noise_with_one_capture_a_side(inside: Cli, tmp_path: Path) -> None:
    def host(name: str, times: float) -> Path:
        return write_runs(tmp_path / name, {"load": [round(ns * times) for ns in RUNS["r_4"]]}, kind="thread")

    a, again, b = host("a.peep", 1), host("again.peep", 1.01), host("b.peep", 1.3)
    assert inside("diff", a, again).stdout.startswith("The same: no time shown to differ.")
    alone = json.loads(inside("diff", a, b, "--json", check=False).stdout)
    assert (
        "of the host's phases 1 slower" in alone["verdict"].lower() and "more captures a side tell" in alone["verdict"]
    )
    assert any("Phases of the host took another time" in note for note in alone["notes"])
    noise = json.loads(inside("diff", a, b, "--baseline-noise", again, "--json", check=False).stdout)
    assert "1 slower" in noise["verdict"] and "noise" not in noise["verdict"]


def test_what_cannot_be_compared_is_said(inside: Cli, captures: tuple[Path, Path], tmp_path: Path) -> None:
    trace = write_runs(tmp_path / "trace.peep", RUNS)
    done = inside("diff", captures[0], trace, "--json", check=False)
    found = json.loads(done.stdout)
    notes = found["notes"]
    assert any("has no rewrites" in note for note in notes) and any("recording of" in note for note in notes)
    assert sorted(found["kernels"]["same"]) == ["E_8", "r_4"], "what ran on both sides is known by its name"
    assert not found["kernels"]["added"] and not found["kernels"]["removed"] and not found["kernels"]["changed"]
    assert {row["name"]: (row["n_a"], row["n_b"]) for row in found["times"]} == {"r_4": (19, 19), "E_8": (19, 19)}
    assert done.returncode == 2 and found["unknown"], "nothing is shown to differ, but not all can be compared"
    gate = inside("diff", captures[0], trace, "--fail-on", "rules", check=False)
    assert gate.returncode == 2 and "only one side has rewrites" in gate.stdout
    empty = tmp_path / "empty.peep"
    with CaptureWriter(empty) as writer:
        writer.describe(name="empty")
    for pair in ((captures[0], empty), (empty, captures[0]), (empty, empty)):
        refused = inside("diff", *pair, check=False)
        assert refused.returncode == 2 and "nothing to compare" in refused.stderr
    assert inside("diff", captures[0], check=False).returncode == 2
    assert inside("diff", captures[0], tmp_path / "absent", check=False).returncode == 2


def test_code_that_was_not_recorded_is_no_other_code(inside: Cli, captures: tuple[Path, Path], tmp_path: Path) -> None:
    """A recording that broke off before a kernel's code came."""

    def of(code: bool) -> Path:
        path = tmp_path / f"code{code}.peep"
        with CaptureWriter(path) as writer:
            writer.describe(name=path.stem, source="tinygrad", frameworks={"tinygrad": "0.14.0"})
            writer.append("nodes", {"id": [0], "op": ["SINK"], "dtype": ["dtypes.void"], "arg": [None], "src": [[]]})
            writer.append("contexts", {"id": [0, 1], "name": ["r_4", "E_8"], "kind": ["kernel"] * 2})
            writer.append(
                "steps", {"id": [0, 1], "context": [0, 1], "ordinal": [0, 0], "name": ["base"] * 2, "root": [0, 0]}
            )
            for context in (0, 1) if code else (0,):
                columns = {"context": [context], "kind": ["source"], "language": ["c"], "content": [b"x%d" % context]}
                writer.append("artifacts", columns)
        return path

    found = json.loads(inside("diff", of(True), of(False), "--json", check=False).stdout)
    assert sorted(found["kernels"]["same"]) == ["E_8", "r_4"] and not found["kernels"]["changed"]


def test_two_sides_with_nothing_in_common_end_with_2(inside: Cli, tmp_path: Path) -> None:
    def trace(name: str, function: str) -> Path:
        path = tmp_path / name
        events = [{"ph": "X", "name": function, "pid": 1, "tid": 1, "ts": at, "dur": 3} for at in range(0, 100, 9)]
        path.write_text(json.dumps({"traceEvents": events}))
        return path

    done = inside("diff", trace("a.json", "parse"), trace("b.json", "paint"), check=False)
    assert done.returncode == 2 and "nothing in common to compare: A has 1 host phase; B has" in done.stderr
    tape = tmp_path / "tape.peep"
    with CaptureWriter(tape) as writer:
        writer.describe(name="tape", source="gt")
        writer.append("messages", {"slice": [-1], "event": ["RECV"], "command": ["x"], "op": ["add"]})
    done = inside("diff", tape, tmp_path / "a.json", check=False)
    assert done.returncode == 2 and "nothing in common" in done.stderr


@pytest.mark.parametrize("words", [("--", "old"), ("old", "--")])
def test_a_side_without_a_capture_is_said_in_a_sentence(peephole: Cli, words: tuple[str, str]) -> None:
    done = peephole("diff", *words, check=False)
    assert done.returncode == 2 and done.stderr.startswith("peephole: peephole diff A -- B compares two sides: nothing")


def test_what_takes_no_time_takes_no_other(inside: Cli, tmp_path: Path) -> None:
    a, b = (write_runs(tmp_path / f"{name}.peep", {"nop": [0] * 9}) for name in ("a", "b"))
    (row,) = json.loads(inside("diff", a, b, "--json").stdout)["times"]
    assert (row["verdict"], row["median_a_ns"], type(row["median_a_ns"])) == ("same", 0, int)


def test_files_of_a_known_source_are_compared(inside: Cli, tmp_path: Path) -> None:
    def trace(name: str, durations: list[int]) -> Path:
        events = [
            {"ph": "X", "name": "gemm", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": dur}
            for i, dur in enumerate(durations)
        ]
        path = tmp_path / name
        path.write_text(json.dumps({"traceEvents": events}))
        return path

    a, b = trace("a.json", [100 + i % 3 for i in range(20)]), trace("b.json", [150 + i % 3 for i in range(20)])
    found = json.loads(inside("diff", a, b, "--json", check=False).stdout)
    assert [(row["name"], row["verdict"]) for row in found["times"]] == [("gemm", "slower")]


def test_the_same_captures_on_both_sides_are_the_same_in_any_order(
    inside: Cli, captures: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = captures
    found = json.loads(inside("diff", old, new, "--", new, old, "--json").stdout)
    assert found["same"] and found["verdict"].startswith("The same: "), found["verdict"]
    assert found["notes"][0] == "Both sides are the same captures, old, new."
    assert any("new (B) was compiled otherwise than old" in note for note in found["notes"])
    assert {row["verdict"] for row in found["times"]} == {"same"} and found["kernels"]["changed"] == []
    again = inside("diff", old, old, new, "--", new, new, new, old)
    assert again.stdout.startswith("The same: "), "a capture that is given twice counts once"
    kept = tmp_path / "kept"
    for name, side in (("one", old), ("two", new)):
        inside("diff", old, side, "--baseline", kept, "--save", name, check=False)
    assert inside("diff", "--baseline", kept, "one", "two", "--", "two", "one").stdout.startswith("The same: ")


def test_of_several_captures_the_one_in_the_middle_says_how_often_kernels_ran(inside: Cli, tmp_path: Path) -> None:
    def capture(name: str, runs: int) -> Path:
        return write_kernels(tmp_path / f"{name}.peep", OLD, {key: (own * 9)[:runs] for key, own in RUNS.items()})

    a = [capture(f"a{runs}", runs) for runs in (90, 10, 20)]
    b = [capture(f"b{runs}", runs) for runs in (20, 30, 10)]
    found = json.loads(inside("diff", *a, "--", *b, "--json").stdout)
    assert found["same"] and "launches" not in found["verdict"], found["verdict"]
    assert {row["name"]: (row["a"], row["b"]) for row in found["counts"]}["launches"] == (40, 40)
    assert {(row["runs_a"], row["runs_b"]) for row in found["times"]} == {(20, 20)}
