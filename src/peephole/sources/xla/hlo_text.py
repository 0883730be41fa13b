"""HLO as text: a scanner of lines that reads each different line once.

    HloModule jit_f, is_scheduled=true, entry_computation_layout={…}

    FileNames … FunctionNames … FileLocations … StackFrames …

    %add (x: f32[], y: f32[]) -> f32[] {
      %x = f32[] parameter(0)
      ROOT %sum = f32[] add(%x, %y), metadata={op_name="jit(f)/sum" stack_frame_id=3}
    }

Consecutive dumps of a module differ in a few lines, so `TextReader` keeps what it made of a line.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from peephole.sources.xla.instructions import BODY, Computation, Dump, Frame, Instruction

MOST_LITERAL: Final = 200
MOST_ATTRIBUTE: Final = 2000
"""Characters of a literal or an attribute that are kept; of a longer one its size and a hash, so that others differ."""
MOST_LINES: Final = 400_000
"""Lines that are kept at hand."""

_BEGIN: Final = re.compile(r"(ROOT )?%?([^\s=(){}]+) = ")
_HEAD: Final = re.compile(rb"(ENTRY )?%?([^\s({]+)\s*(?:\(.*\{|\{)$", re.DOTALL)
_ROW: Final = re.compile(r'(\d+) (?:"((?:[^"\\]|\\.)*)"|\{([^}]*)\})')
_BRACKET: Final = re.compile(r'[()\[\]{}",]')
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAMES: Final = re.compile(r"%([^\s,(){}=]+)")
_PLAIN: Final = re.compile(r"[^\s,{}%]+")
_COMMENT: Final = re.compile(r"/\*.*?\*/")
_ARRAY: Final = re.compile(r"([a-z]\w*)(\[.*)", re.DOTALL)
_CALLS: Final = frozenset(
    (
        *("calls", "to_apply", "body", "condition", "branch_computations", "called_computations"),
        *("true_computation", "false_computation", "select", "scatter", "comparator"),
    )
)
"""Attributes that name computations."""
_META: Final = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|\{[^}]*\}|([^\s{}]+))')
_TABLES: Final = (b"FileNames", b"FunctionNames", b"FileLocations", b"StackFrames")


class TextReader:
    """Reads the dumps of one module, one after the other."""

    def __init__(self) -> None:
        self._lines: dict[bytes, Instruction] = {}
        self._tables = b""
        self._frames: dict[int, Frame] = {}
        self._past = 0
        """The line behind an instruction that goes over several."""
        self.unread = 0
        """Lines that are no instruction."""

    def read(self, data: bytes) -> Dump:
        """The state that a file holds. Of one that was cut off, the computations that are whole."""
        lines = data.split(b"\n")
        header = lines[0]
        at, body = 1, self._skip_tables(data)
        if body:
            at = data.count(b"\n", 0, body)
        name = header[len(b"HloModule ") :].split(b",")[0].strip()
        dump = Dump(_text(name), _text(header[len(b"HloModule ") :]), [], self._frames)
        known, instructions, head = self._lines, list[Instruction](), None
        self._past = 0
        if len(known) > MOST_LINES:
            known.clear()
        for place in range(at, len(lines)):
            line = lines[place]
            found = known.get(line)
            if found is not None and head is not None:
                instructions.append(found)
                continue
            stripped = line.strip()
            if not stripped or place < self._past:
                continue
            if head is None:
                head = _HEAD.match(stripped)
                self.unread += head is None
            elif stripped[:1] == b"}":
                dump.computations.append(Computation(_text(head[2]), head[1] is not None, instructions))
                instructions, head = [], None
            else:
                made = self._instruction(line, lines, place)
                if made is not None:
                    instructions.append(made)
        dump.cut = head is not None or not any(one.entry for one in dump.computations)
        return dump

    def _skip_tables(self, data: bytes) -> int:
        """Where the tables of files and frames end, which are read where they differ from the last dump's."""
        first = data.find(b"\nFileNames\n", 0, 1 << 20)
        if first < 0:
            if self._tables:
                self._tables, self._frames = b"", {}
            return 0
        # each table ends with an empty line, the last one with two
        last = data.find(b"\n\n\n", first)
        last = len(data) if last < 0 else last
        tables = data[first:last]
        if tables != self._tables:
            self._tables, self._frames = tables, _frames(tables)
        return last + 1

    def _instruction(self, line: bytes, lines: list[bytes], place: int) -> Instruction | None:
        text = _text(line).strip()
        begin = _BEGIN.match(text)
        if begin is None:
            self.unread += not text.startswith(("//", "/*"))
            return None
        depth = _depth(text)
        if depth > 0:  # a literal over several lines
            rest: list[str] = []
            for more in lines[place + 1 :]:
                part = _text(more)
                if more.strip() in (b"", b"}") or _BEGIN.match(part.strip()):
                    break
                rest.append(part.strip())
                depth += part.count("(") - part.count(")")
                if depth <= 0:
                    break
            self._past = place + 1 + len(rest)
            return _parsed(" ".join([text, *rest]), begin)
        made = _parsed(text, begin)
        if made is None:
            self.unread += 1
        else:
            self._lines[line] = made
        return made


def _parsed(text: str, begin: re.Match[str]) -> Instruction | None:
    """The instruction of a line: `[ROOT ]%name = shape opcode(operands), attributes`."""
    at = begin.end()
    if text.startswith("(", at):
        past = _close(text, at) + 1
    else:
        past = text.find(" ", at)
    opening = text.find("(", past)
    if past <= at or opening < 0:
        return None
    shape, op = text[at:past], text[past:opening].strip()
    closing = _close(text, opening)
    inside = text[opening + 1 : closing]
    dtype = ""
    if shape.startswith("("):
        shape = _COMMENT.sub("", shape)
    elif array := _ARRAY.fullmatch(shape):
        dtype, shape = array[1], array[2]
    reads: list[str] = []
    called: list[str] = []
    attributes: list[str] = []
    if op in ("constant", "parameter"):
        attributes.append(shortened(inside, MOST_LITERAL))
    elif inside:
        reads = _operands(inside)
    made = Instruction(begin[2], op, dtype, shape, "", begin[1] is not None, ())
    for key, value in _attributes(text, closing + 1):
        if key == "metadata":
            _origin(made, value)
            continue
        if key in _CALLS:
            names = _NAMES.findall(value) or _PLAIN.findall(value)
            # the body of a loop comes first, as in the proto, though the text has the condition first
            called[:] = [*names, *called] if key == "body" else [*called, *names]
        attributes.append(shortened(f"{key}={value}" if key else value, MOST_ATTRIBUTE))
    made.arg, made.bodies = ", ".join(attributes), tuple(called)
    made.reads = (*reads, *(BODY + name for name in called))
    return made


def _operands(inside: str) -> list[str]:
    """Names of operands: `%a, /*index=5*/%b`, in older releases with shapes `f32[8]{0} %a`, by hand without `%`."""
    if "%" in inside:
        return _NAMES.findall(_COMMENT.sub("", inside) if "/*" in inside else inside)
    parts = _split(_COMMENT.sub("", inside))
    return [part.split()[-1] for part in parts if part.split()]


def _attributes(text: str, at: int) -> list[tuple[str, str]]:
    found = []
    for part in _split(text[at:]):
        key, equals, value = part.strip().partition("=")
        if key:
            found.append((key, value) if equals and key.replace("-", "_").isidentifier() else ("", part.strip()))
    return found


def _split(text: str) -> list[str]:
    """A list at its own commas, not at those inside brackets or texts."""
    parts, depth, last, at = [], 0, 0, 0
    while found := _BRACKET.search(text, at):
        at, sign = found.end(), found[0]
        if sign == '"':
            whole = _QUOTED.match(text, found.start())
            at = whole.end() if whole else len(text)
        elif sign == ",":
            if depth == 0:
                parts.append(text[last : found.start()])
                last = at
        else:
            depth += 1 if sign in "([{" else -1
    parts.append(text[last:])
    return parts


def _close(text: str, opening: int) -> int:
    """Where the parenthesis that opens there closes; the end of the text when it does not."""
    depth, at = 0, opening
    while found := _PARENTHESIS.search(text, at):
        at = found.end()
        if found[0] == '"':
            whole = _QUOTED.match(text, found.start())
            at = whole.end() if whole else len(text)
        elif found[0] == "(":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return found.start()
    return len(text)


_PARENTHESIS: Final = re.compile(r'[()"]')


def _depth(text: str) -> int:
    """How many brackets are open at the end of a line that begins a literal; 0 for any other line."""
    if " constant(" not in text:
        return 0
    return text.count("(") - text.count(")")


def _origin(made: Instruction, value: str) -> None:
    for key, quoted, plain in _META.findall(value):
        if key == "op_name":
            made.op_name = unescaped(quoted)
        elif key == "stack_frame_id":
            made.frame = _number(plain)
        elif key == "source_file":
            made.place = unescaped(quoted) + made.place
        elif key == "source_line":
            made.place += f":{_number(plain)}"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def unescaped(text: str) -> str:
    """A quoted text as it was before it was quoted."""
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def shortened(text: str, most: int) -> str:
    """Text of bounded length; one that was cut says how long it was, and a hash of it."""
    if len(text) <= most:
        return text
    mark = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{text[: most - 40]}… ({len(text):,} characters, {mark})"


def _frames(tables: bytes) -> dict[int, Frame]:
    """The stack frames by number. In the text a parent's number is one too large, and 1 stands for none."""
    rows: dict[bytes, dict[int, tuple[str, dict[str, int]]]] = {name: {} for name in _TABLES}
    current: dict[int, tuple[str, dict[str, int]]] = {}
    for line in tables.split(b"\n"):
        if line in rows:
            current = rows[line]
        elif row := _ROW.match(_text(line)):
            pairs = dict(part.partition("=")[::2] for part in (row[3] or "").split())
            numbers = {key: _number(value) for key, value in pairs.items()}
            current[int(row[1])] = (unescaped(row[2] or ""), numbers)
    files, functions, places, frames = (rows[name] for name in _TABLES)
    nothing: tuple[str, dict[str, int]] = ("", {})
    found = {}
    for number, (_, frame) in frames.items():
        place = places.get(frame.get("file_location_id", 0), nothing)[1]
        file = files.get(place.get("file_name_id", 0), nothing)[0]
        function = functions.get(place.get("function_name_id", 0), nothing)[0]
        found[number] = Frame(file, function, place.get("line", -1), max(frame.get("parent_frame_id", 1) - 1, 0))
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
