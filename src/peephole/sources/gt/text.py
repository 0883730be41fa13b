"""A tape's file as text: gunzipped, its encoding found, in blocks of whole lines."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.gt.grammar import EVENT_LINE

BLOCK: Final = 4 << 20
"""Bytes that are decoded and parsed at once: large enough to be quick, small enough to keep memory flat."""

LIMIT: Final = 4 << 30
"""No tape is larger, so a larger one is a gzip bomb."""

_MARKS: Final = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
_GZIP: Final = b"\x1f\x8b"
_LINE_END: Final = re.compile(rb"\r\n?")
_COLOUR: Final = rb"(?:\x1b\[[0-9;:]*[mK]|\x1b\(B)"
_BEGINS: Final = re.compile(_COLOUR + rb"+")
_RESET: Final = rb"(?:\x1b\[(?:0|2[2-9]|[34]9|;)*[mK]|\x1b\(B)"
_ENDS: Final = re.compile(rb"(" + _RESET + rb")" + _RESET + rb"*$")
_TAIL: Final = 64
"""Bytes at a line's end within which its colours end."""


def read_blocks(path: Path, sink: Sink) -> Iterator[bytes]:
    """A tape's text as UTF-8, block by block; each ends at a line's end, only the last may lack its newline."""
    rest = b""
    decoder: _Decoder | None = None
    for chunk in _chunks(path, sink):
        rest += chunk
        if decoder is None:
            decoder = _Decoder(encoding_of(rest), sink)
            rest = rest.removeprefix(_MARKS[decoder.encoding])
        end = {"utf-16-le": b"\n\0", "utf-16-be": b"\0\n"}.get(decoder.encoding, b"\n")
        at = _last(rest, end, len(end))
        if at >= 0:
            yield decoder.utf8(rest[: at + len(end)])
            rest = rest[at + len(end) :]
        elif len(rest) > LIMIT:
            raise CaptureError(f"{path} holds a line of more than {LIMIT >> 30} GiB, which no tape does.")
    if rest:
        yield (decoder or _Decoder("utf-8", sink)).utf8(rest)


def encoding_of(head: bytes) -> str:
    """utf-16-le, utf-16-be or utf-8, by mark or by where the zero bytes stand."""
    for encoding, mark in _MARKS.items():
        if head.startswith(mark):
            return encoding
    sample = head[:4096]
    half = len(sample) // 2
    if half >= 16 and sample[1::2].count(0) > half * 0.8 and sample[0::2].count(0) < half * 0.1:
        return "utf-16-le"
    if half >= 16 and sample[0::2].count(0) > half * 0.8 and sample[1::2].count(0) < half * 0.1:
        return "utf-16-be"
    return "utf-8"


def _chunks(path: Path, sink: Sink) -> Iterator[bytes]:
    total = 0
    try:
        with path.open("rb") as file:
            head = file.read(2)
            file.seek(0)
            for block in _unzipped(file, sink) if head == _GZIP else iter(lambda: file.read(BLOCK), b""):
                total += len(block)
                if total > LIMIT:
                    raise CaptureError(f"{path} unpacks to more than {LIMIT >> 30} GiB, which no tape does.")
                yield block
    except OSError as error:
        raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error


def _unzipped(file: BinaryIO, sink: Sink) -> Iterator[bytes]:
    """What a gzip file holds, of all its members: `cat a.gz b.gz` is a gzip file too."""
    unzip = zlib.decompressobj(wbits=31)
    while block := file.read(BLOCK // 16):
        while block:
            if unzip.eof:
                block = block.lstrip(b"\0")  # what tapes and disks fill up with
                if not block:
                    break
                unzip = zlib.decompressobj(wbits=31)
            try:
                yield unzip.decompress(block)
            except zlib.error as error:
                sink.problem("the gzip file is damaged: what came before is shown", example=str(error))
                return
            block = unzip.unused_data
    if not unzip.eof:
        sink.problem("the gzip file is cut off: what came before is shown")


def _last(data: bytes, end: bytes, width: int) -> int:
    """Where the last line end starts, at a whole character; -1 when there is none."""
    at = data.rfind(end)
    while at >= 0 and at % width:
        at = data.rfind(end, 0, at + width - 1)
    return at


class _Decoder:
    """Turns blocks of a file into UTF-8, and counts what is not what it should be."""

    def __init__(self, encoding: str, sink: Sink) -> None:
        self.encoding = encoding
        self._sink = sink
        self._latin1 = False

    def utf8(self, data: bytes) -> bytes:
        """A block with newlines as line ends and without a console's colours."""
        if self.encoding != "utf-8":
            text = data.decode(self.encoding, errors="replace")
            if "\ufffd" in text:
                self._sink.problem("characters that are not UTF-16, shown as \ufffd", text.count("\ufffd"))
            data = text.encode(errors="replace")
        if b"\r" in data:
            data = _LINE_END.sub(b"\n", data)
        data = plain(data)
        if data.isascii():
            return data
        try:
            data.decode()
            return data
        except UnicodeDecodeError:
            return b"\n".join(self._lines(data.split(b"\n")))

    def _lines(self, lines: list[bytes]) -> Iterator[bytes]:
        for i, line in enumerate(lines):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                if i == len(lines) - 1 and error.reason == "unexpected end of data" and not self._latin1:
                    yield line[: error.start]  # the file is cut within a character
                    continue
                # a byte that is no UTF-8 is most likely Latin-1, and Latin-1 loses nothing: names stay distinct
                text = line.decode("latin-1")
                if text.startswith("{") or EVENT_LINE.match(text):  # noise is counted as what it is
                    self._latin1 = True
                    self._sink.problem("lines that are not UTF-8, read as Latin-1", example=text[:200])
                line = text.encode()
            yield line


def plain(data: bytes) -> bytes:
    """Text without the colours that a console puts around its lines; those within a name belong to it."""
    if b"\x1b" not in data:
        return data
    return b"\n".join(_plain_line(line) if b"\x1b" in line else line for line in data.split(b"\n"))


def _plain_line(line: bytes) -> bytes:
    begins = _BEGINS.match(line)
    line = line[begins.end() :] if begins else line
    tail = max(0, len(line) - _TAIL)
    ends = _ENDS.search(line, tail)
    if ends is None:
        return line
    field = max(line.rfind(b"| ", 0, ends.start()), line.rfind(b"=", 0, ends.start()))
    # a colour that began within the last field ends with it
    return line[: ends.end(1)] if b"\x1b" in line[field + 1 : ends.start()] else line[: ends.start()]
