"""Runs a mutant in another process, with limits of time and memory, and judges how it went.

The process is forked from one that has imported everything: a new interpreter for each would take a second. That one
must not have started a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from fuzz.mutant import Ask, Mutant

CPU_S: Final = 10
"""Seconds of CPU that a mutant may take."""
WALL_S: Final = 180
"""Seconds that it may take on a busy machine, waiting included."""
MEMORY: Final = 2 << 30
"""Bytes of address space beyond what the process has when it begins."""
_TOGETHER: Final = 25
"""Mutants that one process runs before the next one takes over."""
_LONGEST: Final = 4000
"""Characters of a sentence about an error."""
_SKIP: Final = ("peephole.sources.dask", "peephole.demo", "peephole.__main__", "peephole.startup")


@dataclass(frozen=True)
class Verdict:
    """How a mutant went: `fault` says what is wrong with the answer, or is empty; `refused`: it was told so."""

    fault: str = ""
    where: str = ""
    """The same for two mutants that fail alike."""
    refused: bool = False
    seconds: float = 0.0


class _TooLong(BaseException):
    """The time is over."""


def prepare() -> None:
    """Imports everything that a trial may need, so that a fork has it."""
    import peephole

    for module in pkgutil.walk_packages(peephole.__path__, "peephole."):
        if not module.name.startswith(_SKIP) and ".live" not in module.name:
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in (
        "duckdb", "pyarrow.dataset", "numba", "starlette.routing", "rich.console", "rich.cells", "anyio",
        "anyio._backends._asyncio", "csv", "matplotlib.figure", "matplotlib.backends.backend_agg",
    ):  # fmt: skip
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


class _Worker:
    """A process that runs one mutant after the other, forked from this one."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.ran = 0
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _work(theirs)
        theirs.close()
        self.channel = ours
        self.replies = ours.makefile("rb")

    def ask(self, folder: Path, mutant: Mutant, cpu: int) -> bytes:
        """What it says about a mutant until it is done with it, or ends."""
        self.ran += 1
        word = {"folder": str(folder), "asks": mutant.asks, "cpu": cpu}
        self.channel.sendall(json.dumps(word).encode() + b"\n")
        said = b""
        self.channel.settimeout(WALL_S)
        try:
            while not said.endswith(b"}\n") or b'"verdict"' not in said:
                some = self.channel.recv(1 << 16)
                if not some:
                    break
                said += some
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass
        return said

    def end(self) -> int:
        """Ends it; how it ended."""
        self.replies.close()
        self.channel.close()
        return os.waitpid(self.pid, 0)[1]


_worker: _Worker | None = None


def run(mutant: Mutant, limit_cpu: int = CPU_S) -> Verdict:
    """The verdict on a mutant.

    A process runs a few of them one after the other, since forking takes longer than most mutants do. One that fails is
    run again in a process of its own: only then it is its own fault.
    """
    global _worker  # noqa: PLW0603
    if _worker is not None and _worker.ran >= _TOGETHER:
        _worker.end()
        _worker = None
    while True:
        first = _worker is None
        worker = _worker = _worker or _Worker()
        verdict, alive = _run(worker, mutant, limit_cpu)
        if not alive or verdict.fault:
            if alive:
                worker.end()
            _worker = None
        if first or not verdict.fault:
            return verdict


def _run(worker: _Worker, mutant: Mutant, limit_cpu: int) -> tuple[Verdict, bool]:
    """The verdict, and whether the worker still runs."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=os.environ.get("FUZZ_DIR")))
    try:
        begun = time.monotonic()
        mutant.write(folder)
        said: dict[str, Any] = {}
        for line in worker.ask(folder, mutant, limit_cpu).splitlines():
            with contextlib.suppress(ValueError):
                said |= json.loads(line)
        if "verdict" in said:
            return Verdict(**said["verdict"]), True
        status, wall, ask = worker.end(), time.monotonic() - begun, said.get("ask", "?")
        if os.WIFSIGNALED(status):
            name = signal.Signals(os.WTERMSIG(status)).name
            return Verdict(f"killed by {name} after {wall:.0f} s, asked {ask}", f"{name} {ask}"), False
        return Verdict(f"ended with {status} and no word, asked {ask}", f"silent {ask}"), False
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _work(channel: socket.socket) -> None:
    """Asks about one mutant after the other until nobody wants it any more; never returns."""
    try:
        _limits()
        for line in channel.makefile("rb"):
            word = json.loads(line)
            before = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (int(before) + word["cpu"] + 1, resource.RLIM_INFINITY))
            asks = tuple(tuple(ask) for ask in word["asks"])
            verdict = _asked(Path(word["folder"]), asks, channel)
            facts = {"fault": verdict.fault, "where": verdict.where, "refused": verdict.refused}
            _say(channel, {"verdict": {**facts, "seconds": time.process_time() - before}})
    except BaseException:
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(0)


def _say(channel: socket.socket, word: dict[str, Any]) -> None:
    channel.sendall(json.dumps(word).encode() + b"\n")


def _limits() -> None:
    def over(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLong

    sys.setrecursionlimit(1000)
    signal.signal(signal.SIGXCPU, over)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        size = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _asked(folder: Path, asks: tuple[Ask, ...], channel: socket.socket) -> Verdict:
    os.chdir(folder)
    os.environ.update(PEEPHOLE_DIR=str(folder / "captures"), XDG_CACHE_HOME=str(folder / "cache"), HOME=str(folder))
    os.environ.update(NO_COLOR="1", TMPDIR=str(folder))
    for name in ("DEBUG", "PEEPHOLE", "PEEPHOLE_CAPTURE", "PEEPHOLE_ONLY", "FORCE_COLOR", "COLUMNS"):
        os.environ.pop(name, None)
    tempfile.tempdir = None
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    refused = False
    for ask in asks:
        label = " ".join(ask[:3])[:200]
        _say(channel, {"ask": ask[0]})
        try:
            fault, no = _get(ask) if ask[0] == "GET" else _command(ask)
        except BaseException as error:
            fault, where, no = _of_error(error, ask), _where(error, ask), False
        else:
            where = fault.partition(":")[0]
        if fault:
            return Verdict(f"{label}\n{fault}", where)
        refused |= no
    left = [p.name for p in (folder / "captures").rglob(".*")] if refused and (folder / "captures").exists() else []
    if left:
        return Verdict(f"left behind: {left}", "left behind")
    return Verdict(refused=refused)


def _command(ask: Ask) -> tuple[str, bool]:
    """What is wrong with a command's answer, and whether it refused."""
    from peephole.cli.main import main

    out = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = main(list(ask))
        except SystemExit as done:
            code = done.code
    said = err.getvalue()
    if code == 2:
        # the command's own parser says it in its own way
        one = said.startswith("usage:") or (said.startswith("peephole: ") and said.count("\n") == 1)
        return ("", True) if one and len(said) < _LONGEST else (f"not one sentence: {said[:3000]}", True)
    if code not in (0, 1, None):
        return f"exit code {code}: {said[:3000]}", False
    if "Traceback" in said:
        return f"a traceback beside the answer: {said[:3000]}", False
    out.flush()
    return "", False


def _get(ask: Ask) -> tuple[str, bool]:
    """What is wrong with the server's answer to a request, and whether it refused."""
    from peephole.server.app import create_app
    from peephole.server.library import Library

    _, target, capture, extra = ask
    path, _, query = target.partition("?")
    headers = [(b"host", b"127.0.0.1:8800")] if "host" not in extra.lower() else []
    headers += [(k.lower().encode("latin-1"), v.encode("latin-1", "replace")) for k, v in json.loads(extra).items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode("utf-8", "replace"), "query_string": query.encode("utf-8", "replace"),
        "root_path": "", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8800),
    }  # fmt: skip
    got: dict[str, Any] = {"status": 0, "body": b""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            got["status"] = message["status"]
        else:
            got["body"] += message.get("body", b"")

    import logging

    logging.disable(logging.CRITICAL)
    app = create_app(Library([Path(capture)]))
    try:
        asyncio.run(app(scope, receive, send))
    except _TooLong:
        raise
    except Exception as error:  # starlette raises it again, for the server's log
        if got["status"] != 500:
            raise
        return (
            f"500 {type(error).__name__} {_place(error)}: {''.join(traceback.format_exception(error))[-2500:]}",
            False,
        )
    status = got["status"]
    if status >= 400 and status not in (400, 401, 403, 404, 405, 409, 421, 422):
        return f"status {status}: {got['body'][:500]!r}", False
    return "", status >= 400


def _of_error(error: BaseException, ask: Ask) -> str:
    if isinstance(error, _TooLong):
        return f"more than {CPU_S} s of CPU: {''.join(traceback.format_exception(error))[-2500:]}"
    return "".join(traceback.format_exception(error))[-3000:]


def _where(error: BaseException, ask: Ask) -> str:
    return f"{type(error).__name__} {_place(error) if not isinstance(error, _TooLong) else ask[0]}"


def _place(error: BaseException) -> str:
    """The innermost line of ours that an error passed."""
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if "peephole" in Path(frame.filename).parts:
            found = f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}"
    return found or "outside"


if __name__ == "__main__":
    from fuzz.mutant import read_mutant

    prepare()
    for name in sys.argv[1:]:
        print(json.dumps([name, run(read_mutant(Path(name))).fault]), flush=True)
    os._exit(0)  # what was frozen for the forks would be taken for leaks
