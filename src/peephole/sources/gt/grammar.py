"""The grammar of a tape's line in all its variants: the words, the units, and a patient reader of one line."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

HEAD: Final = re.compile(r"([A-Z_]+) *\| (CLIENT|WORKER) (.{20}) \| (\w+)")
"""Event, source, name and command of a line. A name of at most 20 characters fills its column exactly, so bars and
blanks within it are no separators."""

SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?B)")

EVENT_LINE: Final = re.compile(r"^[^\S\n]*-?\d+(?:\.\d+)?s? *\| *#\d+ *\| *\S", re.MULTILINE)
"""How every event line begins, in every variant."""

_PATIENT: Final = re.compile(r"^\s*(-?\d+(?:\.\d+)?)s? *\| *#(\d+) *\| *([^|]*?) *\| *(.*)$", re.DOTALL)
_NUMBERED: Final = re.compile(r"\| *#\d+ *\|")
_SIZE: Final = re.compile(r"^ *(\d+(?:\.\d+)?)([KMGT]?B) *$")
_SIZE_LIKE: Final = re.compile(r"^ *[\d.eE+]+ ?[KMGTP]?i?B *$")
_COMMAND: Final = re.compile(r"^\w+ *$")

UNITS: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}

TITLE: Final = "GT2 Dispatcher Instruction Stream"

_PROSE: Final = re.compile(
    r"^(?:={20,}$|GT2 Dispatcher|Started: |Captured: |Limit: |This log records"
    r"|  - (?:Client|Worker|Connection) |Format: <|Column Details:"
    r"|  (?:elapsed|seq|event|source|command|details) +=|Starting GT |Writing operation log|GT server "
    r"|Waiting for worker|Shutting down|Server stopped|\s*$)"
)
_STARTED: Final = re.compile(r"^Started: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")

NAME_LIMIT: Final = 4096
DETAILS_LIMIT: Final = 64 * 1024
"""Longer details (a 3 MB line) are cut there, and counted."""


class Head(NamedTuple):
    """What an event is, whose, and about which command."""

    event: str
    source: str
    who: str
    command: str


class Fields(NamedTuple):
    """One event line that the quick expression does not know, in its parts."""

    time: str
    seq: str
    head: Head
    size: str
    details: str


def is_prose(line: str) -> bool:
    """Whether a line belongs to the header or to the server's own words on its console."""
    return _PROSE.match(line) is not None


def has_number(line: str) -> bool:
    """Whether a line has an event's number, however strange the rest of it is."""
    return _NUMBERED.search(line) is not None


def started(line: str) -> str | None:
    """The wall clock of a header's `Started:` line."""
    found = _STARTED.match(line)
    return found[1] if found else None


def size_like(text: str) -> bool:
    """Whether a field looks like a size that the grammar does not have."""
    return _SIZE_LIKE.match(text) is not None


def patient(line: str) -> Fields | None:
    """The parts of a line that the quick expression does not know; None when it is no event."""
    line = line.strip("\0")
    found = _PATIENT.match(line)
    if found is None:
        return None
    time, seq, event, rest = found.groups()
    if not event or len(time) > 24 or len(seq) > 18 or len(event) > NAME_LIMIT:
        return None
    source, _, rest = rest.partition(" ")
    if not source:
        return None
    parts = rest.split(" | ")
    if rest[20:23] == " | " and _COMMAND.match(rest[23:].partition(" | ")[0]):
        # a name of at most 20 characters fills its column exactly: what stands within it is no separator
        parts = [rest[:20], *rest[23:].split(" | ")]
    if len(parts) == 1:
        return None  # cut before its command
    at = 1 if len(parts[0]) == 20 else _command_at(parts)
    who = " | ".join(parts[:at]).rstrip()
    command = parts[at].strip()
    tail = parts[at + 1 :]
    size = ""
    if tail and _SIZE.match(tail[0]):
        size, tail = tail[0].strip(), tail[1:]
    if len(who) > NAME_LIMIT or len(command) > NAME_LIMIT:
        return None
    return Fields(time, seq, Head(event, source, who, command), size, " | ".join(tail))


def _command_at(parts: list[str]) -> int:
    """Which part is the command: a name may hold the separator, a command is one word and is padded to 15."""
    for i in range(1, len(parts)):
        last = i == len(parts) - 1
        if _COMMAND.match(parts[i]) and (len(parts[i]) >= 15 or last or _SIZE.match(parts[i + 1]) is not None):
            return i
    return 1


def base_command(command: str) -> str:
    """A command without the `Worker` that the dispatcher puts before it."""
    return command[6:] if command.startswith("Worker") and len(command) > 6 else command


def batch_commands(details: str) -> list[str]:
    """The commands that `[N cmds: A, B (+k more)]` names; empty when there are none."""
    start = details.find(" cmds: ")
    if start < 0 or not details.startswith("["):
        return []
    inner = details[start + 7 :].rstrip("]").partition(" (+")[0].partition(", ...")[0]
    return [part.strip() for part in inner.split(",") if part.strip(" .")]
