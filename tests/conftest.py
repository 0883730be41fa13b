"""What every test may use: the shared files, a capture folder of its own, a real browser."""

from __future__ import annotations

import gc
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

# a machine that is busy with something else is no failure of ours
settings.register_profile("peephole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("peephole")

os.environ.setdefault("PARALLEL", "0")
"""tinygrad compiles in worker processes otherwise, which a small program spends most of its time on."""
# a shell starts what runs in its background (`make test &`) deaf to Ctrl-C, and what the tests start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class SharedFile(Protocol):
    def __call__(self, name: str) -> Path: ...


class Cli(Protocol):
    def __call__(
        self, *arguments: str | Path, check: bool = True, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="session")
def shared() -> SharedFile:
    """The path of a file next to the repository; the test is skipped where that file is not there."""

    def find(name: str) -> Path:
        path = ROOT.parent / "shared" / name
        if not path.exists():
            pytest.skip(f"needs ../shared/{name}, which is not part of the repository")
        return path

    return find


class TapeLine(Protocol):
    def __call__(
        self, time: float, seq: int, event: str, who: str, command: str, size: str = "", details: str = ""
    ) -> str: ...


@pytest.fixture(scope="session")
def tape_line() -> TapeLine:
    """A line of a GT tape as GT formats it: `tape_line(0.108, 1, "RECV", "CLIENT CLIENT 00ab", "GetData", "88B")`."""

    def line(time: float, seq: int, event: str, who: str, command: str, size: str = "", details: str = "") -> str:
        source, _, name = who.partition(" ")
        text = f"{time:7.3f}s | #{seq:04d} | {event:12} | {source} {name:20} | {command:15}"
        return text + (f" | {size:>10}" if size else "") + (f" | {details}" if details else "") + "\n"

    return line


@pytest.fixture
def capture_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is this test's per-user folder; what the machine's user has set is of no account."""
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "DEBUG", "PEEPHOLE", "PEEPHOLE_CAPTURE", "PEEPHOLE_ONLY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "captures"
    folder.mkdir()
    monkeypatch.setenv("PEEPHOLE_DIR", str(folder))
    return folder


@pytest.fixture
def peephole(capture_dir: Path) -> Cli:
    """Runs the real command in a process of its own: `peephole("ls", "--json").stdout`."""

    def call(
        *arguments: str | Path, check: bool = True, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "peephole", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "PEEPHOLE_DIR": str(capture_dir), **(env or {})},
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return call


@pytest.fixture(autouse=True)
def everything_installed() -> Iterator[None]:
    """A command hides modules that it does not need from its process: what it was run in here has them again."""
    yield
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "_NotNeeded"]


@pytest.fixture
def inside(capture_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs the command in this process, without half a second for a new one. What it changes of Python is put back."""
    from peephole.cli.main import main

    monkeypatch.setenv("PEEPHOLE_DIR", str(capture_dir))

    def call(
        *arguments: str | Path, check: bool = True, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        words, out, errors = list(map(str, arguments)), io.StringIO(), io.StringIO()
        handler, circles = signal.getsignal(signal.SIGTERM), gc.get_threshold()
        try:
            with pytest.MonkeyPatch.context() as own, redirect_stdout(out), redirect_stderr(errors):
                for name, value in (env or {}).items():
                    own.setenv(name, value)
                try:
                    code = main(words)
                except SystemExit as end:  # argparse, of what it does not know
                    code = end.code if isinstance(end.code, int) else 1
        finally:
            signal.signal(signal.SIGTERM, handler)
            gc.set_threshold(*circles)
        if check:
            assert code == 0, errors.getvalue()
        return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())

    return call


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium for all tests of a worker: Playwright can be started in a thread once."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("needs Chromium; `make test` installs Debian's")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield found
        found.close()


@pytest.fixture
def chromium(browser: Browser) -> Iterator[BrowserContext]:
    """A context of it with nothing in it: `chromium.new_page()`."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context
    context.close()
