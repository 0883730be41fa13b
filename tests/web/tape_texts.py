"""Tapes that the tests of the page write: of a few workers, of a crowd; with a name that is an attack."""

from __future__ import annotations

from typing import Any

HEADER = "=" * 100 + "\nGT2 Dispatcher Instruction Stream\nStarted: 2026-01-02 03:04:05\n" + "=" * 100 + "\n\n"
EVIL = "<img src=x onerror=window.hacked=1>"
OPS = ("matmul", "add", "relu", "sum")


def tape_text(line: Any, commands: int, workers: int = 2) -> str:
    """Workers register, a span of two commands is signalled, then commands of a millisecond each, in turns."""
    lines, seq = [HEADER], 0

    def say(at: float, event: str, who: str, command: str, size: str = "", details: str = "") -> None:
        nonlocal seq
        seq += 1
        lines.append(line(at, seq, event, who, command, size, details))

    for k in range(workers):
        say(0.1 + k / 10, "RECV", f"WORKER w{k}", "RegisterWorker", "85B", f"worker_id=w{k}")
        say(0.1 + k / 10, "SEND", f"WORKER w{k}", "RegisterWorker", "91B", "success=True")
    client = "CLIENT CLIENT 00ab"
    for i in range(commands):
        at = 2.0 + i / 1000
        if i in (1, 3):
            name = "CompileStart" if i == 1 else "CompileEnd"
            say(at, "RECV", client, name, "85B", "signal=forward")
            say(at, "SEND", client, name, "91B", "success=True")
        op = OPS[i % len(OPS)]
        command = "BinaryOp" if op in ("matmul", "add") else "UnaryOp"
        worker = f"WORKER w{i % workers if i % 3 else 0}"
        facts = f"result={i} op={op} left=1 right=2" + (f" {EVIL}" if i == 2 else "")
        say(at, "RECV", client, command, "64.0KB" if i == 2 else "109B", facts)
        say(at, "MODIFIER_INJECT", client, command, "", facts)
        say(at, "WORKER_SEND", worker, f"Worker{command}", "195B", facts)
        say(at + 0.001, "WORKER_RECV", worker, f"Worker{command}", "91B", f"success={i != 5}")
        say(at + 0.001, "SEND", client, command, "91B", f"success={i != 5}")
    return "".join(lines) + "this line says nothing\n"


def crowd_text(line: Any) -> str:
    """Forty workers that each command reaches; the last comes when half of the work is done."""
    lines, seq = [], 0

    def say(*facts: Any) -> None:
        nonlocal seq
        seq += 1
        lines.append(line(facts[0], seq, *facts[1:]))

    for i in range(39):
        say(0.1, "RECV", f"CLIENT CLIENT 00a{i:02}", "RegisterWorker", "88B", f"worker_id=w{i}")
    for i in range(40):
        at = 1 + i / 10
        if i == 20:
            say(at, "RECV", "CLIENT CLIENT 00b00", "RegisterWorker", "88B", "worker_id=w39")
        say(at, "RECV", "CLIENT CLIENT 00cc", "BinaryOp", "9B", f"result={i} op=matmul left=0 right=1")
        for k in range(40 if i >= 20 else 39):
            say(at + k / 500, "WORKER_SEND", f"WORKER w{k}", "WorkerBinaryOp", "9B", "op=matmul")
            say(at + (k + 1) / 500, "WORKER_RECV", f"WORKER w{k}", "WorkerBinaryOp", "9B", "success=True")
        say(at + 0.09, "SEND", "CLIENT CLIENT 00cc", "BinaryOp", "9B", "success=True")
    return "".join(lines)
