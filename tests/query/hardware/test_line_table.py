"""Lines of the source for addresses of a binary, held against what the system's own tool reads."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from peephole.query.hardware.elf import sections
from peephole.query.hardware.line_table import line_table

SOURCE = """\
int twice(int x) {
  return x * 2;
}

int sum(const int *a, int n) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    if (a[i] > 3)
      total += twice(a[i]);
  }
  return total;
}
"""


def compiled(folder: Path, version: int) -> bytes:
    compiler = shutil.which("clang") or shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (folder / "k.c").write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "-O1", f"-gdwarf-{version}", "k.c", "-o", "k.so"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return (folder / "k.so").read_bytes()


@pytest.mark.parametrize("version", [2, 4, 5])
def test_lines_are_those_that_binutils_reads(tmp_path: Path, version: int) -> None:
    binary = compiled(tmp_path, version)
    tool = shutil.which("readelf")
    if tool is None:
        pytest.skip("needs readelf to compare with")
    shown = subprocess.run(
        [tool, "--debug-dump=decodedline", "k.so"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    rows = re.findall(r"^\S*k\.c\s+(\d+|-)\s+(0x[0-9a-f]+)", shown, re.M)
    wanted: dict[int, int] = {}
    for line, address in rows:
        wanted[int(address, 16)] = 0 if line == "-" else int(line)
    assert len(wanted) > 8
    table = line_table(binary)
    found = table.lines(np.array(list(wanted), np.int64)).tolist()
    assert found == list(wanted.values())
    text = sections(binary)[".text"]
    lines = set(table.lines(np.arange(text.address, text.address + len(text.content))).tolist())
    assert {2, 8, 11} <= lines and max(lines) <= 12


def test_a_binary_without_lines_has_none(tmp_path: Path) -> None:
    binary = compiled(tmp_path, 4)
    plain = line_table(binary.replace(b".debug_line\0", b".debug_lime\0"))
    assert plain.lines(np.array([0, 5_000], np.int64)).tolist() == [0, 0]


def test_damage_gives_no_lines_rather_than_wrong_ones(tmp_path: Path) -> None:
    binary = compiled(tmp_path, 4)
    content = sections(binary)[".debug_line"].content
    at = binary.index(content)
    rng = np.random.default_rng(7)
    for _ in range(300):
        damaged = bytearray(binary)
        for _ in range(3):
            damaged[at + int(rng.integers(len(content)))] = int(rng.integers(256))
        line_table(bytes(damaged))  # neither raises nor hangs
    assert len(line_table(binary[:at] + b"\xff" * len(content) + binary[at + len(content) :]).address) == 0
