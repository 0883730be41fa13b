"""What a recorded process says about itself: the capture's first manifest and its own `process.json`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from typing import Any, Final

from peephole.model.alive import boot_id, born, is_writing
from peephole.model.tables import FORMAT_VERSION
from peephole.record import descriptors
from peephole.record.clocks import same_moment
from peephole.record.secrets import kept

_numbers: Final = itertools.count()


def start_capture(folder: str, program: str, argv: list[str]) -> None:
    """Makes the capture's folder and the manifest that it has until it is sealed. OSError when it cannot."""
    from datetime import UTC, datetime

    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    os.mkdir(folder, 0o700)
    os.mkdir(os.path.join(folder, "journal"), 0o700)
    moment, wall = same_moment()
    manifest = {
        "format": FORMAT_VERSION,
        "name": os.path.basename(folder).removesuffix(".peep"),
        "state": "recording",
        "clean": False,
        "program": program,
        "argv": kept(argv),
        "host": hostname(),
        "source": "record",
        "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "clocks": {"perf_counter_ns": moment, "time_ns": wall},
    }
    write_json(os.path.join(folder, "manifest.json"), manifest)


def win_folder(capture: str) -> tuple[int, str]:
    """This process's ordinal and the folder that it won with mkdir, against all others of the capture."""
    journal = os.path.join(capture, "journal")
    ordinal = len(os.listdir(journal))
    while True:
        folder = os.path.join(journal, f"p{ordinal:05}")
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            ordinal += 1
        else:
            return ordinal, folder


def describe(ordinal: int) -> dict[str, Any]:
    """The facts of `process.json`, see model/journal.py."""
    started, wall = same_moment()
    return {
        "format": FORMAT_VERSION,
        "ordinal": ordinal,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "argv": recorded_line(),
        "executable": sys.executable,
        "python": ".".join(map(str, sys.version_info[:3])),
        "host": hostname(),
        "boot": boot_id(),
        "born": born("self"),
        "clock": {"perf_counter_ns": started, "time_ns": wall},
        "rank": rank(),
        "started": started,
        "ended": None,
        "clean": False,
    }


def command_line() -> list[str]:
    """The program's arguments, also while the interpreter starts and `sys.argv` is not there yet."""
    argv = getattr(sys, "argv", None)
    if argv and argv[0] not in ("", "-c", "-m"):
        return list(argv)
    return list(sys.orig_argv)


def recorded_line() -> list[str]:
    """The command line as a capture may keep it."""
    return kept(command_line())


def hostname() -> str:
    """The machine's name."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def rank() -> int:
    """The rank that a launcher such as torchrun gave this process, or that a source learned; -1 for none."""
    value = os.environ.get("RANK", "")
    return int(value) if value.isdecimal() and len(value) < 9 else _learned.get(os.getpid(), -1)


def learn_rank(number: int) -> None:
    """Takes the rank of this process from a framework, where no launcher said it."""
    _learned[os.getpid()] = number


_learned: Final[dict[int, int]] = {}


def write_json(path: str, value: object) -> None:
    """Puts the file there whole or not at all."""
    temporary = f"{path}.{os.getpid()}.{next(_numbers)}"
    descriptors.put(temporary, json.dumps(value).encode("utf-8", "surrogateescape"))
    try:
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def is_being_written(capture: str) -> bool:
    """Whether another process of this machine, one that has not ended yet, writes into the capture."""
    return any(
        facts.get("pid") != os.getpid() and is_writing(facts, os.path.join(capture, "journal", name))
        for name, facts in processes(capture).items()
    )


def processes(capture: str) -> dict[str, dict[str, Any]]:
    """What the capture's processes say about themselves, by their folders; what cannot be read is left out."""
    journal = os.path.join(capture, "journal")
    found = {}
    for name in sorted(os.listdir(journal)) if os.path.isdir(journal) else ():
        with contextlib.suppress(OSError, ValueError):
            with open(os.path.join(journal, name, "process.json"), encoding="utf-8") as file:
                facts = json.load(file)
            if isinstance(facts, dict):
                found[name] = facts
    return found
