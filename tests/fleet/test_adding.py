"""Ranks that come later, files of other runs, processes that die: what a run is made of, and what is listed."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.rank_traces import write_ranks

from peephole.cli.main import main
from peephole.errors import PeepholeError
from peephole.fleet.detect import are_ranks
from peephole.fleet.run import make_run
from peephole.model.run_tables import RUN_TABLES
from peephole.query.ranks.inputs import inputs_of
from peephole.query.ranks.run import open_run
from peephole.store.capture import open_capture

SLOW: dict[int, tuple[int, ...]] = {2: (1, 3)}
OFFSETS = [0, 7_000_000, -31_000_000, 3_600_000_000_000, 49_000_000]


def tables(path: Path) -> dict[str, Any]:
    found = open_run(open_capture(path)).tables
    return {
        name: {c.name: list(found[name][c.name]) for c in table.columns if c.name != "capture"}
        for name, table in RUN_TABLES.items()
        if name != "inputs"
    }


def reasons(path: Path) -> dict[str, int]:
    return {one["reason"]: one["count"] for one in open_capture(path).manifest.problems}


def test_a_run_that_ranks_were_added_to_is_the_run_of_all(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 5, slow=SLOW, offsets=OFFSETS, drifts=[0, 1e-5, 0, 0, -2e-5])
    whole = make_run(known.files, tmp_path / "whole.peep")
    run = make_run(known.files[:2], tmp_path / "run.peep")
    assert reasons(tmp_path / "run.peep") == {"ranks of the run that no file is of": 3}
    for more in (known.files[2:3], known.files[3:]):  # one file is enough where there is a run
        assert main(["import", *map(str, more), "-o", str(run)]) == 0
    assert tables(tmp_path / "run.peep") == tables(whole)
    assert [one.ranks for one in inputs_of(open_run(open_capture(run)))] == [(rank,) for rank in range(5)]
    assert reasons(tmp_path / "run.peep") == reasons(whole)
    # the captures are inside, and go with it
    shutil.move(run, tmp_path / "elsewhere.peep")
    found = open_run(open_capture(tmp_path / "elsewhere.peep"))
    assert all((found.capture_of(rank) or Path("none")).is_dir() for rank in range(5))


def test_what_is_added_twice_or_of_another_run_is_listed_and_the_run_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW)
    run = make_run(known.files[:3], tmp_path / "run.peep")
    before, held = tables(run), {one.name for one in (run / "ranks").iterdir()}
    other = tmp_path / "other"
    other.mkdir()
    strangers = write_ranks(other, 9).files
    double = tmp_path / "again.json.gz"
    double.write_bytes(gzip.compress(gzip.decompress(known.files[0].read_bytes()) + b"\n"))
    damaged = tmp_path / "cut.json.gz"
    damaged.write_bytes(known.files[3].read_bytes()[:-400])
    empty = tmp_path / "empty.json"
    empty.write_bytes(b"")
    assert main(["import", str(strangers[5]), str(double), str(empty), "-o", str(run)]) == 0
    assert tables(run) == before
    assert {one.name for one in (run / "ranks").iterdir()} == held, "nothing of what is not part of it stays"
    assert reasons(run) == {
        "files that are not part of the run: they cannot be read": 1,
        "files of another run: they have another world size": 1,
        "ranks that are there twice: the first one counts": 1,
        "ranks of the run that no file is of": 1,
    }
    capsys.readouterr()
    assert main(["fleet", str(run), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["state"] for row in rows] == ["read"] * 3 + ["of another run", "there twice", "not read"]
    assert list(rows[0]) == ["path", "state", "ranks", "worker", "tries", "dur_ns", "slices", "problem"]
    # a file that was cut is tried again when it has come whole
    assert main(["import", str(damaged), "-o", str(run)]) == 0
    damaged.write_bytes(known.files[3].read_bytes())
    assert main(["fleet", str(run), "--retry"]) == 0
    found = inputs_of(open_run(open_capture(run)))
    assert {rank for one in found if one.state == "read" for rank in one.ranks} == {0, 1, 2, 3}


def test_a_file_whose_content_is_there_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW)
    words = ["-o", str(tmp_path / "run.peep")]
    assert main(["import", *map(str, known.files[:3]), str(known.files[0]), *words]) == 0
    assert [one.state for one in inputs_of(open_run(open_capture(tmp_path / "run.peep")))] == ["read"] * 3
    before = tables(tmp_path / "run.peep")
    other = tmp_path / "another name.json.gz"
    shutil.copy(known.files[1], other)
    capsys.readouterr()
    assert main(["import", *map(str, known.files[:3]), str(other), *words]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1:] == ["4 already there", "1 × ranks of the run that no file is of (rank 3)"]
    assert tables(tmp_path / "run.peep") == before
    assert main(["import", *map(str, known.files), *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["there"] == 3
    assert reasons(tmp_path / "run.peep") == {}
    assert [one.state for one in inputs_of(open_run(open_capture(tmp_path / "run.peep")))] == ["read"] * 4
    # captures that a run points to are known as well, and one that says something else is not
    held = sorted((tmp_path / "run.peep" / "ranks").iterdir())
    assert main(["import", *map(str, held), "-o", str(tmp_path / "pointing.peep")]) == 0
    capsys.readouterr()
    assert main(["import", str(held[0]), str(held[2]), "-o", str(tmp_path / "pointing.peep")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["2 already there"]
    assert main(["import", str(known.files[0]), "-o", str(tmp_path / "pointing.peep")]) == 0
    assert reasons(tmp_path / "pointing.peep") == {"ranks that are there twice: the first one counts": 1}
    # a run that was made before contents were kept is added to as before
    inputs = tmp_path / "run.peep" / "run" / "inputs.parquet"
    pq.write_table(pq.read_table(inputs).drop_columns(["content"]), inputs)
    assert main(["import", str(known.files[0]), *words]) == 0
    assert reasons(tmp_path / "run.peep") == {"ranks that are there twice: the first one counts": 1}


def test_the_same_steps_at_another_time_on_the_same_host_are_another_run(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW, hosts=1)
    other = tmp_path / "yesterday"
    other.mkdir()
    day = -86_400_000_000_000
    strangers = write_ranks(other, 4, hosts=1, offsets=[day] * 4).files
    run = make_run([*known.files[:3], strangers[3]], tmp_path / "run.peep")
    assert reasons(run)["files of another run: the same steps at another time on the same host"] == 1
    assert {rank.rank for rank in open_run(open_capture(run)).ranks()} == {0, 1, 2}


def rewritten(path: Path, change: Any) -> None:
    with gzip.open(path, "rt") as file:
        trace = json.load(file)
    change(trace)
    with gzip.open(path, "wt") as file:
        json.dump(trace, file)


def test_a_rank_that_died_in_the_middle_is_listed_and_the_others_are_whole(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW, hosts=1)

    def died(trace: dict[str, Any]) -> None:
        end = next(event["ts"] for event in trace["traceEvents"] if event["name"] == "ProfilerStep#4")
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("ts", 0) < end]

    rewritten(known.files[1], died)
    run = make_run(known.files, tmp_path / "run.peep")
    assert reasons(run) == {"steps without data: the rank began later, or died": 2}
    table = open_run(open_capture(run)).tables["collectives"]
    assert table.ints("ranks").tolist() == [4] * 8 + [3] * 4
    others = [0, 2, 3]
    skew = known.start[8:, others].max(axis=1) - known.start[8:, others].min(axis=1)
    assert table.ints("skew_ns").tolist()[8:] == skew.tolist()


def test_a_rank_without_steps_is_listed_and_so_is_a_file_that_was_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW, hosts=1)

    def nothing(trace: dict[str, Any]) -> None:
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("tid") == 7]

    rewritten(known.files[1], nothing)
    text = gzip.decompress(known.files[3].read_bytes())
    known.files[3].write_bytes(gzip.compress(text[: text.index(b"ProfilerStep#5")]))
    run = make_run(known.files, tmp_path / "run.peep")
    said = {
        "files of which a part could not be read": 1,
        "steps without data: the rank began later, or died": 5,  # those that most ranks have
    }
    assert reasons(run).items() >= said.items()
    assert main(["fleet", str(run), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["state"], row["problem"]) for row in rows] == [("read", "")] * 3 + [("read", "the file was cut off")]
    # it is still said when others come, and what was not read is not said twice when it is given again
    gone = tmp_path / "gone.json"
    gone.write_bytes(b"")
    for _ in range(2):
        assert main(["import", str(gone), "-o", str(run)]) == 0
        assert reasons(run)["files of which a part could not be read"] == 1
        assert reasons(run)["files that are not part of the run: they cannot be read"] == 1
        assert "files that are not part of the run, given earlier" not in reasons(run)


def test_ranks_that_only_the_names_of_files_tell(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW, hosts=1)
    files = []
    for number, file in enumerate(known.files):
        rewritten(file, lambda trace: trace.pop("distributedInfo"))
        files.append(file.rename(tmp_path / f"job7-rank{3 - number}.pt.trace.json.gz"))
    assert main(["import", *map(str, files), "-o", str(tmp_path / "run")]) == 0
    found = open_run(open_capture(tmp_path / "run.peep")).ranks()
    assert [(row.rank, row.slow_steps) for row in found if row.slow_steps] == [(1, (1, 3))]
    assert {row.rank for row in found} == {0, 1, 2, 3}
    # names that are alike are two of one rank, and what is no trace is not of a run
    assert not are_ranks([str(tmp_path / "a" / files[0].name), str(files[0])])
    texts = [tmp_path / f"dedicated_rank_{number}.json" for number in (0, 1)]
    for text in texts:
        text.write_text("{}")
    assert not are_ranks([*map(str, texts)])


def test_who_names_no_rank_takes_none_from_those_that_do(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW, hosts=1)
    empty, nameless = tmp_path / "0-empty.json", tmp_path / "0-nameless.json.gz"
    empty.write_text('{"traceEvents": []}')
    nameless.write_bytes(known.files[0].read_bytes())
    rewritten(nameless, lambda trace: trace.pop("distributedInfo"))
    run = make_run([empty, nameless, *known.files], tmp_path / "run.peep")
    found = open_run(open_capture(run))
    assert found.ranks()[0].rank == 2 and {one.rank for one in found.ranks()} == {0, 1, 2, 3}
    assert reasons(run) == {
        "files that are not part of the run: there is nothing in them": 1,
        "files that name no rank, of a run whose ranks are all there": 1,
    }
    states = {Path(one.path).name: one.state for one in inputs_of(found) if one.state != "read"}
    assert states == {"0-empty.json": "without a slice", "0-nameless.json.gz": "of another run"}
    # where a rank is missing it is the one
    run = make_run([nameless, *known.files[1:]], tmp_path / "three.peep")
    assert {one.rank for one in open_run(open_capture(run)).ranks()} == {0, 1, 2, 3} and reasons(run) == {}


def test_clocks_far_apart_are_listed(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 3, slow=SLOW, offsets=[0, 3_600_000_000_000, 1_000_000])
    run = make_run(known.files, tmp_path / "run.peep")
    assert reasons(run) == {"hosts whose clocks are more than a minute off, or whose files are of another run": 1}
    assert open_run(open_capture(run)).ranks()[0].slow_steps == (1, 3)


def test_a_process_that_dies_costs_its_ranks_time_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = write_ranks(tmp_path, 8, slow=SLOW, kernels=200)
    whole = make_run(known.files, tmp_path / "whole.peep")  # small enough to be read by this process
    monkeypatch.setattr("peephole.fleet.pool._FEW", 0)
    killed = []

    def told(one: object, done: int, of: int) -> None:
        if done == 2:
            (first, *_) = multiprocessing.active_children()
            assert first.pid is not None
            os.kill(first.pid, signal.SIGKILL)
            killed.append(first.pid)

    run = make_run(known.files, tmp_path / "run.peep", told)
    assert killed and tables(run) == tables(whole) and reasons(run) == {}
    assert max(one.tries for one in inputs_of(open_run(open_capture(run)))) == 2


def test_what_is_there_and_is_not_a_run_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = write_ranks(tmp_path, 2)
    assert main(["import", str(known.files[0]), "-o", str(tmp_path / "one")]) == 0
    with pytest.raises(PeepholeError, match="exists already and is not a run"):
        make_run(known.files, tmp_path / "one.peep")
    assert main(["fleet", str(tmp_path / "one.peep")]) == 2
    assert "one rank: nothing to compare" in capsys.readouterr().err


def test_captures_and_traces_make_a_run_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = write_ranks(tmp_path, 2, slow=SLOW)
    make_run(known.files[:1], tmp_path / "run.peep")
    (capture,) = (tmp_path / "run.peep" / "ranks").iterdir()
    assert main(["import", str(capture), str(known.files[1]), "-o", str(tmp_path / "both")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'both.peep'}: 2 ranks, ")
    assert reasons(tmp_path / "both.peep") == {}
    assert main(["fleet", str(tmp_path / "run.peep")]) == 0
    assert capsys.readouterr().out.startswith("1 file by 1 worker in ")
    assert main(["import", str(capture), "-o", str(tmp_path / "alone")]) == 2
    assert "is a capture already" in capsys.readouterr().err
