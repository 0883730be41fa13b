"""Where a capture goes: a name that the user gave, or one made of the program's name and the time."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

from peephole.errors import PeepholeError
from peephole.record import process

SUFFIX: Final = ".peep"
_WITH_VALUE: Final = "mWX"
"""Python's own options that may stand before a module and take a value."""


def check_system() -> None:
    """PeepholeError where nothing can be recorded: the recorder stands on processes as Linux has them."""
    if not hasattr(os, "register_at_fork"):
        raise PeepholeError(
            f"Recording needs Linux, and this is {sys.platform}: record there; what was recorded there opens here."
        )


def begin_capture(name: str | os.PathLike[str] | None, program: str, argv: list[str], replace: bool = True) -> str:
    """The path of a capture that was just made, ready for recorders; PeepholeError when it cannot be.

    An earlier capture of that name gives way, unless it is not to be replaced.
    """
    check_system()
    if name is None:
        return _begin_default(program, argv)
    path = named(os.fspath(name))
    make_way(path, replace)
    try:
        process.start_capture(path, program, argv)
    except OSError as error:
        raise _refused(path, error) from None
    return path


def named(name: str) -> str:
    """The path that a user's name for a capture means. PeepholeError for a name that no file should have."""
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in name):
        raise PeepholeError(f"The name {name!r} has control characters; give the capture another one.")
    base = os.path.basename(name)
    if base.removesuffix(SUFFIX) in ("", ".", ".."):
        raise PeepholeError(f"{name!r} names no capture; give a name such as run{SUFFIX}.")
    return os.path.abspath(name if base.endswith(SUFFIX) else name + SUFFIX)


def program_name() -> str:
    """What the running program is called, also while the interpreter starts."""
    argv: list[str] = list(getattr(sys, "argv", None) or [""])
    if argv[0] == "-m":
        return _module() or "python"
    if argv[0] in ("", "-c", "-"):
        return "python"
    return argv[0]


def program_script() -> str:
    """The script that runs, "" for a module, a command or standard input."""
    argv: list[str] = list(getattr(sys, "argv", None) or [""])
    return "" if argv[0] in ("", "-c", "-m", "-") else argv[0]


def _module() -> str:
    """What stands behind -m, which may stand behind other options in one word: `-Im pytest`, `-X dev -mpytest`."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        for at, letter in enumerate(word[1:], 2):
            if letter in _WITH_VALUE:
                value = word[at:] or next(words, "")
                if letter == "m":
                    return value
                break
    return ""


def program_words() -> list[str]:
    """The program as its user wrote it, with its arguments."""
    argv = list(sys.argv)
    return [_module(), *argv[1:]] if argv[:1] == ["-m"] else argv


def _begin_default(program: str, argv: list[str]) -> str:
    from peephole.model.folder import captures_folder, safe_name

    folder = os.path.abspath(captures_folder())
    stem = os.path.basename(program)
    stem = safe_name(stem.removesuffix(".py")) + time.strftime("-%Y%m%d-%H%M%S")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise _refused(folder, error) from None
    for number in range(1, 10_000):
        path = os.path.join(folder, stem + (f"-{number}" if number > 1 else "") + SUFFIX)
        try:
            process.start_capture(path, program, argv)
        except FileExistsError:
            continue
        except OSError as error:
            raise _refused(path, error) from None
        return path
    raise PeepholeError(f"{folder} has ten thousand captures of this second; set PEEPHOLE_DIR to another folder.")


def may_replace(path: str, replace: bool) -> bool:
    """Whether an earlier capture of that name is to be replaced; PeepholeError when what is there is not ours to."""
    if not os.path.lexists(path):
        return False
    if os.path.islink(path) or not os.path.isfile(os.path.join(path, "manifest.json")):
        raise PeepholeError(f"{path} is there already and is not a capture; give another name or move it away.")
    if process.is_being_written(path):
        raise PeepholeError(f"{path} is being recorded by another program; give another name.")
    if not replace:
        raise PeepholeError(f"{path} exists already; choose another name with -o, or replace it with --force.")
    return True


def make_way(path: str, replace: bool) -> None:
    """Removes an earlier capture of that name when it may be replaced; anything else is not ours to remove."""
    if not may_replace(path, replace):
        return
    import shutil

    try:
        shutil.rmtree(path)
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: str, error: OSError) -> PeepholeError:
    why = (error.strerror or str(error)).lower()
    return PeepholeError(f"Cannot write {path}: {why}; choose another place with -o or PEEPHOLE_DIR.")
