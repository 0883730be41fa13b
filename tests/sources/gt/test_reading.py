"""Every variant of the grammar, from lines that the tests write."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peephole import sources
from peephole.sources.gt import SOURCE

Line = Callable[..., str]
Read = Callable[..., Any]
MS = 1_000_000


def newer(line: Line, header: str = "") -> str:
    """A registration, a signal, a matmul as one batch and a GetData, as today's GT writes them."""
    a, b = "CLIENT CLIENT 00aa", "CLIENT CLIENT 00bb"
    w = "WORKER worker_0"
    return header + "".join(
        [
            line(0.1, 1, "RECV", a, "RegisterWorker", "88B", "worker_id=worker_0"),
            line(0.1, 2, "SEND", a, "RegisterWorker", "91B", "success=True"),
            line(0.2, 3, "RECV", b, "CompileStart", "85B", "signal=step | one"),
            line(0.2, 4, "SEND", b, "CompileStart", "91B", "success=True"),
            line(0.21, 5, "RECV", b, "BinaryOp", "110B", "result=2 op=matmul left=0 right=1"),
            line(0.211, 6, "MODIFIER_INJECT", b, "BinaryOp", "", "result=2 op=matmul left=0 right=1"),
            line(0.25, 7, "WORKER_RECV", w, "WorkerBatch", "91B", "success=True"),
            line(0.25, 8, "WORKER_SEND", w, "WorkerBatch", "194B", "[1 cmds: WorkerBinaryOp]"),
            line(0.251, 9, "SEND", b, "BinaryOp", "91B", "success=True"),
            line(0.3, 10, "RECV", b, "GetData", "69B", "tensor_id=2"),
            line(0.3, 11, "WORKER_SEND", w, "WorkerGetData", "88B", "tensor=00bb_2"),
            line(0.304, 12, "WORKER_RECV", w, "WorkerGetData", "64.2KB", "success=True"),
            line(0.305, 13, "SEND", b, "GetData", "1.25MB", "success=True"),
            line(0.31, 14, "RECV", b, "CompileEnd", "83B", "signal=step | one"),
            line(0.31, 15, "SEND", b, "CompileEnd", "91B", "success=True"),
        ]
    )


def test_newer_tape(read: Read, tape_line: Line, header: str) -> None:
    kept = read(newer(tape_line, header))
    assert not kept.problems
    assert kept.kinds == {"client": ["Client"], "dispatcher": ["Dispatcher"], "worker": ["worker_0"]}
    events = kept.events
    assert [event["seq"] for event in events] == list(range(1, 16))
    by = {event["seq"]: event for event in events}
    assert by[1]["lane"] == "worker_0"  # the registration tells which connection is which worker
    assert by[5]["lane"] == "Client"
    assert by[6]["lane"] == "Dispatcher"
    assert [by[i]["op"] for i in (5, 6, 7, 8, 9, 10, 12)] == ["matmul"] * 5 + ["GetData"] * 2
    assert by[12]["size"] == round(64.2 * 1024)
    assert by[13]["size"] == round(1.25 * 1024 * 1024)
    assert by[6]["size"] == -1
    # the client waited 41 ms; the worker's GetData took 4 ms; how long the batch took is not known
    assert by[5]["start"] == 210 * MS
    assert by[5]["dur"] == 41 * MS
    assert by[5]["pair"] == 9
    assert by[11]["dur"] == 4 * MS
    assert by[7]["dur"] == by[8]["dur"] == 0
    assert by[7]["late"] and by[8]["late"]
    assert by[7]["of"] == by[8]["of"] == 5
    assert kept.facts["tape"]["sessions"][0]["started"] == "2026-01-02 03:04:05"


def test_arrows_have_both_ends(read: Read, tape_line: Line) -> None:
    ends = read(newer(tape_line)).flow_ends()
    assert ends[0] == ("worker_0", "Dispatcher", 88)
    assert ("Client", "Dispatcher", 110) in ends
    assert ("Dispatcher", "worker_0", 194) in ends
    assert ("worker_0", "Dispatcher", round(64.2 * 1024)) in ends
    assert ("Dispatcher", "Client", round(1.25 * 1024 * 1024)) in ends
    assert len(ends) == 14  # all but the injected command, which stays in the dispatcher


def test_signals(read: Read, tape_line: Line) -> None:
    more = tape_line(0.4, 16, "SIGNAL", "CLIENT CLIENT 00bb", "Signal", "", "signal=<b>HERE</b>")
    markers = read(newer(tape_line) + more).rows["markers"]
    assert [(m["name"], m["kind"], m["time"]) for m in markers] == [
        ("step | one", "signal", 200 * MS),
        ("step | one", "signal", 310 * MS),
        ("<b>HERE</b>", "signal", 400 * MS),
    ]
    assert [json.loads(m["args"]).get("edge") for m in markers] == ["start", "end", None]


def test_older_tapes(read: Read, tape_line: Line) -> None:
    """Single CLIENT, no size column, CONNECT, DISCONNECT and ERROR, commands of a worker one by one."""
    c = "CLIENT 127.0.0.1:57284"
    text = "".join(
        [
            tape_line(0.002, 1, "CONNECT", c, "CLIENT"),
            tape_line(0.002, 2, "RECV", c, "UnaryOp", "", "result=0 op=randn shape=(100, 100)"),
            tape_line(0.003, 3, "WORKER_SEND", "WORKER auto_worker", "WorkerUnaryOp", "", "op=randn shape=(100, 100)"),
            tape_line(0.028, 4, "WORKER_RECV", "WORKER auto_worker", "WorkerUnaryOp", "", "success=True"),
            tape_line(0.028, 5, "SEND", c, "UnaryOp", "", "success=True"),
            tape_line(0.03, 6, "ERROR", c, "EXCEPTION", "", "first line"),
            "second line | of the message\n",
            tape_line(0.04, 7, "DISCONNECT", c, "CLIENT"),
        ]
    )
    kept = read(text)
    assert not kept.problems
    by = {event["seq"]: event for event in kept.events}
    assert by[1]["client"] == "127.0.0.1:57284"
    assert by[3]["op"] == by[4]["op"] == "randn"
    assert by[3]["dur"] == 25 * MS
    assert by[6]["details"] == "first line\nsecond line | of the message"
    assert kept.kinds["worker"] == ["auto_worker"]


def test_batches_without_answers(read: Read, tape_line: Line) -> None:
    c = "CLIENT CLIENT 00bb"
    text = tape_line(1, 1, "RECV", c, "UnaryOp", "1B", "result=0 op=relu input=2")
    text += "".join(
        tape_line(1.001, 2 + i, "WORKER_SEND", f"WORKER w{i}", "WorkerBatch", "205B", "[1 cmds: WorkerUnaryOp]")
        for i in range(3)
    )
    text += tape_line(1.002, 5, "SEND", c, "UnaryOp", "91B", "success=True")
    events = read(text).events
    assert [event["op"] for event in events] == ["relu"] * 5
    assert all(event["pair"] == -1 and event["dur"] == 0 for event in events[1:4])


def test_batch_of_several_commands(read: Read, tape_line: Line) -> None:
    text = tape_line(
        1, 1, "WORKER_SEND", "WORKER w", "WorkerBatch", "1B", "[5 cmds: WorkerFreeTensor, WorkerBinaryOp (+3 more)]"
    )
    assert read(text).events[0]["op"] == "BinaryOp"


def test_names_are_kept_exactly(read: Read, tape_line: Line) -> None:
    names = ["w 0", "a|b", "a | b", "Wörker", "W0", "w0", "日本", "x" * 33, "../../etc/passwd", "\x1b[31mred", "n\0ul"]
    text = "".join(
        tape_line(1, i + 1, "WORKER_SEND", f"WORKER {name}", "WorkerBatch", "91B", "[1 cmds: WorkerUnaryOp]")
        for i, name in enumerate(names)
    )
    kept = read(text)
    assert sorted(kept.kinds["worker"]) == sorted(names)
    assert [event["worker"] for event in kept.events] == names
    assert not kept.problems


def test_two_clients_interleave(read: Read, tape_line: Line) -> None:
    a, b = "CLIENT CLIENT 00aa", "CLIENT CLIENT 00bb"
    text = "".join(
        [
            tape_line(1.000, 1, "RECV", a, "UnaryOp", "1B", "result=0 op=relu input=1"),
            tape_line(1.001, 2, "RECV", b, "UnaryOp", "1B", "result=0 op=sum input=1"),
            tape_line(1.002, 3, "WORKER_SEND", "WORKER w", "WorkerUnaryOp", "1B", "op=relu"),
            tape_line(1.003, 4, "WORKER_RECV", "WORKER w", "WorkerUnaryOp", "1B", "success=True"),
            tape_line(1.004, 5, "SEND", a, "UnaryOp", "1B", "success=True"),
            tape_line(1.005, 6, "WORKER_SEND", "WORKER w", "WorkerUnaryOp", "1B", "op=sum"),
            tape_line(1.009, 7, "SEND", b, "UnaryOp", "1B", "success=True"),
        ]
    )
    kept = read(text)
    assert kept.kinds["client"] == ["Client 00aa", "Client 00bb"]
    by = {event["seq"]: event for event in kept.events}
    assert (by[1]["pair"], by[2]["pair"]) == (5, 7)
    assert (by[1]["dur"], by[2]["dur"]) == (4 * MS, 8 * MS)
    assert by[3]["of"] == -1  # two commands were open: which one it belongs to is not known
    assert [event["op"] for event in kept.events] == ["relu", "sum", "relu", "relu", "relu", "sum", "sum"]


def test_only_an_answer_fails(read: Read, tape_line: Line) -> None:
    a, w = "CLIENT CLIENT 00aa", "WORKER success=False"
    lines = [
        tape_line(0.1, 1, "RECV", a, "RegisterWorker", "88B", "worker_id=success=False"),
        tape_line(0.2, 2, "RECV", a, "CompileStart", "9B", "signal=did success=False come"),
        tape_line(0.3, 3, "WORKER_SEND", w, "WorkerGetData", "9B", "tensor=1"),
        tape_line(0.4, 4, "WORKER_RECV", w, "WorkerGetData", "9B", "success=False"),
        tape_line(0.5, 5, "SEND", a, "GetData", "9B", "success=False"),
    ]
    assert [event["failed"] for event in read("".join(lines)).events] == [False, False, False, True, True]


def test_clients_stand_in_the_order_in_which_they_came(read: Read, tape_line: Line) -> None:
    names = [f"{n * 7919 % 1000:010x}" for n in range(1, 9)]
    lines = [tape_line(n, n + 1, "RECV", f"CLIENT CLIENT {names[n % 8]}", "GetData", "9B") for n in range(16)]
    assert read("".join(lines)).kinds["client"] == [f"Client {name}" for name in names]


def test_monitor(read: Read) -> None:
    rows = [
        {"seq": 1, "timestamp": 1.18380856, "event": "RECV", "client": "CLIENT 00aa", "command": "RegisterWorker",
         "details": "worker_id=worker_0", "size_bytes": 85},
        {"seq": 2, "timestamp": 1.2, "event": "RECV", "client": "CLIENT 00bb", "command": "GetData",
         "details": "tensor_id=1", "size_bytes": 69},
        {"seq": 3, "timestamp": 1.2000005, "event": "WORKER_SEND", "client": "worker_0", "command": "WorkerGetData",
         "details": "tensor=00bb_1", "size_bytes": 0},
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    kept = read(text + "not json\n" + '{"seq": 1')
    assert kept.kinds == {"client": ["Client"], "dispatcher": ["Dispatcher"], "worker": ["worker_0"]}
    assert kept.events[0]["start"] == 1_183_808_560
    assert kept.events[2]["start"] - kept.events[1]["start"] == 500
    assert kept.events[2]["size"] == -1
    assert kept.facts["tape"]["resolution"] == 1
    assert kept.problems == {"lines that are not understood": 1, "the tape ends in the middle of a line": 1}


@pytest.mark.parametrize("first", ["log", "monitor"])
def test_a_log_and_the_monitor_s_lines_in_one_file(read: Read, tape_line: Line, header: str, first: str) -> None:
    log = newer(tape_line, header)
    exact = []
    for event in read(log).events:
        client = f"CLIENT {event['client']}" if "client" in event else event["worker"]
        exact.append(
            {"seq": event["seq"], "timestamp": event["start"] / 1e9 + 0.0001, "event": event["event"], "client": client,
             "command": event["command"], "details": event["details"], "size_bytes": max(0, event["size"])}
        )  # fmt: skip
    monitor = "".join(json.dumps(row) + "\n" for row in exact)
    kept = read(log + monitor if first == "log" else monitor + log)
    # the same run told twice: once, with the monitor's times
    assert [event["seq"] for event in kept.events] == [row["seq"] for row in exact]
    assert kept.events[0]["start"] % 1_000_000 == 100_000
    assert kept.facts["tape"]["sessions"][0]["started"] == "2026-01-02 03:04:05"
    assert not kept.problems
    # and of two runs each is one
    other = "".join(json.dumps({**row, "timestamp": row["timestamp"] + 5}) + "\n" for row in exact)
    kept = read(log + other if first == "log" else other + log)
    assert [session["events"] for session in kept.facts["tape"]["sessions"]] == [15, 15]
    assert "lines that are not understood" not in kept.problems


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("zipped", [False, True])
def test_encodings_under_any_name(
    read: Read, tape_line: Line, header: str, encoding: str, zipped: bool, tmp_path: Path
) -> None:
    data = newer(tape_line, header).replace("worker_0", "wörker").encode(encoding)
    path = tmp_path / "meaningless.png"
    path.write_bytes(gzip.compress(data) if zipped else data)
    assert sources.find(path) is SOURCE
    kept = read(path)
    assert kept.kinds["worker"] == ["wörker"]
    assert len(kept.events) == 15
    assert not kept.problems


def test_console_capture(read: Read, tape_line: Line, tmp_path: Path) -> None:
    text = "Starting GT server on 127.0.0.1:1\nWaiting for workers to connect...\n" + newer(tape_line)
    text = text.replace("\n", "\r\n") + "\r\nShutting down server...\r\nServer stopped\r\n"
    path = tmp_path / "y"
    path.write_text(text)
    assert sources.find(path) is SOURCE
    kept = read(path)
    assert len(kept.events) == 15
    assert not kept.problems


@pytest.mark.parametrize(("before", "after"), [("", "\x1b[0m"), ("\x1b[1;32m", "\x1b(B\x1b[m\x1b[K"), ("\x1b[2m", "")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_console_s_colours_are_no_part_of_names(
    read: Read, tape_line: Line, tmp_path: Path, before: str, after: str, end: str
) -> None:
    text = "".join(f"{before}{line}{after}{end}" for line in newer(tape_line).splitlines())
    kept = read("\ufeff" + text)
    assert not kept.problems
    assert kept.kinds == {"client": ["Client"], "dispatcher": ["Dispatcher"], "worker": ["worker_0"]}
    assert [event["details"] for event in kept.events] == [e["details"] for e in read(newer(tape_line)).events]
    path = tmp_path / "console"
    path.write_text(text)
    assert sources.find(path) is SOURCE


@pytest.mark.parametrize("name", ["\x1b[31mred\x1b[0m", "red\x1b[31m"])
def test_a_name_s_own_colours_stay(read: Read, tape_line: Line, name: str) -> None:
    lines = [
        tape_line(0.1, 1, "RECV", "CLIENT CLIENT 00aa", "RegisterWorker", "88B", f"worker_id={name}"),
        tape_line(0.2, 2, "WORKER_SEND", f"WORKER {name}", "WorkerBatch", "194B", "[1 cmds: WorkerBinaryOp]"),
    ]
    assert read("".join(lines)).kinds["worker"] == [name]
    if name.endswith("\x1b[0m"):
        assert read("".join(f"{line[:-1]}\x1b[0m\n" for line in lines)).kinds["worker"] == [name]


def test_other_files_are_not_tapes() -> None:
    for head in (b'{"traceEvents": [', b"\x80\x05\x95", b"# a README\n| a | b |\n", b"PK\x03\x04", b"\0" * 4096):
        assert not SOURCE.sniff(head, Path("x.log"))


def test_slices_of_one_row_never_overlap(read: Read, tape_line: Line) -> None:
    text = newer(tape_line).replace("  0.304s", "  9.304s")  # a clock that goes back makes long slices
    kept = read(text)
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in kept.rows["slices"]:
        rows.setdefault((row["track"], row["depth"]), []).append((row["start"], row["start"] + row["dur"]))
    for spans in rows.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def test_a_trace_of_a_part_of_a_run(read: Read, tape_line: Line) -> None:
    """GT's trace script listens in the middle of a run: its own header, numbers that begin anywhere."""
    rule = "=" * 100
    title = "GT2 Dispatcher Instruction Stream (Trace Capture)"
    head = f"{rule}\n{title}\nCaptured: 2026-01-02 03:04:05\nLimit: 5.0s\n{rule}\n"
    text = "".join(
        [
            tape_line(61.2, 7001, "WORKER_SEND", "WORKER worker_0", "WorkerGetData", "88B", "tensor=00bb_2"),
            tape_line(61.201, 7002, "WORKER_RECV", "WORKER worker_0", "WorkerGetData", "64.2KB", "success=True"),
        ]
    )
    kept = read(head + "\n" + text)
    assert not kept.problems
    assert [event["seq"] for event in kept.events] == [7001, 7002]
    assert kept.events[0]["dur"] == MS
    assert kept.kinds["worker"] == ["worker_0"]


def test_a_name_that_ends_in_a_blank_is_one_lane(read: Read, tape_line: Line) -> None:
    kept = read(
        tape_line(1, 1, "RECV", "CLIENT CLIENT 00aa", "RegisterWorker", "85B", "worker_id=w ")
        + tape_line(2, 2, "WORKER_SEND", "WORKER w ", "WorkerGetData", "9B", "tensor=00bb_1")
    )
    assert kept.kinds["worker"] == ["w"]
