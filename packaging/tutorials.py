"""The tutorials as what they are: files to write, commands to type, and what is printed then.

A page of docs/tutorials has programs (```python title="norm.py"), commands with what they print (```console, `$ `
before a command) and pictures of the page, each below a comment that says what is on it:

    <!-- picture fusion-schedule: norm.peep #/norm/schedule?context={SELECT id FROM contexts WHERE …}&a=0&b=1 -->

A query in braces stands for what it finds in the first capture, since numbers differ from recording to recording.
`keys` and their names after the address are pressed before the picture is taken.

What is printed need not be all of it: every line of the block is somewhere in the output, in this order. `…` stands for
anything, and a figure with a unit for any figure: times differ from machine to machine, numbers of things do not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^<!-- picture ([\w-]+): ([^#]+?) (#.+?)(?: keys (.+?))? -->$", re.MULTILINE)
SAMPLES = {"wave": ("profile.pkl", "shared/fixtures/sqtt/gfx1100/profile_gemm_run_0.pkl")}
"""Files that a reader has already, by page: what it is called there, and where a sample of it lies beside us."""
UNITS = r"(?:ns|µs|ms|s|min|%|B|kB|MB|GB|[kMG]?FLOPS|[kMG]?B/s)"
WILD = re.compile(rf"…|[+±-]?[\d,]+(?:\.\d+)? ?{UNITS}(?![\w])|\s+")


@dataclass(frozen=True, slots=True)
class Program:
    """A file to write."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A command, and the lines that it prints."""

    command: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the page: which captures are served, and the address; then keys that are pressed."""

    name: str
    captures: tuple[str, ...]
    address: str
    keys: tuple[str, ...]


def steps(page: Path) -> list[Program | Typed | Picture]:
    """What a reader does, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[tuple[int, Program | Typed | Picture]] = []
    for block in BLOCK.finditer(text):
        language, title, body = block.groups()
        if title:
            found.append((block.start(), Program(title, body)))
        elif language == "console":
            found += [(block.start(), typed) for typed in _typed(body)]
    for picture in PICTURE.finditer(text):
        name, captures, address, keys = picture.groups()
        found.append((picture.start(), Picture(name, tuple(captures.split()), address, tuple((keys or "").split()))))
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def _typed(body: str) -> Iterator[Typed]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *lines = part.replace("\\\n", "").splitlines()
        yield Typed(command, tuple(line for line in lines if line.strip() not in ("", "…")))


def prepare(page: Path, folder: Path) -> bool:
    """Puts there what a reader of this page has already; False when there is no sample of it here."""
    if page.stem not in SAMPLES:
        return True
    name, sample = SAMPLES[page.stem]
    path = PAGES.parent.parent.parent / sample
    if path.exists():
        shutil.copy(path, folder / name)
    return path.exists()


def environment(folder: Path) -> dict[str, str]:
    """A reader's environment: captures in the folder, plain text, and this Python's commands before all others."""
    mine = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "DEV")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {
        **mine,
        "PATH": path,
        "PEEPHOLE_DIR": str(folder / "captures"),
        "NO_COLOR": "1",
        "DEV": "CPU",
        "CPU_COUNT": "2",
    }


def do(step: Program | Typed, folder: Path) -> str:
    """Does what a reader does; returns what was printed."""
    if isinstance(step, Program):
        (folder / step.name).write_text(step.text, encoding="utf-8")
        return ""
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=240,
    )
    return done.stdout


def missing(typed: Typed, printed: str) -> str | None:
    """The first line of the page that is not in the output where it should be; None when all are."""
    lines = iter(printed.splitlines())
    for wanted in typed.lines:
        pattern = pattern_of(wanted)
        if not any(pattern.search(line) for line in lines):
            return wanted
    return None


def pattern_of(line: str) -> re.Pattern[str]:
    """What a line of a page stands for."""
    out, at = "", 0
    for wild in WILD.finditer(line.strip()):
        out += re.escape(line.strip()[at : wild.start()])
        text = wild.group(0)
        out += ".*" if text == "…" else r"\s+" if text.isspace() else r"[+±-]?[\d,]+(?:\.\d+)? ?" + UNITS
        at = wild.end()
    return re.compile(out + re.escape(line.strip()[at:]))
