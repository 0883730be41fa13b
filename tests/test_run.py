"""`peephole run`: the program behaves as without us, and is recorded."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peephole.store.capture import open_capture

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    def write(source: str) -> Path:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(source))
        return path

    return write


@pytest.fixture
def environment(capture_dir: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PEEPHOLE"}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Run:
    def call(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "peephole", "run", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            **{"env": environment, **options},
        )

    return call


def newest(folder: Path) -> Any:
    return open_capture(max(folder.glob("*.peep"), key=lambda path: path.stat().st_mtime_ns))


SHOW = """
import os, signal, sys
print(__name__, __file__, sys.argv[1:], sys.path[0], sys.stdin.read())
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getsignal(signal.SIGPIPE), sys.flags)
print(signal.getsignal(signal.SIGINT), os.getpgrp(), __spec__, sys.orig_argv, os.getcwd())
print("error", file=sys.stderr)
"""


def test_the_program_sees_what_it_sees_without_us(
    run: Run, script: Any, tmp_path: Path, environment: dict[str, str], capture_dir: Path
) -> None:
    path = script(SHOW)
    words = ["script.py", "a", "--b", "-o", "x", "--", "-m"]
    alone = subprocess.run(
        [sys.executable, *words], input="in", capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    done = run(*words, input="in")
    assert done.returncode == 0
    assert done.stdout == alone.stdout
    own, ours = done.stderr.splitlines()
    assert own == "error" and ours.startswith("peephole: recorded ")
    capture = newest(capture_dir)
    assert capture.manifest.program == "script.py" and capture.manifest.clean
    assert capture.name.startswith("script-")
    assert str(capture.path) in ours and "peephole serve" in ours
    assert path.exists()


def test_modules_run_as_python_runs_them(run: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import sys; print(__name__, __package__, __spec__.name, sys.argv, sys.path[0])"
    )
    alone = subprocess.run(
        [sys.executable, "-m", "package", "-x"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    done = run("-o", "m.peep", "-m", "package", "-x")
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    assert open_capture(tmp_path / "m.peep").manifest.program == "package"


def test_any_command(run: Run, script: Any, capture_dir: Path) -> None:
    path = script("import peephole\nwith peephole.span('there'): pass")
    done = run("--", "sh", "-c", f"{sys.executable} {path}; sleep 0.2; {sys.executable} {path}; exit 9")
    assert done.returncode == 9
    capture = newest(capture_dir)
    assert list(capture.read("slices", ["name"]).texts("name")) == ["there"] * 2
    assert len(capture.manifest.processes) == 2
    done = run("--", "true")
    assert done.returncode == 0 and "nothing was recorded" in done.stderr


@pytest.mark.parametrize(("end", "clean"), [("pass", True), ("os.kill(os.getpid(), 9)", False)])
def test_a_program_that_takes_the_place_of_another(
    end: str, clean: bool, run: Run, script: Any, capture_dir: Path
) -> None:
    """As launchers do: they exec the real program. How that one ended is how the recording did."""
    path = script(
        f"""
import os, sys, peephole
with peephole.span("launcher"):
    pass
os.execv(sys.executable, [sys.executable, "-c", "import os; {end}"])
"""
    )
    assert run(path).returncode == (0 if clean else -signal.SIGKILL)
    capture = newest(capture_dir)
    assert list(capture.read("slices", ["name"]).texts("name")) == ["launcher"]
    assert capture.manifest.clean is clean


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
        ("sys.exit('message')", 1),
        ("raise ValueError('boom')", 1),
        ("os._exit(200)", 200),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os.abort()", -signal.SIGABRT),
    ],
)
def test_the_exit_code_is_the_programs(
    end: str, code: int, run: Run, script: Any, tmp_path: Path, environment: dict[str, str]
) -> None:
    source = f"import os, signal, sys, peephole\nwith peephole.span('all'): pass\nprint('out', flush=True)\n{end}\n"
    path = script(source)
    alone = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    done = run("-o", "x.peep", path)
    assert done.returncode == alone.returncode == code
    assert done.stdout == alone.stdout == "out\n"
    assert done.stderr.startswith(alone.stderr)
    assert len(done.stderr.splitlines()) == len(alone.stderr.splitlines()) + 1
    capture = open_capture(tmp_path / "x.peep")
    assert capture.manifest.state == "sealed"
    assert list(capture.read("slices", ["name"]).texts("name")) == ["all"]


WAIT = """
import signal, sys, time, peephole
got = []
def handler(number, frame):
    got.append(number)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
    signal.signal(number, handler)
print("ready", flush=True)
end = time.monotonic() + 90
while signal.SIGTERM not in got and time.monotonic() < end:
    time.sleep(0.01)
print([signal.Signals(number).name for number in got])
sys.exit(17)
"""


def test_signals_are_handed_on(script: Any, tmp_path: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "peephole", "run", "-o", tmp_path / "x.peep", script(WAIT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, stderr=subprocess.DEVNULL) as it:
        assert it.stdout is not None and it.stdout.readline() == "ready\n"
        for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            it.send_signal(number)
            time.sleep(0.1)
        assert it.stdout.read() == "['SIGUSR1', 'SIGHUP', 'SIGINT', 'SIGTERM']\n"
        assert it.wait(30) == 17


def in_a_terminal(words: list[str]) -> tuple[bytes, int]:
    """Runs a command in a terminal of its own, presses Ctrl-C when it says it is ready; its output and exit code."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the child becomes the command
        os.execv(words[0], words)
    output = b""
    end = time.monotonic() + 60
    pressed = False
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            part = os.read(terminal, 4096)
        except OSError:  # nobody has it open any more
            break
        output += part
        if b"ready" in output and not pressed:
            pressed = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return output, os.waitstatus_to_exitcode(status)


CATCHES = """
import signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", flush=True)
end = time.monotonic() + 90
while not got and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
print("interrupted", len(got), flush=True)
"""


@pytest.mark.parametrize(
    ("source", "said", "code"),
    [
        (CATCHES, b"interrupted 1", 0),
        ("import time\nprint('ready', flush=True)\ntime.sleep(20)", b"KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_ctrl_c_in_a_terminal_reaches_the_program_once(
    source: str, said: bytes, code: int, script: Any, tmp_path: Path, capture_dir: Path
) -> None:
    path = tmp_path / "x.peep"
    words = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(path), str(script(source))]
    output, ended = in_a_terminal(words)
    assert said in output, output
    assert ended == code
    assert b"peephole: recorded" in output
    assert json.loads((path / "manifest.json").read_text())["state"] == "sealed"


def test_what_to_record_is_handed_to_the_sources(run: Run, script: Any) -> None:
    path = script("import os; print(os.environ.get('PEEPHOLE_ONLY'), os.environ['PEEPHOLE'])")
    assert run(path).stdout == "None 1\n"
    assert run("--profile-only", path).stdout == "profile 1\n"
    assert run("--rewrites-only", path).stdout == "rewrites 1\n"
    assert run("--rewrites-only", "--profile-only", path).returncode == 2


def test_a_capture_of_that_name_is_replaced_by_force_and_nothing_else(run: Run, script: Any, tmp_path: Path) -> None:
    path = script("import peephole, sys\nwith peephole.span(sys.argv[1]): print('ran')")

    def names() -> list[str | None]:
        return list(open_capture(tmp_path / "x.peep").read("slices", ["name"]).texts("name"))

    assert run("-o", "x", path, "one").returncode == 0
    done = run("-o", "x", path, "two")
    assert (done.returncode, done.stdout, names()) == (2, "", ["one"])
    assert done.stderr.startswith("peephole: ") and "x.peep exists already; choose another name" in done.stderr
    assert run("--force", "-o", "x", path, "two").returncode == 0
    assert names() == ["two"]
    precious = tmp_path / "precious.peep"
    precious.mkdir()
    (precious / "file").write_text("mine")
    done = run("--force", "-o", "precious.peep", path, "three")
    assert done.returncode == 2 and "is not a capture" in done.stderr and "\n" not in done.stderr.strip()
    assert (precious / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-o", "a\nb", "script.py"], "control characters"),
        (["-o", "a\x1b[31m", "script.py"], "control characters"),
        (["-o", "folder/", "script.py"], "names no capture"),
        (["-o", "/proc/no/x.peep", "script.py"], "Cannot write /proc/no/x.peep"),
        (["-o", "x" * 300, "script.py"], "Cannot write"),
        (["nowhere.py"], "There is no script nowhere.py"),
        (["--", "no-such-command"], "Cannot start no-such-command"),
        (["--"], "There is no command"),
        (["-m"], "-m needs the name"),
        ([], "There is nothing to run"),
        ([""], "There is nothing to run"),
        (["--", ""], "no command behind --"),
        (["-m", ""], "-m needs the name of a module"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str], sentence: str, run: Run, script: Any, tmp_path: Path, capture_dir: Path
) -> None:
    script("print('ran')")
    done = run(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert list(capture_dir.iterdir()) == [] and list(tmp_path.glob("*.peep")) == []


def test_runs_of_one_second_do_not_share_a_capture(run: Run, script: Any, capture_dir: Path) -> None:
    path = script("pass")
    names = {run(path).stderr for _ in range(3)}
    assert len(names) == len(list(capture_dir.glob("*.peep"))) == 3


def test_it_is_sealed_while_python_still_gives_everything_back(run: Run, script: Any) -> None:
    """Of a program with millions of objects that takes seconds, on one core; its end is not waited for."""
    path = script(
        """
        import os, time, peephole

        class Late:
            def __del__(self, read=open, now=time.monotonic, sleep=time.sleep, path=os.environ["PEEPHOLE_CAPTURE"]):
                until = now() + 30
                while '"sealed"' not in read(path + "/manifest.json").read() and now() < until:
                    sleep(0.02)
                print("sealed" if now() < until else "not sealed")

        with peephole.span("all"):
            late = Late()
        """
    )
    done = run("-o", "x.peep", path)
    assert (done.returncode, done.stdout) == (0, "sealed\n") and "recorded" in done.stderr


def test_a_journal_that_cannot_be_looked_at_before_the_end_is_kept(run: Run, script: Any, tmp_path: Path) -> None:
    path = script(
        """
        import os, time, peephole

        class Late:
            def __del__(self, sleep=time.sleep):
                sleep(0.5)

        with peephole.span("all"):
            late = Late()
        os.symlink("nowhere", os.environ["PEEPHOLE_CAPTURE"] + "/journal/p00000/gone.seg")
        """
    )
    done = run("-o", "x.peep", path)
    assert done.returncode == 0 and "Cannot start" not in done.stderr
    assert (tmp_path / "x.peep").is_dir()


def test_a_large_run_is_sealed_by_the_parent(run: Run, script: Any, tmp_path: Path) -> None:
    path = script(
        """
        import peephole
        for _ in range(300_000):
            with peephole.span("step"): pass
        """
    )
    assert run("-o", "x.peep", path).returncode == 0
    manifest = json.loads((tmp_path / "x.peep" / "manifest.json").read_text())
    assert manifest["state"] == "sealed" and manifest["tables"]["slices"] == 300_000
