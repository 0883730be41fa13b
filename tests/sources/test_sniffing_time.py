"""What a file is, is found at once, whatever its first bytes are: patterns that go back and forth do not get far."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from peephole import sources
from peephole.errors import CaptureError

FIRST = (
    b"",
    b"class G(torch.nn.Module):",
    b"from ctypes import a\n",
    b"V0101 00:00:00.1 1 a] {",
    b"HloModule f",
    b"module @f {",
    b"// -----// IR Dump",
    b"{",
    b"[",
    b'{"nodes": [',
    b"\n\x0a",
    b"a;b 1\n",
    b"p 1/1 1.0: 1 cycles:\n",
)
PARTS = (
    b" ",
    b"\n",
    b" \n",
    b"\t\r\n",
    b"\n#x",
    b"#\n",
    b"a",
    b"a;",
    b"a b ",
    b"1",
    b"1.",
    b"::",
    b"(",
    b"{",
    b'"',
    b"\\",
    b"%a = ",
    b"loc(",
    b"// ",
    b"\n  ",
    b";;1\n",
    b"a 1/1 [0] ",
    b"\x0a\x00",
    b"\xff",
)


@pytest.mark.parametrize("first", FIRST)
def test_no_beginning_takes_long_to_know(first: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for part in PARTS:
        path.write_bytes(first + part * (sources.HEAD // len(part)))
        begin = time.process_time()
        with contextlib.suppress(CaptureError):
            sources.find(path)
        assert time.process_time() - begin < 1.5, part
