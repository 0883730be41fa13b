"""`peephole run`: records a Python program."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Final

from peephole.errors import PeepholeError
from peephole.model.left_files import LEFT
from peephole.record import place, process

_LOOK_S: Final = 0.03
"""How often is looked whether the program has written all."""
_SMALL_BYTES: Final = 128 << 20
"""A journal that is sealed in two seconds or so: signals wait that long."""
_CLEAN: Final = '"clean": true'

HELP = """\
Records a Python program. It runs in the real interpreter, with its own arguments, output, signals and exit code.

  peephole run train.py --epochs 3         a script
  peephole run -m pytest tests             a module
  peephole run -- torchrun --nproc 2 x.py  any command that starts Python
  peephole run -o fast.peep train.py       into that capture; --force replaces one that is there

Peephole's own options come before the program. In a terminal the viewer opens when the program has ended."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="NAME.peep", help="the capture (default: named after the program, in PEEPHOLE_DIR)"
    )
    parser.add_argument("--force", action="store_true", help="replace a capture of that name")
    view = parser.add_mutually_exclusive_group()
    view.add_argument("--view", action="store_true", help="open the viewer afterwards")
    view.add_argument("--no-view", action="store_true", help="do not open it, even in a terminal")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--profile-only", action="store_true", help="record no rewrites")
    only.add_argument("--rewrites-only", action="store_true", help="record no timeline of the framework")
    parser.add_argument(
        "--full", action="store_true", help="also what slows compiling down: XLA's explanations of fusion, emitter logs"
    )
    parser.add_argument(
        "-m", dest="module", metavar="MODULE …", nargs=argparse.REMAINDER, help="run a module, as `python -m` does"
    )
    parser.add_argument(
        "program", metavar="PROGRAM …", nargs=argparse.REMAINDER, help="a script and its arguments, or -- and a command"
    )


def run(args: argparse.Namespace) -> int:
    """The program's exit code; dies by the signal that the program died by."""
    words, command = command_of(args.module, args.program)
    capture = place.begin_capture(args.output, words[0], words, replace=args.force)
    environment = {**os.environ, "PEEPHOLE": "1", "PEEPHOLE_CAPTURE": capture}
    environment.pop("PEEPHOLE_ONLY", None)
    if args.full:
        environment["PEEPHOLE_FULL"] = "1"
    if args.profile_only or args.rewrites_only:
        environment["PEEPHOLE_ONLY"] = "profile" if args.profile_only else "rewrites"
    # numpy starts a thread per core, which waits busily for matrix products; the program is not told
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = _run(command, environment, capture)
    _finish(capture)
    ended = os.waitstatus_to_exitcode(status)
    terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if args.view or (terminal and not args.no_view and ended >= 0):
        _view(capture)
    if ended < 0:
        _die_by(-ended)
    return ended


def command_of(module: list[str] | None, program: list[str]) -> tuple[list[str], list[str]]:
    """The program as the user wrote it, and the command that runs it."""
    if module is not None:
        words = [*module, *program]
        if not words or not words[0]:
            raise PeepholeError("-m needs the name of a module: `peephole run -m pytest`.")
        return words, [_python(), "-m", *words]
    if program[:1] == ["--"]:
        if not program[1:] or not program[1]:
            raise PeepholeError("There is no command behind --; write for example `peephole run -- torchrun train.py`.")
        return program[1:], program[1:]
    if not program or not program[0]:
        raise PeepholeError("There is nothing to run; write for example `peephole run train.py`.")
    if not Path(program[0]).exists():
        raise PeepholeError(f"There is no script {program[0]}; for a command write `peephole run -- {program[0]}`.")
    return program, [_python(), *program]


def _python() -> str:
    if not any(Path(folder, "peephole-startup.pth").is_file() for folder in sys.path):
        raise PeepholeError("peephole-startup.pth is not installed next to Peephole; install it again with pip.")
    return sys.executable


def _run(command: list[str], environment: dict[str, str], capture: str) -> int:
    """Starts the command as a child with our terminal and group and gives its wait status.

    Signals are taken one by one instead of in handlers. What a terminal sends goes to the whole group, so the child
    has it already; what somebody sends to us alone is handed on. The capture is sealed as soon as the child has
    written all of it: Python goes on for a while then, to give all objects back.
    """
    names = ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM")
    taken = {signal.Signals[f"SIG{name}"] for name in names}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, taken | {signal.SIGCHLD})
    try:
        # Python ignores these two for itself, which a child would inherit
        usual = [signal.SIGPIPE, signal.SIGXFSZ]
        try:
            child = os.posix_spawnp(command[0], command, environment, setsigmask=before, setsigdef=usual)
        except OSError as error:
            shutil.rmtree(capture, ignore_errors=True)
            raise PeepholeError(f"Cannot start {command[0]}: {(error.strerror or str(error)).lower()}.") from None
        # what seals the capture is loaded while the program runs, not when it has ended
        threading.Thread(target=importlib.import_module, args=("peephole.store.journal.seal",), daemon=True).start()
        closed = False
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            number, sent = _wait_for_signal(taken | {signal.SIGCHLD}, None if closed else _LOOK_S)
            if sent and number != signal.SIGCHLD:
                os.kill(child, number)
            elif not number and _has_closed(capture, child):
                closed = True
                _seal_small(capture)
    finally:
        for number in signal.sigpending() & taken:
            signal.sigwait({number})  # meant for the program, which has ended by now
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_signal(taken: set[signal.Signals], longest: float | None) -> tuple[int, bool]:
    """The next signal, 0 when none came for so long, and whether a process sent it (not the terminal)."""
    if sys.platform == "darwin":
        number = int(signal.sigwait(taken))
        return number, number not in (signal.SIGINT, signal.SIGQUIT) or not sys.stdin.isatty()
    info = signal.sigwaitinfo(taken) if longest is None else signal.sigtimedwait(taken, longest)
    return (0, False) if info is None else (info.si_signo, info.si_code <= 0)


def _has_closed(capture: str, child: int) -> bool:
    """Whether the child is a Python that records, and has ended its part of the journal."""
    try:
        text = Path(capture, "journal", "p00000", "process.json").read_text("utf-8")
        facts = json.loads(text) if _CLEAN in text else {}
    except (OSError, ValueError):
        return False
    return facts.get("pid") == child and facts.get("clean") is True


def _seal_small(capture: str) -> None:
    """Seals what takes a moment, unless other processes still write, or have left files to be read."""
    from peephole.store.journal.seal import seal

    # what fails is tried again, and said, when the program has ended
    with contextlib.suppress(PeepholeError, OSError):
        sizes = [path.stat().st_size for path in Path(capture, "journal").rglob("*.seg")]
        if sum(sizes) <= _SMALL_BYTES and not Path(capture, LEFT).exists() and not process.is_being_written(capture):
            seal(capture)


def _finish(capture: str) -> None:
    """Seals the capture and says where it is."""
    from peephole.cli.target import progress_bar
    from peephole.store.journal.seal import seal
    from peephole.store.journal.state import is_sealed

    # whoever looked at it after the program's end has sealed it: then no process is left to be seen
    recorded = is_sealed(Path(capture)) or bool(process.processes(capture))
    if not recorded:
        _say(f"nothing was recorded: no Python that has Peephole installed was started. {capture} is empty")
    try:
        if process.is_being_written(capture):
            _say("a process that the program started still runs; the capture is sealed when it is opened later")
        else:
            seal(capture, progress=progress_bar("sealing"))
    except PeepholeError as error:
        _say(str(error))
    except KeyboardInterrupt:
        _say("not sealed; that happens when the capture is opened")
    if recorded:
        from peephole.cli.called import called

        _say(f"recorded {capture}; open it with `{called()} serve {_shown(capture)}`")


def _shown(capture: str) -> str:
    import shlex

    near = os.path.relpath(capture)
    return shlex.quote(capture if near.startswith("..") else near)


def _say(sentence: str) -> None:
    print(f"peephole: {sentence}", file=sys.stderr)


def _view(capture: str) -> None:
    from peephole.cli.main import find, load, parser_of

    command = find("serve")
    module = load(command)
    try:
        module.run(parser_of(command, module).parse_args([capture]))
    except PeepholeError as error:
        _say(str(error))  # the exit code stays the program's
    except KeyboardInterrupt:
        pass


def _die_by(number: int) -> None:
    """Ends this process by the signal that ended the program, for whoever waits for us."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its core already
    sys.stdout.flush()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)
