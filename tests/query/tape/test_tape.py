"""What a tape tells: figures, patterns and diagnoses, from tapes that the tests write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peephole.ingest import import_files
from peephole.query.tape import stats as tape_stats
from peephole.query.tape.diagnosis import diagnoses
from peephole.query.tape.follow import Following
from peephole.query.tape.now import now_of, now_of_dask
from peephole.query.tape.operations import family
from peephole.query.tape.range_figures import range_figures
from peephole.query.tape.tape import Tape, is_tape, tape
from peephole.store.capture import open_capture

Line = Callable[..., str]
Make = Callable[..., Tape]
MS = 1_000_000
C = "CLIENT CLIENT 00cc"


@pytest.fixture
def make(tmp_path: Path, capture_dir: Path) -> Make:
    def maker(text: str, run: int | None = None) -> Tape:
        path = tmp_path / "t"
        path.write_text(text)
        capture = open_capture(import_files([path]))
        assert is_tape(capture)
        return tape(capture, run)

    return maker


def two_workers(line: Line) -> str:
    return "".join(
        [
            line(0.1, 1, "RECV", "CLIENT CLIENT 00a0", "RegisterWorker", "88B", "worker_id=w0"),
            line(0.1, 2, "RECV", "CLIENT CLIENT 00a1", "RegisterWorker", "88B", "worker_id=w1"),
            line(1.000, 3, "RECV", C, "BinaryOp", "100B", "result=1 op=matmul left=0 right=1"),
            line(1.010, 4, "WORKER_SEND", "WORKER w0", "WorkerBinaryOp", "2.0KB", "op=matmul"),
            line(1.030, 5, "WORKER_RECV", "WORKER w0", "WorkerBinaryOp", "91B", "success=True"),
            line(1.030, 6, "WORKER_SEND", "WORKER w1", "WorkerBinaryOp", "", "op=matmul"),
            line(1.070, 7, "WORKER_RECV", "WORKER w1", "WorkerBinaryOp", "91B", "success=True"),
            line(1.080, 8, "SEND", C, "BinaryOp", "91B", "success=True"),
            line(1.090, 9, "RECV", C, "UnaryOp", "100B", "result=2 op=sum input=1"),
            line(1.091, 10, "MODIFIER_INJECT", C, "GatherShards", "", "result=9 source=1 target_worker=w0"),
            line(1.092, 11, "MODIFIER_INJECT", C, "UnaryOp", "", "result=2 op=sum input=9"),
            line(1.098, 12, "WORKER_RECV", "WORKER w0", "WorkerBatch", "91B", "success=True"),
            line(1.099, 13, "WORKER_SEND", "WORKER w0", "WorkerBatch", "200B", "[1 cmds: WorkerUnaryOp]"),
            line(1.100, 14, "SEND", C, "UnaryOp", "91B", "success=True"),
        ]
    )


def test_busy_is_what_is_known_and_what_it_can_be_at_most(make: Make, tape_line: Line) -> None:
    lanes = {lane.name: lane for lane in tape_stats.lane_stats(make(two_workers(tape_line)))}
    assert lanes["w0"].window == 100 * MS
    assert lanes["w0"].busy == 20 * MS
    assert lanes["w0"].busy_most == 26 * MS  # the batch ran between #11 at 1.092 and its answer at 1.098
    assert lanes["w1"].busy == lanes["w1"].busy_most == 40 * MS
    assert lanes["w1"].idle_share == pytest.approx(0.6)
    assert lanes["Client"].busy == 90 * MS
    assert lanes["w0"].share == pytest.approx(4 / 6)


def test_a_worker_is_judged_over_the_time_it_was_there(make: Make, tape_line: Line, tmp_path: Path) -> None:
    lines = [tape_line(0.1, 1, "RECV", "CLIENT CLIENT 00a0", "RegisterWorker", "88B", "worker_id=w0")]
    lines.append(tape_line(1.0, 2, "RECV", C, "GetData", "9B", "tensor_id=1"))
    lines.append(tape_line(9.0, 3, "RECV", "CLIENT CLIENT 00a1", "RegisterWorker", "88B", "worker_id=late"))
    for n, (name, start, end) in enumerate((("w0", 2.0, 4.0), ("late", 9.2, 9.7))):
        lines.append(tape_line(start, 4 + 2 * n, "WORKER_SEND", f"WORKER {name}", "WorkerGetData", "9B"))
        lines.append(tape_line(end, 5 + 2 * n, "WORKER_RECV", f"WORKER {name}", "WorkerGetData", "9B"))
    lines.append(tape_line(10.0, 8, "DISCONNECT", "CLIENT CLIENT 00a0", "WORKER"))
    lines.append(tape_line(11.0, 9, "SEND", C, "GetData", "9B", "success=True"))
    t = make("".join(lines))
    lanes = {lane.name: lane for lane in tape_stats.lane_stats(t)}
    assert lanes["Client"].window == 10_000 * MS
    assert (lanes["late"].since, lanes["late"].until) == (9_000 * MS, None)
    assert lanes["late"].busy_share == pytest.approx(0.25)  # half a second of two, not of ten
    assert lanes["late"].idle_share == pytest.approx(0.75)
    assert (lanes["w0"].since, lanes["w0"].until) == (None, 10_000 * MS)
    assert lanes["w0"].busy_share == pytest.approx(2 / 9)
    assert tape_stats.waits(t)[0].reason == "waits for late, the last of 2 workers"  # not for one that comes or goes
    assert {w.name: round(w.busy, 3) for w in now_of(t, live=False).workers} == {"late": 0.25, "w0": 0.222}
    there = {t.lanes[lane.lane].name: lane.there for lane in range_figures(t, t.seq > 0, 8_000 * MS, 11_000 * MS).lanes}
    assert there == {"Client": 3_000 * MS, "Dispatcher": 3_000 * MS, "late": 2_000 * MS, "w0": 2_000 * MS}
    # a tape that is read as it grows gives the same
    following = Following()
    for n in range(1, len(lines) + 1):
        following.add(make("".join(lines[:n])))
    assert following.now("", "").workers == now_of(t, live=False).workers


def test_a_clock_that_went_back_makes_no_worker_busier_than_its_time(make: Make, tape_line: Line) -> None:
    lines = [
        tape_line(1.0, 1, "RECV", C, "GetData", "9B", "tensor_id=1"),
        tape_line(8.0, 2, "RECV", "CLIENT CLIENT 00a0", "RegisterWorker", "88B", "worker_id=w0"),
        tape_line(3.0, 3, "WORKER_SEND", "WORKER w0", "WorkerGetData", "9B"),
        tape_line(9.0, 4, "WORKER_RECV", "WORKER w0", "WorkerGetData", "9B"),
        tape_line(5.0, 5, "DISCONNECT", "CLIENT CLIENT 00a0", "WORKER"),
        tape_line(11.0, 6, "SEND", C, "GetData", "9B", "success=True"),
    ]
    worker = tape_stats.lane_stats(make("".join(lines)))[2]
    assert (worker.since, worker.until, worker.busy_share) == (3_000 * MS, 9_000 * MS, 1.0)


def test_of_several_runs_one_is_shown_and_the_others_are_told(peephole: Any, tmp_path: Path, tape_line: Line) -> None:
    other = "".join(tape_line(1 + n / 100, n, "WORKER_SEND", "WORKER w9", "WorkerX", "9B") for n in range(1, 6))
    (tmp_path / "t").write_text(two_workers(tape_line) + other)
    said = peephole("show", tmp_path / "t", "-s", "Workers").stdout
    assert said.startswith("run 1, one of 2: -i 'run 2' shows another\n")
    assert "w0" in said and "w9" not in said
    said = peephole("show", tmp_path / "t", "-s", "Messages", "-i", "run 2").stdout
    assert said.startswith("run 2, one of 2: -i 'run 1' shows another\n")
    assert said.count("w9") == 5
    assert "no run 3" in peephole("show", tmp_path / "t", "-s", "Workers", "-i", "run 3", check=False).stderr
    # what a cluster does now is what its last run does
    assert "w9" in peephole("top", tmp_path / "t", "--once").stdout


def test_pairs_and_balance(make: Make, tape_line: Line) -> None:
    t = make(two_workers(tape_line))
    pairs = {(p.source, p.target): p for p in tape_stats.pair_stats(t)}
    assert pairs["Dispatcher", "w0"].bytes == 2048 + 200
    assert pairs["Dispatcher", "w1"].unknown == 1
    assert pairs["Client", "Dispatcher"].messages == 2
    even = tape_stats.balance(t)
    assert even is not None
    assert even.busiest == "w0"
    assert 0 < even.even < 1


def test_balance_is_of_time_where_the_tape_tells_it(make: Make, tape_line: Line) -> None:
    def work(ms: int) -> str:
        lines = []
        for i in range(10):
            worker, at = f"WORKER w{i % 2}", 1 + i / 10
            lines.append(tape_line(at, 2 * i + 1, "WORKER_SEND", worker, "WorkerUnaryOp", "9B", "op=relu"))
            end = at + (ms if i % 2 else 1) / 1000
            lines.append(tape_line(end, 2 * i + 2, "WORKER_RECV", worker, "WorkerUnaryOp", "9B", "success=True"))
        return "".join(lines)

    slow = tape_stats.balance(make(work(39)))
    assert slow is not None
    assert slow.words == "w1 does 98% of 2 workers' work by time"
    assert slow.even < 0.1
    # so little that the clock's steps decide, or one slow start
    idle = work(39) + tape_line(99, 21, "WORKER_SEND", "WORKER w0", "WorkerUnaryOp", "9B", "op=relu")
    for text in (work(3), idle):
        little = tape_stats.balance(make(text))
        assert little is not None
        assert little.words.endswith("of 2 workers' events")


def test_waits_and_patterns(make: Make, tape_line: Line) -> None:
    t = make(two_workers(tape_line))
    first, second = tape_stats.waits(t)
    assert (first.seq, first.op, first.dur) == (3, "matmul", 80 * MS)
    assert first.reason == "waits for w1, the last of 2 workers"
    assert "gathered" in second.reason
    (found,) = tape_stats.patterns(t)
    assert (found.name, found.seq, found.op) == ("all-reduce", 9, "sum")
    assert "not logged" in found.words


def test_a_gap_is_called_a_gap(make: Make, tape_line: Line) -> None:
    text = "".join(
        [
            tape_line(1.0, 1, "RECV", C, "BinaryOp", "9B", "result=1 op=matmul left=0 right=1"),
            tape_line(1.0, 2, "MODIFIER_INJECT", C, "BinaryOp", "", "result=1 op=matmul left=0 right=1"),
            tape_line(1.5, 3, "SEND", C, "BinaryOp", "9B", "success=True"),
        ]
    )
    (found,) = tape_stats.patterns(make(text))
    assert found.name == "unlogged"
    assert found.dur == 500 * MS


def test_diagnoses_of_the_troubleshooting(make: Make, tape_line: Line) -> None:
    def kinds(text: str) -> dict[str, str]:
        return {finding.kind: finding.words for finding in diagnoses(make(text))}

    one = "".join(tape_line(1, i + 1, "WORKER_SEND", "WORKER auto_worker", "WorkerX", "9B", "") for i in range(3))
    assert kinds(one)["one-worker"].startswith("One worker only: auto_worker")
    shared = "".join(
        tape_line(1, i + 1, "RECV", f"CLIENT CLIENT 00a{i}", "RegisterWorker", "9B", "worker_id=w") for i in range(3)
    )
    assert kinds(shared)["shared-name"].startswith("Workers share one name: 3 registered as 'w'")
    nobody = tape_line(1, 1, "RECV", C, "UnaryOp", "9B", "op=randn") + tape_line(
        1, 2, "SEND", C, "UnaryOp", "9B", "success=False"
    )
    found = kinds(nobody)
    assert "no-workers" in found
    assert "failures" in found
    told = kinds(two_workers(tape_line) + tape_line(2, 15, "RECV", C, "GetData", "9B", "tensor_id=1"))
    assert "the tape ends before the answer" in told["unanswered"]
    assert "1 injected GatherShards" in told["unlogged"]
    assert "share their millisecond" in told["one-millisecond"]
    assert told["reply-first"].startswith("1 batch was logged")
    lopsided = "".join(tape_line(1, i + 1, "WORKER_SEND", f"WORKER w{int(i == 9)}", "WorkerX", "9B") for i in range(10))
    assert "w0 does 90%" in kinds(lopsided)["unbalanced"]
    assert kinds("not a line\n" + one)["problem"].startswith("1 × lines that are not understood, such as 'not a line'")


def test_sessions_can_be_chosen(make: Make, tape_line: Line) -> None:
    run = [tape_line(1 + i / 1000, i + 1, "WORKER_SEND", "WORKER w", "WorkerX", "9B") for i in range(5)]
    text = "".join(run[:3]) + "".join(run)
    assert len(make(text)) == 5  # the largest
    assert len(make(text, 1)) == 3
    assert int(make(text, 2).time[0]) == 1000 * MS  # each on its own clock
    assert [session.events for session in make(text).sessions] == [3, 5]


def test_signals_by_their_words(make: Make, tape_line: Line) -> None:
    names = ["START_FORWARD", "HERE", "END_FORWARD", "phase_START", "phase_END", "END_NOTHING"]
    text = "".join(tape_line(1 + i, i + 1, "SIGNAL", C, "Signal", "", f"signal={name}") for i, name in enumerate(names))
    found = make(text).signals
    assert [(s.name, s.end is not None, s.ending) for s in found] == [
        ("FORWARD", True, False), ("HERE", False, False), ("phase", True, False), ("NOTHING", False, True),
    ]  # fmt: skip


def test_families() -> None:
    assert family("matmul", "BinaryOp") == "MatMul"
    assert family("add", "WorkerBinaryOp") == "BinaryOp"
    assert family("relu", "UnaryOp") == "ReLU"
    assert family("GetData", "WorkerGetData") == "GetData"
    assert family("FreeTensor", "WorkerBatch") == "FreeTensor"
    assert family("my_kernel", "task") == "my_kernel"


def test_now(make: Make, tape_line: Line) -> None:
    now = now_of(make(two_workers(tape_line)), live=False)
    assert [(w.name, w.running, w.bound) for w in now.workers] == [("w0", ("sum",), True), ("w1", ("matmul",), False)]
    assert now.busiest[0][0] == "matmul"
    told = now_of_dask(
        "tcp://x",
        {
            "workers": {
                "tcp://a": {"name": 3, "nthreads": 2, "metrics": {"cpu": 100.0, "transfer": {"incoming_bytes": 7}}}
            }
        },
        {"tcp://a": ["inc-1", "inc-2"]},
        {"tcp://a": {"inc-1": ()}},
    )
    assert [(w.name, w.running, w.busy, w.events, w.bytes_in) for w in told.workers] == [
        ("worker-3", ("inc",), 0.5, 2, 7)
    ]


def test_a_tape_without_events_says_what_to_check(peephole: Any, tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_text("GT2 Dispatcher Instruction Stream\n")
    for name in ("Workers", "Messages"):
        said = peephole("show", path, "-s", name, check=False)
        assert said.returncode == 2
        assert "holds no events. Check that GT_INSTRUCTION_LOG was set" in said.stderr
    assert peephole("show", path).stdout.startswith("No events. Check that GT_INSTRUCTION_LOG was set")
    assert "no events. Check that GT_INSTRUCTION_LOG was set" in peephole("top", path).stdout


def test_bytes_that_the_tape_does_not_tell_are_not_none(peephole: Any, tmp_path: Path, tape_line: Line) -> None:
    path = tmp_path / "tape"
    path.write_text(
        tape_line(1, 1, "RECV", "CLIENT CLIENT 00bb", "GetData", "", "tensor_id=1")
        + tape_line(2, 2, "WORKER_SEND", "WORKER w0", "WorkerGetData", "64B", "tensor=00bb_1")
    )
    rows = [line.split() for line in peephole("show", path, "-s", "Workers").stdout.splitlines()]
    assert rows[1][:6] == ["Client", "1", "0", "B", "not", "told"]
    assert rows[2][:6] == ["Dispatcher", "0", "not", "told", "64", "B"]
    assert rows[3][:4] == ["w0", "1", "64", "B"]


def test_show_and_top(peephole: Any, tmp_path: Path, tape_line: Line) -> None:
    path = tmp_path / "tape"
    path.write_text(two_workers(tape_line))
    listed = peephole("show", path, "--ls").stdout
    assert "Workers" in listed
    assert "Messages" in listed
    words = peephole("show", path, "-s", "Workers").stdout
    for text in ("balance  w0 does 67%", "Dispatcher → w0", "longest waits", "all-reduce", "not logged"):
        assert text in words
    rows = [json.loads(row) for row in peephole("show", path, "-s", "Messages", "--json").stdout.splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, 15))
    assert rows[3]["size"] == 2048
    for most, shown in (("3", 3), ("-1", 14), ("0", 0)):
        assert peephole("show", path, "-s", "Messages", "-t", most, "--json").stdout.count('"seq"') == shown
    count = peephole("show", path, "-s", "Workers", "--json").stdout.count('"kind":"wait"')
    for most, shown in (("1", 1), ("-1", count), ("0", 0)):
        assert peephole("show", path, "-s", "Workers", "-t", most, "--json").stdout.count('"kind":"wait"') == shown
    lanes = [json.loads(row) for row in peephole("top", path, "--json").stdout.splitlines()]
    assert [lane["worker"] for lane in lanes] == ["w0", "w1"]
    assert "w1" in peephole("top", path).stdout
    assert peephole("top", "tcp://127.0.0.1:1", check=False).returncode == 2


def test_covered_counts_overlaps_once() -> None:
    assert tape_stats.covered(np.array([0, 5, 20]), np.array([10, 8, 30])) == 20


def test_figures_of_a_range(make: Any, tape_line: Line) -> None:
    t = make(two_workers(tape_line))
    everything = np.ones(len(t), np.bool_)
    whole = range_figures(t, everything, int(t.time.min()), int(t.time.max()))
    assert whole.events == len(t)
    assert [lane.events for lane in whole.lanes] == np.bincount(t.lane, minlength=len(t.lanes)).tolist()
    told = {(t.lanes[p.source].name, t.lanes[p.target].name): (p.messages, p.bytes) for p in whole.pairs}
    assert told == {(p.source, p.target): (p.messages, p.bytes) for p in tape_stats.pair_stats(t)}
    middle = int(t.time[len(t) // 2])
    left = range_figures(t, everything, int(t.time.min()), middle - 1)
    right = range_figures(t, everything, middle, int(t.time.max()))
    assert left.events + right.events == whole.events
    assert left.bytes + right.bytes == whole.bytes
    assert dict(whole.families) == {
        i: int((t.family == i).sum()) for i in range(len(t.families)) if (t.family == i).any()
    }
    # what runs over an edge is counted for the part that is inside
    for lane in range(len(t.lanes)):
        assert left.lanes[lane].busy <= whole.lanes[lane].busy
        assert whole.lanes[lane].busy <= whole.lanes[lane].busy_most
    nothing = range_figures(t, everything, 10**15, 10**15 + 5)
    assert (nothing.events, nothing.bytes, nothing.pairs, nothing.families) == (0, 0, (), ())
