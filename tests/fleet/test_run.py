"""A run of many ranks: who waited for whom, on clocks that were off, compared with what the traces were made of."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import SharedFile
from tests.rank_traces import BASE, Known, check_shifted_clocks, write_ranks

from peephole.cli.main import main
from peephole.errors import PeepholeError
from peephole.fleet.run import make_run
from peephole.query.ranks.balance import hosts
from peephole.query.ranks.critical_path import critical_path
from peephole.query.ranks.run import Run, open_run
from peephole.store.capture import open_capture
from peephole.store.sql import run_sql

SLOW: dict[int, tuple[int, ...]] = {2: (1, 3)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Known, Path]:
    """Five ranks on five hosts, whose clocks are milliseconds off and drift, rank 2 slow in steps 1 and 3."""
    folder = tmp_path_factory.mktemp("ranks")
    offsets, drifts = [0, 7_000_000, -31_000_000, 3_600_000_000_000, 49_000_000], [0.0, 2e-5, -1e-5, 0.0, 5e-5]
    known = write_ranks(folder, 5, slow=SLOW, offsets=offsets, drifts=drifts)
    return known, make_run(known.files, folder / "run.peep")


@pytest.fixture
def run(made: tuple[Known, Path]) -> Run:
    return open_run(open_capture(made[1]))


def test_the_slow_rank_is_found_by_rank_and_step(run: Run) -> None:
    assert {rank.rank: rank.slow_steps for rank in run.ranks() if rank.slow_steps} == SLOW
    assert run.ranks()[0].rank == 2, "the others wait for it, so it waits least"


def test_clocks_are_within_the_stated_bound(made: tuple[Known, Path], run: Run) -> None:
    known, _ = made
    arrivals = run.tables["arrivals"]
    times = arrivals.ints("start_ns").reshape(-1, 5)
    for rank in sorted(run.ranks(), key=lambda rank: rank.rank):
        assert rank.bound_ns < 2_000_000
        off = np.abs(times[:, rank.rank] - known.start[:, rank.rank])
        # files have whole ns of µs with three digits
        assert off.max() <= rank.bound_ns + 2, f"rank {rank.rank}"


def test_skew_latency_and_waits_are_what_the_generator_knows_on_one_host(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 4, slow={1: (2,)}, hosts=1, seed=3)
    found = open_run(open_capture(make_run(known.files, tmp_path / "run.peep")))
    table = found.tables["collectives"]
    assert table.ints("skew_ns").tolist() == (known.start.max(axis=1) - known.start.min(axis=1)).tolist()
    assert table.ints("latency_ns").tolist() == (known.end - known.start).min(axis=1).tolist()
    assert table.ints("last_rank").tolist() == known.start.argmax(axis=1).tolist()
    assert table.ints("step").tolist() == known.step
    assert set(table["group"]) == {"0"} and set(table["name"]) == {"nccl:allreduce"}
    assert set(table.ints("bytes").tolist()) == {4096}
    ranks = sorted(found.ranks(), key=lambda rank: rank.rank)
    assert [rank.wait_ns for rank in ranks] == known.wait.sum(axis=0).tolist()
    assert [rank.last for rank in ranks] == [int((known.start.argmax(axis=1) == i).sum()) for i in range(4)]
    assert [rank.busy_ns for rank in ranks] == known.busy
    assert [rank.communication_ns for rank in ranks] == known.communication
    assert [rank.overlap_ns for rank in ranks] == known.overlap
    assert [rank.bound_ns for rank in ranks] == [0, 0, 0, 0], "one host has one clock"
    # the way through the slow step leads over the slow rank, without a hole
    path = critical_path(found, 2)
    assert path[0].rank == 1 and path[0].kind == "compute"
    assert all(a.end_ns == b.start_ns for a, b in itertools.pairwise(path))
    with pytest.raises(PeepholeError, match="There is no step 99; steps 0 to 5 are there"):
        critical_path(found, 99)


def test_a_merged_capture_says_the_same_as_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = write_ranks(tmp_path, 3, slow=SLOW, hosts=1)
    files = [str(path) for path in known.files]
    assert main(["import", *files, "-o", str(tmp_path / "run")]) == 0
    assert main(["import", *files, "-o", str(tmp_path / "one"), "--merge"]) == 0
    capsys.readouterr()
    answers = []
    for name in ("run", "one"):
        assert main(["ranks", str(tmp_path / f"{name}.peep"), "--json"]) == 0
        answers.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    assert answers[0] == answers[1] and answers[0][0]["rank"] == 2


def test_a_capture_of_several_ranks_has_the_tables_of_a_run_in_sql(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = write_ranks(tmp_path, 3, slow={2: (1, 3)}, hosts=1)
    files = [*map(str, known.files)]
    assert main(["import", *files, "-o", str(tmp_path / "run")]) == 0
    assert main(["import", *files, "--merge", "-o", str(tmp_path / "merged")]) == 0
    capsys.readouterr()
    for sql in (
        "SELECT rank, host, wait_ns, last, busy_ns, slow_steps FROM ranks ORDER BY wait_ns",
        'SELECT a.rank, c.name, a.wait_ns FROM collectives c, arrivals a WHERE a.collective = c."index" ORDER BY ALL',
        'SELECT step, sum(own_ns) AS own FROM "rank_steps" GROUP BY step ORDER BY step',
    ):
        answers = []
        for name in ("run", "merged"):
            assert main(["query", "--json", sql, str(tmp_path / f"{name}.peep")]) == 0
            answers.append(capsys.readouterr().out)
        assert answers[0] == answers[1] and len(answers[0].splitlines()) >= 3
    # one rank alone has none
    assert main(["import", files[0], "-o", str(tmp_path / "one")]) == 0
    assert main(["query", "SELECT * FROM ranks", str(tmp_path / "one.peep")]) == 2


def test_the_contract(made: tuple[Known, Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = str(made[1])
    assert main(["ranks", path, "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    keys = ["rank", "host", "offset_ns", "bound_ns", "wait_ns", "last", "busy_ns", "communication_ns", "overlap_ns"]
    assert list(first)[:10] == [*keys, "slow_steps"]
    assert main(["ranks", path, "--collectives", "--json", "--step", "3"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(rows[0])[:7] == ["index", "group", "name", "step", "last_rank", "skew_ns", "latency_ns"]
    assert {row["step"] for row in rows} == {3} and {row["last_rank"] for row in rows} == {2}
    for table in ("ranks", "collectives", "rank_steps"):
        assert next(run_sql(open_capture(path), f"SELECT count(*) FROM {table}").rows)[0] > 0
    assert main(["ranks", path, "--step", "1"]) == 0
    out = capsys.readouterr().out
    assert "slow" in out and "The path that took longest" in out
    assert main(["ranks", path]) == 0
    assert "slow: rank 2 in steps 1, 3" in capsys.readouterr().out


def reasons(path: Path) -> dict[str, int]:
    return {one["reason"]: one["count"] for one in open_capture(path).manifest.problems}


def test_strangers_doubles_and_damage_are_listed_and_the_rest_goes_on(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW)
    other = tmp_path / "other"
    other.mkdir()
    stranger = write_ranks(other, 2).files[1]
    double = tmp_path / "again.json.gz"
    shutil.copy(known.files[0], double)
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(b"")
    files = [*known.files[:3], stranger, double, cut]
    found = reasons(make_run(files, tmp_path / "run.peep"))
    assert found["files of another run: they have another world size"] == 1
    assert found["ranks that are there twice: the first one counts"] == 1
    assert found["files that are not part of the run: they cannot be read"] == 1
    assert found["ranks of the run that no file is of"] == 1
    assert next(rank.rank for rank in open_run(open_capture(tmp_path / "run.peep")).ranks()) == 2


def test_ranks_that_recorded_other_steps_are_matched_by_step(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 3, slow=SLOW, hosts=1)
    import gzip

    with gzip.open(known.files[1], "rt") as file:
        trace = json.load(file)
    begin = next(event["ts"] for event in trace["traceEvents"] if event["name"] == "ProfilerStep#2")
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("ts", begin) >= begin]
    with gzip.open(known.files[1], "wt") as file:
        json.dump(trace, file)
    table = open_run(open_capture(make_run(known.files, tmp_path / "run.peep"))).tables["collectives"]
    assert table.ints("ranks").tolist() == [2, 2, 2, 2] + [3] * 8
    skew = (known.start.max(axis=1) - known.start.min(axis=1)).tolist()
    assert table.ints("skew_ns").tolist()[4:] == skew[4:]


def test_a_run_without_collectives_says_that_it_is_not_aligned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from peephole.store.writer import CaptureWriter

    for rank in range(2):
        with CaptureWriter(tmp_path / f"p{rank}.peep") as writer:
            writer.append(
                "tracks", {"id": [0], "name": ["CPU"], "kind": ["device"], "rank": [rank], "host": [f"h{rank}"]}
            )
            writer.append("slices", {"track": [0], "start": [5], "dur": [10], "name": ["work"]})
    assert main(["import", str(tmp_path / "p0.peep"), str(tmp_path / "p1.peep"), "-o", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["ranks", str(tmp_path / "run.peep")]) == 0
    assert "not aligned" in capsys.readouterr().out


def test_nothing_is_left_when_no_rank_can_be_read(tmp_path: Path) -> None:
    bad = [tmp_path / f"{i}.json" for i in range(2)]
    for path in bad:
        path.write_text("nothing")
    with pytest.raises(PeepholeError, match="None of the 2 files"):
        make_run(bad, tmp_path / "run.peep")
    assert {path.name for path in tmp_path.iterdir()} == {"0.json", "1.json"}


def test_one_rank_is_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = write_ranks(tmp_path, 2)
    assert main(["ranks", str(known.files[0])]) == 2
    assert "one rank: nothing to compare" in capsys.readouterr().err


def durations(path: Path) -> list[int]:
    """How long each collective of a rank's file took by its own digits, in ns, in the order of their begins."""
    with gzip.open(path, "rt") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    found = [one for one in events if str(one.get("name", "")).startswith("gloo:")]
    return [int(one["dur"] * 1000) for one in sorted(found, key=lambda one: one["ts"])]


def test_the_real_run_of_four_ranks(shared: SharedFile, tmp_path: Path) -> None:
    folder = shared("fixtures/ranks")
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    found = open_run(open_capture(make_run(sorted(folder.glob("rank*.json.gz")), tmp_path / "run.peep")))
    assert {str(rank.rank): rank.wait_ns for rank in found.ranks()} == expected["wait_ns_per_rank"]
    assert {str(rank.rank): rank.last for rank in found.ranks()} == expected["times_last_per_rank"]
    slow = {rank.rank: list(rank.slow_steps) for rank in found.ranks() if rank.slow_steps}
    assert slow == {expected["slow_rank"]: expected["slow_profiler_steps"]}
    table = found.tables["collectives"]
    shortest = np.min([durations(path) for path in sorted(folder.glob("rank*.json.gz"))], axis=0)
    for i, row in enumerate(expected["collectives"]):
        assert (table["name"][i], table.ints("step")[i], table.ints("last_rank")[i]) == (
            row["name"],
            row["step"],
            row["last_rank"],
        )
        assert table.ints("skew_ns")[i] == row["start_skew_ns"]
        # ours is the shortest `dur` of the files; the expected one is an end less a begin, both rounded
        assert table.ints("latency_ns")[i] == shortest[i]
        assert abs(shortest[i] - row["latency_ns"]) <= 1


def test_known_offsets_and_drifts_in_real_files_are_inside_the_stated_bound(shared: SharedFile, tmp_path: Path) -> None:
    check_shifted_clocks(sorted(shared("fixtures/ranks").glob("rank*.json.gz")), {2: (4, 5)}, tmp_path)


def test_times_are_since_1970(run: Run) -> None:
    assert run.tables["rank_steps"].ints("start_ns").min() >= BASE


def test_the_raw_slices_of_all_ranks_are_one_table_on_one_clock(made: tuple[Known, Path], run: Run) -> None:
    known, path = made
    sql = """SELECT rank, start_ns, dur_ns FROM rank_slices WHERE name LIKE 'ncclDevKernel%' ORDER BY rank, start_ns"""
    rows = list(run_sql(open_capture(path), sql).rows)
    table = run.tables["arrivals"]
    mine = sorted(zip(*(table.ints(name).tolist() for name in ("rank", "start_ns")), strict=True))
    assert [row[0] for row in rows] == [rank for rank, _ in mine]
    assert max(abs(row[1] - start) for row, (_, start) in zip(rows, mine, strict=True)) <= 1
    assert [row[2] for row in rows[:3]] == (known.end - known.start)[:3, 0].tolist()
    counts = dict(run_sql(open_capture(path), "SELECT rank, count(*) FROM rank_slices GROUP BY rank").rows)
    assert counts == {rank.rank: rank.slices for rank in run.ranks()}
    with pytest.raises(PeepholeError, match="Only SELECT"):
        run_sql(open_capture(path), "DROP VIEW rank_slices")


def test_a_merged_capture_gives_each_rank_its_own_slices(tmp_path: Path) -> None:
    known = write_ranks(tmp_path, 3, hosts=1)
    from peephole.ingest import import_files

    both = import_files(known.files[:2], tmp_path / "both.peep")
    run = make_run([both, known.files[2]], tmp_path / "run.peep")
    counts = dict(run_sql(open_capture(run), "SELECT rank, count(*) FROM rank_slices GROUP BY rank").rows)
    assert counts == {rank.rank: rank.slices for rank in open_run(open_capture(run)).ranks()} and len(counts) == 3


def test_a_host_whose_ranks_are_all_slow_stands_out(tmp_path: Path) -> None:
    every = tuple(range(6))
    known = write_ranks(tmp_path, 8, slow={1: every, 5: every}, hosts=4)
    found = hosts(open_run(open_capture(make_run(known.files, tmp_path / "run.peep"))))
    assert (found[0].host, found[0].ranks, found[0].outlier) == ("node1", 2, True)
    assert not any(one.outlier for one in found[1:]) and found[0].over_ns > 5_000_000


def test_a_group_has_its_own_waits(made: tuple[Known, Path], run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranks", str(made[1]), "--group", "0", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["rank"], row["wait_ns"], row["last"]) for row in rows] == [
        (rank.rank, rank.wait_ns, rank.last) for rank in run.ranks()
    ], "there is one group only"
    assert main(["ranks", str(made[1]), "--group", "7"]) == 2
    assert "There is no process group '7'; there are '0'." in capsys.readouterr().err


def test_of_two_groups_each_has_its_own_waits_also_in_a_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = write_ranks(tmp_path, 4, slow=SLOW, hosts=1, groups=2)
    run = str(make_run(known.files, tmp_path / "run.peep"))
    for group in range(2):
        mine = known.wait[group::2]
        for words, expected in (([], mine.sum(axis=0)), (["--step", "3"], mine[3])):
            assert main(["ranks", run, "--group", str(group), "--json", *words]) == 0
            rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            assert {row["rank"]: row["wait_ns"] for row in rows if "wait_ns" in row} == dict(enumerate(expected))
        assert main(["ranks", run, "--collectives", "--group", str(group), "--json"]) == 0
        skews = [json.loads(line)["skew_ns"] for line in capsys.readouterr().out.splitlines()]
        assert skews == mine.max(axis=1).tolist()
    assert main(["ranks", run, "--collectives", "--group", "2"]) == 2
    assert "No collective that ranks share is of group 2" in capsys.readouterr().err
