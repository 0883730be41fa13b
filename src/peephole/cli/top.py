"""`peephole top`: what a cluster is doing, refreshed: a tape, a capture that is still recorded, or a Dask scheduler."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peephole.cli.format import Column, Printer, count, duration, size
from peephole.cli.top_tape import can_follow, follow
from peephole.errors import PeepholeError

if TYPE_CHECKING:
    from peephole.query.tape.now import Now
    from peephole.store.capture import Capture

HELP: Final = """\
Follows a distributed program: its workers, what they run, how busy they are and what they moved.

  peephole top                       the newest capture, refreshed while its program runs
  peephole top debug.log             a GT tape, also one that is still being written
  peephole top tcp://127.0.0.1:8786  a Dask scheduler"""

SCHEMES: Final = ("tcp://", "tls://", "ucx://", "inproc://", "ws://", "wss://")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("target", nargs="?", metavar="TAPE", help="a tape, a capture, or a Dask scheduler's address")
    parser.add_argument("-n", "--every", type=float, default=1.0, metavar="SECONDS", help="how often (default: 1)")
    parser.add_argument("--once", action="store_true", help="print once and end, as into a pipe")
    parser.add_argument("--json", action="store_true", help="print one JSON object per worker, or one without workers")


def run(args: argparse.Namespace) -> int:
    """Prints until the program has ended or Ctrl-C; once when nobody watches."""
    if not 0.1 <= args.every <= 3600:
        raise PeepholeError(f"-n must be between 0.1 and 3600 seconds, not {args.every:g}.")
    printer = Printer(args.json)
    forever = not args.once and not args.json and sys.stdout.isatty()
    dask = args.target is not None and args.target.startswith(SCHEMES)
    if dask:
        states = _dask(args.target)
    elif forever and args.target is not None and can_follow(Path(args.target)):
        states = follow(Path(args.target))
    else:
        states = _tape(args.target)
    for state in states:
        if forever:
            sys.stdout.write("\x1b[H\x1b[2J")
        show(state, printer)
        sys.stdout.flush()
        if not forever or state.ended:
            break
        time.sleep(args.every)
    return 0


def show(now: Now, printer: Printer) -> None:
    """Prints one state of the cluster."""
    if printer.json:
        if not now.workers:
            operations = [{"name": name, "events": events, "ns": spent} for name, events, spent in now.busiest]
            printer.record({"capture": now.name, "state": now.words, "workers": 0, "operations": operations})
        for worker in now.workers:
            printer.record(
                {
                    "worker": worker.name, "running": list(worker.running), "busy": worker.busy, "bound": worker.bound,
                    "events": worker.events, "bytes_in": worker.bytes_in, "bytes_out": worker.bytes_out,
                    "failures": worker.failures,
                }
            )  # fmt: skip
        return
    printer.line((now.name, "bold"), f"  {now.words}")
    if now.workers:
        printer.line("")
        _workers(now, printer)
    if now.busiest:
        printer.line("")
        printer.table(
            [Column("operation", flexible=True), Column("events", right=True), Column("time", right=True)],
            [(name, count(events), duration(spent) if spent else "") for name, events, spent in now.busiest],
        )


def _workers(now: Now, printer: Printer) -> None:
    printer.table(
        [
            Column("worker", flexible=True), Column("last" if now.ended else "running", flexible=True),
            Column(now.share, right=True), Column(""),
            Column(now.counted, right=True), Column("in", right=True), Column("out", right=True),
            Column("failed", right=True),
        ],
        [
            (
                worker.name, ", ".join(worker.running) or "-", ("≤" if worker.bound else "") + f"{worker.busy:.0%}",
                "█" * round(10 * min(1.0, worker.busy)), count(worker.events), _size(worker.bytes_in),
                _size(worker.bytes_out), count(worker.failures) if worker.failures else "",
            )
            for worker in now.workers
        ],
    )  # fmt: skip


def _size(number: int) -> str:
    return "" if number < 0 else size(number)


def _tape(target: str | None) -> Iterator[Now]:
    from peephole.cli.target import open_target
    from peephole.query.tape.now import now_of, now_of_names
    from peephole.query.tape.tape import LAST, is_tape, tape

    capture: Capture = open_target(target)
    while True:
        yield now_of(tape(capture, LAST), capture.live) if is_tape(capture) else now_of_names(capture)
        capture.refresh()


def _dask(address: str) -> Iterator[Now]:
    from peephole.query.tape.now import now_of_dask

    try:
        from distributed import Client
    except ImportError:
        raise PeepholeError("Following a Dask scheduler needs Dask itself: `pip install distributed`.") from None
    try:
        client: Any = Client(address, timeout="5s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PeepholeError(f"No Dask scheduler answers at {address} ({type(error).__name__}).") from None
    try:
        while True:
            info = client.scheduler_info(n_workers=-1)
            yield now_of_dask(address, info, client.processing(), client.call_stack() if info["workers"] else {})
    finally:
        client.close(timeout=2)
