"""Binaries as assembly: of a real CPU kernel, of an AMD kernel, and of bytes that are neither."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from peephole.query.hardware.assembly import assembly


def test_a_compiled_function(tmp_path: Path) -> None:
    compiler = shutil.which("clang") or shutil.which("gcc")
    if compiler is None or shutil.which("objdump") is None:
        pytest.skip("needs a C compiler and objdump")
    (tmp_path / "k.c").write_text("int twice(int x) { return x + x; }\n")
    subprocess.run([compiler, "-O1", "-c", "k.c", "-o", "k.o"], cwd=tmp_path, check=True, timeout=120)
    text = assembly((tmp_path / "k.o").read_bytes(), "x86_64,native")
    assert text is not None
    assert "ret" in text
    assert text.splitlines()[0].strip().startswith("0:")


def test_what_is_no_binary_gives_nothing() -> None:
    for binary in (b"", b"\x7fELF", b"\x7fELF\x02" + bytes(100), b"MZ" + bytes(200)):
        assert assembly(binary, "x86_64") is None
        assert assembly(binary, "gfx1100") is None
