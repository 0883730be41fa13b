"""Runs a mutant in a process of its own, with limits of time and memory, and judges how it went.

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
import select
import shutil
import signal
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


def run(mutant: Mutant, limit_cpu: int = CPU_S) -> Verdict:
    """The verdict on a mutant."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=os.environ.get("FUZZ_DIR")))
    try:
        begun = time.monotonic()
        mutant.write(folder)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _child(folder, mutant, writer, limit_cpu)
        os.close(writer)
        text = _listen(reader, child)
        os.close(reader)
        _, status, used = os.wait4(child, 0)
        return _judged(text, status, used.ru_utime + used.ru_stime, time.monotonic() - begun)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _listen(reader: int, child: int) -> bytes:
    """What the process says until it ends; it is ended when it takes too long."""
    parts: list[bytes] = []
    end = time.monotonic() + WALL_S
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            end = time.monotonic() + WALL_S
            continue
        some = os.read(reader, 1 << 16)
        if not some:
            return b"".join(parts)
        parts.append(some)


def _judged(text: bytes, status: int, cpu: float, wall: float) -> Verdict:
    said: dict[str, Any] = {}
    for line in text.splitlines():
        said |= json.loads(line)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        what = f"killed by {signal.Signals(number).name} after {cpu:.1f} s of CPU, {wall:.0f} s in all"
        return Verdict(f"{what}, asked {said.get('ask')}", f"{signal.Signals(number).name} {said.get('ask', '?')}")
    if "verdict" not in said:
        return Verdict(f"ended with {status} and no word, asked {said.get('ask')}", f"silent {said.get('ask', '?')}")
    return Verdict(**said["verdict"], seconds=cpu)


def _child(folder: Path, mutant: Mutant, writer: int, limit_cpu: int) -> None:
    """Asks, says how it went, and ends; never returns."""
    code = 1
    try:
        _limits(limit_cpu)
        verdict = _asked(folder, mutant, writer)
        _say(writer, {"verdict": {"fault": verdict.fault, "where": verdict.where, "refused": verdict.refused}})
        code = 0
    except BaseException:
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _say(writer: int, word: dict[str, Any]) -> None:
    os.write(writer, json.dumps(word).encode() + b"\n")


def _limits(cpu: int) -> None:
    def over(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLong

    sys.setrecursionlimit(1000)
    signal.signal(signal.SIGXCPU, over)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 3))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        size = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _asked(folder: Path, mutant: Mutant, writer: int) -> Verdict:
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
    for ask in mutant.asks:
        label = " ".join(ask[:3])[:200]
        _say(writer, {"ask": ask[0]})
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
