"""A tape's file as text: gunzipped, its encoding found, in blocks of whole lines."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink

BLOCK: Final = 4 << 20
"""Bytes that are decoded and parsed at once: large enough to be quick, small enough to keep memory flat."""

LIMIT: Final = 4 << 30
"""No tape is larger, so a larger one is a gzip bomb."""

_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_GZIP: Final = b"\x1f\x8b"
_LINE_END: Final = re.compile(rb"\r\n?")


def read_blocks(path: Path, sink: Sink) -> Iterator[bytes]:
    """A tape's text as UTF-8, block by block; each ends at a line's end, only the last may lack its newline."""
    rest = b""
    encoding = ""
    for chunk in _chunks(path, sink):
        rest += chunk
        if not encoding:
            encoding = encoding_of(rest)
            rest = rest.removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff") if encoding != "utf-8" else rest
        end = b"\n\0" if encoding == "utf-16-le" else b"\0\n" if encoding == "utf-16-be" else b"\n"
        at = _last(rest, end, len(end))
        if at >= 0:
            yield _utf8(rest[: at + len(end)], encoding, sink)
            rest = rest[at + len(end) :]
        elif len(rest) > LIMIT:
            raise CaptureError(f"{path} holds a line of more than {LIMIT >> 30} GiB, which no tape does.")
    if rest:
        yield _utf8(rest, encoding or "utf-8", sink)


def encoding_of(head: bytes) -> str:
    """utf-16-le, utf-16-be or utf-8, by mark or by where the zero bytes stand."""
    if head[:2] in _UTF16:
        return _UTF16[head[:2]]
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


def _utf8(data: bytes, encoding: str, sink: Sink) -> bytes:
    if encoding != "utf-8":
        text = data.decode(encoding, errors="replace")
        if "\ufffd" in text:
            sink.problem("characters that are not UTF-16, shown as \ufffd", text.count("\ufffd"))
        data = text.encode(errors="replace")
    if b"\r" in data:
        data = _LINE_END.sub(b"\n", data)
    if data.isascii():
        return data
    try:
        data.decode()
        return data
    except UnicodeDecodeError:
        pass
    lines = data.split(b"\n")
    for i, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            whole = line[: error.start]
            if i == len(lines) - 1 and error.reason == "unexpected end of data" and not whole.isascii():
                lines[i] = whole  # UTF-8 before it: the file is cut within a character
                continue
            # a byte that is no UTF-8 is most likely Latin-1, and Latin-1 loses nothing: names stay distinct
            sink.problem("lines that are not UTF-8, read as Latin-1", example=line[:200].decode("latin-1"))
            lines[i] = line.decode("latin-1").encode()
    return b"\n".join(lines)
